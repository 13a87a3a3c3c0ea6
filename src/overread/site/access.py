"""Access control: a token in the address or users with passwords, read-only, no truth.

By default the page listens on loopback only and requires the token of the address it prints.
Where it listens on other addresses, users log in with a password, and verdicts carry their name.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, QueryParams
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overread.site.login import LOGIN, NO_TOKEN, fill_message
from overread.site.passwords import check_password

SESSION_SECONDS = 24 * 3600
_LONGEST_FORM = 4096
LONGEST_BODY = 8 << 20
"""Largest accepted request body in bytes; a reading or a verdict is far smaller."""
_MAX_FAILURES = 10
"""Wrong passwords within a minute, after which nobody is let in for a minute."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
        "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
        "connect-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # under no-referrer browsers hide where a form comes from
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
"""What every answer carries: the page loads nothing from elsewhere, and nobody frames it."""


@dataclass
class Access:
    """Who may look, and what they may do."""

    token: str | None = None
    """What the address must carry; absent where users have passwords, or for tests of the API."""
    users: Mapping[str, tuple[bytes, bytes]] | None = None
    """User → (salt, hash); absent where the token lets in."""
    read_only: bool = False
    """Whether nothing may be written: no readings, no verdicts."""
    truth: bool = True
    """Whether the truth may be shown; where not, it is never sent."""
    hosts: frozenset[str] | None = None
    """Names the page may be called by, without the port; absent means any."""
    sessions: dict[str, tuple[str | None, float]] = field(default_factory=dict, repr=False)
    """Cookie → (user, until when)."""
    _failures: list[float] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def is_open(self) -> bool:
        """Whether anybody who reaches it may look."""
        return self.token is None and self.users is None

    def start_session(self, user: str | None) -> str:
        """A new session's cookie."""
        cookie = secrets.token_urlsafe(32)
        now = time.time()
        with self._lock:
            for old in [c for c, (_, until) in self.sessions.items() if until < now]:
                del self.sessions[old]
            self.sessions[cookie] = (user, now + SESSION_SECONDS)
        return cookie

    def find_session(self, cookie: str | None) -> tuple[bool, str | None]:
        """Whether a cookie lets in, and as whom."""
        found = self.sessions.get(cookie or "")
        if found is None or found[1] < time.time():
            return False, None
        return True, found[0]

    def check_login(self, name: str, password: str) -> bool:
        """Whether the password is right; always False after too many wrong ones within a minute."""
        now = time.time()
        with self._lock:
            self._failures = [at for at in self._failures if now - at < 60]
            if len(self._failures) >= _MAX_FAILURES:
                return False
        right = check_password(dict(self.users or {}), name, password)
        if not right:
            with self._lock:
                self._failures.append(now)
        return right


class Gate:
    """ASGI middleware before the app: rejects what is not allowed, adds security headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        """Stand before `app`."""
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(n.encode(), v.encode()) for n, v in HEADERS.items()]
                there = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in own if name not in there),
                ]
            await send(message)

        refused = await self._check_request(scope, receive)
        if refused is None and scope["method"] not in SAFE_METHODS:
            receive, refused = await _read_body(scope, receive)
        if refused is not None:
            await refused(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)

    async def _check_request(self, scope: Scope, receive: Receive) -> Response | None:
        """What to answer instead of the page; None where it may be seen."""
        access = self._access
        headers = Headers(scope=scope)
        if access.hosts is not None and _host_name(headers.get("host", "")) not in access.hosts:
            return _error_json(421, "unknown host name")
        cookie_name = f"overread-{(scope.get('server') or ('', 0))[1]}"
        cookie = _read_cookie(headers.get("cookie", ""), cookie_name)
        known, user = access.find_session(cookie)
        scope.setdefault("state", {})["user"] = user
        if scope["method"] not in SAFE_METHODS and not _same_origin(headers):
            return _error_json(403, "cross-origin requests are refused")
        if access.is_open or known:
            return None
        path = scope["path"]
        if access.token is not None:
            query = QueryParams(scope["query_string"])
            offered = query.get("token", "").encode("utf-8", "replace")
            if secrets.compare_digest(offered, access.token.encode()):
                # One slash: two would be another machine's address.
                answer = RedirectResponse("/" + path.lstrip("/\\"), 303)
                _set_cookie(answer, cookie_name, access.start_session(None))
                return answer
            if path.startswith("/api/"):
                return _error_json(401, "open the address that `overread view` printed")
            return HTMLResponse(NO_TOKEN, 401)
        if path == "/login" and scope["method"] == "POST":
            return await self._login(scope, receive, cookie_name)
        if path.startswith("/api/"):
            return _error_json(401, "log in first")
        return HTMLResponse(fill_message(LOGIN, ""), 401 if path != "/login" else 200)

    async def _login(self, scope: Scope, receive: Receive, cookie_name: str) -> Response:
        from starlette.concurrency import run_in_threadpool

        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > _LONGEST_FORM:
                return _error_json(413, "that is too long for a name and a password")
            if not message.get("more_body") or message["type"] == "http.disconnect":
                break
        form = QueryParams(body.decode("utf-8", "replace"))
        name = form.get("name", "")
        let_in = self._access.check_login
        if await run_in_threadpool(let_in, name, form.get("password", "")):
            answer = RedirectResponse("/", 303)
            _set_cookie(answer, cookie_name, self._access.start_session(name))
            return answer
        return HTMLResponse(fill_message(LOGIN, "Wrong name or password."), 401)


async def _read_body(scope: Scope, receive: Receive) -> tuple[Receive, Response | None]:
    """Read the whole body before the app sees it; gives a 413 response where it is too large."""
    too_long = _error_json(413, "the request is too large")
    told = Headers(scope=scope).get("content-length", "0")
    if not (told.isascii() and told.isdigit() and len(told) < 20 and int(told) <= LONGEST_BODY):
        return receive, too_long
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LONGEST_BODY:  # in chunks, whose sum nobody told before
            return receive, too_long
        more = message.get("more_body", False)
    whole: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay, None


def _error_json(status: int, what: str) -> JSONResponse:
    return JSONResponse({"what": what, "remedy": ""}, status)


def _set_cookie(answer: Response, name: str, cookie: str) -> None:
    answer.set_cookie(name, cookie, max_age=SESSION_SECONDS, httponly=True, samesite="strict", path="/")


def _read_cookie(header: str, name: str) -> str | None:
    for part in header.split(";"):
        own, _, value = part.strip().partition("=")
        if own == name:
            return value
    return None


def _host_name(header: str) -> str:
    """The name without the port."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _same_origin(headers: Headers) -> bool:
    """Whether a request comes from our own page; only browsers send an Origin header."""
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:
        return False
