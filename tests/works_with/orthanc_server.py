"""An Orthanc server of our own on this machine, for the tests that store DICOM in it."""

from __future__ import annotations

import json
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

PROGRAM = shutil.which("Orthanc", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
DICOMWEB = Path("/usr/share/orthanc/plugins/libOrthancDicomWeb.so")


class Orthanc:
    """Asks one server."""

    def __init__(self, address: str) -> None:
        """`address` is where it listens."""
        self.address = address

    def ask(self, path: str, data: bytes | None = None, accept: str = "*/*") -> bytes:
        """What the server answers to a GET, or to a POST where there are data."""
        request = urllib.request.Request(f"{self.address}{path}", data=data, headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bytes(answer.read())

    def json(self, path: str, data: bytes | None = None) -> Any:
        """The same where it answers JSON."""
        return json.loads(self.ask(path, data))

    def store(self, file: Path) -> str:
        """Store a DICOM file; its id in the server."""
        return str(self.json("/instances", file.read_bytes())["ID"])


@contextmanager
def running_orthanc(folder: Path) -> Iterator[Orthanc]:
    """A server with an empty store in `folder`; it ends with the block."""
    assert PROGRAM is not None
    with socket.socket() as free, socket.socket() as other:
        free.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, dicom_port = free.getsockname()[1], other.getsockname()[1]
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "Name": "overread",
        "StorageDirectory": str(folder / "store"),
        "IndexDirectory": str(folder / "store"),
        "HttpPort": port,
        "DicomPort": dicom_port,
        "RemoteAccessAllowed": False,
        "AuthenticationEnabled": False,
        "Plugins": [str(DICOMWEB)] if DICOMWEB.exists() else [],
        "DicomWeb": {"Enable": True, "Root": "/dicom-web/"},
    }
    (folder / "orthanc.json").write_text(json.dumps(settings))
    with (folder / "orthanc.log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, str(folder / "orthanc.json")], stdout=log, stderr=log)
        try:
            server = Orthanc(f"http://127.0.0.1:{port}")
            for _ in range(300):
                try:
                    server.ask("/system")
                    break
                except (urllib.error.URLError, OSError):
                    assert process.poll() is None, (folder / "orthanc.log").read_text()
                    time.sleep(0.1)
            yield server
        finally:
            process.terminate()
            process.wait(30)
