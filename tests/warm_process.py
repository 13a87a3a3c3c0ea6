"""Commands in processes that are forked from one which has imported everything already.

A command spends most of its time on imports, a page's server three seconds, and the tests start
hundreds of them. `WarmPopen(words)` is `subprocess.Popen([python, "-m", "overread", *words])` in a
process of its own, with its own environment, folder, files and signals, less those imports.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

COMMAND = "overread.__main__"
_ROOT = Path(__file__).resolve().parents[1]
_SUBREAPER = 36
_LOCK = threading.Lock()


class WarmPopen(subprocess.Popen[str]):
    """A command, as subprocess starts it; `module` is another one that has its own `main`."""

    def __init__(self, words: Sequence[str | Path], *, module: str = COMMAND, **more: Any) -> None:
        self._module = module
        super().__init__([str(word) for word in words], text=True, **more)

    def _execute_child(self, args: list[str], *rest: Any) -> None:
        cwd, env = rest[4:6]
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = rest[9:15]
        order = {
            "module": self._module,
            "words": args,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
        }
        files = [own if own != -1 else n for n, own in enumerate((p2cread, c2pwrite, errwrite))]
        with _LOCK:
            channel = _warm_up()
            # The process is forked by another's child that ends at once: by being ready to take in
            # orphans for that moment we become its parent, and can wait for it.
            libc = ctypes.CDLL(None)
            libc.prctl(_SUBREAPER, 1)
            socket.send_fds(channel, [json.dumps(order).encode()], files)
            answer = channel.recv(64)
            libc.prctl(_SUBREAPER, 0)
        assert answer, "the warm process has ended"
        self.pid = int(answer)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def run_warm(
    words: Sequence[str | Path], *, typed: str = "", **more: Any
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` gives of a command with something typed into it."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with WarmPopen(words, **pipes, **more) as process:
        said, wrong = process.communicate(typed)
    return subprocess.CompletedProcess(process.args, process.returncode, said, wrong)


@functools.cache
def _warm_up() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.warm_process", str(theirs.fileno())]
    process = subprocess.Popen(command, cwd=_ROOT, pass_fds=[theirs.fileno()])
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# ---- in the warm process -------------------------------------------------------------------


def _serve(channel: socket.socket) -> NoReturn:
    """Fork a process for each order; end with the one that gives them."""
    for name in ("cli.main", "site.app", "runs.engine", "runs.scoring.from_run"):
        importlib.import_module(f"overread.{name}")
    for name in ("uvicorn", "rich.progress", "rich.table", "scipy.ndimage"):
        importlib.import_module(name)
    for name in ("medthinkvqa", "mmrad", "rexgroundingct"):
        importlib.import_module(f"overread.benchmarks.{name}")
    while True:
        order, files, _, _ = socket.recv_fds(channel, 1 << 18, 3)
        if not order:
            os._exit(0)
        read, write = os.pipe()
        between = os.fork()
        if not between:
            own = os.fork()
            if own:
                os.write(write, str(own).encode())
                os._exit(0)
            channel.close()
            os.close(read)
            os.close(write)
            _become(json.loads(order), files)
        os.waitpid(between, 0)  # from now on the process is the child of who ordered it
        channel.send(os.read(read, 64))
        for number in (read, write, *files):
            os.close(number)


def _become(order: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the process that was ordered, up to its end."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1 if os.isatty(1) else -1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = ["overread", *order["words"]]
    # What processes that it starts take for the main module.
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__spec__ = find_spec(order["module"])
    code: Any = 0
    try:
        if order["module"] == COMMAND:
            from overread.cli.main import main as run
        else:
            run = importlib.import_module(order["module"]).main
        run()
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
    finally:
        os._exit(code if isinstance(code, int) else code is not None)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
