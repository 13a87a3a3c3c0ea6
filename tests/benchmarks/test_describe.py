"""What `describe` counts is what a plain reading of the files counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from PIL import Image as Pillow

import overread
from overread.benchmarks.description.collecting import MOST_VALUES, Collected, NumberCount, Part, count_table
from overread.core.description import ALL, CountTable, Description, NumberTable, Spread
from overread.errors import UsageError
from tests.jsonl_rows import read_rows, write_rows

Rows = list[dict[str, Any]]


def counts(found: Description, key: str, split: str = ALL) -> dict[str, int]:
    table = next(table for table in found.tables if table.key == key)
    assert isinstance(table, CountTable)
    return {row.name: row.values[split] for row in table.rows if row.values[split]}


def spread(found: Description, key: str, split: str = ALL, group: str = ALL) -> Spread:
    table = next(table for table in found.tables if table.key == key)
    assert isinstance(table, NumberTable)
    return next(row for row in table.rows if row.name == group).values[split]


def total(found: Description, name: str, split: str = ALL) -> int:
    return next(one for one in found.totals if one.name == name).values[split]


def holds(found: Spread, numbers: Iterable[float]) -> bool:
    """Whether a spread is the one of these numbers, by numpy."""
    values = np.array(list(numbers), dtype=float)
    expected = [len(values), values.sum(), values.mean(), values.std(), values.min(), values.max()]
    told = [found.count, found.total, found.mean, found.sd, found.least, found.most]
    quartiles = np.percentile(values, [25, 50, 75])
    assert told == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert [found.q1, found.median, found.q3] == pytest.approx(list(quartiles), rel=1e-3)
    assert sum(found.bins) == found.count
    return True


def medthinkvqa_rows(root: Path) -> dict[str, Rows]:
    return {split: read_rows(root / f"{split}.jsonl") for split in ("train", "test")}


def paths(row: dict[str, Any]) -> list[str]:
    return [value for key, value in row.items() if re.fullmatch(r"image_\d\d_path", key) and value]


@pytest.fixture(scope="session")
def text_cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty synthetic cases without pictures."""
    from overread.cli.main import app

    out = tmp_path_factory.mktemp("described")
    words = ["phantom", str(out), "--text-only", "--patients", "60", "--seed", "3", "--workers", "1"]
    app(words, standalone_mode=False)
    return out / "medthinkvqa"


def test_medthinkvqa_is_counted_as_plain_json_counts_it(text_cases: Path) -> None:
    """Cases, pictures, modalities, times, chapters, letters and words, by split and over all."""
    found = overread.describe("medthinkvqa", text_cases)
    rows = medthinkvqa_rows(text_cases)
    assert found.splits == ["train", "test", ALL]
    for split, own in [*rows.items(), (ALL, rows["train"] + rows["test"])]:
        assert total(found, "cases", split) == len(own)
        assert total(found, "pictures", split) == sum(len(paths(row)) for row in own)
        assert holds(spread(found, "pictures", split), [len(paths(row)) for row in own])
        kinds = [
            {row[f"image_{n:02d}_modality"] for n in range(1, 50) if row.get(f"image_{n:02d}_modality")}
            for row in own
        ]
        assert holds(spread(found, "modalities", split), [len(kind) for kind in kinds])
        assert counts(found, "case_modality", split) == Counter(k for kind in kinds for k in kind)
        times = Counter("more than one time" if row["is_longitudinal"] else "one time" for row in own)
        assert counts(found, "longitudinal", split) == times
        for key, column in (("icd_chapter", "ICD Chapter"), ("icd_category", "ICD Category")):
            assert counts(found, key, split) == Counter(row[column] for row in own)
        assert counts(found, "right_letter", split) == Counter(row["correct_answer"] for row in own)
        histories = [len(row["CLINICAL_HISTORY"].split()) for row in own]
        assert holds(spread(found, "history_words", split), histories)
    longest = [
        max(row["options"], key=lambda letter: len(row["options"][letter])) == row["correct_answer"]
        for row in rows["test"]
    ]
    assert counts(found, "longest_option", "test").get("is right", 0) <= sum(longest)
    assert [one.what for one in found.missing] == ["Body regions"]


