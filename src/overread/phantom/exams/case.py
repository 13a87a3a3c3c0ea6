"""The case exam of synthetic patients, in the layout of MedThinkVQA.

    medthinkvqa/train.jsonl, test.jsonl            one case a patient
    medthinkvqa/images/caseNNNNN/ID.jpg            films and CT slices
    medthinkvqa/phantom.jsonl                      all that is known of each case
    sources/medthinkvqa/cases.jsonl                the raw cases, before anything is filtered
    sources/medthinkvqa/.planted.jsonl             what is hidden in them

Pictures are written patient by patient; what the lists need of a patient is his `CaseRecord`. The
raw cases have no pictures of their own: their files are named relative to the sources' folder, and
lie in the release.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.medthinkvqa.release import SPLITS as SPLITS
from overread.benchmarks.medthinkvqa.release import read_row
from overread.benchmarks.medthinkvqa.write import row_of
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry, Record
from overread.errors import OverreadError
from overread.phantom.case.captions import write_ct_caption, write_film_caption, write_imaging_findings
from overread.phantom.case.change_words import write_changes
from overread.phantom.case.days import FindingChange, measure_changes
from overread.phantom.case.slices import CaseSlice, choose_slices, needed_extrapulmonary, render_slice
from overread.phantom.exams.dataset_card import Counts
from overread.phantom.exams.list_files import write_entries, write_lines
from overread.phantom.film.renderer import FilmRenderer, Radiograph
from overread.phantom.film.sign import FRONTAL, FilmContents
from overread.phantom.film.visibility import find_signs
from overread.phantom.illness.discussion import write_discussion
from overread.phantom.illness.draft import Draft, PictureSpec
from overread.phantom.illness.entries import case_split, make_case, make_truth, picture_file
from overread.phantom.illness.raw_cases import make_raw_case
from overread.phantom.population import seed_for
from overread.phantom.scanner import add_noise
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import PatientSettings, Visit
from overread.pixels.encode import encode
from overread.storage.atomic import open_atomic

NAME = "medthinkvqa"
_JPEG_QUALITY = 92


@dataclass(frozen=True)
class CaseFilm:
    """A film of a case and the signs that it shows; None for a lateral film: nothing is known."""

    film: Radiograph
    sight: FilmContents | None


class CaseRecord(Record):
    """What the lists need to know of one patient whose pictures are written."""

    number: int
    """The patient's number."""
    row: dict[str, Any]
    """His row of the release."""
    line: dict[str, Any]
    """His line of phantom.jsonl."""
    raw: dict[str, Any]
    """His raw case."""
    planted: dict[str, Any]
    """What is hidden in it."""


def list_picture_files(draft: Draft) -> list[str]:
    """The pictures of a case, relative to the folder of the phantom."""
    return [f"{NAME}/{picture_file(draft, look)}" for look in draft.pictures]


def render_films(
    draft: Draft, visits: Sequence[Visit], rooms: Mapping[int, FilmRenderer] | None = None
) -> dict[str, CaseFilm]:
    """The films that a case shows, by the ids of its looks; `rooms` that are there already."""
    open_rooms = dict(rooms or {})
    taken: dict[str, CaseFilm] = {}
    sights: dict[tuple[int, str], FilmContents] = {}
    for look in draft.pictures:
        if look.view is None:
            continue
        visit = visits[look.time]
        if look.time not in open_rooms:
            open_rooms[look.time] = FilmRenderer(visit, day=look.time)
        room = open_rooms[look.time]
        sight, key = None, (look.time, look.view)
        if look.view in FRONTAL:
            if key not in sights:
                sights[key] = find_signs(room, visit, look.view)
            sight = sights[key]
        taken[look.id] = CaseFilm(room.render(look.view), sight)
    return taken


