"""The tool that kills commands sees what a kill leaves, and overlooks only what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from overread.cli.main import app
from tools.measure.kills.commands import COMMANDS
from tools.measure.kills.compare import MAY_DIFFER, describe, differences


def test_what_a_kill_leaves_is_seen(tmp_path: Path) -> None:
    """A hidden part, a lost file and other bytes; not another order of readings, nor another time."""
    for name, rows in (("calm", [1, 2]), ("killed", [2, 1])):
        place = tmp_path / name
        place.mkdir()
        lines = [json.dumps({"case": row, "usage": {"seconds": hash(name)}}) for row in rows]
        (place / "readings.jsonl").write_text("\n".join(lines))
        (place / "picture.png").write_bytes(b"same")
    calm, killed = (describe(tmp_path / name) for name in ("calm", "killed"))
    assert calm == killed
    (tmp_path / "killed" / ".half").mkdir()
    (tmp_path / "killed" / ".0123.part").touch()
    (tmp_path / "killed" / "picture.png").write_bytes(b"half")
    (tmp_path / "calm" / "card.md").touch()
    told = differences(describe(tmp_path / "calm"), describe(tmp_path / "killed"))
    assert told == "too many: .0123.part, .half/; missing: card.md; other: picture.png"


def test_what_may_differ_is_named_once_and_is_little() -> None:
    """Times and who was asked; never an answer."""
    assert not MAY_DIFFER & {"choice", "error", "text", "findings", "value"}


def test_every_command_that_writes_is_killed() -> None:
    """The others only read, or are named in commands.py with why."""
    reading = "check describe list compare mrmc power doctor".split()
    left_out = "get view demo".split()
    killed = {command.words.split()[0] for command in COMMANDS.values()}
    assert killed == {command.name for command in app.registered_commands} - {*reading, *left_out}


def test_a_kill_comes_just_before_the_change_that_was_asked_for(tmp_path: Path) -> None:
    """All changes in the folder count, whoever makes them; what is outside does not."""
    import tools.measure.kills.__main__ as kills

    place, seen = tmp_path / "place", tmp_path / "count"
    place.mkdir()
    said = (
        "from pathlib import Path; import sys; place = Path(sys.argv[1])\n"
        "Path(sys.argv[2]).write_text('outside')\n"
        "(place / 'a').write_text('1'); (place / 'a').rename(place / 'b'); (place / 'b').unlink()\n"
    )
    for at, left in ((1, []), (2, ["a"]), (3, ["b"]), (0, [])):
        seen.unlink(missing_ok=True)
        told = {"KILLS_WITHIN": str(place), "KILLS_COUNT": str(seen), "KILLS_AT": str(at)}
        done = subprocess.run(
            [sys.executable, "-c", said, str(place), str(tmp_path / "other")],
            env={**os.environ, **told, "PYTHONPATH": str(kills.COUNTED)},
            start_new_session=True,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if at else 0)
        assert [path.name for path in place.iterdir()] == left
        assert seen.stat().st_size == (at or 3)
        for path in place.iterdir():
            path.unlink()
