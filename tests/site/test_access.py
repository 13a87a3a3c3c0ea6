"""Who may look: the token, other hosts, other origins, passwords, read-only, path tricks."""

from __future__ import annotations

import http.client
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser

from tests.cli.overread_command import run
from tests.site.served_site import Site, serve_site


def raw(
    site: Site,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """One request exactly as written, with no cookie and nothing mended on the way."""
    line = http.client.HTTPConnection(urlsplit(site.base).netloc, timeout=300)
    try:
        line.putrequest(method, path, skip_host="host" in (headers or {}))
        for name, value in (headers or {}).items():
            line.putheader(name, value)
        if body is not None:
            line.putheader("content-length", str(len(body)))
        line.endheaders(body)
        answer = line.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        line.close()


def cookie_of(site: Site) -> str:
    """The cookie that the address with the token gives."""
    status, headers, _ = raw(site, site.address.removeprefix(site.base))
    assert status == 303
    return headers["set-cookie"].split(";")[0]


def test_without_the_token_nothing_is_told(site: Site) -> None:
    """Neither the API nor the page nor its files answer somebody without a token."""
    for path in ("/", "/api/shelf", "/api/openapi.json", "/assets/x.js", "/datasets/a/test"):
        status, _, body = raw(site, path)
        assert status == 401, path
        assert b"medthinkvqa" not in body
    assert raw(site, "/api/shelf?token=wrong")[0] == 401
    assert raw(site, "/api/shelf?token=%F0%9F%98%80")[0] == 401


def test_the_token_becomes_a_cookie_and_leaves_the_address(site: Site) -> None:
    """The cookie is for this page alone, and no script can read it."""
    status, headers, _ = raw(site, site.address.removeprefix(site.base))
    assert status == 303
    assert "token" not in headers["location"]
    told = headers["set-cookie"].lower()
    assert "httponly" in told
    assert "samesite=strict" in told
    assert raw(site, "/api/shelf", headers={"cookie": cookie_of(site)})[0] == 200
    assert raw(site, "/api/shelf", headers={"cookie": cookie_of(site) + "x"})[0] == 401


def test_another_name_for_this_machine_is_refused(site: Site) -> None:
    """A page elsewhere cannot reach this one through a name of its own (DNS rebinding)."""
    cookie = cookie_of(site)
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "[", ""):
        headers = {"host": host, "cookie": cookie}
        assert raw(site, "/api/shelf", headers=headers)[0] in (400, 421), host


def test_another_page_cannot_change_anything(site: Site) -> None:
    """A request that changes something and comes from another page is refused."""
    headers = {"cookie": cookie_of(site), "origin": "http://evil.example"}
    status, _, body = raw(site, "/api/shelf", method="POST", body=b"{}", headers=headers)
    assert status == 403
    assert b"cross-origin" in body


def test_every_answer_forbids_scripts_from_elsewhere(site: Site) -> None:
    """The policy is on pages, on the API and on refusals."""
    cookie = cookie_of(site)
    for path, headers in (("/", {"cookie": cookie}), ("/api/shelf", {"cookie": cookie}), ("/", {})):
        _, told, _ = raw(site, path, headers=headers)
        assert "default-src 'self'" in told["content-security-policy"]
        assert "unsafe-eval'" not in told["content-security-policy"].replace("wasm-unsafe-eval'", "")
        assert told["x-content-type-options"] == "nosniff"
        assert told["referrer-policy"] == "same-origin"


