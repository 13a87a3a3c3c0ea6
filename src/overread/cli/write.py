"""`overread write`: a copy of a benchmark, written out again in its own layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli.arguments import AnySplit, Benchmark, Form, Pictures, Root


def write(
    benchmark: Benchmark,
    root: Root,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Output folder; created if missing.")],
    split: AnySplit = "test",
    to: Annotated[
        str | None, typer.Option("--to", help="The form to write; the same as read by default.")
    ] = None,
    form: Form = None,
    pictures: Pictures = None,
    no_pictures: Annotated[
        bool, typer.Option("--no-pictures", help="Write the rows and copy no picture.")
    ] = False,
) -> None:
    """Load a copy of a benchmark and write it again in its own layout."""
    import overread
    from overread.benchmarks import splits_of
    from overread.cli.console import progress_bar

    for name in splits_of(benchmark, root) if split == "all" else [split]:
        release = overread.load(benchmark, root, name, form=form, pictures=pictures)
        with progress_bar(f"writing {benchmark} {name}") as told:
            path = overread.write(release, out, form=to, pictures=not no_pictures, progress=told)
        typer.echo(f"wrote {path}")
