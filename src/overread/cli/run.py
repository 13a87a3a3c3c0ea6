"""`overread run`: a reader reads every case of a benchmark, step by step, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import (
    AsJson,
    Benchmark,
    Cache,
    Form,
    MaxRetries,
    NoCache,
    Pictures,
    ReaderArgs,
    Root,
    Split,
    asked_of,
    pairs,
    refuse_two_caches,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from overread.runs.prices import Prices
    from overread.session import SessionSettings


def run(
    benchmark: Benchmark,
    root: Root,
    reader: Annotated[
        str, typer.Option("--reader", "-r", help="Who reads: one of `overread list readers`.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; the same goes on."),
    ],
    reader_arg: ReaderArgs = None,
    workflow: Annotated[
        str, typer.Option("--workflow", "-w", help="How: one of `overread list workflows`.")
    ] = "direct",
    split: Split = "test",
    form: Form = None,
    pictures: Pictures = None,
    limit: Annotated[int | None, typer.Option(help="Only the first cases.", min=1)] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(help="Only this case, by id or '#3'; repeat for several.", metavar="ID"),
    ] = None,
    repeat: Annotated[int, typer.Option(help="Readings of each case.", min=1)] = 1,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-j", help="Cases and calls at once.", min=1, max=4096)
    ] = 16,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn by lot.", min=0)] = 0,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            help="How pictures are shown and questions asked, for instance longest=512 or "
            "prompts=DIR; repeatable.",
            metavar="K=V",
        ),
    ] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    prices: Annotated[
        Path | None,
        typer.Option(help="Price list, TOML or JSON: input and output by model.", metavar="FILE"),
    ] = None,
    price_in: Annotated[
        float | None, typer.Option(help="Price of a million tokens read.", min=0)
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(help="Price of a million tokens written.", min=0)
    ] = None,
    max_retries: MaxRetries = 5,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Read again what failed before.")
    ] = False,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="The pictures may be sent to another machine."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take; ask and write nothing.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 where any case failed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Have a reader read every case, and keep every question, answer and look.

    The same command again goes on where it was stopped, whatever stopped it; more cases (--limit)
    and more readings of each (--repeat) may be asked for. What fails is kept as a failed reading
    and scores worst.
    """
    from overread.cli.running import print_estimate, print_outcome, watching
    from overread.runs.engine import Plan
    from overread.runs.engine import run as run_all

    refuse_two_caches(cache, no_cache=no_cache)
    arguments = asked_of(reader_arg, allow_remote=allow_remote)
    plan = Plan(
        benchmark=benchmark,
        root=root,
        reader=reader,
        arguments=arguments,
        workflow=workflow,
        split=split,
        form=form,
        pictures=pictures,
        limit=limit,
        cases=tuple(case or ()),
        repeat=repeat,
        concurrency=concurrency,
        seed=seed,
        settings=_settings(setting or []),
        cache=cache,
        use_cache=not no_cache,
        prices=_prices(prices, price_in, price_out),
        retry_failed=retry_failed,
        max_retries=max_retries,
    )
    if dry_run:
        from overread.runs.estimate import estimate

        print_estimate(estimate(plan, out), plan, as_json=as_json)
        return
    with watching(f"{benchmark} {split}", quiet=as_json) as watch:
        outcome = run_all(plan, out, watch=watch)
    print_outcome(outcome, as_json=as_json)
    if outcome.stopped is not None:
        raise typer.Exit(128 + outcome.stopped)
    failed = outcome.tally.failed + outcome.tally.failed_before
    if strict and failed:
        raise typer.Exit(1)


def _settings(words: list[str]) -> SessionSettings:
    """Settings of a session from texts, by the types of its fields."""
    from dataclasses import fields

    from pydantic import TypeAdapter, ValidationError

    from overread.catalog import unknown
    from overread.errors import UsageError
    from overread.session import SessionSettings

    values: dict[str, Any] = {}
    known = {one.name: one for one in fields(SessionSettings)}
    for name, text in pairs(words, "--setting").items():
        if name not in known:
            raise unknown("setting", name, known)
        listed = str(known[name].type).startswith("tuple")
        values[name] = tuple(text.split(",")) if listed else text
    if values.get("prompts"):
        folder = Path(values["prompts"]).expanduser().resolve()
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder of prompts")
        values["prompts"] = str(folder)
    try:
        return TypeAdapter(SessionSettings).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "a setting"
        raise UsageError(f"the setting '{name}' cannot be that ({first['msg']})") from None


def _prices(
    file: Path | None, into: float | None, out: float | None
) -> Prices | Callable[[str], Prices] | None:
    from functools import partial

    from overread.errors import UsageError
    from overread.runs.prices import Prices, read_prices

    if file is not None:
        if into is not None or out is not None:
            raise UsageError("--prices and --price-in or --price-out were both given")
        return partial(read_prices, file)
    if into is None and out is None:
        return None
    return Prices(into or 0.0, out or 0.0)
