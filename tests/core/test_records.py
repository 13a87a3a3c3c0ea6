"""What a reader may see and what is true are two objects."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import overread
from overread.benchmarks.release import clean_id
from overread.core import WITH_HANDLES, Box, Case, Defect, Entry, Image, Option, Record, Truth, Volume
from overread.errors import OverreadError, Refused, UnknownName, UsageError
from overread.ontology import finding_tree

BENCHMARKS = ("medthinkvqa", "rexgroundingct", "mmrad")


def strings(value: Any) -> set[str]:
    """All texts in a JSON value, without the words that only say what is meant by others."""
    if isinstance(value, dict):
        return strings([inner for key, inner in value.items() if key not in _HANDLES])
    if isinstance(value, list):
        return set().union(*map(strings, value))
    return {value} if isinstance(value, str) else set()


_HANDLES = ("kind", "picture", "query")


def leaks(case: dict[str, Any], truth: dict[str, Any]) -> set[str]:
    """Texts of a truth that stand in the dump of its case.

    Only two places may hold one: an option the right answer, a query the sentence of its finding.
    """
    hidden = strings(truth)
    sentences = {found["query"]: found["text"] for found in truth["findings"]}
    places: list[tuple[Any, set[str]]] = [
        ({**case, "options": [], "queries": []}, set()),
        *((option["text"], {truth["answer_text"]}) for option in case["options"]),
        *((query["text"], {sentences[query["id"]]}) for query in case["queries"]),
    ]
    return {
        text
        for place, allowed in places
        for text in hidden - allowed
        for shown in strings(place)
        if (text in shown if len(text) > 3 else text == shown)
    }


def dumps(entry: Entry) -> tuple[dict[str, Any], dict[str, Any]]:
    """A case and its truth as JSON."""
    assert entry.truth is not None
    return entry.case.model_dump(mode="json"), entry.truth.model_dump(mode="json")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_case_tells_nothing_of_its_truth(sketch: Path, benchmark: str) -> None:
    """No text of the truth, no file name and no id stands in the dump of a case."""
    for entry in overread.load(benchmark, sketch / benchmark).entries():
        case, truth = dumps(entry)
        # The sentences to be found name lungs and lobes themselves, as links of a chain do.
        assert leaks(case, truth) <= {"lung", "right lung", "left lung", "lobe"}
        for handle in (entry.case.id, *(picture.file for picture in entry.case.pictures)):
            assert handle not in json.dumps(case)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_truth_that_did_leak_would_be_found(sketch: Path, benchmark: str) -> None:
    """Captions, categories, the report and the rest, copied whole into a case or amid its texts."""
    for entry in overread.load(benchmark, sketch / benchmark).entries():
        case, truth = dumps(entry)
        for name, value in truth.items():
            assert leaks(case | {name: value}, truth) >= strings(value)
        for text in strings(truth):
            assert text in leaks(case | {"history": text}, truth)
            if len(text) > 3:
                assert text in leaks(case | {"instruction": f"Look. {text} Well?"}, truth)
                if text not in (truth["answer_text"], *(q["text"] for q in case["queries"])):
                    for part in ("options", "queries"):
                        told = [{**one, "text": f"{one['text']} {text}"} for one in case[part]]
                        assert not told or text in leaks(case | {part: told}, truth)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_cases_and_entries_survive_json(sketch: Path, benchmark: str) -> None:
    """Asked for whole, a case comes back equal; an entry always does."""
    for entry in overread.load(benchmark, sketch / benchmark).entries():
        whole = entry.case.model_dump_json(context=WITH_HANDLES)
        assert Case.model_validate_json(whole) == entry.case
        assert Entry.model_validate_json(entry.model_dump_json()) == entry
        assert Entry.model_validate(entry.model_dump()) == entry


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_pictures_of_a_release_open_no_mask(sketch: Path, benchmark: str) -> None:
    """What a session is given beside a case opens the case's pictures, and has no way to more."""
    release = overread.load(benchmark, sketch / benchmark)
    pictures = release.pictures
    case = next(iter(release))
    assert pictures.pixels(case.pictures[0]).size > 1000
    assert {name for name in dir(pictures) if not name.startswith("_")} == {"data", "pixels", "geometry"}
    with pytest.raises(OverreadError):
        pictures.data(Volume(name="ct", file="segmentations/test_3_a_1.nii.gz"))


