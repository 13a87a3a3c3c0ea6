"""What systems do differently: Windows' half runs too, and nobody else asks which system it is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from overread.errors import Refused
from overread.storage.fence import Fence
from overread.storage.system import is_possible_name
from tests.windows_half import ABSENT

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "overread"
PATH = os.pathsep.join((str(ROOT), str(SOURCE.parent)))
HERE = SOURCE / "storage" / "system.py"
ONLY_POSIX = re.compile(
    r"\bos\.(sched_getaffinity|sysconf|O_NOFOLLOW|O_CLOEXEC|fork|getuid|geteuid|chown|mkfifo|statvfs|killpg|"
    r"setsid|pread|pwrite|nice|getloadavg)\b|pthread_sigmask|add_signal_handler|SIGKILL|SIGHUP|SIGALRM|"
    r"\bsys\.platform\b|\bos\.name\b|platform\.system"
)


def windows(*words: str | Path, cwd: Path) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command that takes Windows' half."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.windows_half", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": PATH, "TMPDIR": str(cwd)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_only_one_file_asks_which_system_it_is() -> None:
    """Modules and calls that Windows has not stand in that file alone."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if path == HERE:
            continue
        text = path.read_text("utf-8")
        found += [f"{path.name}: {match.group()}" for match in ONLY_POSIX.finditer(text)]
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{path.name}: import {name}" for name in names if name in (*ABSENT, "msvcrt")]
    assert found == []


def test_texts_are_written_with_the_same_line_ends_everywhere() -> None:
    """Files that hold text say their line end, or Windows would write other bytes, with other hashes."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _writes_text(node):
                told = {word.arg for word in node.keywords}
                found += [f"{path.name}:{node.lineno}"] if "newline" not in told else []
    assert found == []


def _writes_text(call: ast.Call) -> bool:
    """Whether a call opens a file for text, or writes one whole, on the disk."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("open", "fdopen"):
        given = (*call.args, *(word.value for word in call.keywords))
        modes = [word.value for word in given if isinstance(word, ast.Constant)]
        is_text = any(re.fullmatch(r"[wax]\+?t?|rt?\+", mode) for mode in modes if isinstance(mode, str))
        # What is in an archive has bytes only; what goes nowhere has no line ends.
        return is_text and not re.match(r"archive\.open|open\(os\.devnull", ast.unparse(call))
    # Standard output is the reader's own: there the system's line ends are right.
    return name == "TextIOWrapper" or (name == "write_text" and isinstance(call.func, ast.Attribute))


def test_every_module_imports_without_posix(tmp_path: Path) -> None:
    """With fcntl and its neighbours absent, the whole package is imported."""
    assert windows("import", cwd=tmp_path) == (0, "all imported\n", "")


@pytest.mark.slow
def test_commands_run_without_posix(sketch: Path, tmp_path: Path) -> None:
    """Patients, a run, its score, a submission, a release written: twice each
    where a second time goes on with what the first one made; nothing hidden is left.
    """
    made = tmp_path / "patients"
    for _ in range(2):
        words = ("phantom", made, "--patients", "2", "--exams", "mmrad", "--workers", "1")
        code, _, err = windows(*words, cwd=tmp_path)
        assert (code, err) == (0, "")
    release = sketch / "medthinkvqa"
    run = tmp_path / "run"
    for _ in range(2):
        code, _, err = windows(
            "run", "medthinkvqa", release, "--reader", "random", "--out", run, cwd=tmp_path
        )
        assert code == 0, err
    code, out, err = windows("score", run, cwd=tmp_path)
    assert (code, err) == (0, "")
    assert "accuracy" in out
    code, _, err = windows("submit", run, "--out", tmp_path / "handed-in.jsonl", cwd=tmp_path)
    assert code == 0, err
    code, out, err = windows("grade", "medthinkvqa", release, tmp_path / "handed-in.jsonl", cwd=tmp_path)
    assert code == 0, err
    for _ in range(2):
        code, _, err = windows("write", "medthinkvqa", release, tmp_path / "copy", cwd=tmp_path)
        assert code == 0, err
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("images/chest.png", True),
        ("images/con.png", False),
        ("NUL", False),
        ("console.png", True),
        ("a:b.png", False),
        ("images/what?.png", False),
        ("images./x.png", False),
        ("com1.nii.gz", False),
    ],
)
def test_names_that_windows_cannot_have_are_told(
    name: str, possible: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused where they would be written, in one sentence; elsewhere they are names."""
    fence = Fence(tmp_path)
    fence.path_to_write(name.replace(":", "-"))
    monkeypatch.setattr(sys, "platform", "win32")
    assert is_possible_name(name) is possible
    if not possible:
        with pytest.raises(Refused):
            fence.path_to_write(name)


def test_locks_of_windows_refuse_wait_and_end(tmp_path: Path) -> None:
    """Of a file and of a folder: refused while held, free afterwards, and what is read stays readable."""
    (tmp_path / "log").write_bytes(b"a line\n")
    code = """
from tests.windows_half import become_windows
become_windows()
import os, threading, time
from pathlib import Path
from overread.errors import UsageError
from overread.storage.locks import lock_file, lock_folder, lock_if_free

def held(hold):
    try:
        hold()
    except UsageError:
        return True
    return False

def folder():
    with lock_folder(Path("."), busy=UsageError("busy")):
        pass

def file():
    with open("log", "rb+") as log:
        lock_file(log, Path("log"), busy=UsageError("busy"))

with lock_folder(Path(".")), open("log", "rb+") as log:
    lock_file(log, Path("log"))
    assert log.tell() == 0 and Path("log").read_bytes() == b"a line\\n"
    with lock_if_free(Path("log")) as free:
        print(held(folder), held(file), free)
    def wait():
        with lock_folder(Path(".")):
            print("waited")
    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.2)
    print("let go")
waiting.join()
print(held(folder), held(file))
"""
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PATH, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout.splitlines() == ["True True False", "let go", "waited", "False False"], told.stderr
