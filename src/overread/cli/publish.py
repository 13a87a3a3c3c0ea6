"""`overread publish`: a release with its card and checksums, and an exam without its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli.arguments import AsJson, Benchmark, Pictures, Root


def publish(
    benchmark: Benchmark,
    root: Root,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Public copy, without the withheld truth.", metavar="DIR"),
    ] = None,
    private: Annotated[
        Path | None, typer.Option(help="Where the withheld splits go, with all their truth.", metavar="DIR")
    ] = None,
    withhold: Annotated[
        str, typer.Option(help="Splits whose truth is withheld, with commas.", metavar="SPLITS")
    ] = "test",
    title: Annotated[str, typer.Option(help="Title of the card.")] = "",
    licence: Annotated[str, typer.Option(help="Licence of the data, for the card.")] = "",
    version: Annotated[str, typer.Option(help="Version of the data.")] = "1.0.0",
    url: Annotated[str, typer.Option(help="Address of the data.")] = "",
    pictures: Pictures = None,
    as_json: AsJson = False,
) -> None:
    """Write the card, Croissant and checksums of a release; with --out, withhold its test's truth.

    Without --out the folder itself gets them and keeps its truth. With --out and --private it stays
    as it is: the one is fit to be handed on, the other is what submissions are graded against.
    """
    from overread.build.release.publication import finish_release
    from overread.cli.console import print_json, progress_bar, safe
    from overread.cli.console import stdout_console as console

    with progress_bar("publishing", quiet=as_json) as told:
        found = finish_release(
            root,
            benchmark,
            out=out,
            private=private,
            withheld=tuple(name.strip() for name in withhold.split(",") if name.strip()),
            title=title,
            licence=licence,
            version=version,
            url=url,
            pictures=pictures,
            progress=told,
        )
    if as_json:
        print_json(
            {
                "root": str(found.root),
                "private": str(found.private) if found.private else None,
                "cases": found.cases,
                "files": found.files,
                "notes": list(found.notes),
            }
        )
        return
    screen = console()
    cases = ", ".join(f"{many} {split}" for split, many in found.cases.items())
    screen.print(f"{safe(str(found.root))}: {cases}; {found.files} files with their checksums")
    if found.private is not None:
        screen.print(f"{safe(str(found.private))}: the truth of {safe(withhold)}, to grade against")
    for note in found.notes:
        screen.print(f"  {safe(note)}")
    screen.print("for research and education, not for patient care")
