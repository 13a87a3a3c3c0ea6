"""`overread demo`: the main job in one go, on synthetic patients, with no download."""

from __future__ import annotations

import shutil
import sys
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from overread import Card
    from overread.runs.audit.records import Audit

_MARKER_FILE = ".made-by-overread-demo"
READERS = ("atlas", "majority", "random", "nothing", "oracle")
"""Who reads: the embedded reader, and the bounds between which every reader lies."""
MIN_ANSWERS = 3
"""Answers below which no share is told."""
_TRAIN_PATIENTS = (1, 3, 4)
"""Patients that nobody reads here: `majority` counts in them, and one is in val."""


def demo(
    out: Annotated[Path, typer.Option(help="Where to write.", metavar="DIR")] = Path("overread-demo"),
    patients: Annotated[int, typer.Option(help="Number of test patients.", min=2, max=1000)] = 4,
    seed: Annotated[int, typer.Option(help="Random seed of the patients.", min=0)] = 0,
    serve: Annotated[
        bool | None,
        typer.Option(
            "--serve/--no-serve",
            help="Serve the page on the results at the end; by default where there is a terminal.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.", min=0, max=65535)] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser on the page.")
    ] = True,
) -> None:
    """Make synthetic patients, have the embedded readers read them, score, compare and audit.

    All three benchmarks, one body a patient. An earlier demo in the same folder is made anew.
    """
    from overread.cli.console import safe
    from overread.cli.console import stdout_console as console
    from overread.errors import UsageError
    from overread.phantom.exams.patient_exams import EXAMS

    if out.exists() and not (out / _MARKER_FILE).exists() and any(out.iterdir()):
        raise UsageError(f"{out} is there already and is not a demo", remedy="choose another --out")
    for folder in (*EXAMS, "builds", "pictures", "runs", "sources", ".making"):
        shutil.rmtree(out / folder, ignore_errors=True)
    screen = console()
    _make_patients(screen, out, patients, seed)
    cards: dict[str, dict[str, Card]] = {}
    audits: dict[str, Audit] = {}
    for name in EXAMS:
        cards[name] = _run_readers(screen, name, out)
        audits[name] = _audit_atlas(name, out, seed)
        _save_first(name, out)
    _build_benchmarks(screen, out)
    screen.print(_score_table(cards))
    screen.print(_audit_table(audits))
    where = safe(str(out))
    screen.print(
        f"\nPictures with the truth and with what atlas marked: {where}/pictures\n"
        "Now try:  "
        f"overread show rexgroundingct {where}/rexgroundingct '#1' "
        f"--run {where}/runs/rexgroundingct/atlas\n"
        f"          overread score {where}/runs/medthinkvqa/atlas\n"
        f"          overread compare {where}/runs/mmrad/atlas {where}/runs/mmrad/random\n"
        f"          overread audit {where}/runs/rexgroundingct/atlas\n"
        f"          overread ledger {where}/builds/medthinkvqa\n"
        f"          overread report {where}/runs/mmrad/atlas --out report.html\n"
        "          overread phantom my-patients --patients 20 --seed 7\n"
        f"          overread view {where}"
    )
    if serve is None:
        serve = sys.stdin.isatty() and sys.stdout.isatty()
    if serve:
        _serve(out, port, browser=browser)


def _serve(out: Path, port: int, *, browser: bool) -> None:
    """The page on what was made, until Ctrl-C."""
    from overread.cli.view import serve_page
    from overread.site.server import ServerSettings
    from overread.site.shelf import Shelf

    serve_page(Shelf([out]), ServerSettings(port=port, browser=browser))


def _make_patients(screen: Console, out: Path, patients: int, seed: int) -> None:
    """Patients of the test split, and some of the others; every release is checked."""
    from overread import catalog, check
    from overread.benchmarks import splits_of
    from overread.cli.console import progress_bar, safe
    from overread.phantom.exams.patient_exams import EXAMS
    from overread.phantom.generator import claim_folder, make_population
    from overread.phantom.population import split_of
    from overread.phantom.visit import PatientSettings

    claim_folder(out)
    (out / _MARKER_FILE).touch()
    test = islice((number for number in count(1) if split_of(number) == "test"), patients)
    with progress_bar("making patients") as making:
        outcome = make_population(
            out, [*test, *_TRAIN_PATIENTS], PatientSettings(seed=seed, mix="illness"), progress=making
        )
    screen.print("[bold]Synthetic patients[/]: generated, not real people")
    for line in str(outcome).splitlines():
        screen.print(f"  {safe(line)}")
    for name in EXAMS:
        part, root = catalog.find("benchmarks", name), out / name
        defects = [d for split in splits_of(name, root) for d in check(name, root, split)]
        for defect in defects:
            screen.print(f"  {safe(str(defect))}")
        screen.print(f"  {part.title} checked: {len(defects)} defect(s)")