def test_rexgroundingct_is_counted_as_plain_json_counts_it(patients: Path) -> None:
    """Findings and entities by category and split, the focal share, voxels, chains; spacing by nibabel."""
    root = patients / "rexgroundingct"
    found = overread.describe("rexgroundingct", root, headers=True)
    rows: dict[str, Rows] = json.loads((root / "dataset.json").read_text("utf-8"))
    rows = {split: own for split, own in rows.items() if own}
    rows[ALL] = [row for own in list(rows.values()) for row in own]
    chains = json.loads((root / "anatomical_cot.json").read_text("utf-8"))
    for split, own in rows.items():
        findings = [(row, key) for row in own for key in row["findings"]]
        entities = [row["entity_counts"][key] for row, key in findings]
        codes = Counter(row["categories"][key] for row, key in findings)
        assert total(found, "CTs", split) == len(own)
        assert total(found, "findings", split) == len(findings)
        assert total(found, "entities", split) == sum(entities)
        assert {name.split()[0]: n for name, n in counts(found, "finding_category", split).items()} == codes
        by_code: Counter[str] = Counter()
        for (row, key), number in zip(findings, entities, strict=True):
            by_code[row["categories"][key]] += number
        told = {name.split()[0]: n for name, n in counts(found, "entity_category", split).items()}
        assert told == +by_code
        focal = sum(code.startswith("2") for code in codes.elements())
        assert counts(found, "finding_focal", split).get("focal", 0) == focal
        assert holds(spread(found, "voxels", split), [row["pixels"][key] for row, key in findings])
        assert holds(spread(found, "entities", split), entities)
        with_chain = sum(key in chains.get(row["name"], {}) for row, key in findings)
        assert (
            sum(n for name, n in counts(found, "chain", split).items() if name != "not stated") == with_chain
        )
        sizes = [nib.load(root / "images" / row["name"]).header.get_zooms() for row in own]
        assert holds(spread(found, "spacing_through", split), [float(size[2]) for size in sizes])
        volumes = [
            row["pixels"][key] * float(np.prod(nib.load(root / "images" / row["name"]).header.get_zooms()))
            for row, key in findings
        ]
        assert spread(found, "millilitres", split).mean == pytest.approx(fmean(volumes) / 1000, rel=1e-4)
    code = rows[ALL][0]["categories"]["0"]
    table = next(table for table in found.tables if table.key == "voxels")
    group = next(row.name for row in table.rows if row.name.startswith(f"{code} "))
    voxels = [
        row["pixels"][key] for row in rows[ALL] for key in row["findings"] if row["categories"][key] == code
    ]
    assert holds(spread(found, "voxels", group=group), voxels)


MAJOR = (
    "lung region",
    "pleura and diaphragm region",
    "heart and the mediastinal region",
    "airway region",
    "bone region",
    "abdominal region",
)


def test_mmrad_is_counted_as_plain_json_counts_it(patients: Path) -> None:
    """Looks, words, boxes by plain patterns; a film's share by Pillow."""
    root = patients / "mmrad"
    found = overread.describe("mmrad", root, headers=True)
    rows = {split: read_rows(root / f"{split}.jsonl") for split in ("train", "val", "test")}
    rows[ALL] = [row for own in list(rows.values()) for row in own]
    for split, own in rows.items():
        assert total(found, "traces", split) == total(found, "films", split) == len(own)
        assert holds(spread(found, "looks", split), [row["response"].count("<image>") for row in own])
        boxes: list[tuple[int, int, int, int]] = []
        shares = []
        for row in own:
            with Pillow.open(root / row["images"][0]) as film:
                width, height = film.size
            for edges in dict.fromkeys(re.findall(r"\[(\d+), (\d+), (\d+), (\d+)\]", row["response"])):
                x1, y1, x2, y2 = map(int, edges)
                boxes.append((x1, y1, x2, y2))
                shares.append((x2 - x1) * (y2 - y1) / (width * height))
        assert holds(spread(found, "box_width", split), [x2 - x1 for x1, _, x2, _ in boxes])
        assert holds(spread(found, "box_area", split), [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in boxes])
        assert holds(spread(found, "box_share", split), shares)
        before = [part for row in own for part in row["response"].split("<image>")[:-1]]
        regions = Counter(max(MAJOR, key=part.rfind) for part in before)
        assert counts(found, "look_region", split) == regions
        assert sum(counts(found, "rationale_sign", split).values()) == len(before)
        assert sum(counts(found, "trace_sign", split).values()) == len(own)