def chunks(site: Site, path: str, cookie: str, number: int) -> int:
    """The status of a body in so many MiB chunks, whose length was never told."""
    line = http.client.HTTPConnection(urlsplit(site.base).netloc, timeout=300)
    try:
        line.putrequest("POST", path)
        for name, value in (("cookie", cookie), ("transfer-encoding", "chunked")):
            line.putheader(name, value)
        line.endheaders()
        try:
            for _ in range(number):
                line.send(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
            line.send(b"0\r\n\r\n")
        except OSError:
            pass  # the server stopped listening, and says why
        return line.getresponse().status
    finally:
        line.close()


def test_what_is_too_long_is_not_read(site: Site) -> None:
    """A body over 8 MiB is refused, whether it tells its length or comes in chunks."""
    cookie = cookie_of(site)
    path = "/api/runs/nothing/score"
    for told in ("9000000", "100000000000", "9" * 5000, "-1", "²"):
        headers = {"cookie": cookie, "content-length": told}
        status, _, body = raw(site, path, method="POST", headers=headers)
        assert status in (400, 413), told[:20]
    headers = {"cookie": cookie, "content-length": str((8 << 20) + 1)}
    status, _, body = raw(site, path, method="POST", headers=headers)
    assert (status, b"too large" in body) == (413, True)
    assert chunks(site, path, cookie, 9) == 413
    assert chunks(site, path, cookie, 1) in (403, 404)
    assert raw(site, "/api/shelf", headers={"cookie": cookie})[0] == 200


def test_the_token_leads_to_no_other_machine(site: Site) -> None:
    """An address with two slashes would be one, after the token became a cookie."""
    token = site.address.partition("?")[2]
    _, headers, _ = raw(site, f"//evil.example/x?{token}")
    assert headers["location"] == "/evil.example/x"


TRICKS = [
    "/assets/../../app.py",
    "/assets/..%2f..%2fapp.py",
    "/assets/%2e%2e/%2e%2e/app.py",
    "/assets//etc/passwd",
    "/assets/..\\..\\app.py",
    "/api/datasets/..%2f..%2f/test/cases",
    "/api/datasets/%00/test/cases",
    "/api/runs/..%2f..%2fetc",
    "/api/runs/" + "a" * 5000,
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/icon.svg/../index.html",
]


@pytest.mark.parametrize("path", TRICKS)
def test_path_tricks_lead_nowhere(site: Site, path: str) -> None:
    """A path that tries to leave is the page itself or a refusal, never another file."""
    status, _, body = raw(site, path, headers={"cookie": cookie_of(site)})
    assert status < 500
    assert b"root:" not in body
    assert b"def make_app" not in body
    if status == 200:
        assert b'<div id="page">' in body


@pytest.fixture(scope="module")
def guarded(shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page for users with passwords."""
    file = tmp_path_factory.mktemp("users") / "users"
    make_user(file, "ada", "correct horse")
    with serve_site([shelf_folder], "--host", "0.0.0.0", "--password-file", str(file)) as found:
        port = urlsplit(found.base).port
        yield Site(f"http://127.0.0.1:{port}/", found.process)


def make_user(file: Path, name: str, password: str) -> None:
    """Add a user by the command."""
    import subprocess
    import sys

    words = [sys.executable, "-m", "overread", "password", str(file), name]
    subprocess.run(words, input=password + "\n", text=True, check=True, capture_output=True)


def log_in(site: Site, name: str, password: str) -> tuple[int, dict[str, str], bytes]:
    """Send the form."""
    form = urlencode({"name": name, "password": password}).encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return raw(site, "/login", method="POST", body=form, headers=headers)


def test_a_user_logs_in_with_a_password(guarded: Site) -> None:
    """The right one lets in, under the user's name; a wrong one does not."""
    assert raw(guarded, "/api/shelf")[0] == 401
    assert b"Password" in raw(guarded, "/")[2]
    for name, password in (("ada", "wrong"), ("nobody", "correct horse"), ("", "")):
        status, headers, body = log_in(guarded, name, password)
        assert status == 401
        assert "set-cookie" not in headers
        assert b"Wrong name or password" in body
    status, headers, _ = log_in(guarded, "ada", "correct horse")
    assert status == 303
    cookie = headers["set-cookie"].split(";")[0]
    status, _, body = raw(guarded, "/api/shelf", headers={"cookie": cookie})
    assert status == 200
    assert b'"user":"ada"' in body
    big = raw(guarded, "/login", method="POST", body=b"x" * 100_000)
    assert big[0] == 413


def test_a_user_logs_in_through_the_browser(browser: Browser, guarded: Site) -> None:
    """The form as Chromium sends it: a wrong password is told, the right one opens the page."""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(guarded.base + "/")
        for password, seen in (("wrong", "Wrong name or password"), ("correct horse", "Datasets")):
            page.get_by_label("Name").fill("ada")
            page.get_by_label("Password").fill(password)
            page.get_by_role("button", name="Log in").click()
            page.get_by_text(seen).first.wait_for()
    finally:
        context.close()


def test_others_need_a_password_file(tmp_path: Path, shelf_folder: Path) -> None:
    """Listening to others without one is refused, with the remedy."""
    code, _, err = run("view", shelf_folder, "--host", "0.0.0.0", "--no-browser")
    assert code == 2
    assert "--password-file" in err
    open_file = tmp_path / "users"
    make_user(open_file, "ada", "correct horse")
    assert "correct horse" not in open_file.read_text()
    open_file.chmod(0o644)
    code, _, err = run("view", shelf_folder, "--password-file", open_file, "--no-browser")
    assert code == 2
    assert "chmod 600" in err
    open_file.chmod(0o600)
    open_file.write_text("ada\n")
    code, _, err = run("view", shelf_folder, "--password-file", open_file, "--no-browser")
    assert code == 2
    assert "line 1" in err


def test_a_short_password_is_refused(tmp_path: Path) -> None:
    """So is a name that would break the file; nothing is written."""
    import subprocess
    import sys

    for name, password in (
        ("ada", "short"),
        ("a:b", "long enough"),
        ("", "long enough"),
        (".ada", "long enough"),
        ("-ada", "long enough"),
    ):
        words = [sys.executable, "-m", "overread", "password", str(tmp_path / "users"), name]
        done = subprocess.run(words, input=password + "\n", text=True, check=False, capture_output=True)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "users").exists()


def test_nothing_to_look_at_is_told(tmp_path: Path) -> None:
    """An empty folder, or one that is not there, is one sentence."""
    code, _, err = run("view", tmp_path, "--no-browser")
    assert code == 2
    assert "no datasets, runs or builds were found" in err
    code, _, err = run("view", tmp_path / "gone", "--no-browser")
    assert code == 2
    assert "there is no folder" in err


def test_a_port_that_is_taken_is_told(site: Site, shelf_folder: Path) -> None:
    """The sentence names the port and the remedy."""
    port = str(urlsplit(site.base).port)
    code, _, err = run("view", shelf_folder, "--port", port, "--no-browser")
    assert code == 2
    assert port in err
    assert "--port" in err


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopping_is_quiet(shelf_folder: Path, stop: signal.Signals) -> None:
    """Ctrl-C and a polite kill end the page with no more words than that."""
    with serve_site([shelf_folder]) as site:
        site.get("/api/shelf")
        site.process.send_signal(stop)
        told, _ = site.process.communicate(timeout=300)
        assert site.process.returncode in (0, 130, 143, -signal.SIGTERM)
        assert "Traceback" not in told
        assert "bug" not in told
