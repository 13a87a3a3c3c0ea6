"""`overread view`: the page on datasets, runs and builds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import NewRoot

if TYPE_CHECKING:
    from overread.site.server import ServerSettings
    from overread.site.shelf import Shelf


def view(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Datasets, runs, builds, or folders that hold such.")
    ],
    port: Annotated[int, typer.Option(help="Port to serve on; 0 takes a free one.", min=0, max=65535)] = 0,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine need passwords.")
    ] = "127.0.0.1",
    password_file: Annotated[
        Path | None, typer.Option(help="Password file, written by `overread password`.", metavar="FILE")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Do not save readings or verdicts.")] = False,
    hide_truth: Annotated[bool, typer.Option("--hide-truth", help="Never send the truth.")] = False,
    moved: NewRoot = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser on it.")] = True,
) -> None:
    """Open a page on datasets, runs and builds, with pictures, traces, scores and questions.

    It is served on this machine only, under an address with a token that nobody else knows. Stop
    it with Ctrl-C.
    """
    from overread.site.server import ServerSettings
    from overread.site.shelf import Shelf

    users = None
    if password_file is not None:
        from overread.site.passwords import read_passwords

        users = read_passwords(password_file)
    opening = ServerSettings(
        port=port, host=host, users=users, read_only=read_only, truth=not hide_truth, browser=browser
    )
    serve_page(Shelf(paths, datasets_root=moved), opening)


def serve_page(shelf: Shelf, opening: ServerSettings) -> None:
    """Serve the page until Ctrl-C, and print its address."""
    from overread.cli.console import safe, stdout_console
    from overread.core.notice import NOTICE
    from overread.site.server import serve

    screen = stdout_console()
    for problem in shelf.problems:
        screen.print(f"  [yellow]{safe(problem)}[/]")

    def ready(address: str) -> None:
        # Written whole and at once: who starts the page from a program waits for this line.
        screen.print(f"The page is at {address}", soft_wrap=True, highlight=False, markup=False)
        screen.print(f"{NOTICE} Ctrl-C stops it.")
        screen.file.flush()

    serve(shelf, opening, ready=ready)
