"""No room, no memory, no threads: one sentence with what, where and a remedy, and nothing half made."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from overread.cli.main import main
from tests.runs.medthinkvqa_cases import write_cases

SOURCE = Path(__file__).resolve().parents[2] / "src"


def overread(*words: str | Path, limits: dict[int, int] | None = None, out: Path | None = None,
             **environment: str) -> tuple[int, str, str]:  # fmt: skip
    """(exit code, stdout, stderr) of a command in a process with limits of its own."""

    def limit() -> None:
        for name, value in (limits or {}).items():
            resource.setrlimit(name, (value, resource.RLIM_INFINITY))

    own = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "ignore", **environment}
    with (out or Path(os.devnull)).open("w") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "overread", *map(str, words)],
            stdout=stream if out else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=own,
            preexec_fn=limit,
            check=False,
        )
    assert "Traceback" not in done.stderr
    assert "this is a bug" not in done.stderr
    return done.returncode, done.stdout or "", done.stderr


# ---- standard output -----------------------------------------------------------------------


@pytest.mark.parametrize("words", [("list", "benchmarks"), ("--version",), ("list", "metrics", "--json")])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_full_standard_output_is_named(words: tuple[str, ...], buffered: str) -> None:
    """Whether it fails at once or only at the end."""
    code, _, told = overread(*words, out=Path("/dev/full"), PYTHONUNBUFFERED=buffered)
    assert code == 1
    assert told == (
        "overread: standard output could not be written (No space left on device): make room there, or "
        "choose another place, and give the same command again\n"
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`overread list | head` is quiet, however much is printed at the end."""
    script = f"{sys.executable} -m overread list metrics --json | true; exit ${{PIPESTATUS[0]}}"
    own = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": ""}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=own, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# ---- the disk ------------------------------------------------------------------------------


COMMANDS = {
    "write": "write medthinkvqa {release} {place}/out",
    "publish": "publish medthinkvqa {release} --out {place}/out --private {place}/private",
    "export": "export parquet medthinkvqa {release} --out {place}/out",
    "chat": "export chat medthinkvqa {release} --out {place}/out",
    "deidentify": "deidentify {release} --out {place}/out",
    "run": "run medthinkvqa {texts} --reader longest --out {place}/out --repeat 40",
    "submit": "submit {run} --out {place}/out.jsonl",
    "phantom": "phantom {place}/out --patients 200 --text-only",
    "build": "build medthinkvqa {release} --out {place}/out",
    "read-text": "read-text --csv {table} --column report --id id --out {place}/out.csv",
}


@pytest.fixture(scope="module")
def material(sketch: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What the commands read."""
    folder = tmp_path_factory.mktemp("material")
    texts = write_cases(folder / "texts", 40)
    table = folder / "reports.csv"
    rows = (f"{n},There is a nodule of 5 mm in the left upper lobe." for n in range(400))
    table.write_text("id,report\n" + "\n".join(rows))
    code, _, told = overread("run", "medthinkvqa", texts, "--reader", "longest", "--out", folder / "run")
    assert code == 0, told
    return {"release": sketch / "medthinkvqa", "texts": texts, "table": table, "run": folder / "run"}


FEW = ("write", "publish")


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS]
)
def test_files_that_may_not_grow_are_named(name: str, material: dict[str, Path], tmp_path: Path) -> None:
    """The limit on the size of files stands for a full disk, on any machine."""
    words = [word.format(place=tmp_path, **material) for word in COMMANDS[name].split()]
    code, _, told = overread(
        *words, limits={resource.RLIMIT_FSIZE: 2000}, OVERREAD_CACHE=str(tmp_path / "cache")
    )
    check_told(code, told, tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two pages, where this machine lets us mount one."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(place)]
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here")
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_named(name: str, material: dict[str, Path], small_disk: Path) -> None:
    """What could not be written, where, and what to do; and again with room it works."""
    words = [word.format(place=small_disk, **material) for word in COMMANDS[name].split()]
    code, _, told = overread(*words, OVERREAD_CACHE=str(small_disk.parent / "cache"))
    check_told(code, told, small_disk)
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    code, _, told = overread(*words, OVERREAD_CACHE=str(small_disk.parent / "cache"))
    assert code == 0 or "no item is left" in told or name == "build", told


def check_told(code: int, told: str, place: Path) -> None:
    assert code == 1, told
    last = told.splitlines()[-1]
    assert last.startswith("overread: ")
    assert "written" in last or "cannot be used" in last
    assert str(place) in last
    assert "another place" in last or "another folder" in last
    assert ".part" not in last


# ---- memory and threads --------------------------------------------------------------------


def test_no_more_threads_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The system starts no thread for the run, which ends with what to do."""
    root = write_cases(tmp_path / "release", 4)

    def fails(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading, "_start_new_thread", fails)
    with pytest.raises(SystemExit) as end:
        main(["check", "medthinkvqa", str(root)])
    assert end.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("overread: the system starts no more threads")
    assert "fewer --workers" in told
    assert len(told.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [230, 260, 300, 350, 400])
def test_little_memory_is_never_called_a_bug(megabytes: int, tmp_path: Path) -> None:
    """Whatever it is enough for, the run is complete or says in a sentence what it lacks."""
    root = write_cases(tmp_path / "release", 40)
    code, _, told = overread(
        "run", "medthinkvqa", root, "--reader", "longest", "--out", tmp_path / "run",
        limits={resource.RLIMIT_AS: megabytes * 1_000_000}, OPENBLAS_NUM_THREADS="1",
    )  # fmt: skip
    assert code == 0 or (code == 1 and "fewer --workers" in told), told
