"""`overread show`: one case on the terminal, and its pictures as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AsJson, Benchmark, Form, Pictures, Root, Split

if TYPE_CHECKING:
    from overread.core import Entry, Picture, Release, Truth


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
) -> None:
    """Show a case: history, options, pictures, sentences. The truth only with --truth."""
    import overread
    from overread.cli.console import out, print_json, safe

    release = overread.load(benchmark, root, split, form=form, pictures=pictures)
    entry = release.entry(case)
    if as_json:
        # The id is what the user asked by; file names stay hidden here too.
        told: dict[str, Any] = {"id": entry.case.id, **entry.case.model_dump(mode="json")}
        if truth:
            told["truth"] = entry.truth.model_dump(mode="json") if entry.truth else None
            told["extra"] = entry.extra
        print_json(told)
    else:
        print_case(release, entry, truth=truth)
    for path in save_pictures(release, entry, save, truth=truth) if save is not None else ():
        if not as_json:
            out().print(f"  saved {safe(str(path))}")


def print_case(release: Release, entry: Entry, *, truth: bool) -> None:
    """Print one case for a person to read."""
    from rich.padding import Padding

    from overread.cli.console import out, safe

    console = out()

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
    part("Pictures", *(_described(release, picture) for picture in case.pictures))
    if case.queries:
        part("To be found", *(f"{query.id}  {query.text}" for query in case.queries))
    if case.options:
        part("Options", *(f"{option.letter}  {option.text}" for option in case.options))
    if not truth:
        return
    if entry.truth is None:
        part("Truth", "withheld by this release")
        return
    for title, lines in _truth_parts(entry.truth):
        part(f"[green]{title}[/]", *lines)


def _described(release: Release, picture: Picture) -> str:
    """One picture in a line: its size from its header, and no file name, which may tell."""
    from overread.errors import NotThere, PictureError
    from overread.pixels.flat import image_size

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
        facts += [_place(region, notes) for region in finding.regions]
        lines.append(f"{finding.text}  [{', '.join(filter(None, facts))}]")
    if lines:
        parts.append(("Findings", lines))
    if truth.trace is not None:
        told = []
        for number, step in enumerate(truth.trace.steps, 1):
            where = "; ".join(_place(region, notes) for region in step.regions)
            words = where if step.kind == "look" else " ".join(step.text.split())
            told.append(f"{number}. {step.kind}: {words}")
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


def _place(region: Any, notes: dict[str, Any]) -> str:
    note = notes.get(region.picture)
    kind = f" ({note.modality})" if note is not None and note.modality else ""
    if region.kind == "box":
        name = f"{region.label}, " if region.label else ""
        return f"{name}box {region.x1:g} {region.y1:g} {region.x2:g} {region.y2:g}"
    if region.kind == "mask":
        return f"mask channel {region.channel}"
    return f"{region.picture}{kind}"


def save_pictures(release: Release, entry: Entry, folder: Path, *, truth: bool) -> list[Path]:
    """Save the pictures of a case as PNG; with the truth, its boxes and masks drawn on them."""
    from overread.pixels.casework import case_pictures
    from overread.pixels.fence import Fence
    from overread.pixels.flat import write_image

    saved = []
    for name, pixels in case_pictures(release, entry, truth=truth):
        saved.append(Fence(folder).place(f"{entry.case.benchmark}-{entry.case.id}-{name}.png"))
        write_image(saved[-1], pixels)
    return saved
