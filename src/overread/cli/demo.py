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
_MAKING, _READING, _AUDITING, _BUILDING = 22.0, 34.0, 50.0, 6.0
"""Seconds on two busy cores, for comparison with each other: a patient, the readings of one, the audit
of one, all builds.
"""
_MOST_AUDITED = 4
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
    from overread.cli.demo_steps import DemoSteps
    from overread.phantom.exams.patient_exams import EXAMS

    _claim_place(out)
    screen = console()
    screen.print(
        "Everything is made on this machine and nothing is sent anywhere. It takes about a minute on a "
        "desktop computer, up to ten on a slow or busy one.",
    )
    every = patients + len(_TRAIN_PATIENTS)
    audited = min(patients, _MOST_AUDITED)
    steps = DemoSteps(screen, [_MAKING * every, _READING * patients, _AUDITING * audited, _BUILDING])
    cards: dict[str, dict[str, Card]] = {}
    audits: dict[str, Audit] = {}
    with steps.step(f"Making {every} synthetic patients: generated, not real people"):
        _make_patients(screen, out, patients, seed)
    with steps.step(f"{len(READERS)} readers read {patients} of them in three benchmarks, and are scored"):
        for name in EXAMS:
            cards[name] = _run_readers(screen, name, out)
    with steps.step("Asking atlas again with places of its pictures hidden"):
        for name in EXAMS:
            audits[name] = _audit_atlas(name, out, seed)
    with steps.step("Building two benchmarks from the patients' reports, and saving pictures"):
        _build_benchmarks(screen, out)
        for name in EXAMS:
            _save_first(name, out)
    _print_scores(screen, cards, patients)
    _print_audits(screen, audits)
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
        f"          overread view {where}",
        soft_wrap=True,
    )
    if serve is None:
        serve = sys.stdin.isatty() and sys.stdout.isatty()
    if serve:
        _serve(out, port, browser=browser)


def _claim_place(out: Path) -> None:
    """Take away what an earlier demo left, and mark the folder as a demo's; another one is refused."""
    from overread.errors import UsageError
    from overread.phantom.exams.patient_exams import EXAMS
    from overread.phantom.generator import claim_folder

    try:
        if out.exists() and not (out / _MARKER_FILE).exists() and any(out.iterdir()):
            raise UsageError(f"{out} is there already and is not a demo", remedy="choose another --out")
        for folder in (*EXAMS, "builds", "pictures", "runs", "sources", ".making"):
            shutil.rmtree(out / folder, ignore_errors=True)
        claim_folder(out)
        (out / _MARKER_FILE).touch()
    except OSError as error:
        raise UsageError(
            f"the demo cannot be written to {out} ({error.strerror})",
            remedy="go to a folder in which you may write, or name one with --out",
        ) from None


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
    from overread.phantom.generator import make_population
    from overread.phantom.population import split_of
    from overread.phantom.visit import PatientSettings

    test = islice((number for number in count(1) if split_of(number) == "test"), patients)
    with progress_bar("making patients") as making:
        outcome = make_population(
            out, [*test, *_TRAIN_PATIENTS], PatientSettings(seed=seed, mix="illness"), progress=making
        )
    for line in str(outcome).splitlines():
        screen.print(f"    {safe(line)}")
    for name in EXAMS:
        part, root = catalog.find("benchmarks", name), out / name
        defects = [d for split in splits_of(name, root) for d in check(name, root, split)]
        for defect in defects:
            screen.print(f"    {safe(str(defect))}")
        screen.print(f"    {part.title} checked: {len(defects)} defect(s)")


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
            screen.print(f"    {reader} failed on {outcome.tally.failed} case(s) of {name}")
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
        screen.print(f"    {title} built from their reports: {len(outcome.items)} case(s), {dropped} dropped")


def _save_first(name: str, out: Path) -> None:
    """The pictures of the first case with the truth, and with what atlas marked."""
    import overread
    from overread.cli.show import find_reading, save_pictures, save_reading

    release = overread.load(name, out / name)
    entry = next(iter(release.entries()))
    run = out / "runs" / name / "atlas"
    save_pictures(release, entry, out / "pictures", truth=True)
    save_reading(release, entry, find_reading(run, entry), run, out / "pictures")


def _print_scores(screen: Console, cards: dict[str, dict[str, Card]], patients: int) -> None:
    """The table of scores: one line a benchmark, one column a reader, and a paired difference.

    Where no number has an interval because there are so few patients, that is said once.
    """
    from rich.table import Table

    from overread import catalog, compare

    rows: list[tuple[str, list[object]]] = []
    for name, own in cards.items():
        part = catalog.find("benchmarks", name)
        metric, called = part.headline
        found = compare(
            [own["atlas"], own["random"]], names=["atlas", "random"], baseline="random", metrics=[metric]
        )
        more = found.metrics[metric].differences["atlas"].difference
        rows.append((f"{part.title}\n  {called}", [*(own[r].scores[metric] for r in READERS), more]))
    sure = any(getattr(value, "low", None) is not None for _, values in rows for value in values)
    screen.print(f"\n[bold]Scores[/] on {patients} patients" + (", with 95 % intervals" if sure else ""))
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for column in (*READERS, "atlas − random"):
        table.add_column(column)
    for label, values in rows:
        cells = [*(_format_value(value) for value in values[:-1]), _format_value(values[-1], sign="+")]
        table.add_row(label, *cells)
    screen.print(table)
    screen.print("oracle knows the truth and nothing says nothing: the ends of every scale.")
    if not sure:
        screen.print(f"{patients} patients are too few for intervals; --patients 12 gives them.")


def _print_audits(screen: Console, audits: dict[str, Audit]) -> None:
    """The table of audits: how many answers changed when the reader was asked again.

    Counts and no shares: so few answers bear no more.
    """
    from rich.table import Table

    from overread import catalog

    screen.print(
        "\n[bold]Do atlas's answers rest on what it cites?[/] How many changed when it was asked again,"
    )
    table = Table(box=None, pad_edge=False)
    columns = {"null": "nothing hidden", "hidden": "what it cites hidden", "other": "another place hidden"}
    table.add_column("", no_wrap=True)
    for column in columns.values():
        table.add_column(column)
    total = {arm: [0, 0] for arm in columns}
    for name, audit in audits.items():
        if audit.shares is None:
            continue
        cells = []
        for arm in columns:
            moved = audit.shares.arms[arm].moved if arm in audit.shares.arms else None
            changed, asked = (round((moved.value or 0) * moved.n), moved.n) if moved else (0, 0)
            total[arm][0] += changed
            total[arm][1] += asked
            cells.append(f"{changed} of {asked}" if asked else "–")
        table.add_row(catalog.find("benchmarks", name).title, *cells)
    table.add_row("all", *(f"{changed} of {asked}" for changed, asked in total.values()))
    screen.print(table)
    screen.print(
        "An answer that rests on the place it cites changes when that is hidden, and stays when another "
        "place as large is. So few answers show how it is done; they prove nothing."
    )


def _format_value(found: object, *, sign: str = "") -> str:
    """A value with its interval beneath it, where it has one."""
    value, low, high = (getattr(found, name, None) for name in ("value", "low", "high"))
    if value is None:
        return "–"
    if low is None or high is None:
        return f"{value:{sign}.2f}"
    return f"{value:{sign}.2f}\n{low:{sign}.2f} to {high:{sign}.2f}"
