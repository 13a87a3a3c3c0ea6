"""MMRad-IVL and GEMeX-ThinkVG: traces in and out, letter by letter; every defect named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import overread
from overread.core import Box, Entry
from overread.errors import UsageError
from overread.prompts.interleaved import join_response, parse_interleaved, parse_thinking
from tests.jsonl_rows import read_rows, write_rows

Copy = Callable[[str], Path]

QUESTION: dict[str, Any] = {
    "image_path": "/p10/p10000032/s5/film.jpg",
    "question": "Is there an effusion on the right?",
    "question_type": "closed_ended_questions",
    "response": "<think>I look at the angle (right costophrenic angle [40, 200, 90, 280]), which is "
    "blunted, and at the hila, both hilar structures ([90, 90, 200, 160]).</think><response>"
    "<answer>Yes</answer><location><ref>right costophrenic angle</ref><box>[40, 200, 90, 280]"
    "</box></location></response>",
}


def entries(root: Path, **options: Any) -> list[Entry]:
    return list(overread.load("mmrad", root, **options).entries())


def found(root: Path) -> dict[str, str]:
    return {defect.code: defect.severity for defect in overread.check("mmrad", root)}


@pytest.fixture
def questions(sketch: Path, tmp_path: Path) -> Path:
    """A release of two question rows, as the hub has them."""
    root = tmp_path / "thinkvg"
    film = sketch / "mmrad" / "IVLImage" / "sketch00003" / "problem_image_1.jpg"
    (root / "p10/p10000032/s5").mkdir(parents=True)
    shutil.copy(film, root / "p10/p10000032/s5/film.jpg")
    write_rows(root / "test.jsonl", [QUESTION, QUESTION | {"question": "How large is the heart?"}])
    return root


def test_a_record_becomes_looks_and_words(sketch: Path) -> None:
    """The reader sees the radiograph and the instruction; the trace has boxes, crops, words."""
    entry = entries(sketch / "mmrad")[0]
    assert [picture.name for picture in entry.case.pictures] == ["xray"]
    assert "<image>" not in (entry.case.instruction or "")
    truth = entry.truth
    assert truth is not None
    assert truth.trace is not None
    looks = [step for step in truth.trace.steps if step.kind == "look"]
    assert [step.crop for step in looks] == [f"IVLImage/sketch00003/reasoning_image_{n}.jpg" for n in (1, 2)]
    labels = [region.label for step in looks for region in step.regions if isinstance(region, Box)]
    assert labels == ["heart and the mediastinal region", "lung region"]
    assert [step.kind for step in truth.trace.steps] == [
        "say",
        "look",
        "say",
        "say",
        "look",
        "say",
        "conclude",
    ]
    assert truth.findings[0].text == "Normal heart size."
    assert truth.report is not None
    assert truth.report.startswith("Normal heart size.")


@pytest.mark.parametrize("form", ["jsonl", "parquet", "json"])
def test_load_write_load_is_the_identity(sketch: Path, tmp_path: Path, form: str) -> None:
    """Entries, crops and the very letters of the rows come back."""
    release = overread.load("mmrad", sketch / "mmrad")
    overread.write(release, tmp_path, form=form)
    assert entries(tmp_path) == list(release.entries())
    assert found(tmp_path) == {}
    if form == "jsonl":
        assert read_rows(tmp_path / "test.jsonl") == read_rows(sketch / "mmrad" / "test.jsonl")


@pytest.mark.parametrize("form", ["thinkvg-jsonl", "thinkvg-parquet"])
def test_question_rows_come_in_and_out(questions: Path, tmp_path: Path, form: str) -> None:
    """Questions are a source of traces: boxes in the thinking, an answer, its location."""
    release = overread.load("mmrad", questions)
    first = next(iter(release.entries()))
    assert release.form == "thinkvg-jsonl"
    assert first.case.instruction == QUESTION["question"]
    assert first.case.patient == "p10000032"
    assert first.truth is not None
    assert first.truth.answer_text == "Yes"
    assert first.truth.trace is not None
    boxes = [region for step in first.truth.trace.steps for region in step.regions]
    assert [box.label for box in boxes if isinstance(box, Box)] == [
        "right costophrenic angle",
        "both hilar structures",
        "right costophrenic angle",
    ]
    assert found(questions) == {}
    overread.write(release, tmp_path / "out", form=form)
    assert entries(tmp_path / "out") == list(release.entries())
    if form == "thinkvg-jsonl":
        assert read_rows(tmp_path / "out" / "test.jsonl") == read_rows(questions / "test.jsonl")
    with pytest.raises(UsageError, match="not made from each other"):
        overread.write(release, tmp_path / "no", form="jsonl")


def test_question_rows_without_any_film_are_what_the_hub_has(questions: Path) -> None:
    """The radiographs come from elsewhere: none here is one warning, one of two is an error."""
    rows = read_rows(questions / "test.jsonl")
    rows[1]["image_path"] = "/p10/p10000032/s5/other.jpg"
    write_rows(questions / "test.jsonl", rows)
    assert found(questions) == {"missing-file": "error"}
    shutil.rmtree(questions / "p10")
    assert found(questions) == {"no-pictures": "warning"}


def test_question_rows_in_the_hubs_parquet(questions: Path) -> None:
    """`data/train-00000-of-00001.parquet`, with the films in a folder of their own."""
    rows = read_rows(questions / "test.jsonl")
    (questions / "test.jsonl").unlink()
    (questions / "data").mkdir()
    parquet.write_table(pa.Table.from_pylist(rows), questions / "data" / "train-00000-of-00001.parquet")
    films = questions.parent / "films"
    films.mkdir()
    shutil.move(questions / "p10", films / "p10")
    release = overread.load("mmrad", questions, "train", pictures=films)
    assert [case.id for case in release] == ["film-q1", "film-q2"]
    assert release.pictures.pixels(next(iter(release)).pictures[0]).shape == (336, 336)


pieces = st.lists(
    st.sampled_from(
        ["First, I need to analyze the lung region. ", "I will highlight the heart of this X-ray. "]
        + [" The box is [1, 2, 3, 4] .", " [9, 8, 7] ", "\n\n ", "report: ", "Summarizing: ", "Fine. "]
        + ["(left lung [1, 2, 3, 4])", "([5,6,7,8])", "<answer>no</answer>", "<think>", "é "]
    ),
    max_size=12,
).map("".join)


@given(st.lists(pieces, min_size=1, max_size=5))
def test_nothing_of_a_response_is_lost(parts: list[str]) -> None:
    """Steps and report joined are the response again, for any order of its pieces."""
    response = "<image>".join(parts)
    crops = [f"{n}.jpg" for n in range(len(parts) - 1)]
    parsed = parse_interleaved(response, crops, picture="xray")
    assert join_response(parsed.trace, parsed.report) == response
    assert [step.crop for step in parsed.trace.steps if step.kind == "look"] == crops
    thought = parse_thinking(response, picture="xray")
    assert join_response(thought.trace, None) == response


def test_the_published_example_is_taken_apart() -> None:
    """The boxes of the published record, its two major regions and where its report begins."""
    response = (
        "First, I need to analyze the heart and the mediastinal region. I will highlight the heart "
        "and the mediastinal region of this X-ray. <image> The bounding box of this area is "
        "[108, 104, 252, 277] . Normal heart.\n\n Second, I need to analyze the lung region. I will "
        "highlight the lung region of this X-ray. <image> The bounding box of this area is "
        "[57, 67, 281, 281] . Clear.\n\n  Summarizing the previous analysis, I will generate the "
        "following report: As compared to the previous film: no change."
    )
    parsed = parse_interleaved(response, ["a", "b"], picture="xray")
    assert parsed.report == "As compared to the previous film: no change."
    assert [finding.text for finding in parsed.findings] == ["Normal heart.", "Clear."]
    box = parsed.findings[1].regions[0]
    assert isinstance(box, Box)
    assert (box.x1, box.y1, box.x2, box.y2) == (57, 67, 281, 281)
    assert parsed.oddities == ()


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str, str]] = {
    "a crop too few": (lambda r: r["images"].pop(), "count-mismatch", "error"),
    "a token too few": (
        lambda r: r.update(response=r["response"].replace("<image>", "", 1)),
        "count-mismatch",
        "error",
    ),
    "no token": (lambda r: r.update(prompt="Report.", images=r["images"][1:]), "count-mismatch", "error"),
    "inverted": (lambda r: _boxed(r, "[241, 173, 133, 262]"), "inverted-box", "error"),
    "three numbers": (lambda r: _boxed(r, "[133, 173, 241]"), "bad-box", "error"),
    "outside": (lambda r: _boxed(r, "[133, 173, 941, 962]"), "box-outside-picture", "warning"),
    "no box": (lambda r: _boxed(r, "nowhere"), "no-box", "warning"),
    "second box inverted": (
        lambda r: r.update(response=r["response"].replace("Normal heart", "Also [90, 90, 10, 10]")),
        "inverted-box",
        "error",
    ),
    "box before a look": (
        lambda r: r.update(response="Seen [9, 9, 1, 1]. " + r["response"]),
        "inverted-box",
        "error",
    ),
    "not a number": (lambda r: _boxed(r, "[nan, 173, 241, 262]"), "bad-box", "error"),
    "semicolons": (lambda r: _boxed(r, "[133; 173; 241; 262]"), "bad-box", "error"),
    "no prompt": (lambda r: r.pop("prompt"), "missing-field", "error"),
    "no images": (lambda r: r.pop("images"), "wrong-type", "error"),
    "odd images": (lambda r: r.update(images=[1, 2, 3]), "wrong-type", "error"),
    "odd response": (lambda r: r.update(response=7), "wrong-type", "error"),
    "no response": (lambda r: r.update(response=None, images=r["images"][:1]), "missing-field", "error"),
    "lost crop": (lambda r: r["images"].__setitem__(1, "IVLImage/x.jpg"), "missing-file", "error"),
    "way out": (lambda r: r["images"].__setitem__(1, "../../x.jpg"), "refused-file", "error"),
    "no report": (lambda r: r.update(response=r["response"].split("Summarizing")[0]), "no-report", "warning"),
    "other region": (
        lambda r: r.update(response=r["response"].replace("lung region", "tail region")),
        "unknown-region",
        "warning",
    ),
}


def _boxed(row: dict[str, Any], text: str) -> None:
    import re

    row["response"] = re.sub(r"\[.*?\]", text, row["response"], count=1)


@pytest.mark.parametrize("name", BROKEN)
def test_each_defect_is_named(copy: Copy, name: str) -> None:
    """One thing broken in row 2 is told by its name, at its weight, at that row."""
    edit, code, severity = BROKEN[name]
    root = copy("mmrad")
    rows = read_rows(root / "test.jsonl")
    edit(rows[1])
    write_rows(root / "test.jsonl", rows)
    defects = {d.code: d for d in overread.check("mmrad", root)}
    assert code in defects
    assert defects[code].severity == severity
    assert {defect.row for defect in defects.values()} == {2}


@pytest.mark.parametrize(
    ("words", "report"),
    [
        (
            "Clear. Now the report: FINDINGS: Clear. IMPRESSION: In summary: normal.",
            "FINDINGS: Clear. IMPRESSION: In summary: normal.",
        ),
        ("Clear.\n\n In conclusion, the report reads: Normal.", "Normal."),
        ("Clear. As said, normal.", None),
        ("Clear. The final report:", None),
    ],
)
def test_where_the_report_begins(words: str, report: str | None) -> None:
    """After the first clause that sums up or speaks of the report, and ends in a colon."""
    parsed = parse_interleaved(words, [], picture="xray")
    assert parsed.report == report
    assert join_response(parsed.trace, parsed.report) == words


def test_flat_folders_give_each_film_its_own_id(copy: Copy) -> None:
    """Where all pictures lie in one folder, the file is the id, not the folder."""
    root = copy("mmrad")
    rows = read_rows(root / "test.jsonl")
    (root / "images").mkdir()
    for row in rows:
        flat = [
            file.replace("IVLImage/", "images/").replace("/problem", "-film").replace("/reasoning", "-crop")
            for file in row["images"]
        ]
        for old, new in zip(row["images"], flat, strict=True):
            shutil.move(root / old, root / new)
        row["images"] = flat
    write_rows(root / "test.jsonl", rows)
    assert found(root) == {}


def test_twins_must_tell_the_same(copy: Copy, tmp_path: Path) -> None:
    """Two forms of one split agree, or the case is named; pictures are told once."""
    root = copy("mmrad")
    overread.write(overread.load("mmrad", root), tmp_path / "p", form="parquet", pictures=False)
    shutil.copy(tmp_path / "p" / "test.parquet", root)
    assert found(root) == {}
    rows = read_rows(root / "test.jsonl")
    rows[1]["response"] += " And more."
    write_rows(root / "test.jsonl", rows)
    (defect,) = overread.check("mmrad", root)
    assert (defect.code, defect.file, defect.row) == ("twin-mismatch", "test.parquet", 2)
    (root / "IVLImage" / "sketch00003" / "reasoning_image_1.jpg").unlink()
    codes = [defect.code for defect in overread.check("mmrad", root)]
    assert sorted(codes) == ["missing-file", "twin-mismatch"]


def test_withheld_duplicate_and_empty(copy: Copy) -> None:
    """No response anywhere is withheld truth; equal ids are an error; no rows a warning."""
    root = copy("mmrad")
    rows = read_rows(root / "test.jsonl")
    blind = [{"prompt": row["prompt"], "images": row["images"][:1]} for row in rows]
    write_rows(root / "test.jsonl", blind)
    assert found(root) == {"withheld-truth": "warning"}
    assert [entry.truth for entry in entries(root)] == [None, None]
    write_rows(root / "test.jsonl", [*rows, rows[0]])
    assert found(root) == {"duplicate-id": "error"}
    write_rows(root / "test.jsonl", [])
    assert found(root) == {"empty-split": "warning"}


def test_a_prompt_of_another_shape_is_written_back_as_it_was(copy: Copy, tmp_path: Path) -> None:
    """The token may stand first; the instruction is clean, the row keeps its letters."""
    root = copy("mmrad")
    rows = [
        row | {"prompt": "<image>\nWrite  a report.", "study": 5} for row in read_rows(root / "test.jsonl")
    ]
    write_rows(root / "test.jsonl", rows)
    assert entries(root)[0].case.instruction == "Write a report."
    overread.write(overread.load("mmrad", root), tmp_path / "out")
    assert read_rows(tmp_path / "out" / "test.jsonl") == rows


def test_columns_of_some_rows_survive_parquet(copy: Copy, tmp_path: Path) -> None:
    """An extra of the second row only, a response of the second only, mixed types: all come back."""
    root = copy("mmrad")
    rows = read_rows(root / "test.jsonl")
    del rows[0]["response"]
    rows[0]["images"] = rows[0]["images"][:1]
    rows[0]["study"], rows[1]["study"], rows[1]["only"] = "x", 1, 2**65
    write_rows(root / "test.jsonl", rows)
    overread.write(overread.load("mmrad", root), tmp_path / "out", form="parquet")
    assert entries(tmp_path / "out") == entries(root)
