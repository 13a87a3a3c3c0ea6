"""`overread password`: gives a user of the page a password."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def password(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Password file; created if missing.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user.")],
) -> None:
    """Give a user of the page a password: asked for twice, or read as one line from a pipe."""
    from getpass import getpass

    from overread.cli.console import safe, stdout_console
    from overread.errors import UsageError
    from overread.site.passwords import add_password

    if sys.stdin.isatty():
        given = getpass("Password: ")
        if getpass("Once more: ") != given:
            raise UsageError("the two passwords differ")
    else:
        given = sys.stdin.readline().rstrip("\n")
    add_password(file, name, given)
    stdout_console().print(f"{safe(name)} can log in with {safe(str(file))}")
