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
Moved = Annotated[
    Path | None,
    typer.Option(
        "--root", help="Folder of the release, if it has moved since the run.", metavar="DIR"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="Score this instead of the benchmark's own metrics; repeat for several; 'own' stands "
        "for those, 'all' for those and the slower ones.",
        metavar="NAME",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        help="Change what can be set of a metric, for instance connectivity=26; repeatable.",
        metavar="NAME=VALUE",
    ),
]
Draws = Annotated[int, typer.Option(help="Bootstrap draws; 0 for no intervals.", min=0)]
Level = Annotated[float, typer.Option(help="Of the intervals.", min=0.5, max=0.9999)]
Seed = Annotated[int, typer.Option(help="Of the draws.", min=0)]
Workers = Annotated[
    int | None, typer.Option(help="Processes for masks; as many as cores without it.", min=1)
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Measure again what was measured before.")]
Limit = Annotated[int, typer.Option(help="Problems to print.", min=0)]

ReaderArgs = Annotated[
    list[str] | None,
    typer.Option("--reader-arg", help="An argument of the reader; repeatable.", metavar="K=V"),
]
Cache = Annotated[
    Path | None, typer.Option(help="File of replies; the user's own without it.", metavar="FILE")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Ask even what was answered before.")]
MaxRetries = Annotated[
    int, typer.Option(help="How often a call that may yet work is repeated.", min=0, max=100)
]


def asked_of(words: list[str] | None, *, allow_remote: bool) -> dict[str, str]:
    """The arguments of a reader, as they were typed."""
    arguments = pairs(words or [], "--reader-arg")
    return arguments | {"allow_remote": "true"} if allow_remote else arguments


def refuse_two_caches(cache: Path | None, *, no_cache: bool) -> None:
    """A file of replies and none at all cannot both be meant."""
    from overread.errors import UsageError

    if cache is not None and no_cache:
        raise UsageError("--cache and --no-cache were both given", remedy="give one of them")


def pairs(words: list[str], option: str) -> dict[str, str]:
    """Name → value of an option that is repeated; a name that is given twice is refused."""
    from overread.errors import UsageError

    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip()
        if not equals or not name:
            # The word itself is not repeated: it may be a key that was pasted.
            raise UsageError(f"a {option} lacks its '='", remedy=f"write it as {option} NAME=VALUE")
        if name in found:
            raise UsageError(f"{option} {name}=… was given twice", remedy="give it once")
        found[name] = value
    return found
