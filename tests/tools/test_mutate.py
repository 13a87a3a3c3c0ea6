"""The tool that damages files: the same seed makes the same damage, and what it would call a fault."""

from __future__ import annotations

import gzip
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from tools.mutate.inputs import make_inputs
from tools.mutate.mutators import ANYWHERE, PACKED, TEXTS, mutate
from tools.mutate.rows import rows_of
from tools.mutate.trial import Ending, Trial, find_fault, run_forked

ROW = b'{"id": "a", "number": 17, "text": "There is an effusion."}\n'


def test_the_same_seed_makes_the_same_damage() -> None:
    """And another one makes another, of most files."""
    made = [mutate(ROW * 5, random.Random(seed)) for seed in range(40)]
    assert made == [mutate(ROW * 5, random.Random(seed)) for seed in range(40)]
    assert len({data for _, data in made}) > 30


@pytest.mark.parametrize("way", [*ANYWHERE, *TEXTS, *PACKED], ids=lambda way: way.__name__)
def test_every_way_takes_any_file(way: object) -> None:
    """Empty, short, of text and packed; what does not apply leaves it as it is."""
    for data in (b"", b"x", ROW * 3, gzip.compress(ROW * 100, mtime=0), bytes(range(256)) * 20):
        for seed in range(20):
            assert isinstance(way(data, random.Random(seed)), bytes)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("ending", "fault"),
    [
        (Ending(1, "", "overread: row 3 is no JSON\n", 0.1, 5), ""),
        (Ending(70, "", "overread: this is a bug in overread (KeyError: 'x')\n", 0.1, 5), "bug"),
        (Ending(1, "", "Traceback (most recent call last):\nKeyError: 'x'\n", 0.1, 5), "traceback"),
        (Ending(0, "", "lib.py:3: UserWarning: odd\n", 0.1, 5), "noise"),
        (Ending(0, "", "", 11, 5), "slow"),
        (Ending(0, "", "", 1, 5000), "memory"),
        (Ending(1, "", "", 1, 5), "without a word"),
        (Ending(-9, "", "", 90, 0), "ended by signal 9"),
        (Ending(0, '{"defects": []}', "", 1, 5, (3, 2)), "silent: 3 rows, 2 made of them"),
        (Ending(0, '{"defects": [{"severity": "error"}]}', "", 1, 5, (3, 2)), ""),
        (Ending(0, "wrote it", "overread: row 3 is left out", 1, 5, (3, 2)), ""),
        (Ending(0, "wrote it", "", 1, 5, (3, 3)), ""),
    ],
)
def test_what_is_a_fault(ending: Ending, fault: str) -> None:
    """One of each kind, and a plain refusal, which is none."""
    found = find_fault(ending)
    assert (fault in found) if fault else not found


def test_rows_are_counted_in_every_list(tmp_path: Path) -> None:
    """As plainly as can be; what is no list has none."""
    files = {
        "a.jsonl": ROW * 3,
        "b.jsonl": (ROW * 3).decode().encode("utf-16"),
        "c.jsonl.gz": gzip.compress(ROW * 3, mtime=0),
        "d.csv": b'id,text\n1,"a\nb"\n2,c\n\n3,d\n',
        "e.json": b'{"test": [1, 2, 3], "train": [4]}',
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        assert rows_of(tmp_path / name) == 3, name
    (tmp_path / "f.png").write_bytes(b"\x89PNG")
    assert rows_of(tmp_path / "f.png") is None


def test_a_trial_that_does_not_come_back_is_told_and_the_next_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file is as it was before, and what was written is gone."""

    def command(words: list[str]) -> None:
        if words[0] == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        Path(words[1]).write_bytes(file.read_bytes())
        print(words[0])
        sys.exit(0)

    file = tmp_path / "a.txt"
    file.write_bytes(b"intact")
    monkeypatch.setattr("overread.cli.main.main", command)
    trials = [Trial(file, b"intact", b"damaged", (word, "OUT.txt")) for word in ("one", "dies", "two")]
    endings = run_forked(trials)
    assert [(one.code, one.out) for one in endings] == [(0, "one\n"), (-signal.SIGSEGV, ""), (0, "two\n")]
    assert file.read_bytes() == b"intact"


@pytest.mark.slow
def test_the_inputs_are_intact_and_of_many_kinds(tmp_path: Path) -> None:
    """Every command reads its undamaged file without a fault."""
    inputs = make_inputs(tmp_path / "inputs")
    assert len({one.kind for one in inputs}) >= 60
    for one in inputs[::4]:
        intact = one.file.read_bytes()
        (ending,) = run_forked([Trial(one.file, intact, intact, one.commands[0])])
        assert not find_fault(ending), f"{one.commands[0]}: {ending.err}"