def interleaved(name: str, *rounds: tuple[str, str, str]) -> dict[str, Any]:
    """A row of MMRad: (region, box, what is said) each round."""
    said = "".join(
        f"Next, I need to analyze the {region}. I will highlight the {region} of this X-ray. <image> "
        f"The bounding box of this area is {box} . {words} "
        for region, box, words in rounds
    )
    images = [f"IVLImage/{name}/problem_image_1.jpg"]
    images += [f"IVLImage/{name}/reasoning_image_{n}.jpg" for n in range(1, len(rounds) + 1)]
    cue = "Summarizing the previous analysis, I will generate the following report: "
    return {"prompt": "Read it. <image>", "response": f"{said}{cue}Two words.", "images": images}


def test_positive_share_words_and_labels_of_known_traces(tmp_path: Path) -> None:
    """Two traces of which everything is known."""
    write_rows(
        tmp_path / "train.jsonl",
        [
            interleaved(
                "a",
                ("lung region", "[0, 0, 100, 50]", "There is a consolidation in the left lower lobe."),
                ("bone region", "[10, 10, 20, 30]", "No fracture."),
            ),
            interleaved("b", ("lung region", "[0, 0, 10, 10]", "The lungs are clear.")),
        ],
    )
    found = overread.describe("mmrad", tmp_path)
    assert found.splits == ["train"]
    assert counts(found, "rationale_sign", "train") == {"positive": 1, "negative": 2}
    assert counts(found, "trace_sign", "train") == {"positive": 1, "negative": 1}
    assert counts(found, "chexpert", "train") == {"No Finding": 1, "Consolidation": 1}
    assert holds(spread(found, "rationale_words", "train"), [9, 2, 4])
    assert holds(spread(found, "box_area", "train"), [5000, 200, 100])
    assert holds(spread(found, "box_area", "train", "lung region"), [5000, 100])
    assert holds(spread(found, "report_words", "train"), [2, 2])
    assert "left lower lung zone" in counts(found, "structure", "train")
    assert [(one.published, one.here) for one in found.published] == [(21_994, 2)]


def test_what_a_copy_does_not_tell_is_said(tmp_path: Path) -> None:
    """Rows without codes, modalities and times: each is named, nothing is counted in its place."""
    rows: Rows = [
        {
            "title": f"Case number {n}",
            "CLINICAL_HISTORY": "Cough.",
            "options": dict(zip("ABCDE", ("one", "two", "three", "four", "five"), strict=True)),
            "correct_answer": "A",
            "image_01_path": f"images/case{n}/x.jpg",
        }
        for n in (1, 2)
    ]
    write_rows(tmp_path / "test.jsonl", rows)
    found = overread.describe("medthinkvqa", tmp_path)
    missing = {one.what for one in found.missing}
    assert {"ICD-10 chapters", "Pictures by modality", "Longitudinal cases", "Body regions"} <= missing
    assert not {table.title for table in found.tables} & missing
    longitudinal = next(one for one in found.published if one.what.startswith("share of longitudinal"))
    assert longitudinal.here is None

    for row, place in zip(rows, ("Chest", None), strict=True):
        row["part"], row["ICD Chapter"] = place, "Chapter X - Diseases" if place else None
    write_rows(tmp_path / "test.jsonl", rows)
    found = overread.describe("medthinkvqa", tmp_path, column="part")
    assert counts(found, "body_region", "test") == {"Chest": 1, "not stated": 1}
    assert counts(found, "icd_chapter", "test") == {"Chapter X - Diseases": 1, "not stated": 1}


