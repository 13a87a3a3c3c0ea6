"""`overread import`: what people marked in another program, as a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli.arguments import AsJson, Benchmark, Form, Pictures, Root, Split


def import_annotations(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="label-studio.")],
    benchmark: Benchmark,
    root: Root,
    export: Annotated[
        Path, typer.Argument(metavar="EXPORT", help="What the program exported: of Label Studio, its JSON.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="What to write: a file of rows; for masks a zip, or a folder where the name does "
            "not end in .zip.",
        ),
    ],
    split: Split = "test",
    annotator: Annotated[
        str | None,
        typer.Option(help="Whose annotations, by number or e-mail address.", metavar="PERSON"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
    form: Form = None,
    pictures: Pictures = None,
    limit: Annotated[int, typer.Option(help="Warnings to print.", min=0)] = 20,
    as_json: AsJson = False,
) -> None:
    """Take in annotations of the tasks that `overread export` wrote; `overread grade` scores them.

    What is written has the benchmark's own format. What cannot be used is left out and named.
    """
    from overread.build.label_studio.results import take_in_annotations
    from overread.catalog import unknown_name
    from overread.cli.console import progress_bar
    from overread.cli.submit import print_written

    if program != "label-studio":
        raise unknown_name("program", program, ["label-studio"])
    with progress_bar("taking in annotations", quiet=as_json) as told:
        handed = take_in_annotations(
            benchmark,
            root,
            split,
            export,
            out,
            annotator=annotator,
            form=form,
            pictures=pictures,
            force=force,
            progress=told,
        )
    print_written(handed, limit=limit, as_json=as_json)
