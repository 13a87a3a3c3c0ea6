"""`overread show`: one case on the terminal, and its pictures as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AsJson, Benchmark, Form, Pictures, Root, Split

if TYPE_CHECKING:
    from overread.core import Entry, Picture, Reading, Release, Truth


def show(
    benchmark: Benchmark,
    root: Root,
    case: Annotated[str, typer.Argument(metavar="CASE", help="Id of the case, or '#1', '#2', …")],
    split: Split = "test",
    truth: Annotated[bool, typer.Option("--truth", help="Show the truth too.")] = False,
    as_json: AsJson = False,
    form: Form = None,
    pictures: Pictures = None,
    save: Annotated[
        Path | None, typer.Option(help="Also save the pictures as PNG there.", metavar="DIR")
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Show how a run read it, step by step.", metavar="RUN")
    ] = None,
) -> None:
    """Show a case: history, options, pictures, sentences. The truth only with --truth.

    With --run it is followed by what a reader said and where it looked, and saved pictures have
    its marks.
    """
    import overread
    from overread.cli.console import print_json, safe, stdout_console

    release = overread.load(benchmark, root, split, form=form, pictures=pictures)
    entry = release.entry(case)
    reading = find_reading(run, entry) if run is not None else None
    if as_json:
        # The id is what the user asked by; file names stay hidden here too.
        told: dict[str, Any] = {"id": entry.case.id, **entry.case.model_dump(mode="json")}
        if truth:
            told["truth"] = entry.truth.model_dump(mode="json") if entry.truth else None
            told["extra"] = entry.extra
        if reading is not None:
            told["reading"] = reading.model_dump(mode="json")
        print_json(told)
    else:
        print_case(release, entry, truth=truth)
        if reading is not None:
            print_reading(reading)
    saved: list[Path] = []
    if save is not None:
        saved += save_pictures(release, entry, save, truth=truth)
    if save is not None and run is not None and reading is not None:
        saved += save_reading(release, entry, reading, run, save)
    for path in () if as_json else saved:
        stdout_console().print(f"  saved {safe(str(path))}")


def find_reading(run: Path, entry: Entry) -> Reading:
    """The first reading of a case in a run."""
    from overread.errors import UsageError
    from overread.runs.store import last_readings

    readings = last_readings(run)
    found = [readings[key] for key in sorted(readings) if key[0] == entry.case.id]
    if not found:
        raise UsageError(
            f"{run} has no reading of '{entry.case.id}'",
            remedy="name a folder that `overread run --out` wrote, of the same split",
        )
    return found[0]


def print_reading(reading: Reading) -> None:
    """Print what a reader said, step by step, with the places it looked at."""
    from rich.padding import Padding

    from overread.cli.console import safe, stdout_console
    from overread.prompts.interleaved import IMAGE

    console = stdout_console()
    console.print(f"\n[bold cyan]{safe(reading.case_id)}[/]  as read by {safe(reading.reader)}")
    lines = [("Failed", reading.error)] if reading.error else []
    number = 0
    for step in reading.trace.steps if reading.trace else ():
        # The place says which cut-out is shown where the mark stands.
        words = " ".join(step.text.replace(IMAGE, "").split())
        places = dict.fromkeys(_describe_region(region, {}) for region in step.regions)
        if words or places:
            number += 1
            at = f"  [{'; '.join(places)}]" if places else ""
            lines.append((f"{number:3d} {step.kind}", f"{words}{at}"))
    if reading.choice:
        chance = (reading.probabilities or {}).get(reading.choice)
        lines.append(("Choice", reading.choice + (f"  ({chance:.0%})" if chance else "")))
    if reading.report:
        lines.append(("Report", reading.report.strip()))
    for title, text in lines:
        console.print(f"  [bold]{safe(title)}[/]")
        console.print(Padding(safe(text), (0, 0, 0, 6), expand=False))


def print_case(release: Release, entry: Entry, *, truth: bool) -> None:
    """Print one case for a person to read."""
    from rich.padding import Padding

    from overread.cli.console import safe, stdout_console

    console = stdout_console()

    def part(title: str, *lines: str) -> None:
        console.print(f"  [bold]{title}[/]")
        for line in lines:
            console.print(Padding(safe(line), (0, 0, 0, 4), expand=False))

    case = entry.case
    console.print(f"\n[bold cyan]{safe(case.id)}[/]  {case.benchmark}, split {case.split}")
    if case.history:
        part("History", case.history)
    if case.instruction:
        part("Instruction", case.instruction)
    part("Pictures", *(_describe_picture(release, picture) for picture in case.pictures))
    if case.queries:
        part("Findings to locate", *(f"{query.id}  {query.text}" for query in case.queries))
    if case.options:
        part("Options", *(f"{option.letter}  {option.text}" for option in case.options))
    if not truth:
        return
    if entry.truth is None:
        part("Truth", "withheld by this release")
        return
    for title, lines in _truth_parts(entry.truth):
        part(f"[green]{title}[/]", *lines)


def _describe_picture(release: Release, picture: Picture) -> str:
    """One picture in a line: its size from its header, and no file name, which may tell."""
    from overread.errors import NotThere, PictureError
    from overread.pixels.image_files import image_size

    time = f", time point {picture.timepoint}" if picture.timepoint is not None else ""
    try:
        if picture.kind == "volume":
            space = release.pictures.geometry(picture)
            shape = "×".join(str(n) for n in space.shape)
            spacing = "×".join(f"{n:.2f}" for n in space.spacing)
            return f"{picture.name}: {shape} voxels of {spacing} mm, stored {space.axes}{time}"
        width, height = image_size(release.pictures.data(picture))
        return f"{picture.name}: {width}×{height} pixels{time}"
    except NotThere:
        return f"{picture.name}: the file is not there{time}"
    except PictureError:
        return f"{picture.name}: the file cannot be read; `overread check` says why{time}"


def _truth_parts(truth: Truth) -> list[tuple[str, list[str]]]:
    parts: list[tuple[str, list[str]]] = []
    if truth.title:
        parts.append(("Title", [truth.title]))
    if truth.answer or truth.answer_text:
        parts.append(("Answer", [" ".join(filter(None, (truth.answer, truth.answer_text)))]))
    notes = {note.picture: note for note in truth.notes}
    lines = []
    for finding in truth.findings:
        facts = [finding.category or ""]
        if finding.entities is not None:
            facts.append(f"{finding.entities} {'entity' if finding.entities == 1 else 'entities'}")
        facts += [f"{finding.voxels:,} voxels"] if finding.voxels is not None else []
        facts += [_describe_region(region, notes) for region in finding.regions]
        lines.append(f"{finding.text}  [{', '.join(filter(None, facts))}]")
    if lines:
        parts.append(("Findings", lines))
    if truth.trace is not None:
        told = []
        for number, step in enumerate(truth.trace.steps, 1):
            where = "; ".join(_describe_region(region, notes) for region in step.regions)
            words = " ".join(step.text.split())
            if step.link is not None:
                place = f" [{where}]" if where else ""
                told.append(f"{number}. finding {step.link.query}, {step.link.level}: {words}{place}")
            else:
                told.append(f"{number}. {step.kind}: {where if step.kind == 'look' else words}")
        parts.append(("Trace", told))
    if truth.report:
        parts.append(("Report", [truth.report.strip()]))
    if truth.discussion:
        parts.append(("Discussion", [truth.discussion.strip()]))
    icd = [code for code in (truth.icd_chapter, truth.icd_block, truth.icd_category) if code]
    if icd:
        parts.append(("ICD-10", icd))
    if truth.longitudinal:
        parts.append(("Course", [f"{truth.timepoints} time points, {truth.interval or 'unknown'}"]))
    return parts


def _describe_region(region: Any, notes: dict[str, Any]) -> str:
    note = notes.get(region.picture)
    kind = f" ({note.modality})" if note is not None and note.modality else ""
    if region.kind == "box":
        name = f"{region.label}, " if region.label else ""
        return f"{name}box {region.x1:g} {region.y1:g} {region.x2:g} {region.y2:g}"
    if region.kind == "voxels":
        name = f"{region.label}, " if region.label else ""
        low, high = (" ".join(map(str, corner)) for corner in (region.low, region.high))
        return f"{name}voxels {low} to {high}"
    if region.kind == "mask":
        return f"mask channel {region.channel}"
    return f"{region.picture}{kind}"


def save_pictures(release: Release, entry: Entry, folder: Path, *, truth: bool) -> list[Path]:
    """Save the pictures of a case as PNG; with the truth, its boxes and masks drawn on them."""
    from overread.pixels.case_overlays import draw_case
    from overread.pixels.image_files import write_image
    from overread.storage.fence import Fence

    saved = []
    for name, pixels in draw_case(release, entry, truth=truth):
        saved.append(Fence(folder).path_to_write(f"{entry.case.benchmark}-{entry.case.id}-{name}.png"))
        write_image(saved[-1], pixels)
    return saved


def save_reading(release: Release, entry: Entry, reading: Reading, run: Path, folder: Path) -> list[Path]:
    """Save the pictures of a case as PNG, with the marks of a reading drawn on them."""
    from overread.pixels.case_overlays import draw_reading
    from overread.pixels.image_files import write_image
    from overread.storage.fence import Fence

    saved = []
    who = "".join(c if c.isalnum() else "-" for c in reading.reader)
    for name, pixels in draw_reading(release, entry, reading, run):
        file = f"{entry.case.benchmark}-{entry.case.id}-{name}-by-{who}.png"
        saved.append(Fence(folder).path_to_write(file))
        write_image(saved[-1], pixels)
    return saved
