"""`overread build`: from reports and pictures to a benchmark, every decision on record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import (
    AsJson,
    Concurrency,
    DryRun,
    GiveUp,
    MaxRetries,
    MaxWait,
    PriceIn,
    PriceList,
    PriceOut,
    ReaderArgs,
    RunSeed,
    parse_duration,
    parse_pairs,
)

if TYPE_CHECKING:
    from overread.build.reader_pool import RoleSpec


def build(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="One of `overread list recipes`.")],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Folder of the reports and pictures.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of the build; an existing build is resumed."),
    ],
    reader: Annotated[
        str | None,
        typer.Option("--reader", "-r", help="Reader that reads and writes; without one, rules only."),
    ] = None,
    reader_arg: ReaderArgs = None,
    auditor: Annotated[
        str | None, typer.Option("--auditor", help="Reader that checks what the first one wrote.")
    ] = None,
    auditor_arg: Annotated[
        list[str] | None, typer.Option("--auditor-arg", help="An argument of the auditor.", metavar="K=V")
    ] = None,
    probe: Annotated[
        list[str] | None,
        typer.Option("--probe", help="Reader that tries to answer from the text alone; repeatable."),
    ] = None,
    probe_arg: Annotated[
        list[str] | None,
        typer.Option(
            "--probe-arg",
            help="An argument of all probes, or of one: 2.model=…; repeatable.",
            metavar="[N.]K=V",
        ),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="Reader of one step alone; repeatable.", metavar="STEP=READER"),
    ] = None,
    role_arg: Annotated[
        list[str] | None,
        typer.Option("--role-arg", help="An argument of a step's reader; repeatable.", metavar="STEP.K=V"),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--setting", help="A setting of the recipe; repeatable.", metavar="K=V"),
    ] = None,
    preview: Annotated[
        int | None, typer.Option(help="Try the steps on the first items and show what each does.", min=1)
    ] = None,
    steps: Annotated[
        str | None, typer.Option(help="Run only these steps; take the others from the ledger.", metavar="A,B")
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", help="Redo this step and all later ones.", metavar="STEP")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Only the first items of the source.", min=1)
    ] = None,
    seed: RunSeed = 0,
    concurrency: Concurrency = 16,
    prompts: Annotated[Path | None, typer.Option(help="Folder of your own prompts.", metavar="DIR")] = None,
    repairs: Annotated[int, typer.Option(help="How often an unusable answer is asked for again.", min=0)] = 2,
    prices: PriceList = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_retries: MaxRetries = 5,
    max_wait: MaxWait = "10m",
    give_up: GiveUp = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try again what failed before.")
    ] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Reports and pictures may be sent to another machine.")
    ] = False,
    dry_run: DryRun = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 where any step failed on any item.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a benchmark from reports and pictures, step by step, by rules or with models.

    The same command again goes on where it was stopped, whatever stopped it, and takes in what
    changed: other reports, other prompts, verdicts of people. DIR/release is the benchmark, and
    `overread ledger DIR` tells what became of every case and why.
    """
    from overread.build.runner import run_build
    from overread.cli.build_output import print_build
    from overread.cli.run import parse_prices
    from overread.cli.run_output import live_progress
    from overread.runs.settings import session_settings

    readers = {
        **_parse_role("reader", reader, reader_arg, allow_remote=allow_remote),
        **_parse_role("auditor", auditor, auditor_arg, allow_remote=allow_remote),
        **_parse_probes(probe or [], probe_arg or [], allow_remote=allow_remote),
        **_parse_step_readers(role or [], role_arg or [], allow_remote=allow_remote),
    }
    chosen = tuple(word.strip() for word in (steps or "").split(",") if word.strip())
    with live_progress(f"building {recipe}", quiet=as_json or dry_run) as watch:
        outcome = run_build(
            recipe,
            source,
            out,
            watch=watch,
            dry_run=dry_run,
            readers=readers,
            settings=parse_pairs(setting or [], "--setting"),
            seed=seed,
            limit=limit,
            preview=preview,
            steps=chosen,
            begin=begin,
            concurrency=concurrency,
            session=session_settings({"prompts": str(prompts) if prompts else None, "repairs": repairs}),
            prices=parse_prices(prices, price_in, price_out),
            max_retries=max_retries,
            max_wait=parse_duration(max_wait, "--max-wait"),
            give_up=give_up,
            retry_failed=retry_failed,
        )
    print_build(outcome, as_json=as_json)
    if outcome.stopped is not None:
        raise typer.Exit(128 + outcome.stopped)
    if outcome.problem is not None or (strict and outcome.failed):
        raise typer.Exit(1)


def _parse_role(
    role: str, name: str | None, words: list[str] | None, *, allow_remote: bool
) -> dict[str, RoleSpec]:
    from overread.errors import UsageError

    arguments = parse_pairs(words or [], f"--{role}-arg")
    if name is None:
        if arguments:
            raise UsageError(f"--{role}-arg was given and no --{role}", remedy=f"add --{role}")
        return {}
    return {role: _make_role(name, arguments, allow_remote=allow_remote)}


def _parse_probes(names: list[str], words: list[str], *, allow_remote: bool) -> dict[str, RoleSpec]:
    """Probes by number, each with the arguments of all and its own."""
    from overread.errors import UsageError

    shared: dict[str, str] = {}
    own: dict[int, dict[str, str]] = {}
    for name, value in parse_pairs(words, "--probe-arg").items():
        number, dot, rest = name.partition(".")
        if dot and number.isdecimal():
            if not 1 <= int(number) <= len(names):
                raise UsageError(
                    f"--probe-arg {name}=… is for a probe that is not there", remedy=f"there are {len(names)}"
                )
            own.setdefault(int(number), {})[rest] = value
        else:
            shared[name] = value
    if shared and not names:
        raise UsageError("--probe-arg was given and no --probe", remedy="add --probe")
    return {
        f"probe-{number}": _make_role(name, {**shared, **own.get(number, {})}, allow_remote=allow_remote)
        for number, name in enumerate(names, 1)
    }


def _parse_step_readers(names: list[str], words: list[str], *, allow_remote: bool) -> dict[str, RoleSpec]:
    """Readers of single steps, each with its own arguments."""
    from overread.errors import UsageError

    readers = parse_pairs(names, "--role")
    arguments: dict[str, dict[str, str]] = {}
    for name, value in parse_pairs(words, "--role-arg").items():
        step, dot, rest = name.partition(".")
        if not dot or step not in readers:
            raise UsageError(
                f"--role-arg {name}=… is for no step that --role names",
                remedy="write it as STEP.K=V, beside --role STEP=READER",
            )
        arguments.setdefault(step, {})[rest] = value
    return {
        step: _make_role(name, arguments.get(step, {}), allow_remote=allow_remote)
        for step, name in readers.items()
    }


def _make_role(name: str, arguments: dict[str, Any], *, allow_remote: bool) -> RoleSpec:
    from overread.build.reader_pool import RoleSpec

    return RoleSpec(name, arguments | {"allow_remote": "true"} if allow_remote else arguments)
