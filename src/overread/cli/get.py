"""`overread get`: fetch a release from the hub, its licence first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from overread.cli.arguments import Benchmark


def get(
    benchmark: Benchmark,
    out: Annotated[
        Path | None, typer.Option(help="Where to put it; ./BENCHMARK by default.", metavar="DIR")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="I accept the terms.")] = False,
    revision: Annotated[str, typer.Option(help="Branch, tag or commit.")] = "main",
) -> None:
    """Fetch a release with huggingface_hub; its licence and terms are shown first."""
    from overread import catalog
    from overread.benchmarks.download import fetch
    from overread.errors import AccessError

    part = catalog.find("benchmarks", benchmark)
    typer.echo(f"{part.title}\n  licence: {part.licence}\n  terms:   {part.terms}")
    typer.echo(f"  cite:    {part.cite}")
    if not part.hub.repo:
        raise AccessError(f"{part.title} is not on the hub", remedy=part.hub.note)
    if part.hub.note:
        typer.echo(f"  note:    {part.hub.note}")
    if not yes:
        if not sys.stdin.isatty():
            raise AccessError("the terms were not accepted", remedy="read them and add --yes")
        typer.confirm("Do you accept these terms?", abort=True)
    folder = fetch(part, out or Path(part.name), revision=revision)
    typer.echo(f"{part.title} is in {folder}\nNow try:  overread check {part.name} {folder}")
