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

from overread.benchmarks.fields import RowReader
from overread.benchmarks.medthinkvqa.release import SPLITS as SPLITS
from overread.benchmarks.medthinkvqa.release import read_row
from overread.benchmarks.medthinkvqa.write import row_of
from overread.core import Entry, Record
from overread.errors import OverreadError
from overread.phantom.card import Counts
from overread.phantom.case.captions import ct_caption, film_caption, imaging_findings
from overread.phantom.case.changing import told_changes
from overread.phantom.case.course import Change, changes
from overread.phantom.case.slices import Slice, lay_slices, needed_beyond, render
from overread.phantom.film.room import Film, FilmRoom
from overread.phantom.film.sight import see
from overread.phantom.film.sign import FRONTAL, Sight
from overread.phantom.illness.discussion import discussion
from overread.phantom.illness.draft import Draft, Look
from overread.phantom.illness.entries import case_of, case_split, picture_file, truth_of
from overread.phantom.illness.sources import raw_case
from overread.phantom.lists import write_entries, write_lines
from overread.phantom.population import stream
from overread.phantom.scanner import add_noise
from overread.phantom.statement import Statement
from overread.phantom.visit import Settings, Visit
from overread.pixels.encode import encode
from overread.pixels.files import written

NAME = "medthinkvqa"
_QUALITY = 92


@dataclass(frozen=True)
class Taken:
    """A film of a case, and what it shows; of a lateral one that is not known."""

    film: Film
    sight: Sight | None


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


def files_of(draft: Draft) -> list[str]:
    """The pictures of a case, relative to the folder of the phantom."""
    return [f"{NAME}/{picture_file(draft, look)}" for look in draft.looks]


def take_films(
    draft: Draft, visits: Sequence[Visit], rooms: Mapping[int, FilmRoom] | None = None
) -> dict[str, Taken]:
    """The films that a case shows, by the ids of its looks; `rooms` that are there already."""
    open_rooms = dict(rooms or {})
    taken: dict[str, Taken] = {}
    sights: dict[tuple[int, str], Sight] = {}
    for look in draft.looks:
        if look.view is None:
            continue
        visit = visits[look.time]
        if look.time not in open_rooms:
            open_rooms[look.time] = FilmRoom(visit, day=look.time)
        room = open_rooms[look.time]
        sight, key = None, (look.time, look.view)
        if look.view in FRONTAL:
            if key not in sights:
                sights[key] = see(room, visit, look.view)
            sight = sights[key]
        taken[look.id] = Taken(room.film(look.view), sight)
    return taken


def write_case(
    draft: Draft,
    visits: Sequence[Visit],
    films: Mapping[str, Taken],
    out: Path,
    *,
    scans: Sequence[NDArray[np.int16]] | None = None,
) -> CaseRecord:
    """Write the pictures of one case, each file whole, and say what the lists need of it.

    `films` are those of `take_films`; `scans` the noisy HU of each visit, made here where absent.
    """
    check_needed(draft, visits)
    settings = visits[0].settings
    held_out = settings.wordings == "held-out"
    found = changes(visits[0], visits[1], draft) if len(visits) > 1 else ()
    if draft.longitudinal and all(change.turn == "same" for change in found):
        raise OverreadError("the case has two time points, and nothing has changed between them")
    laid = lay_slices(draft, visits)
    check_shown(draft, laid)
    hu = scans if scans is not None else [scan_of(visit, day) for day, visit in enumerate(visits)]
    captions: list[str] = []
    for look, one in zip(draft.looks, laid, strict=True):
        rng = _rng(settings, draft, "caption", look.id)
        if one is None:
            pixels = films[look.id].film.pixels
            sight = films[look.id].sight
            captions.append(film_caption(draft, look, sight, rng, held_out=held_out))
        else:
            space = visits[look.time].scan.canvas.grid.space
            pixels = render(hu[look.time], space, one)
            known = _by_key(found)
            captions.append(ct_caption(draft, look, one, known, rng, held_out=held_out))
        with written(out / NAME / picture_file(draft, look)) as stream_:
            stream_.write(encode(pixels, kind="jpeg", quality=_QUALITY))
    return _record(draft, visits, films, laid, captions, found)


def check_needed(draft: Draft, visits: Sequence[Visit]) -> None:
    """Raise an error unless everything was drawn that the illness cannot do without."""
    ever = {drawn.plan for visit in visits for drawn in visit.drawn}
    missing = [p.kind for n, p in enumerate(draft.plans) if p.needed and n not in ever]
    there = {one.statement.kind for visit in visits for one in visit.beyond}
    missing += [name for name in needed_beyond(draft) if name not in there]
    if missing:
        raise OverreadError(f"the case has {draft.disease} and was drawn without {missing[0]}")


