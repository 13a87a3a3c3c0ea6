"""Arguments that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Benchmark = Annotated[
    str, typer.Argument(metavar="BENCHMARK", help="One of `overread list benchmarks`.")
]
Root = Annotated[Path, typer.Argument(metavar="ROOT", help="The folder that holds the release.")]
Split = Annotated[str, typer.Option("--split", "-s", help="Which split.")]
AnySplit = Annotated[str, typer.Option("--split", "-s", help="Which split, or 'all'.")]
Form = Annotated[str | None, typer.Option(help="Which form, where a split is stored in several.")]
Pictures = Annotated[
    Path | None,
    typer.Option(help="Folder of the pictures, where they do not lie in ROOT.", metavar="DIR"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
