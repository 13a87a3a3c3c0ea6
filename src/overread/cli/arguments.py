"""Arguments that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Benchmark = Annotated[str, typer.Argument(metavar="BENCHMARK", help="One of `overread list benchmarks`.")]
Root = Annotated[Path, typer.Argument(metavar="ROOT", help="The folder that holds the release.")]
Split = Annotated[str, typer.Option("--split", "-s", help="Which split.")]
AnySplit = Annotated[str, typer.Option("--split", "-s", help="Which split, or 'all'.")]
Form = Annotated[str | None, typer.Option(help="Which form, where a split is stored in several.")]
Pictures = Annotated[
    Path | None, typer.Option(help="Folder of the pictures, where they do not lie in ROOT.", metavar="DIR")
]
NewRoot = Annotated[
    Path | None,
    typer.Option("--root", help="Folder of the release, if it has moved since the run.", metavar="DIR"),
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
Level = Annotated[float, typer.Option(help="Confidence level of the intervals.", min=0.5, max=0.9999)]
Seed = Annotated[int, typer.Option(help="Random seed of the bootstrap draws.", min=0)]
Workers = Annotated[int | None, typer.Option(help="Processes for masks; default: one per core.", min=1)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ignore cached measurements.")]
Limit = Annotated[int, typer.Option(help="Problems to print.", min=0)]
Table = Annotated[
    Path | None,
    typer.Option(
        "--table",
        help="Write every number there, of the split, its groups and its cases: .parquet, .csv, "
        ".jsonl or .arrow.",
        metavar="FILE",
    ),
]
LogTo = Annotated[
    list[str] | None,
    typer.Option(
        "--log-to",
        help="Log settings and numbers there too: mlflow:./mlruns, wandb or tensorboard:DIR; repeatable.",
        metavar="TRACKER",
    ),
]

ReaderArgs = Annotated[
    list[str] | None,
    typer.Option("--reader-arg", help="An argument of the reader; repeatable.", metavar="K=V"),
]
Cache = Annotated[
    Path | None, typer.Option(help="Reply cache file; default: the user's cache.", metavar="FILE")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not use the reply cache.")]
MaxRetries = Annotated[int, typer.Option(help="How often a failed call is retried.", min=0, max=100)]
MaxWait = Annotated[
    str,
    typer.Option(
        "--max-wait",
        help="Longest that one question waits before it is asked again, all pauses together: seconds, or "
        "10m, 1h.",
        metavar="TIME",
    ),
]
GiveUp = Annotated[
    int | None,
    typer.Option(
        help="Cases in a row that the endpoint may fail before all is stopped; 0 for any number. "
        "Default: 3 before the first answer, then 20 or three times --concurrency.",
        min=0,
        metavar="N",
    ),
]

ReaderName = Annotated[str, typer.Option("--reader", "-r", help="Reader: one of `overread list readers`.")]
Workflow = Annotated[
    str, typer.Option("--workflow", "-w", help="Workflow: one of `overread list workflows`.")
]
OnlyFirst = Annotated[int | None, typer.Option("--limit", help="Only the first cases.", min=1)]
OnlyCases = Annotated[
    list[str] | None,
    typer.Option("--case", help="Only this case, by id or '#3'; repeat for several.", metavar="ID"),
]
Repeat = Annotated[int, typer.Option(help="Readings per case.", min=1)]
Concurrency = Annotated[
    int, typer.Option("--concurrency", "-j", help="Cases and calls at once.", min=1, max=4096)
]
RunSeed = Annotated[int, typer.Option("--seed", help="Random seed.", min=0)]
SessionSetting = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        help="How pictures are shown and questions asked, for instance longest=512 or "
        "prompts=DIR; repeatable.",
        metavar="K=V",
    ),
]
PriceList = Annotated[
    Path | None,
    typer.Option("--prices", help="Price list, TOML or JSON: input and output by model.", metavar="FILE"),
]
PriceIn = Annotated[float | None, typer.Option("--price-in", help="Price per million input tokens.", min=0)]
PriceOut = Annotated[
    float | None, typer.Option("--price-out", help="Price per million output tokens.", min=0)
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Retry cases that failed before.")]
AllowRemote = Annotated[
    bool, typer.Option("--allow-remote", help="Allow sending the pictures to another machine.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate calls and cost; ask and write nothing.")]


def reader_arguments(words: list[str] | None, *, allow_remote: bool) -> dict[str, str]:
    """The arguments of a reader, as they were typed."""
    arguments = parse_pairs(words or [], "--reader-arg")
    return arguments | {"allow_remote": "true"} if allow_remote else arguments


def parse_duration(text: str, option: str) -> float:
    """Seconds of what somebody typed.

    >>> parse_duration("90", "--max-wait"), parse_duration("10m", "--max-wait")
    (90.0, 600.0)
    """
    from overread.errors import UsageError

    units = {"s": 1, "m": 60, "h": 3600}
    word = text.strip().lower()
    unit = units.get(word[-1:], 1)
    try:
        seconds = float(word[:-1] if word[-1:] in units else word) * unit
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise UsageError(f"{option} is '{text}', which is no time", remedy="give seconds, or 90s, 10m, 1h")
    return seconds


def refuse_two_caches(cache: Path | None, *, no_cache: bool) -> None:
    """A file of replies and none at all cannot both be meant."""
    one_option(**{"cache": cache, "no-cache": no_cache})


def one_option(**options: object) -> str | None:
    """The one that was given of options that exclude each other, or None; two are refused."""
    from overread.errors import UsageError

    given = [f"--{name}" for name, value in options.items() if value not in (None, False)]
    if len(given) > 1:
        both = "both " if len(given) == 2 else ""
        raise UsageError(f"{' and '.join(given)} were {both}given", remedy="give one of them")
    return given[0] if given else None


def parse_pairs(words: list[str], option: str) -> dict[str, str]:
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
