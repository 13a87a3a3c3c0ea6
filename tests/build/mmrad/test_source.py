"""Sources of the recipe `mmrad`: rows, question rows, and everything that can be wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.benchmarks import check, load
from overread.build.item import Item
from overread.build.mmrad import RECIPE
from overread.build.mmrad.pairs import pairs_of
from overread.build.mmrad.source import items
from overread.build.plan import BuildOutcome
from overread.build.runner import run_build
from overread.core import Defect
from overread.errors import UsageError
from overread.pixels.image_files import write_image
from tests.phantom.film.made_up_sights import regions

REPORT = "FINDINGS: Consolidation in the right lower lung zone. The heart is normal in size."


def film_row(name: str, **other: Any) -> dict[str, Any]:
    """A good row; `other` replaces columns, None takes them out."""
    row = {
        "id": name,
        "patient": f"pat-{name}",
        "image": f"images/{name}.jpg",
        "width": 640,
        "height": 560,
        "report": REPORT,
        "regions": [{"name": region, "box": list(box)} for region, box in regions().items()],
    } | other
    return {key: value for key, value in row.items() if value is not None}


def source_of(root: Path, rows: list[Any], *, form: str = "jsonl") -> Path:
    """A folder with these rows and a film for each of them that names one."""
    (root / "images").mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 255, (560, 640), np.uint8)
    for name in ("a", "b", "c"):
        write_image(root / "images" / f"{name}.jpg", pixels)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (root / f"reports.{form}").write_text("\n".join(lines), encoding="utf-8")
    return root


def built(root: Path, rows: list[Any], **settings: str) -> BuildOutcome:
    """The build of rows."""
    return run_build(RECIPE, source_of(root / "source", rows), root / "out", settings=settings)


def drops(outcome: BuildOutcome) -> dict[str, int]:
    """Reason → items that were dropped for it."""
    return {why: many for step in outcome.steps for why, many in step.dropped.items()}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("{not json", "bad-row"),
        (film_row("b", id=None), "missing-field"),
        (film_row("b", report=None), "missing-field"),
        ({"Scan": 1, "Findings_EN": "text"}, "missing-field"),
        (film_row("b", id="b\0c"), "bad-row"),
        (film_row("b", report=7), "wrong-type"),
        (film_row("b", regions="right lung"), "wrong-type"),
        (film_row("b", regions=[["right lung", [1, 2, 3, 4]]]), "wrong-type"),
        (film_row("b", width="wide"), "wrong-type"),
        (film_row("a"), "duplicate-id"),
    ],
)
def test_a_row_that_makes_no_film_is_a_defect(tmp_path: Path, row: Any, code: str) -> None:
    """It is told with its row, and the good rows around it are built."""
    outcome = built(tmp_path, [film_row("a"), row, film_row("c")])
    assert [(one.code, one.row) for one in outcome.defects] == [(code, 2)]
    assert [item.id for item in outcome.items] == ["a", "c"]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"image": "images/nowhere.jpg"}, "missing-image"),
        ({"image": "../outside.jpg"}, "unreadable-image"),
        ({"image": "reports.jsonl"}, "unreadable-image"),
        ({"report": ""}, "empty-report"),
        ({"report": " \n "}, "empty-report"),
        ({"report": "nodule " * 20_000}, "report-too-long"),
        ({"report": "Akciğer parankiminde özellik yoktur. Kalp boyutu normaldir."}, "nothing-told"),
        ({"regions": {"right lung": [270, 40, 60, 440]}}, "inverted-box"),
        ({"regions": {"right lung": [60, 40, 2700, 440]}}, "box-outside-picture"),
        ({"regions": {"right lung": [60, 40, 270]}}, "bad-box"),
        ({"regions": {"right lung": [60, None, 270, 440]}}, "bad-box"),
        ({"regions": {"left kidney": [60, 40, 270, 440]}}, "no-regions"),
        ({"regions": None}, "no-regions"),
        ({"regions": {"left clavicle": [370, 50, 580, 110]}}, "no-boxes"),
        ({"width": 400, "height": 560}, "size-mismatch"),
        (
            {"regions": [{"name": "svc", "box": b} for b in ([1, 1, 20, 20], [99, 99, 200, 200])]},
            "conflicting-boxes",
        ),
        ({"report": f"{REPORT} The lungs show <image> signs."}, "record-cannot-hold-it"),
        ({"report": f"{REPORT} The left lung is clear [3, 4]."}, "record-cannot-hold-it"),
    ],
)
def test_a_film_that_cannot_be_used_is_dropped(tmp_path: Path, other: dict[str, Any], reason: str) -> None:
    """It is dropped with its own reason, and the film beside it is built."""
    # A plain dict update, so that None can stand for no regions at all.
    bad = film_row("b") | other
    outcome = built(tmp_path, [film_row("a"), bad])
    assert drops(outcome) == {reason: 1}
    assert [item.id for item in outcome.items] == ["a"]
    assert not outcome.failed


def test_what_can_be_mended_is_mended_and_told(tmp_path: Path) -> None:
    """An unknown region is left out, a frame is scaled, a box cut at the edge, NULs blanked."""
    half = {name: [edge / 2 for edge in box] for name, box in regions().items()}
    half["abdomen"] = [20, 210, 300, 280.4]
    row = film_row("a", regions=half | {"left kidney": [1, 1, 9, 9]}, width=320, height=280)
    row["report"] = REPORT.replace("The heart", "The\0heart")
    outcome = run_build(RECIPE, source_of(tmp_path / "s", [row]), tmp_path / "out", preview=1)
    (shown,) = outcome.previews
    told = list(shown.entries[0].changes)
    assert [one.what for one in told] == ["report", "frame", "regions", "regions"]
    (item,) = outcome.items
    boxes = item.data["boxes"]
    assert isinstance(boxes, dict)
    assert boxes["right lung"] == list(regions()["right lung"])
    assert boxes["abdomen"] == [40, 420, 600, 560]
    assert "left kidney" not in boxes
    assert "\0" not in str(item.data["report"])


def test_every_sentence_of_a_report_is_accounted_for(tmp_path: Path) -> None:
    """Each sentence has a role; the impression is told only where there are no findings."""
    report = (
        "TECHNIQUE: Portable film. HISTORY: Fever.\n\n"
        f"{REPORT} Discussed with the ward.\n\nIMPRESSION: Pneumonia on the right."
    )
    outcome = built(tmp_path, [film_row("a", report=report), film_row("b", report=report[-36:])])
    roles = [[one.role for one in pairs_of(item)] for item in outcome.items]
    assert roles[0] == ["around", "around", "told", "told", "nowhere", "summary"]
    assert roles[1] == ["told"]


def test_a_folder_without_a_source_is_refused(tmp_path: Path) -> None:
    """One sentence that says what should be there; finished records are refused as well."""
    with pytest.raises(UsageError, match=r"reports\.jsonl"):
        list(items(tmp_path, {}))
    with pytest.raises(UsageError, match="no folder"):
        list(items(tmp_path / "none", {}))
    row = {"prompt": "Report. <image>", "response": "In summary: clear.", "images": ["a.jpg"]}
    (tmp_path / "train.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(UsageError, match="made already"):
        list(items(tmp_path, {}))


def test_other_forms_of_the_rows_make_the_same_items(tmp_path: Path) -> None:
    """A CSV with regions as JSON text is the same source as JSON lines."""
    rows = [film_row("a"), film_row("b")]
    plain = list(items(source_of(tmp_path / "one", rows), {}))
    folder = tmp_path / "two"
    folder.mkdir()
    cells = [[r["id"], r["patient"], r["image"], 640, 560, REPORT] for r in rows]
    boxes = json.dumps(rows[0]["regions"]).replace('"', '""')
    lines = [",".join([*map(str, cell), f'"{boxes}"']) for cell in cells]
    header = "id,patient,image,width,height,report,regions"
    (folder / "reports.csv").write_text("\n".join([header, *lines]), encoding="utf-8")
    other = list(items(folder, {}))
    assert [_without_file(one) for one in plain] == [_without_file(one) for one in other]


def test_rows_of_a_table_that_are_wrong_are_defects(tmp_path: Path) -> None:
    """A byte that is not UTF-8 and a text with commas outside quotes are told, not mended."""
    rows = [
        b"id,image,report,regions\n",
        b"a,a.png,A caf\xe9.,{}\n",
        b"b,b.png,No effusion, no nodule.,{}\n",
        b"c,c.png,No effusion.,{}\n",
    ]
    (tmp_path / "reports.csv").write_bytes(b"".join(rows))
    latin, commas, item = items(tmp_path, {})
    assert isinstance(latin, Defect)
    assert (latin.code, latin.row, "0xe9" in latin.found) == ("wrong-encoding", 1, True)
    assert isinstance(commas, Defect)
    assert (commas.code, commas.row) == ("bad-row", 2)
    assert isinstance(item, Item)
    assert (item.id, item.data["row"]) == ("c", 3)


def _without_file(one: Item | Defect) -> Any:
    assert isinstance(one, Item)
    return one.id, one.patient, {key: v for key, v in one.data.items() if key != "file"}


def question(image: str, think: str, answer: str = "Yes") -> dict[str, str]:
    """One row of GEMeX-ThinkVG."""
    tail = f"<response><answer>{answer}</answer></response>"
    return {
        "image_path": image,
        "question": "What is seen?",
        "question_type": "open_ended_questions",
        "response": f"<think>{think}</think>{tail}",
    }


def test_question_rows_become_a_trace_and_a_report(tmp_path: Path) -> None:
    """Questions on one film are one item; what they say is told once, looks alone are not."""
    source = source_of(tmp_path / "source", [])
    (source / "reports.jsonl").unlink()
    box = {name: list(corners) for name, corners in regions().items()}
    heart, lung = box["cardiac silhouette"], box["right lower lung zone"]
    rows = [
        question(
            "/images/a.jpg", f"I look at the heart (cardiac silhouette {heart}). The heart is enlarged."
        ),
        question(
            "/images/a.jpg",
            f"The right lower lung zone (right lower lung zone {lung}) shows a consolidation. "
            "The heart is enlarged.",
        ),
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    (source / "train.jsonl").write_text(text, encoding="utf-8")
    outcome = run_build(RECIPE, source, tmp_path / "out")
    (item,) = outcome.items
    sentence = "The right lower lung zone shows a consolidation."
    assert item.data["report"] == f"FINDINGS: {sentence} The heart is enlarged."
    assert outcome.release is not None
    assert not list(check("mmrad", outcome.release, "train"))
    (entry,) = load("mmrad", outcome.release, "train").entries()
    assert entry.truth is not None
    assert {one.text for one in entry.truth.findings} == {sentence, "The heart is enlarged."}


def test_a_report_beside_question_rows_is_taken(tmp_path: Path) -> None:
    """It is the record's report; what the rows say is used only where it says nothing."""
    source = source_of(tmp_path / "source", [film_row("a", regions=None)])
    box = {name: list(corners) for name, corners in regions().items()}
    rows = [
        question("images/a.jpg", f"I look here (trachea {box['trachea']}). The trachea is central."),
        question(
            "images/a.jpg",
            f"I look here (right lower lung zone {box['right lower lung zone']}). "
            "There is a consolidation in the right lower lung zone.",
        ),
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    (source / "train.jsonl").write_text(text, encoding="utf-8")
    outcome = run_build(RECIPE, source, tmp_path / "out")
    (item,) = outcome.items
    assert item.data["report"] == REPORT
    roles = [(one.origin, one.role) for one in pairs_of(item)]
    assert roles == [("report", "told"), ("report", "unboxed"), ("rows", "told"), ("rows", "spare")]


def test_a_report_that_was_decoded_wrongly_before_is_a_defect(tmp_path: Path) -> None:
    """A replacement character is somebody's Latin-1: named with row and field, never built on."""
    damaged = film_row("b", report=REPORT.replace("The heart", "The c\ufffdur"))
    outcome = built(tmp_path, [film_row("a"), damaged])
    (defect,) = outcome.defects
    assert (defect.code, defect.row, defect.case, defect.field) == ("wrong-encoding", 2, "b", "report")
    assert [item.id for item in outcome.items] == ["a"]


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "parquet"])
def test_a_latin_1_report_is_named_in_every_form(tmp_path: Path, form: str) -> None:
    """The same defect, with the same question, whatever the table's form."""
    import pyarrow as pa
    from pyarrow import parquet

    row = {"id": "a", "image": "a.png", "report": "A caf\u00e9.", "regions": "{}"}
    path = tmp_path / f"reports.{form}"
    text = json.dumps([row] if form == "json" else row, ensure_ascii=False)
    if form == "csv":
        text = "id,image,report,regions\na,a.png,A caf\u00e9.,{}\n"
    path.write_bytes(text.encode("latin-1"))
    if form == "parquet":
        report = pa.array(["A caf\u00e9.".encode("latin-1")], pa.binary()).view(pa.string())
        parquet.write_table(pa.table({**{k: [v] for k, v in row.items()}, "report": report}), path)
    (defect,) = items(tmp_path, {})
    assert isinstance(defect, Defect)
    assert defect.code == "wrong-encoding"
    assert "0xe9" in defect.found
    assert "Latin-1" in defect.found