def _run_readers(screen: Console, name: str, out: Path) -> dict[str, Card]:
    """Every reader reads the test split of one benchmark and is scored."""
    from overread import RunPlan, run, score
    from overread.cli.run_output import live_progress

    cards = {}
    for reader in READERS:
        folder = out / "runs" / name / reader
        with live_progress(f"{name}: {reader} reads", quiet=False) as watch:
            outcome = run(RunPlan(name, out / name, reader), folder, watch=watch)
        if outcome.tally.failed:
            screen.print(f"  {reader} failed on {outcome.tally.failed} case(s) of {name}")
        cards[reader] = score(folder)
    return cards


def _audit_atlas(name: str, out: Path, seed: int) -> Audit:
    """Whether what atlas says rests on what it cites, on the first few readings."""
    from overread import catalog
    from overread.cli.run_output import live_progress
    from overread.runs.audit.records import AuditPlan
    from overread.runs.audit.runner import audit

    plan = AuditPlan(
        out / "runs" / name / "atlas",
        arms=("hidden", "other"),
        limit=catalog.find("benchmarks", name).demo_audits,
        seed=seed,
    )
    return audit(plan, watching=lambda arm: live_progress(f"{name}: audit, {arm}", quiet=False))


def _build_benchmarks(screen: Console, out: Path) -> None:
    """Two of the benchmarks once more, made by rules from the patients' raw reports."""
    from overread import catalog
    from overread.build.runner import run_build
    from overread.cli.run_output import live_progress

    for name in ("medthinkvqa", "mmrad"):  # that of rexgroundingct waits for people to draw masks
        with live_progress(f"{name}: built from reports", quiet=False) as watch:
            outcome = run_build(name, out / "sources" / name, out / "builds" / name, watch=watch)
        title = catalog.find("benchmarks", name).title
        dropped = sum(count for step in outcome.steps for count in step.dropped.values())
        screen.print(f"{title} built from their reports: {len(outcome.items)} case(s), {dropped} dropped")


def _save_first(name: str, out: Path) -> None:
    """The pictures of the first case with the truth, and with what atlas marked."""
    import overread
    from overread.cli.show import find_reading, save_pictures, save_reading

    release = overread.load(name, out / name)
    entry = next(iter(release.entries()))
    run = out / "runs" / name / "atlas"
    save_pictures(release, entry, out / "pictures", truth=True)
    save_reading(release, entry, find_reading(run, entry), run, out / "pictures")


def _score_table(cards: dict[str, dict[str, Card]]) -> object:
    """The table of scores: one line a benchmark, one column a reader, and a paired difference."""
    from rich.table import Table

    from overread import catalog, compare

    table = Table(box=None, title="\nScores, with 95 % intervals", title_justify="left")
    table.add_column("")
    for reader in READERS:
        table.add_column(reader, justify="left")
    table.add_column("atlas − random")
    for name, own in cards.items():
        part = catalog.find("benchmarks", name)
        metric, called = part.headline
        found = compare(
            [own["atlas"], own["random"]], names=["atlas", "random"], baseline="random", metrics=[metric]
        )
        more = found.metrics[metric].differences["atlas"].difference
        cells = [_format_interval(own[reader].scores[metric]) for reader in READERS]
        table.add_row(f"{part.title}\n  {called}", *cells, _format_interval(more, sign="+"))
    return table


def _audit_table(audits: dict[str, Audit]) -> object:
    """The table of audits: how often answers moved, and the share that rests on what is cited."""
    from rich.table import Table

    from overread import catalog

    title = "\nDo atlas's answers rest on what it cites? Share that moved"
    table = Table(box=None, title=title, title_justify="left")
    for column in ("", "answers", "unchanged", "cited hidden", "other hidden", "rest on it"):
        table.add_column(column)
    for name, audit in audits.items():
        shares = audit.shares
        if shares is None:
            continue
        moved = {arm: own.moved for arm, own in shares.arms.items()}
        arms = [_format_interval(moved.get(arm)) for arm in ("null", "hidden", "other")]
        answers = str(moved["hidden"].n) if "hidden" in moved else "–"
        compared = shares.rests.n if shares.rests is not None else 0
        rests = _format_interval(shares.rests) if compared >= MIN_ANSWERS else f"too few ({compared})"
        table.add_row(catalog.find("benchmarks", name).title, answers, *arms, rests)
    return table


def _format_interval(found: object, *, sign: str = "") -> str:
    """A value with its interval beneath it."""
    value, low, high = (getattr(found, name, None) for name in ("value", "low", "high"))
    if value is None:
        return "–"
    if low is None or high is None:
        why = getattr(found, "note", "").partition(":")[0]
        return f"{value:{sign}.3f}" + (f"\n({why})" if why else "")
    return f"{value:{sign}.3f}\n({low:{sign}.2f} – {high:{sign}.2f})"
