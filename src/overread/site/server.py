"""Start the server: bind a port, print the address, open a browser, stop on Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import socket
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from overread.errors import UsageError
from overread.site.access import Access
from overread.site.shelf import Shelf

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class ServerSettings:
    """Settings of the server."""

    port: int = 0
    """0 takes a free one."""
    host: str = "127.0.0.1"
    users: Mapping[str, tuple[bytes, bytes]] | None = None
    """User → (salt, hash), where others than this machine may look."""
    read_only: bool = False
    truth: bool = True
    browser: bool = True
    """Whether to open a browser on it."""


def serve(shelf: Shelf, opening: ServerSettings, *, ready: Callable[[str], None]) -> None:
    """Serve until stopped; `ready` is told the address once it answers."""
    import uvicorn

    from overread.site.app import make_app

    access = make_access(opening)
    listening = _listen(opening.host, opening.port)
    port = listening.getsockname()[1]
    shown = f"[{opening.host}]" if ":" in opening.host else opening.host
    token = f"?token={access.token}" if access.token is not None else ""
    address = f"http://{shown}:{port}/{token}"
    config = uvicorn.Config(
        make_app(shelf, access),
        log_level="warning",
        access_log=False,  # addresses hold the token
        server_header=False,
        timeout_graceful_shutdown=2,
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready(address)
            if opening.browser:
                with contextlib.suppress(webbrowser.Error):
                    webbrowser.open(address)

    with listening:
        Server(config).run(sockets=[listening])


def make_access(opening: ServerSettings) -> Access:
    """Who may look: the holder of a token on this machine, or users with passwords."""
    if opening.users is not None:
        return Access(users=opening.users, read_only=opening.read_only, truth=opening.truth)
    if opening.host not in LOOPBACK:
        raise UsageError(
            f"--host {opening.host} lets others look",
            remedy="give --password-file too, a file that `overread password` makes",
        )
    return Access(
        token=secrets.token_urlsafe(24), read_only=opening.read_only, truth=opening.truth, hosts=LOOPBACK
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"the page cannot be served on {host}, port {port} ({error.strerror})",
            remedy="give another --port, or none for a free one",
        ) from None
    listening.listen(128)
    return listening
