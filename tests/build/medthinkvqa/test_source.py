"""Raw cases that are wrong in every way: each ends as a defect or a drop with its reason."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.benchmarks import check, load
from overread.build.item import Item
from overread.build.medthinkvqa import RECIPE
from overread.build.medthinkvqa.source import items
from overread.build.plan import BuildOutcome
from overread.build.runner import run_build
from overread.core import Defect
from overread.errors import UsageError
from overread.pixels.encode import encode
from tests.pixels.dicom.dicom_files import grey, stored

LISTED = ["Sarcoidosis", "Silicosis", "Lymphoma", "Tuberculosis", "Metastases", "Amyloidosis"]


def row(name: str = "c1", **other: Any) -> dict[str, Any]:
    """A raw case that is in order, or is not in what is given."""
    full = {
        "id": name,
        "patient": f"p-{name}",
        "title": "Bilateral nodes",
        "history": "A 40-year-old woman had coughed for 3 weeks.",
        "imaging_findings": "Enlarged nodes.",
        "discussion": "Background\nNodes have many causes.",
        "differential": LISTED,
        "final_diagnosis": "Sarcoidosis",
        "images": [{"file": "a.png", "caption": "Chest radiograph (PA)."}],
    }
    return full | other


def source(folder: Path, *rows: Any, raw: bytes | None = None) -> Path:
    """A folder with these raw cases and one picture."""
    folder.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(one) + "\n" for one in rows).encode() if raw is None else raw
    (folder / "cases.jsonl").write_bytes(data)
    (folder / "a.png").write_bytes(encode(np.full((9, 9), 70, np.uint8)))
    return folder


def build(folder: Path, **settings: str) -> BuildOutcome:
    """A build by rules."""
    outcome = run_build(RECIPE, folder, folder.parent / "out", settings=settings)
    assert not outcome.tally.bugs, outcome.tally.bugs
    return outcome


def reasons(outcome: BuildOutcome) -> dict[str, int]:
    """Why cases were dropped, and how many."""
    found: dict[str, int] = {}
    for step in outcome.steps:
        assert not step.failed
        found |= step.dropped
    return found


def test_a_case_in_order_comes_through_and_passes_the_check(tmp_path: Path) -> None:
    """Six diagnoses become five, the title that tells is replaced, the picture is copied."""
    outcome = build(source(tmp_path / "in", row()), **{"test-share": "1"})
    assert reasons(outcome) == {}
    release = tmp_path / "out" / "release"
    assert list(check("medthinkvqa", release, "test")) == []
    (entry,) = load("medthinkvqa", release, "test").entries()
    assert entry.truth is not None
    assert entry.truth.answer_text == "Sarcoidosis"
    assert entry.truth.icd_category == "D86 - Sarcoidosis"
    assert "nodes" not in (entry.truth.title or "")
    assert entry.truth.notes[0].modality == "X-ray"
    assert entry.truth.longitudinal is False
    assert (release / entry.case.pictures[0].file).read_bytes() == (tmp_path / "in" / "a.png").read_bytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"history": ""}, "no-history"),
        ({"history": " \x00\n "}, "no-history"),
        ({"history": "cough " * 400_000}, "text-too-long"),
        ({"final_diagnosis": " "}, "no-diagnosis"),
        ({"images": []}, "no-pictures"),
        ({"images": ["b.png"]}, "picture-missing"),
        ({"images": ["../a.png"]}, "picture-missing"),
        ({"images": ["cases.jsonl"]}, "picture-unreadable"),
        ({"differential": LISTED[:4]}, "too-few-differentials"),
        (
            {"differential": ["Sarcoidosis", "sarcoidosis.", "SARCOIDOSIS", "Silicosis", "Gout"]},
            "too-few-differentials",
        ),
        ({"differential": ["", " ", *LISTED[:4]]}, "too-few-differentials"),
        ({"differential": [f"Disease number {n} of many" for n in range(30)]}, "too-many-differentials"),
        ({"final_diagnosis": "Gout"}, "key-not-listed"),
        (
            {
                "final_diagnosis": "Lymphoma",
                "differential": ["Nodal lymphoma", "Lymphoma of bone", *LISTED[:1], *LISTED[3:]],
            },
            "key-ambiguous",
        ),
        ({"history": "Known sarcoidosis with a cough."}, "leak-L3"),
    ],
)
def test_what_cannot_be_used_is_dropped_with_a_reason(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    """Each wrong case is a counted drop, and the right one beside it comes through."""
    outcome = build(source(tmp_path / "in", row("c1", **change), row("c2")))
    assert reasons(outcome) == {reason: 1}
    assert [item.id for item in outcome.items] == ["c2"]


@pytest.mark.parametrize(
    ("wrong", "code", "field"),
    [
        ({"id": "c1"}, "missing-field", "history"),
        (row(history=None), "missing-field", "history"),
        (row(history=7), "wrong-type", "history"),
        (row(""), "missing-field", "id"),
        (row(differential={"a": 1}), "wrong-type", "differential"),
        (row(differential=[1, 2]), "wrong-type", "differential"),
        (row(images=[{"caption": "no file"}]), "wrong-type", "images"),
        (row(images="[broken"), "wrong-type", "images"),
        (row(patient=["x"]), "wrong-type", "patient"),
        ([1, 2], "bad-row", None),
    ],
)
def test_rows_that_make_no_case_are_defects(tmp_path: Path, wrong: Any, code: str, field: str | None) -> None:
    """The defect names the file, the row and the field; the next row is read."""
    found = list(items(source(tmp_path / "in", wrong, row("c2")), {}))
    assert isinstance(found[0], Defect)
    assert (found[0].code, found[0].field, found[0].row) == (code, field, 1)
    assert isinstance(found[1], Item)


def test_broken_lines_encodings_and_doubles_are_defects(tmp_path: Path) -> None:
    """Half a line, Latin-1 and an id that comes twice cost only themselves."""
    good = json.dumps(row("c1")).encode()
    raw = b"\n".join((good, b'{"id": ', '{"id": "é"}'.encode("latin-1"), good, b""))
    outcome = build(source(tmp_path / "in", raw=raw))
    assert [defect.code for defect in outcome.defects] == ["bad-row", "wrong-encoding", "duplicate-id"]
    assert [item.id for item in outcome.items] == ["c1"]


def test_nul_bytes_are_taken_out_and_told(tmp_path: Path) -> None:
    """The text is cleaned, and the change has the places."""
    outcome = build(source(tmp_path / "in", row(history="A\x00 cough.", discussion="So\x07 it is.")))
    (item,) = outcome.items
    assert item.data["history"] == "A cough."
    assert item.data["discussion"] == "So it is."


def test_a_key_in_other_spelling_becomes_the_listed_one(tmp_path: Path) -> None:
    """Equality but for spelling, then containment; the release has the listed words."""
    folder = source(
        tmp_path / "in",
        row("c1", final_diagnosis="SARCOIDOSIS."),
        row("c2", final_diagnosis="Nodal sarcoidosis"),
    )
    outcome = build(folder)
    assert [item.data["final_diagnosis"] for item in outcome.items] == ["Sarcoidosis"] * 2


def write_table(folder: Path, columns: dict[str, str], name: str = "cases.csv") -> Path:
    """A table with one row."""
    source(folder)
    (folder / "cases.jsonl").unlink()
    with (folder / name).open("w", newline="") as stream:
        table = csv.writer(stream, delimiter="\t" if name.endswith("tsv") else ",")
        table.writerow(columns)
        table.writerow(columns.values())
    return folder


@pytest.mark.parametrize("name", ["cases.csv", "cases.tsv"])
def test_a_table_with_the_columns_is_read(tmp_path: Path, name: str) -> None:
    """Lists between semicolons, pictures in numbered columns, columns in other capitals."""
    columns = {
        "ID": "c1",
        "Clinical_History": "A cough.",
        "differential": "; ".join(LISTED),
        "final_diagnosis": "Lymphoma",
        "image_01_path": "a.png",
        "image_01_caption": "Ultrasound of the neck.",
    }
    (item,) = items(write_table(tmp_path / "in", columns, name), {})
    assert isinstance(item, Item)
    assert item.data["differential"] == LISTED
    assert item.data["images"] == [{"file": "a.png", "caption": "Ultrasound of the neck."}]


def test_a_table_with_other_columns_is_one_defect(tmp_path: Path) -> None:
    """It says which columns are missing and which are there, once."""
    (found,) = items(write_table(tmp_path / "in", {"accession": "1", "report": "x"}), {})
    assert isinstance(found, Defect)
    assert found.code == "missing-field"
    assert "history" in found.expected
    assert "accession" in found.found


def test_rows_with_too_many_cells_and_bad_bytes_are_defects(tmp_path: Path) -> None:
    """A ragged row and one that is not UTF-8 cost themselves, each named by its number."""
    columns = {
        "id": "1", "history": "x", "differential": "a", "final_diagnosis": "a", "images": "a.png",
    }  # fmt: skip
    folder = write_table(tmp_path / "in", columns)
    table = folder / "cases.csv"
    good = table.read_bytes()
    table.write_bytes(good + b"2,too,many,cells,here,now\n3,caf\xe9,a,a,a.png\n4,x,a,a,a.png\n")
    first, ragged, latin, last = items(folder, {})
    assert isinstance(first, Item)
    assert isinstance(ragged, Defect)
    assert (ragged.code, ragged.row) == ("bad-row", 2)
    assert isinstance(latin, Defect)
    assert (latin.code, latin.row, "0xe9" in latin.found) == ("wrong-encoding", 3, True)
    assert isinstance(last, Item)
    table.write_bytes(good.decode().replace(",", ";").encode("utf-16"))
    (item,) = items(folder, {})
    assert isinstance(item, Item)
    assert item.id == "1"


def test_a_row_without_pictures_costs_only_itself(tmp_path: Path) -> None:
    """Empty picture columns of the first row do not make the table one without such columns."""
    columns = {
        "id": "1", "history": "x", "differential": "a", "final_diagnosis": "a", "image_01_path": "",
    }  # fmt: skip
    folder = write_table(tmp_path / "in", columns)
    with (folder / "cases.csv").open("a") as stream:
        stream.write("2,x,a,a,a.png\n")
    lacking, item = items(folder, {})
    assert isinstance(lacking, Defect)
    assert (lacking.code, lacking.field, lacking.row) == ("missing-field", "images", 1)
    assert isinstance(item, Item)


def test_no_cases_at_all_is_one_sentence(tmp_path: Path) -> None:
    """An empty folder, and a file of another kind, say what to give."""
    with pytest.raises(UsageError, match=r"cases\.jsonl"):
        list(items(tmp_path, {}))
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"\.csv"):
        list(items(tmp_path / "x.xlsx", {}))


def test_pictures_beside_the_source_only_where_its_folder_says_so(tmp_path: Path) -> None:
    """`sources/NAME` may name files beside `sources`, and nothing above that."""
    inside = source(tmp_path / "all" / "sources" / "mine", row(images=["../../a.png"]))
    (tmp_path / "all" / "a.png").write_bytes((inside / "a.png").read_bytes())
    outcome = run_build(RECIPE, inside, tmp_path / "out1")
    assert len(outcome.items) == 1
    source(inside, row(images=["../../../a.png"]))
    (tmp_path / "a.png").write_bytes((inside / "a.png").read_bytes())
    outcome = run_build(RECIPE, inside, tmp_path / "out2")
    assert reasons(outcome) == {"picture-missing": 1}


def test_dicom_pictures_lose_their_header_and_give_their_modality(tmp_path: Path) -> None:
    """A DICOM becomes a JPEG without a name in it; its tag wins over the source's word."""
    folder = source(tmp_path / "in", row(images=[{"file": "x.dcm", "modality": "CT", "caption": "A film."}]))
    pixels = np.arange(64, dtype=np.uint16).reshape(8, 8)
    dataset = grey(pixels, Modality="DX", PatientName="Doe^Jane")
    (folder / "x.dcm").write_bytes(stored(dataset))
    build(folder, **{"test-share": "1"})
    release = tmp_path / "out" / "release"
    assert list(check("medthinkvqa", release, "test")) == []
    (entry,) = load("medthinkvqa", release, "test").entries()
    assert entry.truth is not None
    assert entry.truth.notes[0].modality == "X-ray"
    data = (release / entry.case.pictures[0].file).read_bytes()
    assert data[:2] == b"\xff\xd8"
    assert b"Doe" not in data


def test_cases_of_one_patient_are_told_in_the_release(tmp_path: Path) -> None:
    """Both go to one split and carry the same mark of the patient, which is not his name."""
    folder = source(tmp_path / "in", row("c1", patient="Doe"), row("c2", patient="Doe"))
    build(folder, **{"test-share": "1"})
    entries = list(load("medthinkvqa", tmp_path / "out" / "release", "test").entries())
    assert len(entries) == 2
    assert entries[0].case.id != entries[1].case.id
    assert entries[0].extra["patient"] == entries[1].extra["patient"] != "Doe"
