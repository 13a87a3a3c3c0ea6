"""The case exam as it is written: pictures, captions, findings, lists and sources of whole cases."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

import overread
from overread.errors import OverreadError
from overread.language.statements import find_statements
from overread.phantom.case.slices import choose_slices
from overread.phantom.exams.case import (
    CaseFilm,
    CaseRecord,
    check_all_drawn,
    check_all_pictured,
    list_picture_files,
    read_case_entry,
    render_films,
    write_case,
    write_lists,
)
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.patient import draw_case_days
from overread.phantom.visit import PatientSettings, Visit
from tests.jsonl_rows import read_rows

SETTINGS = PatientSettings(seed=77)


class Made(NamedTuple):
    """One case and all it was made from."""

    draft: Draft
    days: tuple[Visit, ...]
    films: dict[str, CaseFilm]
    record: CaseRecord


def chosen() -> list[Draft]:
    """The first case with one time point and a frontal film, and the first with two points."""
    drafts = [draw_draft(number, SETTINGS) for number in range(1, 60)]
    views = [[look.view for look in draft.pictures] for draft in drafts]
    single = next(d for d, v in zip(drafts, views, strict=True) if not d.longitudinal and "PA" in v)
    double = next(d for d in drafts if d.longitudinal and {"gone", "smaller", "larger"} & set(d.turns))
    return [single, double]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(scope="module")
def cases(out: Path) -> list[Made]:
    """Two cases, written with their lists; not to be changed."""
    made = []
    for draft in chosen():
        days = draw_case_days(draft, SETTINGS)
        films = render_films(draft, days)
        made.append(Made(draft, days, films, write_case(draft, days, films, out)))
    write_lists(out, [one.record for one in made])
    return made


def captions(record: CaseRecord) -> list[str]:
    """The captions of a case in the order of its pictures."""
    entry = read_case_entry(record)
    assert entry.truth is not None
    return [finding.text for finding in entry.truth.findings]


def test_the_release_is_intact(out: Path, cases: list[Made]) -> None:
    """No error and no warning in any split, and every case is there."""
    splits = {one.record.line["split"] for one in cases}
    found = 0
    for split in splits:
        assert list(overread.check("medthinkvqa", out / "medthinkvqa", split)) == []
        found += len(list(overread.load("medthinkvqa", out / "medthinkvqa", split)))
    assert found == len(cases)


def test_every_picture_is_there_as_grey_jpeg(out: Path, cases: list[Made]) -> None:
    """As many as the draft has looks, CT slices with a longest side of 512."""
    for one in cases:
        files = list_picture_files(one.draft)
        assert len(files) == len(one.draft.pictures)
        for look, file in zip(one.draft.pictures, files, strict=True):
            with Image.open(out / file) as picture:
                assert (picture.format, picture.mode) == ("JPEG", "L")
                assert max(picture.size) >= 512
                if look.plane is not None:
                    assert max(picture.size) == 512
                assert np.asarray(picture).std() > 20


def test_captions_say_what_the_picture_is(cases: list[Made]) -> None:
    """Modality, plane, window, and the time point where there are two."""
    for one in cases:
        for look, text in zip(one.draft.pictures, captions(one.record), strict=True):
            first = text.split(". ")[0].lower()
            if look.view is not None:
                assert re.search("radiograph|film", first)
                assert (look.view == "lateral") == ("lateral" in first)
            else:
                assert re.search(r"\bct\b", first)
                assert str(look.plane) in first
                assert str(look.window).replace("mediastinum", "mediastinal") in first
            if one.draft.interval is not None:
                assert (one.draft.interval in first) == (look.time == 1)


def test_captions_of_slices_say_what_is_in_them(cases: list[Made]) -> None:
    """A sentence for each finding that the slice shows or misses, and read as what it is."""
    for one in cases:
        laid = choose_slices(one.draft, one.days)
        for cut, text in zip(laid, captions(one.record), strict=True):
            if cut is None:
                continue
            said = re.split(r"(?<=\.) (?=[A-Z0-9])", text)[1:]
            if cut.shown or cut.gone:
                assert len(said) == len(cut.shown) + len(cut.gone)
            else:
                assert len(said) <= cut.clear
            for each in cut.shown:
                wanted = each.statement
                read = [s for s in find_statements(text) if s.category == wanted.category]
                if wanted.category in ("2b", "2d", "2e", "2g", "2h"):
                    assert any(s.side in (wanted.side, None) for s in read)
                    assert read


def test_the_findings_sum_up_all_days(cases: list[Made]) -> None:
    """The report names what was drawn on the first day, and what became of it."""
    for one in cases:
        truth = read_case_entry(one.record).truth
        assert truth is not None
        assert truth.report is not None
        read = {s.category for s in find_statements(truth.report)}
        for finding in one.days[0].findings:
            assert finding.statement.category in read
        if one.draft.interval is not None:
            assert one.draft.interval in truth.report.lower()
            assert len(one.record.line["changes"]) >= len(one.draft.plans)
        assert truth.discussion is not None
        assert truth.answer == one.draft.answer


def test_everything_known_is_written_down(out: Path, cases: list[Made]) -> None:
    """phantom.jsonl has the disease, the days, the changes and what each picture shows."""
    lines = read_rows(out / "medthinkvqa" / "phantom.jsonl")
    assert [line["patient"] for line in lines] == [one.draft.patient for one in cases]
    for line, one in zip(lines, cases, strict=True):
        assert line["disease"] == one.draft.disease
        assert len(line["days"]) == len(one.days)
        assert [p["id"] for p in line["pictures"]] == [look.id for look in one.draft.pictures]
        for picture, look in zip(line["pictures"], one.draft.pictures, strict=True):
            assert ("slice" in picture) == (look.view is None)
            assert ("signs" in picture) == (look.view in ("PA", "AP supine"))


def test_raw_cases_point_at_pictures_that_are_there(out: Path, cases: list[Made]) -> None:
    """The sources name files of the release; what is planted is in a hidden file beside them."""
    folder = out / "sources" / "medthinkvqa"
    rows: list[dict[str, Any]] = read_rows(folder / "cases.jsonl")
    hidden = read_rows(folder / ".planted.jsonl")
    assert [row["id"] for row in rows] == [row["id"] for row in hidden]
    assert len(rows) == len(cases)
    for row in rows:
        assert row["images"]
        for image in row["images"]:
            assert (folder / image["file"]).resolve().is_file()
        assert "kind" not in row


def test_a_case_is_written_the_same_again(cases: list[Made], tmp_path: Path, out: Path) -> None:
    """The same bytes of every picture, and the same record."""
    one = cases[0]
    again = write_case(one.draft, one.days, one.films, tmp_path)
    assert again == one.record
    assert json.loads(again.model_dump_json()) == json.loads(one.record.model_dump_json())
    for file in list_picture_files(one.draft):
        assert (tmp_path / file).read_bytes() == (out / file).read_bytes()


def test_a_case_without_what_it_needs_is_not_written(cases: list[Made], tmp_path: Path) -> None:
    """An error, and no file, where a needed finding was not drawn or is on no picture."""
    one = cases[0]
    plans = tuple(replace(plan, needed=True) for plan in one.draft.plans)
    draft = replace(one.draft, plans=plans)
    empty = replace(one.days[0], drawn_findings=(), findings=())
    with pytest.raises(OverreadError, match="was drawn without"):
        write_case(draft, (empty,), one.films, tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(OverreadError, match="was drawn without"):
        check_all_drawn(draft, [empty])
    with pytest.raises(OverreadError, match="no picture of the case shows"):
        check_all_pictured(draft, [])


def test_two_time_points_without_a_change_are_not_written(cases: list[Made], tmp_path: Path) -> None:
    """The first day shown twice is no course."""
    one = cases[1]
    present = {drawn.plan for drawn in one.days[0].drawn_findings}
    plans = tuple(
        replace(plan, needed=plan.needed and n in present) for n, plan in enumerate(one.draft.plans)
    )
    draft = replace(one.draft, plans=plans, disease="unknown")
    with pytest.raises(OverreadError, match="nothing has changed"):
        write_case(draft, (one.days[0], one.days[0]), one.films, tmp_path)
