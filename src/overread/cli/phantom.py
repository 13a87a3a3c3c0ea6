"""`overread phantom`: synthetic patients, written as a benchmark has its cases."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AsJson

if TYPE_CHECKING:
    from overread.phantom.generator import PopulationResult
    from overread.phantom.visit import PatientSettings


def phantom(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Output folder; created if missing.")],
    patients: Annotated[
        int, typer.Option(help="How many; more can be added later.", min=1, max=1_000_000)
    ] = 10,
    seed: Annotated[int, typer.Option(help="Random seed of the patients.", min=0)] = 0,
    size: Annotated[str, typer.Option(help="small: voxels of 2 mm; full: 512 × 512 × 300 voxels.")] = "small",
    difficulty: Annotated[str, typer.Option(help="easy, medium or hard to see.")] = "medium",
    exams: Annotated[
        str, typer.Option(help="Which exams, with commas between them.", metavar="NAMES")
    ] = "medthinkvqa,rexgroundingct,mmrad",
    mix: Annotated[
        str | None,
        typer.Option(
            help="Findings: those of the illness (illness), categories as often as they are "
            "(real), or all alike (even). Without it illness if medthinkvqa is among the exams, "
            "else real."
        ),
    ] = None,
    wordings: Annotated[
        str, typer.Option(help="The common wordings, or those held out (held-out).")
    ] = "common",
    style: Annotated[
        str, typer.Option(help="Sentences as of a radiologist, translated, or mixed.")
    ] = "mixed",
    text_only: Annotated[
        bool, typer.Option("--text-only", help="Cases as text, without drawing any picture.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes; as many as there are cores by default.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make synthetic patients with chest CTs, radiographs, diagnosis cases and reports.

    The same settings give the same bytes. The same command again goes on where it was stopped, and
    a larger --patients adds some.
    """
    from overread.cli.console import print_json, progress_bar
    from overread.errors import OverreadError, UsageError
    from overread.phantom.generator import default_mix, make_population, parse_exams, parse_settings

    names = parse_exams(exams)
    settings = parse_settings(
        seed=seed,
        size=size,
        difficulty=difficulty,
        mix=mix or default_mix(names),
        wordings=wordings,
        style=style,
    )
    if text_only:
        if "medthinkvqa" not in names:
            raise UsageError(
                "only cases can be drawn as text", remedy="add medthinkvqa to --exams, or leave it out"
            )
        _write_text_cases(out, patients, settings, as_json=as_json)
        return
    try:
        with progress_bar("making patients", quiet=as_json) as told:
            outcome = make_population(out, patients, settings, exams=names, workers=workers, progress=told)
    except KeyboardInterrupt:
        typer.echo("overread: stopped; resume with the same command", err=True)
        sys.exit(130)
    except OSError as error:
        raise OverreadError(
            f"{out} cannot be written ({error.strerror or error})",
            remedy="make room or choose another folder; patients that are done are kept, and the "
            "same command goes on from there",
        ) from None
    if as_json:
        print_json(_summary(out, outcome) | {"settings": settings.model_dump(mode="json")})
    elif outcome.splits:
        _print(out, outcome)
    if outcome.failed:
        first = next(iter(outcome.failed.values()))
        count = len(outcome.failed)
        raise first if count == 1 else OverreadError(f"{first}; {count - 1} more likewise")


def _summary(out: Path, outcome: PopulationResult) -> dict[str, Any]:
    return {
        "out": str(out),
        "ok": not outcome.failed,
        "patients": outcome.splits.total(),
        "made": outcome.made,
        "there": outcome.existing,
        "failed": {str(number): str(error) for number, error in outcome.failed.items()},
        "splits": dict(sorted(outcome.splits.items())),
        "exams": {
            exam: {" ".join(filter(None, row[:2])): dict(row[2]) for row in rows}
            for exam, rows in outcome.counts.items()
        },
        "findings": sum(outcome.categories.values()),
        "categories": dict(sorted(outcome.categories.items())),
    }


def _print(out: Path, outcome: PopulationResult) -> None:
    from overread.cli.console import safe
    from overread.cli.console import stdout_console as console

    screen = console()
    count = outcome.splits.total()
    if outcome.made or outcome.failed:
        before = f", {outcome.existing} were there before" if outcome.existing else ""
        screen.print(f"made {outcome.made} synthetic patient(s) in {safe(str(out))}{before}")
    else:
        screen.print(f"all {count} synthetic patient(s) are in {safe(str(out))} already")
    for line in str(outcome).splitlines():
        screen.print(f"  {line}")
    root = shlex.quote(str(out))
    for number, exam in enumerate(outcome.counts):
        lead = "\nNow try:  " if not number else "          "
        screen.print(f"{lead}overread check {exam} {safe(root)}/{exam} --split all")


def _write_text_cases(out: Path, patients: int, settings: PatientSettings, *, as_json: bool) -> None:
    """Write the cases as text and say so."""
    from overread.cli.console import print_json, progress_bar, safe
    from overread.cli.console import stdout_console as console
    from overread.phantom.exams.text_cases import write_text_cases

    with progress_bar("drawing cases", quiet=as_json) as told:
        splits = write_text_cases(out, patients, settings, progress=told)
    if as_json:
        print_json({"out": str(out), "ok": True, "cases": splits})
        return
    parts = ", ".join(f"{many} {split}" for split, many in sorted(splits.items()))
    console().print(f"drew {patients} case(s) as text in {safe(str(out))}: {parts}")
