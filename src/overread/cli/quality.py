"""`overread quality`: a sample of what a build's steps made, marked by people, and its error rates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import AsJson

if TYPE_CHECKING:
    from overread.build.adjudication.error_rates import ErrorRates


def quality(
    build: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a rexgroundingct build.")],
    draw: Annotated[
        int | None, typer.Option("--draw", help="Draw so many units of each step for people to mark.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """Draw a sample of what the steps of a build made, and say how much of it people found wrong.

    The sample lies beside the build in DIR-quality. `overread adjudicate DIR-quality --as ann` (or
    --export, --import, or the page) takes the marks, and --agreement says how far people agree.
    """
    from overread.build.adjudication.error_rates import measure_error_rates
    from overread.build.adjudication.question_file import has_questions
    from overread.build.rexgroundingct.quality import draw_sample, quality_folder
    from overread.cli.console import print_json, safe, stdout_console
    from overread.errors import UsageError

    if not 0 < level < 1:
        raise UsageError(f"--level {level} is no confidence level", remedy="give one such as 0.95")
    folder = quality_folder(build)
    drawn = draw_sample(build, draw, seed=seed) if draw is not None else None
    if not has_questions(folder):
        raise UsageError(
            "no sample of this build has been drawn", where=str(build), remedy="draw one with --draw 50"
        )
    rates = measure_error_rates(folder, level=level)
    if as_json:
        print_json({"folder": str(folder), "units": drawn, "rates": [one.as_dict() for one in rates]})
        return
    out = stdout_console()
    if drawn is not None:
        for step, many in drawn.items():
            out.print(f"{step}: {min(many, draw or 0):,} of {many:,} drawn", soft_wrap=True)
        name = safe(str(folder))
        out.print(f"{name}: mark them with `overread adjudicate {name} --as NAME`", soft_wrap=True)

    for one in rates:
        _print_rates(one, level)


def _print_rates(one: ErrorRates, level: float) -> None:
    """What was decided, error by error; of a single person only how much was wrong."""
    from overread.build.adjudication.error_rates import TOGETHER
    from overread.cli.console import safe, stdout_console

    out = stdout_console()
    judged, together = one.shares[0].judged, one.by == TOGETHER
    who = "decided" if together else f"marked by {safe(one.by)}"
    unsure = f", {one.unsure:,} could not be judged" if one.unsure else ""
    indent = "" if together else "  "
    out.print(f"{indent}{one.kind}: {judged:,} of {one.asked:,} {who}{unsure}", soft_wrap=True)
    for share in one.shares[: None if together else 1] if judged else ():
        interval = "" if share.low is None else f" ({100 * level:g} % {share.low:.3f} to {share.high:.3f})"
        out.print(f"{indent}  {share.error:<20} {share.share:.3f}{interval}  {share.about}", soft_wrap=True)