def check_shown(draft: Draft, laid: Iterable[Slice | None]) -> None:
    """Raise an error unless some slice shows each thing that the illness cannot do without."""
    shown = {each.key for one in laid if one is not None for each in one.shown}
    needed = {f"plan-{n}": plan.kind for n, plan in enumerate(draft.plans) if plan.needed}
    needed |= {f"beyond-{name}": name for name in needed_beyond(draft)}
    for key, kind in needed.items():
        if key not in shown:
            raise OverreadError(f"no picture of the case shows its {kind}")


def scan_of(visit: Visit, day: int) -> NDArray[np.int16]:
    """The scan of a visit with its noise, another on each day."""
    scan = visit.scan
    seed = stream(visit.settings.seed, visit.number, "case", "noise", day)
    return add_noise(scan.canvas, visit.body.habitus, scan.difficulty.noise, seed)


def entry_of(record: CaseRecord) -> Entry:
    """The row of a patient as the loader reads it."""
    reader = RowReader(dict(record.row), file="cases", number=record.number)
    entry = read_row(reader, split=case_split(record.number), place=record.number)
    if entry is None or reader.defects:
        raise OverreadError(f"patient {record.number} makes no row: {reader.defects[0]}")
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
        entries.setdefault(case_split(record.number), []).append(entry_of(record))
    write_entries(root, NAME, entries)


def _record(
    draft: Draft,
    visits: Sequence[Visit],
    films: Mapping[str, Taken],
    laid: Sequence[Slice | None],
    captions: Sequence[str],
    found: Sequence[Change],
) -> CaseRecord:
    settings = visits[0].settings
    sights = {name: taken.sight for name, taken in films.items()}
    report = imaging_findings(
        draft,
        visits,
        sights,
        found,
        _rng(settings, draft, "report"),
        held_out=settings.wordings == "held-out",
    )
    became = told_changes(found, _rng(settings, draft, "changes"), interval=draft.interval)
    told = became if draft.longitudinal else None
    ever = _ever(visits, found)
    discussed = discussion(draft, ever, told, _rng(settings, draft, "discussion"))
    case = case_of(draft, case_split(draft.patient))
    entry = Entry(case=case, truth=truth_of(draft, captions, report, discussed))
    raw, planted = raw_case(draft, entry, settings, ever, told)
    for image in raw["images"]:
        image["file"] = f"../../{NAME}/{image['file']}"
    return CaseRecord(
        number=draft.patient,
        row=row_of(entry),
        line=_line(draft, visits, sights, laid, found),
        raw=raw,
        planted=planted.model_dump(mode="json"),
    )


def _ever(visits: Sequence[Visit], found: Sequence[Change]) -> list[Statement]:
    """What was found on any day, each once: as it was on the first day that had it."""
    if found:
        return [one for change in found if (one := change.before or change.after) is not None]
    first = visits[0]
    return [*(one.statement for one in first.findings), *(one.statement for one in first.beyond)]


def _by_key(found: Sequence[Change]) -> dict[str, Change]:
    return {
        f"beyond-{one.statement.kind}" if one.plan is None else f"plan-{one.plan}": one
        for one in found
    }


def _line(
    draft: Draft,
    visits: Sequence[Visit],
    sights: Mapping[str, Sight | None],
    laid: Sequence[Slice | None],
    found: Sequence[Change],
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
            {
                "kind": f"{p.category} {p.kind}",
                "needed": p.needed,
                "illness": n < draft.illness_plans,
            }
            for n, p in enumerate(draft.plans)
        ],
        "days": [_day(visit) for visit in visits],
        "changes": [change.model_dump(mode="json") for change in found],
        "pictures": [
            _picture(draft, look, one, sights.get(look.id))
            for look, one in zip(draft.looks, laid, strict=True)
        ],
    }


def _day(visit: Visit) -> dict[str, Any]:
    return {
        "findings": [
            {
                "plan": drawn.plan,
                "statement": finding.statement.model_dump(mode="json"),
                "voxels": [entity.voxels for entity in finding.entities],
            }
            for drawn, finding in zip(visit.drawn, visit.findings, strict=True)
        ],
        "beyond": [
            {"statement": one.statement.model_dump(mode="json"), "centre": list(one.centre)}
            for one in visit.beyond
        ],
    }


def _picture(draft: Draft, look: Look, one: Slice | None, sight: Sight | None) -> dict[str, Any]:
    known: dict[str, Any] = {"file": picture_file(draft, look), **look.model_dump(mode="json")}
    if one is not None:
        known["slice"] = one.model_dump(mode="json")
    if sight is not None:
        known["signs"] = [sign.model_dump(mode="json") for sign in sight.signs]
    return known


def _rng(settings: Settings, draft: Draft, *purpose: str) -> np.random.Generator:
    return np.random.default_rng(stream(settings.seed, draft.patient, "case", *purpose))