def write_case(
    draft: Draft,
    visits: Sequence[Visit],
    films: Mapping[str, CaseFilm],
    out: Path,
    *,
    scans: Sequence[NDArray[np.int16]] | None = None,
) -> CaseRecord:
    """Write the pictures of one case, each file whole, and say what the lists need of it.

    `films` are those of `render_films`; `scans` the noisy HU of each visit, made here where absent.
    """
    check_all_drawn(draft, visits)
    settings = visits[0].settings
    held_out = settings.wordings == "held-out"
    found = measure_changes(visits[0], visits[1], draft) if len(visits) > 1 else ()
    if draft.longitudinal and all(change.turn == "same" for change in found):
        raise OverreadError("the case has two time points, and nothing has changed between them")
    laid = choose_slices(draft, visits)
    check_all_pictured(draft, laid)
    hu = scans if scans is not None else [make_noisy_scan(visit, day) for day, visit in enumerate(visits)]
    captions: list[str] = []
    for look, one in zip(draft.pictures, laid, strict=True):
        rng = _case_rng(settings, draft, "caption", look.id)
        if one is None:
            pixels = films[look.id].film.pixels
            sight = films[look.id].sight
            captions.append(write_film_caption(draft, look, sight, rng, held_out=held_out))
        else:
            space = visits[look.time].scan.canvas.grid.geometry
            pixels = render_slice(hu[look.time], space, one)
            known = _changes_by_key(found)
            captions.append(write_ct_caption(draft, look, one, known, rng, held_out=held_out))
        with open_atomic(out / NAME / picture_file(draft, look)) as stream_:
            stream_.write(encode(pixels, kind="jpeg", quality=_JPEG_QUALITY))
    return _make_record(draft, visits, films, laid, captions, found)


def check_all_drawn(draft: Draft, visits: Sequence[Visit]) -> None:
    """Raise an error unless everything was drawn that the illness cannot do without."""
    ever = {drawn.plan for visit in visits for drawn in visit.drawn_findings}
    missing = [p.kind for n, p in enumerate(draft.plans) if p.needed and n not in ever]
    there = {one.statement.kind for visit in visits for one in visit.extrapulmonary}
    missing += [name for name in needed_extrapulmonary(draft) if name not in there]
    if missing:
        raise OverreadError(f"the case has {draft.disease} and was drawn without {missing[0]}")


def check_all_pictured(draft: Draft, laid: Iterable[CaseSlice | None]) -> None:
    """Raise an error unless some slice shows each thing that the illness cannot do without."""
    shown = {each.key for one in laid if one is not None for each in one.shown}
    needed = {f"plan-{n}": plan.kind for n, plan in enumerate(draft.plans) if plan.needed}
    needed |= {f"beyond-{name}": name for name in needed_extrapulmonary(draft)}
    for key, kind in needed.items():
        if key not in shown:
            raise OverreadError(f"no picture of the case shows its {kind}")


def make_noisy_scan(visit: Visit, day: int) -> NDArray[np.int16]:
    """The scan of a visit with its noise, another on each day."""
    scan = visit.scan
    seed = seed_for(visit.settings.seed, visit.number, "case", "noise", day)
    return add_noise(scan.canvas, visit.body.habitus, scan.difficulty.noise, seed)


def read_case_entry(record: CaseRecord) -> Entry:
    """The row of a patient as the loader reads it."""
    reader = RowFields(dict(record.row), file="cases", number=record.number)
    entry = read_row(reader, split=case_split(record.number), place=record.number)
    if entry is None or reader.defects:
        raise OverreadError(f"patient {record.number} gives no valid row: {reader.defects[0]}")
    return entry


