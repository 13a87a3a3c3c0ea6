"""`overread get` against a small hub of our own on this machine, well-behaved and not."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

REPO = "bio-nlp-umass/MedThinkVQA"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
INFO = f"/api/datasets/{REPO}/revision/"
TREE = f"/api/datasets/{REPO}/tree/"
FILES = f"/datasets/{REPO}/resolve/"


class Refusal(NamedTuple):
    """What the hub answers to every path that begins like this."""

    path: str
    status: int
    code: str = ""


class Hub:
    """A hub that holds one data set, counts what it is asked, and can be told to misbehave."""

    def __init__(self, release: Path) -> None:
        self.files = {
            path.relative_to(release).as_posix(): path.read_bytes()
            for path in sorted(release.rglob("*"))
            if path.is_file()
        }
        self.asked: list[str] = []
        """Every request, 'METHOD path'."""
        self.bodies: list[str] = []
        """The files whose bytes were asked for."""
        self.refusal: Refusal | None = None
        self.cuts: list[Literal["reset", "end"]] = []
        """How the connection breaks in the middle of each of the next bodies."""
        self.lock = threading.Lock()
        self.ready = threading.Event()
        """Until this is set no answer is given."""
        self.ready.set()
        self.silence = 300.0
        """Most seconds without an answer; the client asks some things with a patience of its own."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                hub.answer(self)

            def do_GET(self) -> None:
                hub.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing: stderr is what is tested."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request as the hub does."""
        path = unquote(urlsplit(request.path).path)
        self.asked.append(f"{request.command} {path}")
        self.ready.wait(timeout=self.silence)
        if self.refusal is not None and path.startswith(self.refusal.path):
            code = {"X-Error-Code": self.refusal.code} if self.refusal.code else {}
            send(request, self.refusal.status, b'{"error": "no"}', code)
        elif path.startswith(INFO):
            siblings = [{"rfilename": name} for name in self.files]
            send_json(request, {"id": REPO, "sha": COMMIT, "siblings": siblings})
        elif path.startswith(TREE):
            listing = [
                {"type": "file", "path": name, "size": len(data), "oid": etag(data)}
                for name, data in self.files.items()
            ]
            send_json(request, listing)
        elif path.startswith(FILES):
            self.send_file(request, path.removeprefix(FILES).split("/", 1)[1])
        else:
            send(request, 404, b"{}", {})

    def send_file(self, request: BaseHTTPRequestHandler, name: str) -> None:
        """Send one file, or the part of it that is asked for, or break off in its middle."""
        data = self.files[name]
        headers = {"ETag": f'"{etag(data)}"', "X-Repo-Commit": COMMIT}
        wanted = request.headers.get("Range")
        begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if wanted:
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        if request.command == "GET":
            self.bodies.append(name)
            with self.lock:
                cut = self.cuts.pop(0) if self.cuts else None
            if cut is not None:
                half = data[begin : (begin + len(data)) // 2]
                send(request, 206 if wanted else 200, half, headers, claimed=len(data) - begin)
                if cut == "reset":
                    # To linger for no time is to reset: what a firewall does to a long download.
                    linger = struct.pack("ii", 1, 0)
                    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                request.connection.close()
                request.rfile.close()
                request.close_connection = True
                return
        send(request, 206 if wanted else 200, data[begin:], headers)


def etag(data: bytes) -> str:
    """What the hub would call these bytes."""
    return hashlib.sha1(data).hexdigest()


def send_json(request: BaseHTTPRequestHandler, value: object) -> None:
    """A JSON answer."""
    send(request, 200, json.dumps(value).encode(), {"Content-Type": "application/json"})


def send(
    request: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: dict[str, str],
    *,
    claimed: int | None = None,
) -> None:
    """An answer with a length, which may claim more than is sent."""
    request.send_response(status)
    headers = headers | {"Content-Length": str(len(body) if claimed is None else claimed)}
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(body)
        request.wfile.flush()


@pytest.fixture
def hub(sketch: Path) -> Iterator[Hub]:
    """A hub with the sketched MedThinkVQA, for one test."""
    hub = Hub(sketch / "medthinkvqa")
    thread = threading.Thread(target=hub.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield hub
    hub.ready.set()
    hub.server.shutdown()
    thread.join()
    hub.server.server_close()


def settings(address: str, home: Path, patience: str = "300") -> dict[str, str]:
    """The environment of a command: this hub, no login, no proxy, a home, seconds for an answer."""
    ours = ("HF_", "HUGGING", "OVERREAD_")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(ours) and not name.lower().endswith("_proxy")
    }
    return kept | {
        "HF_ENDPOINT": address,
        "HF_HOME": str(home / "hub-home"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_ETAG_TIMEOUT": patience,
        "HF_HUB_DOWNLOAD_TIMEOUT": patience,
    }


def command(*words: str) -> list[str]:
    """An overread command with this Python."""
    return [sys.executable, "-m", "overread", *words]


def get(address: str, home: Path, *words: str, patience: str = "300") -> subprocess.CompletedProcess[str]:
    """`overread get medthinkvqa --out HOME/release WORDS`, with nobody at the terminal."""
    return subprocess.run(
        command("get", "medthinkvqa", "--out", str(home / "release"), *words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=settings(address, home, patience),
    )


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence on stderr of a command that failed with code 1."""
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("overread: "), done.stderr
    assert done.stderr.endswith("\n")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def arrived(folder: Path) -> dict[str, bytes]:
    """The files of a fetched release; the hub client's notes beside them are not counted."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".cache" not in path.parts
    }


def test_terms_come_before_any_file(hub: Hub, tmp_path: Path) -> None:
    """Licence, terms and citation are on stdout while the hub has not yet given an answer."""
    hub.ready.clear()
    with subprocess.Popen(
        command("get", "medthinkvqa", "--yes", "--out", str(tmp_path / "release")),
        stdout=subprocess.PIPE,
        text=True,
        env=settings(hub.address, tmp_path),
    ) as running:
        assert running.stdout is not None
        told = [running.stdout.readline() for _ in range(4)]
        assert hub.bodies == []
        assert not (tmp_path / "release").exists()
        hub.ready.set()
        assert running.wait(timeout=300) == 0
    assert told[0] == "MedThinkVQA\n"
    assert "licence: CC BY-NC-SA 4.0" in told[1]
    assert "terms:   Eurorad cases" in told[2]
    assert "no commercial use" in told[2]
    assert "cite:    MedThinkVQA" in told[3]


def test_without_consent_nothing_is_fetched(hub: Hub, tmp_path: Path) -> None:
    """Without --yes and without a terminal: the terms, one sentence, and no request at all."""
    done = get(hub.address, tmp_path)
    assert sentence(done) == "overread: the terms were not accepted: read them and add --yes\n"
    assert "terms:" in done.stdout
    assert hub.asked == []
    assert not (tmp_path / "release").exists()


def test_a_no_at_the_terminal_fetches_nothing(hub: Hub, tmp_path: Path) -> None:
    """Whoever answers the question with no gets exit code 1, and the hub is not asked."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"n\n")
        done = subprocess.run(
            command("get", "medthinkvqa", "--out", str(tmp_path / "release")),
            stdin=theirs,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=settings(hub.address, tmp_path),
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 1
    assert "Do you accept these terms?" in done.stdout
    assert "Traceback" not in done.stderr
    assert hub.asked == []
    assert not (tmp_path / "release").exists()


def test_a_release_arrives_whole_and_only_once(hub: Hub, tmp_path: Path) -> None:
    """All files arrive as they are, the copy checks clean, a second run fetches no body again."""
    done = get(hub.address, tmp_path, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    release = tmp_path / "release"
    assert arrived(release) == hub.files
    assert sorted(hub.bodies) == sorted(hub.files)
    assert f"overread check medthinkvqa {release}" in done.stdout

    checked = subprocess.run(
        command("check", "medthinkvqa", str(release)), capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    assert "0 error(s), 0 warning(s)" in checked.stdout

    again = get(hub.address, tmp_path, "--yes")
    assert (again.returncode, again.stderr) == (0, "")
    assert sorted(hub.bodies) == sorted(hub.files)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        # The hub shows everybody what a gated data set holds; only its files are kept back.
        (Refusal(FILES, 403, "GatedRepo"), "is gated and you have no access: accept its terms"),
        (Refusal(INFO, 403, "GatedRepo"), "is gated and you have no access: accept its terms"),
        (Refusal(INFO, 401, "RepoNotFound"), f"there is no data set {REPO}, or it needs a login"),
        (Refusal(INFO, 404, "RepoNotFound"), f"there is no data set {REPO}, or it needs a login"),
        (Refusal(INFO, 404, "RevisionNotFound"), "has no revision 'v9': use --revision main"),
        (Refusal(INFO, 401), "the hub refused access (401): log in with `hf auth login`"),
        (Refusal(INFO, 503), "could not be fetched (the hub answered 503): try again later"),
    ],
)
def test_a_refusal_is_one_sentence(hub: Hub, tmp_path: Path, refusal: Refusal, expected: str) -> None:
    """Gated, missing, unknown revision, bad login, hub in trouble: each has its own sentence."""
    hub.refusal = refusal
    done = get(hub.address, tmp_path, "--yes", "--revision", "v9")
    assert expected in sentence(done)
    assert hub.bodies == []


def test_a_closed_port_is_one_sentence(tmp_path: Path) -> None:
    """Where nothing listens the sentence says that the network is the place to look."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and never listening: nobody else can take it
        done = get(f"http://127.0.0.1:{taken.getsockname()[1]}", tmp_path, "--yes")
    assert "could not be fetched (ConnectError): check the network" in sentence(done)


def test_a_hub_that_never_answers_is_one_sentence(hub: Hub, tmp_path: Path) -> None:
    """A hub that takes the question and stays silent is given up, in the client's own time."""
    hub.ready.clear()
    hub.silence = 10
    done = get(hub.address, tmp_path, "--yes", patience="2")
    assert "could not be fetched (ReadTimeout): check the network" in sentence(done)


def test_a_reset_connection_is_one_sentence(hub: Hub, tmp_path: Path) -> None:
    """A connection reset in the middle of a file leaves no half file, and the rest can follow."""
    hub.cuts = ["reset"]
    done = get(hub.address, tmp_path, "--yes")
    assert "could not be fetched (ReadError): check the network" in sentence(done)
    kept = arrived(tmp_path / "release")
    assert kept.items() <= hub.files.items()

    assert get(hub.address, tmp_path, "--yes").returncode == 0
    assert arrived(tmp_path / "release") == hub.files


def test_a_broken_off_file_is_taken_up_again(hub: Hub, tmp_path: Path) -> None:
    """A connection that just ends in the middle of a file is resumed, without a word about it."""
    hub.cuts = ["end"]
    done = get(hub.address, tmp_path, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert arrived(tmp_path / "release") == hub.files
    assert len(hub.bodies) == len(hub.files) + 1


@pytest.mark.parametrize("refusal", [Refusal(INFO, 403, "GatedRepo"), Refusal(TREE, 403)])
def test_a_folder_with_other_files_is_not_taken_for_the_release(
    hub: Hub, tmp_path: Path, refusal: Refusal
) -> None:
    """Where the hub gives nothing, a folder that holds something else is no success."""
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "notes.txt").write_text("mine", "utf-8")
    hub.refusal = refusal
    sentence(get(hub.address, tmp_path, "--yes"))


def test_a_place_that_cannot_be_written_is_named(hub: Hub, tmp_path: Path) -> None:
    """Where OUT is a file, the sentence names it and not the network."""
    (tmp_path / "release").write_text("mine", "utf-8")
    told = sentence(get(hub.address, tmp_path, "--yes"))
    assert f"{tmp_path / 'release'}" in told
    assert "network" not in told


def test_a_benchmark_that_is_not_on_the_hub_says_where_to_ask(tmp_path: Path) -> None:
    """`overread get mmrad` names its licence, and its authors' page and PhysioNet as remedy."""
    done = subprocess.run(
        command("get", "mmrad", "--yes"),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=settings("http://127.0.0.1:9", tmp_path),
    )
    told = sentence(done)
    assert "MMRad-IVL-22K is not on the hub" in told
    assert "github.com/qiuzyc/thinking_like_a_radiologist" in told
    assert "PhysioNet" in told
    assert "licence: not published" in done.stdout
    assert list(tmp_path.iterdir()) == []