def test_pictures_open_no_rows_and_no_crops(sketch: Path) -> None:
    """A record that points at a list, at rows or at a crop of the trace is not opened."""
    for benchmark, file in (
        ("medthinkvqa", "test.jsonl"),
        ("rexgroundingct", "dataset.json"),
        ("mmrad", "test.jsonl"),
        ("mmrad", "IVLImage/sketch00003/reasoning_image_1.jpg"),
    ):
        pictures = overread.load(benchmark, sketch / benchmark).pictures
        for opened in (pictures.data, pictures.pixels):
            with pytest.raises(OverreadError):
                opened(Image(name="image-1", file=file))


@pytest.mark.parametrize("name", ["½", "case½", "①", "ü", "é" * 90, "a b", "../..", "-", "名前"])
def test_any_name_makes_a_good_id(name: str) -> None:
    """Whatever a folder is called, its id can be one, and different names give different ids."""
    assert Case(id=clean_id(name), benchmark="b", split="test").id
    assert clean_id(name) != clean_id(name + "!")


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "a b", "x" * 200])
def test_ids_are_good_file_names(name: str) -> None:
    """An id that could lead out of a folder is no id."""
    with pytest.raises(ValidationError):
        Case(id=name, benchmark="b", split="test")


def test_names_that_are_not_there_are_told(sketch: Path) -> None:
    """Model replies will name unknown pictures; that is one of our errors, with the nearest name."""
    case = next(iter(overread.load("mmrad", sketch / "mmrad")))
    with pytest.raises(UnknownName, match="xray"):
        case.picture("xrays")
    with pytest.raises(UnknownName):
        finding_tree().parent_of("13z")


def test_kinds_of_defects_are_known_or_somebodys() -> None:
    """A misspelt kind is refused; another package's own is an error by default."""
    with pytest.raises(ValidationError):
        Defect(code="inverted-bx", file="x")
    assert Defect(code="mine:lost-page", file="x").severity == "error"
    assert Defect(code="empty-mask", file="x").severity == "warning"


def test_nothing_reachable_from_a_case_is_a_truth(sketch: Path) -> None:
    """Walking all attributes of a case never meets a Truth or an Entry."""

    def walk(value: object, depth: int = 0) -> None:
        assert not isinstance(value, Truth | Entry)
        if depth > 6:
            return
        if isinstance(value, Record):
            for name in type(value).model_fields:
                walk(getattr(value, name), depth + 1)
        elif isinstance(value, tuple | list):
            for item in value:
                walk(item, depth + 1)

    for benchmark in BENCHMARKS:
        for case in overread.load(benchmark, sketch / benchmark):
            assert isinstance(case, Case)
            walk(case)


def test_records_do_not_change() -> None:
    """Records are frozen and refuse unknown fields and infinite numbers."""
    option = Option(letter="A", text="Sarcoidosis")
    with pytest.raises(ValidationError):
        option.text = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Option(letter="A", text="x", right=True)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Box(picture="xray", x1=0, y1=0, x2=float("inf"), y2=1)


def test_a_box_knows_when_it_is_inverted() -> None:
    """A box that ends before it begins is kept, and says so."""
    assert Box(picture="x", x1=1, y1=1, x2=2, y2=2).is_proper
    assert not Box(picture="x", x1=2, y1=1, x2=1, y2=2).is_proper


@pytest.mark.parametrize("kind", [OverreadError, UsageError, UnknownName, Refused])
def test_errors_survive_a_process_border(kind: type[OverreadError]) -> None:
    """An error keeps its parts when it is pickled, as it is between processes."""
    error = pickle.loads(pickle.dumps(kind("what", where="here", remedy="do this")))
    assert type(error) is kind
    assert str(error) == "what (in here): do this"
