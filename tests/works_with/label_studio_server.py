"""A Label Studio server of our own on this machine, for the tests that annotate in it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = os.environ.get("OVERREAD_LABEL_STUDIO") or shutil.which("label-studio")
"""The program, which lives in an environment of its own: its packages and ours do not agree."""
_TOKEN = "0123456789abcdef0123456789abcdef01234567"


class LabelStudio:
    """Asks one server through its API."""

    def __init__(self, address: str) -> None:
        """`address` is where it listens."""
        self.address = address

    def ask(self, path: str, body: Any = None) -> bytes:
        """What the server answers to a GET, or to a POST where there is a body."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {_TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read()[:500]!r}") from None

    def json(self, path: str, body: Any = None) -> Any:
        """The same where it answers JSON."""
        return json.loads(self.ask(path, body))

    def open_project(self, folder: Path) -> int:
        """A project with the page and the tasks of an export; its number."""
        made = {"title": folder.name[:50], "label_config": (folder / "config.xml").read_text("utf-8")}
        project = int(self.json("/api/projects/", made)["id"])
        place = {"project": project, "path": str(folder), "use_blob_urls": True}
        self.json("/api/storages/localfiles", place)
        tasks = json.loads((folder / "tasks.json").read_text("utf-8"))
        told = self.json(f"/api/projects/{project}/import", tasks)
        assert told["task_count"] == len(tasks), told
        return project

    def tasks(self, project: int) -> list[Any]:
        """The tasks of a project."""
        found = self.json(f"/api/tasks?project={project}&page_size=1000&fields=all")
        listed: list[Any] = found["tasks"]
        return listed

    def annotate(self, task: int, result: list[Any]) -> None:
        """Hand in one annotation."""
        self.json(f"/api/tasks/{task}/annotations/", {"result": result})

    def export(self, project: int, file: Path) -> Path:
        """The project's annotations as JSON, in a file."""
        file.write_bytes(self.ask(f"/api/projects/{project}/export?exportType=JSON"))
        return file


@contextmanager
def running_label_studio(folder: Path, document_root: Path) -> Iterator[LabelStudio]:
    """A server with an empty database in `folder`; it ends with the block."""
    assert PROGRAM is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true",
        "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(document_root),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "0",
        "SENTRY_DSN": "",
        "LATEST_VERSION_CHECK": "0",
    }
    words = [PROGRAM, "start", "--no-browser", "--port", str(port), "--internal-host", "127.0.0.1"]
    words += ["--username", "reader@example.org", "--password", "made-for-a-test", "--user-token", _TOKEN]
    words += ["--data-dir", str(folder / "data")]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env={**own, **settings}, cwd=folder)
        try:
            server = LabelStudio(f"http://127.0.0.1:{port}")
            for _ in range(600):
                try:
                    server.ask("/health")
                    break
                except (urllib.error.URLError, OSError):
                    assert process.poll() is None, (folder / "log.txt").read_text()[-2000:]
                    time.sleep(0.5)
            yield server
        finally:
            process.terminate()
            process.wait(60)
