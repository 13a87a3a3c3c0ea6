"""The reader `command`: real programs are started, listened to, limited, and their masks checked."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from overread import RunPlan, run, score
from overread.core import DrawnMask, ReleaseRef, Request, make_reader
from overread.errors import ReaderError, Unavailable, UsageError
from overread.readers.command.reader import CommandReader
from overread.runs.store import last_readings

HERE = Path(__file__).parent
PYTHON = shlex.quote(sys.executable)
SMALL = f"{PYTHON} {shlex.quote(str(HERE / 'small_segmenter.py'))}"


def one_request(sketch: Path) -> Request:
    """The first sentence of the first CT."""
    release = ReleaseRef("rexgroundingct", sketch / "rexgroundingct", "test").open()
    case = next(iter(release))
    return Request(task="ground", case=case, pictures=release.pictures, query=case.queries[0])


def ask(sketch: Path, command: str, times: int = 1, **more: str) -> DrawnMask:
    """What a command draws for the first sentence."""
    request = one_request(sketch)

    async def asked() -> DrawnMask:
        reader = make_reader("command", {"command": command, **more}, None)
        assert isinstance(reader, CommandReader)
        try:
            for _ in range(times - 1):
                with pytest.raises(ReaderError):
                    await reader.read(request)
            return await reader.read(request)
        finally:
            await reader.close()

    return asyncio.run(asked())


def shell(folder: Path, script: str) -> str:
    """The command of a shell script: the CT is $1, the mask $2, the sentence $3."""
    (folder / "program.sh").write_text(f"{script}\n")
    return f"bash {shlex.quote(str(folder / 'program.sh'))} {{ct}} {{mask}} {{text}}"


def density_mask(sketch: Path) -> np.ndarray:
    """What the small segmenter must draw for the first sentence, from the release itself."""
    request = one_request(sketch)
    hu = request.pictures.pixels(request.case.pictures[0])
    assert request.query is not None
    dense = "nodule" in request.query.text.lower() or "opacit" in request.query.text.lower()
    return np.asarray(hu > -300 if dense else hu < -900)


@pytest.mark.parametrize("stays", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_run_scores_what_a_program_drew(sketch: Path, tmp_path: Path, stays: bool) -> None:
    """Every sentence gets the program's mask, voxel by voxel in the CT's own order."""
    command = f"{SMALL} --stay" if stays else f"{SMALL} {{ct}} {{text}} {{mask}}"
    arguments = {"command": command, "stays": str(stays), "programs": "2"}
    plan = RunPlan("rexgroundingct", sketch / "rexgroundingct", "command", arguments=arguments)
    outcome = run(plan, tmp_path / "run")
    assert outcome.complete
    readings = last_readings(tmp_path / "run")
    assert [reading.error for reading in readings.values()] == [None] * len(readings)
    drawn = ask(sketch, command, stays=str(stays))
    assert np.array_equal(np.asarray(drawn.mask, dtype=bool), density_mask(sketch))
    card = score(tmp_path / "run", metrics=["mean_global_dice_per_finding"])
    value = card.scores["mean_global_dice_per_finding"].value
    assert value is not None
    assert 0 < value < 1


def test_the_program_sees_a_ct_without_a_telling_name(sketch: Path, tmp_path: Path) -> None:
    """Neither the case's name nor a path of the release is among what the program is given."""
    keep = tmp_path / "argv.txt"
    script = f'printf "%s\\n" "$@" > {shlex.quote(str(keep))}; exit 1'
    with pytest.raises(ReaderError, match="said nothing"):
        ask(sketch, f"{shell(tmp_path, script)} {{text_file}} {{seed}}")
    told = keep.read_text()
    case = one_request(sketch).case
    assert case.id not in told
    assert str(sketch) not in told
    assert not Path(told.splitlines()[0]).parent.exists(), "what was written for it is gone"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            "echo loading >&2; echo 'RuntimeError: CUDA out of memory' >&2; exit 1",
            "ended with exit code 1: RuntimeError: CUDA out of memory$",
        ),
        (
            "for n in $(seq 3000); do printf 'noise %0200d\\r' 1 >&2; done\n"
            "printf '\\033[31mlast\\twords\\033[0m\\a in %s\\n\\n' $2 >&2; exit 4",
            r"ended with exit code 4: last words in case-1.mask\.nii\.gz$",
        ),
        ("echo 'only here'; exit 2", "ended with exit code 2: only here$"),
        ("kill -9 $$", "was killed by signal 9, and said nothing$"),
        ("true", "without an error and wrote no mask"),
        ("echo sorry > $2", "not a NIfTI"),
    ],
)
def test_what_goes_wrong_is_one_sentence(sketch: Path, tmp_path: Path, script: str, told: str) -> None:
    """A program that fails, or that writes no mask."""
    with pytest.raises(ReaderError, match=told) as caught:
        ask(sketch, shell(tmp_path, script))
    assert not isinstance(caught.value, Unavailable)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("way", ["hangs", "leaves a child"])
def test_nothing_of_a_program_is_left(sketch: Path, tmp_path: Path, way: str) -> None:
    """At the limit, and at its own end, what a program started goes with it."""
    note = tmp_path / "child"
    script = f"sleep 600 & echo $! > {shlex.quote(str(note))}"
    if way == "hangs":
        with pytest.raises(ReaderError, match=r"did not end within 3 seconds, and was ended: give it longer"):
            ask(sketch, shell(tmp_path, f"{script}; wait"), timeout="3")
    else:
        with pytest.raises(ReaderError, match="wrote no mask"):
            ask(sketch, shell(tmp_path, script))
    assert wait_until(lambda: not is_running(int(note.read_text())))