def test_rows_that_are_no_case_and_pictures_that_do_not_open_are_counted(
    copy: Callable[[str], Path],
) -> None:
    """Nothing is skipped in silence."""
    root = copy("medthinkvqa")
    with (root / "test.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("{broken\n")
    first = read_rows_before_damage(root)
    (root / first["image_01_path"]).write_bytes(b"no picture")
    found = overread.describe("medthinkvqa", root, ("test",), headers=True)
    assert total(found, "cases", "test") == 2
    assert total(found, "rows that are no case", "test") == 1
    assert total(found, "pictures that could not be opened", "test") == 1
    assert spread(found, "picture_width", "test").count == total(found, "pictures", "test") - 1


def read_rows_before_damage(root: Path) -> dict[str, Any]:
    with (root / "test.jsonl").open(encoding="utf-8") as stream:
        return dict(json.loads(stream.readline()))


def test_a_patient_in_two_splits_is_one_patient(copy: Callable[[str], Path]) -> None:
    """Patients over all splits are counted once."""
    root = copy("rexgroundingct")
    file = root / "dataset.json"
    rows = json.loads(file.read_text("utf-8"))
    for split in ("train", "test"):
        rows[split] = rows[split][:1]
        rows[split][0]["name"] = f"train_7_{split[0]}_1.nii.gz"
    file.write_text(json.dumps(rows), "utf-8")
    found = overread.describe("rexgroundingct", root)
    assert [total(found, "patients", split) for split in ("train", "test", ALL)] == [1, 1, 1]


def test_question_rows_are_described_by_their_type(patients: Path) -> None:
    """GEMeX-ThinkVG rows: questions by type, films once, no rationale of a region."""
    root = patients / "mmrad" / "thinkvg"
    found = overread.describe("mmrad", root)
    rows = [row for file in sorted(root.glob("*.jsonl")) for row in read_rows(file)]
    split = found.splits[-1]
    assert total(found, "questions", split) == len(rows)
    assert total(found, "films", split) == len({row["image_path"] for row in rows})
    assert counts(found, "question_type", split) == Counter(row["question_type"] for row in rows)


def test_a_split_that_is_not_there_is_one_sentence(sketch: Path) -> None:
    """As everywhere."""
    with pytest.raises(UsageError, match="no split 'dev'"):
        overread.describe("medthinkvqa", sketch / "medthinkvqa", ("dev",))


def test_memory_does_not_grow_with_the_numbers() -> None:
    """A great many different numbers and words are held as some thousands."""
    numbers, words = NumberCount(), Collected()
    for n in range(40_000):
        numbers.add(n * 1.000001)
        words.word("key", f"word {n}")
    assert len(numbers.often) < 14_000
    assert len(words.words["key"]) == MOST_VALUES + 1
    table = count_table(Part("counts", "key", "Key", "words", "words"), {"test": words})
    assert table is not None
    assert table.rows[0].name == "other"
    assert sum(row.values["test"] for row in table.rows) == 40_000


@pytest.mark.parametrize(
    "numbers",
    [[1, 1, 2, 49], [0.1, 0.25, 0.9], [1, 20_000, 3_000_000], [5], [7, 7, 7], [0, 0, 250], [-3, 4]],
)
def test_bins_hold_every_number(numbers: list[float]) -> None:
    """Every number lies in the bin that its edges say."""
    found = NumberCount()
    for number in numbers:
        found.add(number)
    edges = found.edges()
    assert edges == sorted(set(edges))
    assert found.spread(edges).bins == list(np.histogram(numbers, edges)[0])


def test_the_published_numbers_are_those_of_the_facts() -> None:
    """Categories of train add up to the published findings, and their focal share to 79 %."""
    from overread.benchmarks.rexgroundingct.describe import published_numbers

    for form, split, whole in (("dataset", "train", 7687), ("miccai", "val", 381), ("miccai", "test", 582)):
        told = published_numbers(form)
        of = [one for one in told if one.split == split and one.what.startswith("findings of ")]
        codes = {one.what.split()[-1]: one.number for one in of if "than" not in one.what}
        assert sum(codes.values()) == whole
        if split == "train":
            assert round(sum(n for code, n in codes.items() if code[0] == "2") / whole, 2) == 0.79


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "rexgroundingct"])
def test_real_rows_are_described(shared: Path, benchmark: str) -> None:
    """The real data beside the checkout, whose copies lack some columns."""
    root = shared / {"medthinkvqa": "cases", "rexgroundingct": "ct"}[benchmark]
    found = overread.describe(benchmark, root, headers=True)
    assert found.totals[0].values[found.splits[-1]] >= 8
    assert found.missing
    if benchmark == "medthinkvqa":
        assert set(counts(found, "body_region")) - {"not stated"}
        assert "ICD-10 chapters" in {one.what for one in found.missing}
