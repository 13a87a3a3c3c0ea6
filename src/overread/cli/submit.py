"""`overread submit`: the readings of a run, written as the benchmark wants them handed in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import AsJson, NewRoot, Pictures

if TYPE_CHECKING:
    from overread.core import WrittenSubmission


def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `overread run` wrote.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="What to write: a file of rows; for masks a zip, or a folder where the name does "
            "not end in .zip.",
        ),
    ],
    sample: Annotated[int, typer.Option(help="Which reading, where a case has several.", min=0)] = 0,
    layout: Annotated[
        str | None,
        typer.Option(
            help="grand-challenge: masks as .mha in its folders, with predictions.json.", metavar="NAME"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the model, for FILE.meta.json.", metavar="TEXT")
    ] = None,
    organisation: Annotated[
        str | None, typer.Option(help="Who made it, for FILE.meta.json.", metavar="TEXT")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="Where to read more, for FILE.meta.json.", metavar="URL")
    ] = None,
    open_source: Annotated[
        bool | None, typer.Option("--open-source/--closed-source", help="For FILE.meta.json.")
    ] = None,
    root: NewRoot = None,
    pictures: Pictures = None,
    limit: Annotated[int, typer.Option(help="Warnings to print.", min=0)] = 20,
    as_json: AsJson = False,
) -> None:
    """Write a run in the official format; `overread grade` reads it back to the same numbers.

    Readings that failed are left out and named. With any of --name, --organisation, --link and
    --open-source, what a leaderboard asks for is written to FILE.meta.json.
    """
    from datetime import UTC, datetime

    from overread.cli.console import progress_bar
    from overread.runs.submission_export import export_submission

    given = {"model": name, "organisation": organisation, "open_source": open_source, "link": link}
    about = None
    if any(value is not None for value in given.values()):
        about = {**given, "date": datetime.now(UTC).date().isoformat()}
    with progress_bar("writing the submission", quiet=as_json) as told:
        handed = export_submission(
            run,
            out,
            sample=sample,
            layout=layout,
            force=force,
            about=about,
            root=root,
            pictures=pictures,
            progress=told,
        )
    print_written(handed, limit=limit, as_json=as_json)


def print_written(handed: WrittenSubmission, *, limit: int, as_json: bool) -> None:
    """Say what was written, what was not, and why."""
    from overread.cli.console import print_json, safe, stderr_console

    if as_json:
        print_json(
            {
                "path": str(handed.path),
                "written": handed.written,
                "missing": handed.missing,
                "failed": handed.failed,
                "notes": list(handed.notes),
            }
        )
        return
    console = stderr_console()
    for note in handed.notes[:limit]:
        console.print(f"[yellow]warning:[/] {safe(note)}")
    if len(handed.notes) > limit:
        console.print(f"… and {len(handed.notes) - limit:,} more warnings")
    cases = f"{handed.written:,} case" + ("" if handed.written == 1 else "s")
    left = [
        f"{count:,} {word}"
        for count, word in ((handed.failed, "left out"), (handed.missing, "without a reading"))
        if count
    ]
    typer.echo(f"wrote {handed.path}: {cases}" + (f"; {', '.join(left)}" if left else ""))
