"""`overread power`: how many cases a comparison needs, or what a number of cases can show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli.arguments import AsJson


def power(
    cards: Annotated[
        list[Path] | None, typer.Argument(metavar="CARD...", help="A pilot: two scorecards or scored runs.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Plan by this metric of the pilot; default: its first.", metavar="NAME")
    ] = None,
    discordant: Annotated[
        float | None, typer.Option(help="Without a pilot: share of cases on which one reader alone is right.")
    ] = None,
    sd: Annotated[
        float | None, typer.Option(help="Without a pilot: standard deviation of the case-wise differences.")
    ] = None,
    difference: Annotated[
        float | None, typer.Option(help="Difference to be found; default: that of the pilot.")
    ] = None,
    cases: Annotated[int | None, typer.Option(help="Number of cases: what can they show?", min=1)] = None,
    wanted: Annotated[
        float, typer.Option("--power", help="Chance to find the difference where it is there.")
    ] = 0.8,
    level: Annotated[float, typer.Option(help="1 less the chance to find one where there is none.")] = 0.95,
    design_effect: Annotated[
        float, typer.Option(help="How many cases of the same patients are worth one of another's.")
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Plan a comparison of two readers: cases for a difference, or the difference for cases.

    How widely the readers differ from case to case comes from a pilot or from --discordant (right
    or wrong answers) or --sd (Dice and other means). With --cases and --difference the power is
    found. Normal approximation, two-sided: too hopeful below some 30 cases.
    """
    from overread.cli.console import print_json, safe, stdout_console
    from overread.errors import UsageError
    from overread.metrics.statistics.power import plan_comparison
    from overread.runs.scoring.card import read_card
    from overread.runs.scoring.pilot import read_pilot

    pilot = None
    if cards:
        if len(cards) != 2 or sd is not None or discordant is not None:
            raise UsageError("a pilot is two scorecards, without --sd and --discordant")
        pilot = read_pilot(read_card(cards[0]), read_card(cards[1]), metric)
        sd, discordant = pilot.sd, pilot.discordant
        if difference is None and cases is None:
            difference = pilot.difference
    plan = plan_comparison(
        cases=cases,
        difference=difference,
        sd=sd,
        discordant=discordant,
        power=wanted,
        level=level,
        design_effect=design_effect,
    )
    if as_json:
        print_json({"pilot": pilot.as_dict() if pilot else None, **plan.as_dict()})
        return
    if pilot is not None:
        stdout_console().print(
            f"pilot: {pilot.cases} cases, {pilot.metric} of {safe(pilot.second)} less that of "
            f"{safe(pilot.first)}: {pilot.difference:+.3f}",
            soft_wrap=True,
        )
    stdout_console().print(str(plan), soft_wrap=True)
