"""A shelf for the tests of the page: synthetic patients, runs on them, a server, a browser."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import overread
from overread import RunPlan
from overread.runs.audit.records import AuditPlan
from overread.runs.audit.runner import audit
from tests.warm_process import WarmPopen

BENCHMARKS = ("medthinkvqa", "mmrad", "rexgroundingct")
READERS = ("atlas", "random", "oracle")


def make_shelf(folder: Path, patients: Path) -> None:
    """Patients in all three shapes, three readers on each, scored; one audit."""
    shutil.copytree(patients, folder)
    for name in BENCHMARKS:
        for reader in READERS:
            run = folder / "runs" / name / reader
            overread.run(RunPlan(name, folder / name, reader), run)
            overread.score(run)
    audit(AuditPlan(folder / "runs" / "medthinkvqa" / "atlas", arms=("hidden", "other"), limit=2))


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Site:
    """A page that is being served by a process of its own."""

    address: str
    """With the token."""
    process: subprocess.Popen[str]
    home: Path | None = None
    """The folder it was opened on, where a test puts more into it."""
    _jar: CookieJar = field(default_factory=CookieJar)
    _in: bool = False

    @property
    def base(self) -> str:
        """Without the token and the last slash."""
        return self.address.partition("/?")[0].rstrip("/")

    def ask(
        self, path: str, *, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request, let in by the token; a body is sent as JSON."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))
        if not self._in:
            self._in = True
            opener.open(self.address, timeout=300).read()
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data=data, method=method)
        if data is not None:
            request.add_header("content-type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with opener.open(request, timeout=300) as answer:
                return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())

    def get(self, path: str) -> Any:
        """The JSON behind an address, which must be answered."""
        answer = self.ask(path)
        assert answer.status == 200, (path, answer.status, answer.body[:500])
        return answer.json()

    def shelf_id(self, kind: str, name: str) -> str:
        """The id of a dataset, run or build whose name ends so."""
        for one in self.get("/api/shelf")[kind]:
            if one["name"].endswith(name):
                return str(one["id"])
        raise AssertionError(f"no {name} among the {kind}")


@contextmanager
def serve_site(paths: Sequence[Path], *options: str) -> Iterator[Site]:
    """The page on some paths, as `overread view` serves it, until the block ends."""
    # A cache of its own: tests neither find what others left nor leave anything to the user.
    cache = tempfile.mkdtemp(prefix="overread-page-")
    process = WarmPopen(
        ["view", *paths, "--no-browser", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"OVERREAD_CACHE": cache, **os.environ},
    )
    try:
        yield Site(_address(process), process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
        shutil.rmtree(cache, ignore_errors=True)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    told = ""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        line = process.stdout.readline()
        told += line
        if "http://" in line:
            return "http://" + line.split("http://", 1)[1].strip()
        if not line and process.poll() is not None:
            break
    raise AssertionError(f"the page was not served: {told}")
