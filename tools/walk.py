"""Which files does a case pass from its folder to the page, and a report until it is a release?

    .venv/bin/python -m tools.walk                       print both walks
    .venv/bin/python -m tools.walk docs/architecture.md  write them between the page's markers

Both are walked for real, with one synthetic patient and a small model server on this machine, and
every file of overread whose code runs is noted in the order in which it is first entered. What
merely is imported does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

import overread

PACKAGE = Path(overread.__file__).parent
_OUTSIDE = ("catalog.py", "errors.py")  # entered from everywhere, a station of no walk


class Walk:
    """The files that were entered, stage by stage, each where it was entered first."""

    def __init__(self, title: str) -> None:
        """Nothing was entered yet."""
        self.title = title
        self.stages: dict[str, list[str]] = {}
        self._seen: set[str] = set()

    @property
    def count(self) -> int:
        """Files in all."""
        return len(self._seen)

    def stage(self, name: str, work: Callable[[], object]) -> None:
        """Do one stage, and note what it enters in any thread."""
        entered = self.stages.setdefault(name, [])
        here = f"{PACKAGE}{os.sep}"

        def note(frame: FrameType, event: str, _: object) -> None:
            code = frame.f_code
            if event != "call" or not code.co_filename.startswith(here):
                return
            file = code.co_filename.removeprefix(here).replace(os.sep, "/")
            if file not in self._seen and file not in _OUTSIDE and not _imports(frame):
                self._seen.add(file)
                entered.append(file)

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def markdown(self) -> str:
        """The walk as a list, a line a stage."""
        lines = [f"**{self.title}**: {self.count} files.", ""]
        for number, (name, files) in enumerate(self.stages.items(), 1):
            lines.append(f"{number}. {name}: {_join_folders(files) or 'nothing new'}")
        return "\n".join(lines) + "\n"


def _imports(frame: FrameType | None) -> bool:
    """Whether this runs only because some module of ours is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith("overread."):
            return True
        frame = frame.f_back
    return False


def _join_folders(files: list[str]) -> str:
    """`runs/spec.py`, `runs/store.py` → `runs/{spec, store}`, in the order of entering."""
    groups: list[tuple[str, list[str]]] = []
    for file in files:
        folder, _, name = file.removesuffix(".py").rpartition("/")
        if groups and groups[-1][0] == folder:
            groups[-1][1].append(name)
        else:
            groups.append((folder, [name]))
    shown = []
    for folder, names in groups:
        inside = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
        shown.append(f"`{folder}/{inside}`" if folder else f"`{inside}.py`")
    return " → ".join(shown)


class _Model(BaseHTTPRequestHandler):
    """Answers every question with A."""

    def do_POST(self) -> None:
        """One chat completion."""
        self.rfile.read(int(self.headers["content-length"]))
        said = json.dumps({"answer": "A", "explanation": "It fits the pictures best."})
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        reply = {"id": "walk", "object": "chat.completion", "created": 0, "model": "walk"}
        body = json.dumps({**reply, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _serve_model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def _command(*words: str | Path) -> Callable[[], object]:
    from overread.cli.main import main

    def work() -> None:
        try:
            with redirect_stdout(io.StringIO()):
                main([str(word) for word in words])
        except SystemExit as done:
            if done.code:
                raise RuntimeError(f"overread {words[0]} ended with {done.code}") from None

    return work


def _get(app: Any, path: str) -> Any:
    """What the page's server answers, without a socket between."""
    body = bytearray()
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        body.extend(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    asyncio.run(app(scope, receive, send))
    if status != 200:
        raise RuntimeError(f"{path} answered {status}: {bytes(body[:300])!r}")
    return json.loads(bytes(body))


def walk_case(folder: Path) -> Walk:
    """A case from its folder through run and score to the page."""
    from overread.site.access import Access
    from overread.site.app import make_app
    from overread.site.shelf import Shelf

    walk = Walk("A case, from its folder through run and score to the page")
    run = folder / "run"
    with _serve_model() as address:
        root = folder / "data" / "medthinkvqa"
        split = next(path.stem for path in root.glob("t*.jsonl"))  # one patient, so one split
        words: list[str | Path] = ["run", "medthinkvqa", root, "--split", split]
        reader = ["--reader", "openai", "--reader-arg", f"base_url={address}"]
        named = ["--reader-arg", "model=walk", "--workflow", "direct", "--limit", "1"]
        walk.stage("`overread run`", _command(*words, *reader, *named, "--out", run))
    walk.stage("`overread score`", _command("score", run))
    app: Any = None

    def open_shelf() -> None:
        nonlocal app
        app = make_app(Shelf([folder]), Access())

    walk.stage("`overread view` finds it", open_shelf)
    runs: Any = None

    def look() -> None:
        nonlocal runs
        runs = _get(app, "/api/shelf")["runs"]
        rows = _get(app, f"/api/runs/{runs[0]['id']}/cases")["rows"]
        _get(app, f"/api/runs/{runs[0]['id']}/card")
        _get(app, f"/api/runs/{runs[0]['id']}/cases/{rows[0]['case']}")

    walk.stage("the page asks for the run, its scores and the reading", look)
    return walk


def walk_report(folder: Path) -> Walk:
    """A report through build and ledger to a release."""
    walk = Walk("A report, through build and ledger to a release")
    source, out = folder / "data" / "sources" / "mmrad", folder / "build"
    walk.stage("`overread build`", _command("build", "mmrad", source, "--out", out))
    walk.stage("`overread ledger`", _command("ledger", out))
    walk.stage("`overread publish`", _command("publish", "mmrad", out / "release"))
    return walk


def walk_both() -> list[Walk]:
    """Both walks, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["OVERREAD_CACHE"] = str(folder / "cache")
        os.environ["OPENAI_API_KEY"] = "none"
        _command("phantom", folder / "data", "--patients", "1", "--workers", "1")()
        return [walk_case(folder), walk_report(folder)]


_MARKS = re.compile(r"(<!-- walks -->\n).*?(<!-- end of walks -->)", re.S)


def main() -> None:
    """Print the walks, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, nargs="?", help="a page with the walks' markers")
    page = parser.parse_args().page
    text = "\n".join(walk.markdown() for walk in walk_both())
    if page is None:
        print(text)
        return
    before = page.read_text("utf-8")
    page.write_text(_MARKS.sub(lambda found: f"{found[1]}{text}{found[2]}", before), "utf-8")


if __name__ == "__main__":
    main()