def counts(records: Sequence[CaseRecord]) -> Counts:
    """Cases, those with two time points, diagnoses and pictures, split by split."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for record in records:
        split = case_split(record.number)
        rows = [("cases", ""), ("cases", record.line["disease"])]
        rows += [("cases", "with two time points")] if record.line["interval"] else []
        rows += [("pictures", "")] * len(record.line["pictures"])
        for row in rows:
            found[row][split] += 1
    diseases_there = sorted(key for key in found if key[1] and key[1] != "with two time points")
    order = [("cases", ""), ("cases", "with two time points"), *diseases_there, ("pictures", "")]
    return [(*key, found[key]) for key in order]


def write_lists(out: Path, records: Sequence[CaseRecord]) -> None:
    """Write everything that is about all cases; what is there is replaced, file by file."""
    root, sources = out / NAME, out / "sources" / NAME
    write_lines(root / "phantom.jsonl", (record.line for record in records))
    write_lines(sources / "cases.jsonl", (record.raw for record in records))
    write_lines(sources / ".planted.jsonl", (record.planted for record in records))
    entries: dict[str, list[Entry]] = {}
    for record in records:
        entries.setdefault(case_split(record.number), []).append(read_case_entry(record))
    write_entries(root, NAME, entries)


def _make_record(
    draft: Draft,
    visits: Sequence[Visit],
    films: Mapping[str, CaseFilm],
    laid: Sequence[CaseSlice | None],
    captions: Sequence[str],
    found: Sequence[FindingChange],
) -> CaseRecord:
    settings = visits[0].settings
    sights = {name: taken.sight for name, taken in films.items()}
    report = write_imaging_findings(
        draft,
        visits,
        sights,
        found,
        _case_rng(settings, draft, "report"),
        held_out=settings.wordings == "held-out",
    )
    became = write_changes(found, _case_rng(settings, draft, "changes"), interval=draft.interval)
    told = became if draft.longitudinal else None
    ever = _findings_of_all_days(visits, found)
    discussed = write_discussion(draft, ever, told, _case_rng(settings, draft, "discussion"))
    case = make_case(draft, case_split(draft.patient))
    entry = Entry(case=case, truth=make_truth(draft, captions, report, discussed))
    raw, planted = make_raw_case(draft, entry, settings, ever, told)
    for image in raw["images"]:
        image["file"] = f"../../{NAME}/{image['file']}"
    return CaseRecord(
        number=draft.patient,
        row=row_of(entry),
        line=_case_line(draft, visits, sights, laid, found),
        raw=raw,
        planted=planted.model_dump(mode="json"),
    )


def _findings_of_all_days(visits: Sequence[Visit], found: Sequence[FindingChange]) -> list[FindingStatement]:
    """Statements of the findings of all days, each as measured on the first day that had it."""
    if found:
        return [one for change in found if (one := change.before or change.after) is not None]
    first = visits[0]
    return [*(one.statement for one in first.findings), *(one.statement for one in first.extrapulmonary)]


def _changes_by_key(found: Sequence[FindingChange]) -> dict[str, FindingChange]:
    return {f"beyond-{one.statement.kind}" if one.plan is None else f"plan-{one.plan}": one for one in found}


def _case_line(
    draft: Draft,
    visits: Sequence[Visit],
    sights: Mapping[str, FilmContents | None],
    laid: Sequence[CaseSlice | None],
    found: Sequence[FindingChange],
) -> dict[str, Any]:
    """All that is known of a case."""
    return {
        "patient": draft.patient,
        "id": f"case{draft.patient:05d}",
        "split": case_split(draft.patient),
        "settings": visits[0].settings.model_dump(mode="json"),
        "habitus": asdict(visits[0].body.habitus),
        "group": draft.group,
        "disease": draft.disease,
        "answer": draft.answer,
        "interval": draft.interval,
        "plans": [
            {"kind": f"{p.category} {p.kind}", "needed": p.needed, "illness": n < draft.illness_plans}
            for n, p in enumerate(draft.plans)
        ],
        "days": [_day_to_json(visit) for visit in visits],
        "changes": [change.model_dump(mode="json") for change in found],
        "pictures": [
            _picture_to_json(draft, look, one, sights.get(look.id))
            for look, one in zip(draft.pictures, laid, strict=True)
        ],
    }


def _day_to_json(visit: Visit) -> dict[str, Any]:
    return {
        "findings": [
            {
                "plan": drawn.plan,
                "statement": finding.statement.model_dump(mode="json"),
                "voxels": [entity.voxels for entity in finding.entities],
            }
            for drawn, finding in zip(visit.drawn_findings, visit.findings, strict=True)
        ],
        "beyond": [
            {"statement": one.statement.model_dump(mode="json"), "centre": list(one.centre)}
            for one in visit.extrapulmonary
        ],
    }


def _picture_to_json(
    draft: Draft, look: PictureSpec, one: CaseSlice | None, sight: FilmContents | None
) -> dict[str, Any]:
    known: dict[str, Any] = {"file": picture_file(draft, look), **look.model_dump(mode="json")}
    if one is not None:
        known["slice"] = one.model_dump(mode="json")
    if sight is not None:
        known["signs"] = [sign.model_dump(mode="json") for sign in sight.signs]
    return known


def _case_rng(settings: PatientSettings, draft: Draft, *purpose: str) -> np.random.Generator:
    return np.random.default_rng(seed_for(settings.seed, draft.patient, "case", *purpose))