def test_a_program_that_never_works_ends_the_run(sketch: Path, tmp_path: Path) -> None:
    """Three failures before any success: every case would fail in the same way."""
    with pytest.raises(Unavailable, match="first 3 sentences all failed, the last since the program ended"):
        ask(sketch, shell(tmp_path, "exit 1"), times=3)


STAYING = {
    "dies": "import sys; sys.exit('ModuleNotFoundError: no torch')",
    "silent": "import time; time.sleep(600)",
    "error": """
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    print('{"error": "this CT has no lung"}', flush=True)
""",
    "quits": """
import sys
print('{"ready": true}', flush=True)
sys.stdin.readline()
sys.exit(5)
""",
    "chatters": """
import sys
print('{"ready": true}', flush=True)
sys.stdin.readline()
while True:
    print('x' * 100)
""",
    "long-line": """
import sys
print('{"ready": true}', flush=True)
sys.stdin.readline()
sys.stdout.write('x' * 3_000_000)
sys.stdout.flush()
sys.stdin.readline()
""",
}


@pytest.mark.parametrize(
    ("way", "told", "fatal"),
    [
        ("dies", "ended with exit code 1 before it was ready: ModuleNotFoundError: no torch", True),
        (
            "silent",
            "did not get ready within 1 seconds, and was ended: give it longer .*start_timeout=",
            True,
        ),
        ("error", "the program says: this CT has no lung", False),
        ("quits", "ended with exit code 5 before it was done", False),
        ("chatters", "did not answer within 1 seconds", False),
        ("long-line", "a line of more than a megabyte", False),
    ],
)
def test_a_program_that_stays_and_goes_wrong(
    sketch: Path, tmp_path: Path, way: str, told: str, fatal: bool
) -> None:
    """One sentence each; one that cannot be started ends the run."""
    (tmp_path / "program.py").write_text(STAYING[way])
    command = f"{PYTHON} {shlex.quote(str(tmp_path / 'program.py'))}"
    with pytest.raises(ReaderError, match=told) as caught:
        ask(
            sketch,
            command,
            stays="true",
            timeout="1" if way == "chatters" else "60",
            start_timeout="1" if way == "silent" else "60",
        )
    assert isinstance(caught.value, Unavailable) == fatal


@pytest.mark.slow
def test_a_program_that_stays_is_started_once(sketch: Path, tmp_path: Path) -> None:
    """All cases are drawn by one process, all sentences of a case by one question."""
    log = tmp_path / "log"
    program = tmp_path / "program.py"
    program.write_text(
        f"import json, sys\nopen({str(log)!r}, 'a').write('start\\n')\n"
        + (HERE / "small_segmenter.py")
        .read_text()
        .replace(
            "question = json.loads(line)",
            f"question = json.loads(line); open({str(log)!r}, 'a').write('question\\n')",
        )
    )
    arguments = {"command": f"{PYTHON} {shlex.quote(str(program))} --stay", "stays": "true"}
    plan = RunPlan("rexgroundingct", sketch / "rexgroundingct", "command", arguments=arguments)
    outcome = run(plan, tmp_path / "run")
    assert outcome.tally.failed == 0
    assert log.read_text().split() == ["start"] + ["question"] * len(last_readings(tmp_path / "run"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"command": "true {ct} {mask}"}, "where the CT, the sentence and the mask stand"),
        ({"command": "true {ct} {text} {mask} {truth}"}, r"the command holds \{truth\}"),
        (
            {"command": "no-such-program-here {ct} {text} {mask}"},
            "there is no program 'no-such-program-here'",
        ),
        ({"command": "true 'open"}, "cannot be split into words"),
        ({"command": " "}, "names no program"),
        ({"command": "true {ct}", "stays": "true"}, "line by line"),
        ({"command": "true {ct} {text} {mask}", "programs": "0"}, "1 or more"),
        ({"command": "true {ct} {text} {mask}", "timeout": "0"}, "more than 0 seconds"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_read(arguments: dict[str, str], told: str) -> None:
    """One sentence, before a folder is made."""
    with pytest.raises(UsageError, match=told):
        make_reader("command", arguments, None)


def test_a_question_without_a_sentence_is_refused(sketch: Path, tmp_path: Path) -> None:
    """A program that draws cannot choose a letter: that ends the run."""
    arguments = {"command": f"{SMALL} {{ct}} {{text}} {{mask}}"}
    plan = RunPlan("medthinkvqa", sketch / "medthinkvqa", "command", arguments=arguments)
    with pytest.raises(Unavailable, match="draws the mask of a sentence"):
        run(plan, tmp_path / "run")


def test_a_changed_script_is_another_reader(tmp_path: Path) -> None:
    """The digest of the script is in the identity, so that a run does not go on with another one."""
    script = tmp_path / "segment.py"
    command = f"{PYTHON} {shlex.quote(str(script))} {{ct}} {{text}} {{mask}}"
    identities = []
    for text in ("pass", "pass  # changed"):
        script.write_text(text)
        identities.append(make_reader("command", {"command": command}, None).identity)
    assert identities[0] != identities[1]


def is_running(pid: int) -> bool:
    """Whether there is such a process that is not only waiting to be forgotten."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return not Path("/proc/self/stat").exists()
    return state != "Z"


def wait_until(holds: Callable[[], bool]) -> bool:
    """Whether something holds within a generous time."""
    end = time.monotonic() + 30
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()
