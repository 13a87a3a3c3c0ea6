"""Reports guided by the reference trace: what each arm tells, and whose reports are better."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow

import overread
from overread.core import Box, Step, Trace, Truth
from overread.errors import UsageError
from overread.language.text import split_sentences
from overread.phantom.exams.xray import write_films, write_lists
from overread.prompts.interleaved import IMAGE
from overread.runs.engine import RunPlan
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.sweep.axes import parse_axes
from overread.runs.sweep.runner import sweep
from overread.runs.trace_hints import traced_regions
from overread.session import SessionSettings
from tests.jsonl_rows import read_rows, write_rows
from tests.phantom.film.made_up_sights import WIDTH
from tests.phantom.test_exam_xray import Room, Visitor, look
from tests.runs.sketch_runs import questions
from tests.workflows.scripted_model import Asked, Record, grey, same_pixels, scripted, served

SHOWN = 320
"""Pixels that a film is sent with: half of what it has."""
BASE, DIGITS, MARK = 6, 3, 10
"""A sentence is a number of three digits to the base 6, each digit a block of one grey."""
ACROSS = 16
"""Blocks along the lower edge of a cut-out."""
SILENT = "See there."


# ---- what is told of a trace ---------------------------------------------------------------


def box_at(x1: int, label: str | None = None) -> Box:
    return Box(picture="xray", x1=x1, y1=0, x2=x1 + 50, y2=90, label=label)


def look_at(box: Box, words: str, crop: str | None = None) -> list[Step]:
    edges = ", ".join(f"{edge:.0f}" for edge in (box.x1, box.y1, box.x2, box.y2))
    return [
        Step(kind="look", text=IMAGE, regions=(box,), crop=crop),
        Step(kind="say", text=f" The bounding box of this area is [{edges}] . {words}\n\n"),
    ]


def test_no_region_and_no_sentence_is_told_twice() -> None:
    """Looks at one region go together, boxes once; what stands at several is told where it belongs."""
    steps = [
        *look_at(box_at(1, "lungs"), "Clear lungs. No hiatal hernia. As before."),
        *look_at(box_at(100, "mediastinum"), "Large heart. No hiatal hernia. As before."),
        *look_at(box_at(1, "lungs"), "CLEAR lungs.  A nodule."),
        *look_at(box_at(200, "lungs"), "No mass."),
        *look_at(box_at(300, "spine"), "As before."),
        Step(kind="conclude", text="In summary, the report: "),
    ]
    truth = Truth(trace=Trace(steps=tuple(steps)), report="Clear lungs.")
    told = traced_regions(truth, lambda file: b"")
    assert [(one.region, one.words) for one in told] == [
        ("lungs", "Clear lungs. As before. A nodule. No mass."),
        ("mediastinum", "Large heart. No hiatal hernia."),
        ("spine", ""),
    ]
    assert [[int(own.box.x1) for own in one.looks] for one in told] == [[1, 200], [100], [300]]


def test_only_traces_that_lead_to_a_report_are_told(sketch: Path, tmp_path: Path) -> None:
    """A question's thinking holds its answer; the other benchmarks have no trace."""
    for benchmark, root in (("mmrad", questions(tmp_path / "q")), ("medthinkvqa", sketch / "medthinkvqa")):
        with pytest.raises(UsageError, match="gives no expert traces that lead to a report to reveal"):
            scripted(benchmark, root, tmp_path / "run", str, "direct", settings={"reveal": ("trace",)})
    assert not (tmp_path / "run").exists()


# ---- what each arm tells and shows ---------------------------------------------------------


def guided(root: Path, out: Path, evidence: str, workflow: str = "direct") -> Record:
    settings = {"reveal": ("trace",), "evidence": evidence}
    return scripted("mmrad", root, out, lambda _: "Normal chest.", workflow, settings=settings, limit=1)


@pytest.mark.parametrize("workflow", ["direct", "interleaved"])
def test_the_forms_of_a_trace(sketch: Path, tmp_path: Path, workflow: str) -> None:
    """One question: words, the film, the boxes, the release's own cut-outs; the report is not told."""
    root = sketch / "mmrad"
    release = overread.load("mmrad", root)
    entry = next(iter(release.entries()))
    assert entry.truth is not None
    assert entry.truth.report is not None
    film = release.pictures.pixels(entry.case.pictures[0])
    regions = traced_regions(entry.truth, release.source)
    cuts = [
        np.asarray(Pillow.open(io.BytesIO(own.cutout())))
        for one in regions
        for own in one.looks
        if own.cutout
    ]
    assert cuts
    asked: dict[str, Asked] = {}
    for evidence in ("words", "text", "boxes", "multimodal"):
        done = guided(root, tmp_path / evidence, evidence, workflow)
        (asked[evidence],) = done.asked
        assert done.reading.report == "Normal chest."
        assert done.reading.findings is None
        for one in regions:
            assert one.words in asked[evidence].words
        assert entry.truth.report not in asked[evidence].words
    assert asked["words"].pictures == ()
    assert len(asked["text"].pictures) == len(asked["boxes"].pictures) == 1
    wanted = [film, *cuts]
    assert len(asked["multimodal"].pictures) == len(wanted)
    for shown, own in zip(asked["multimodal"].pictures, wanted, strict=True):
        assert same_pixels(shown, own)
    for evidence, told in asked.items():
        assert ("left 0." in told.words) == (evidence in ("boxes", "multimodal"))
        assert ("picture 2: left" in told.words) == (evidence == "multimodal")
    plain = re.sub(r" \(left [^)]*\)", "", asked["boxes"].words)
    assert plain == asked["text"].words


def test_a_cutout_that_is_not_there_fails_its_case(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """One sentence that names the file; the arms without cut-outs do not miss it."""
    root = copy("mmrad")
    for path in root.rglob("reasoning_image_*"):
        path.unlink()
    lost = guided(root, tmp_path / "lost", "multimodal").reading
    assert lost.error is not None
    assert re.match(r"there is no file .*reasoning_image_1", lost.error)
    assert guided(root, tmp_path / "boxes", "boxes").reading.error is None


# ---- whose reports are better --------------------------------------------------------------


def digits_of(number: int) -> list[int]:
    return [number // BASE**place % BASE for place in range(DIGITS)]


def to_grey(digit: int) -> int:
    return 10 + 47 * digit


def stamp(pixels: NDArray[np.uint8], digits: list[int], x: int, y: int, width: int, height: int) -> None:
    for place, digit in enumerate(digits):
        pixels[y : y + height, x + place * width : x + (place + 1) * width] = to_grey(digit)


def read_stamp(
    pixels: NDArray[Any], count: int, x: float, y: float, width: float, height: float
) -> list[int]:
    """The digits that are in a picture, from the middle of each block."""
    found = []
    for place in range(count):
        across = min(int(x + (place + 0.5) * width), pixels.shape[1] - 1)
        down = min(int(y + 0.5 * height), pixels.shape[0] - 1)
        found.append(round((int(pixels[down, across]) - 10) / 47))
    return found


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The phantom's films with traces whose words say nothing: what is true of a region is in pixels.

    The film shows, in the corner of a region's box, which sentence comes first; the cut-out shows
    all of them. Reports are as they were.
    """
    out = tmp_path_factory.mktemp("marked")
    write_lists(out, [write_films(Visitor(n), Room(n), look(n), out) for n in range(1, 7)])
    root = out / "mmrad"
    known: list[str] = []
    for split in ("train", "test"):
        file = root / f"{split}.jsonl"
        rows = read_rows(file)
        for row, entry in zip(rows, overread.load("mmrad", root, split).entries(), strict=True):
            assert entry.truth is not None
            film = np.array(Pillow.open(root / row["images"][0]).convert("L"))
            crops: list[tuple[Path, Box, list[int]]] = []
            response = row["response"]
            told_regions = traced_regions(entry.truth, overread.load("mmrad", root, split).source)
            places = [own.box for one in told_regions for own in one.looks]
            for finding, crop in zip(entry.truth.findings, row["images"][1:], strict=True):
                (box,) = finding.regions
                assert isinstance(box, Box)
                sentences = [span.extract(finding.text) for span in split_sentences(finding.text)]
                known += [one for one in sentences if one not in known]
                numbers = [known.index(one) for one in sentences]
                # Boxes overlap, and may have the same corner: each has a row of its own.
                row_of_look = int(box.y1) + MARK * places.index(box)
                stamp(film, digits_of(numbers[0]), int(box.x1), row_of_look, MARK, MARK)
                told = [len(numbers), *(digit for number in numbers for digit in digits_of(number))]
                crops.append((root / crop, box, told))
                response = response.replace(f"{finding.text}\n\n", f"{SILENT}\n\n", 1)
            for path, box, told in crops:
                cut = film[int(box.y1) : int(box.y2), int(box.x1) : int(box.x2)].copy()
                height, width = cut.shape
                stamp(cut, told, 0, height - height // 4, width // ACROSS, height // 4)
                Pillow.fromarray(cut).save(path, "PNG")
            Pillow.fromarray(film).save(root / row["images"][0], "PNG")
            row["response"] = response
        write_rows(file, rows)
    return root, known


def read_pictures(asked: Asked, known: list[str]) -> str:
    """A reader that says what it can make out, and nothing else."""
    said: list[str] = []
    places = re.findall(r"\((?:picture (\d+): )?left ([\d.]+), top ([\d.]+)", asked.words)
    for row, (number, left, top) in enumerate(places):
        if number:
            cut = grey(asked.pictures[int(number) - 1])
            height, width = cut.shape
            told = read_stamp(cut, ACROSS, 0, height * 3 / 4, width / ACROSS, height / 4)
            digits = told[1 : 1 + DIGITS * told[0]]
        else:
            film = grey(asked.pictures[0])
            scale = film.shape[1] / WIDTH
            size = MARK * scale
            x, y = float(left) * film.shape[1], float(top) * film.shape[0] + row * size
            digits = read_stamp(film, DIGITS, x, y, size, size)
        for first in range(0, len(digits), DIGITS):
            index = sum(digit * BASE**place for place, digit in enumerate(digits[first : first + DIGITS]))
            said += [known[index]] if index < len(known) else []
    return " ".join(said) or "I cannot tell what this shows."


def test_cutouts_beat_boxes_beat_text_where_the_truth_is_in_the_pictures(
    marked: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """One sweep over the arms, all scores of the reports beside each other, in the order designed."""
    root, known = marked
    with served(lambda asked: read_pictures(asked, known)) as (url, asked):
        plan = RunPlan(
            "mmrad",
            root,
            "openai",
            arguments={"model": "m", "base_url": url},
            split="train",
            settings=SessionSettings(reveal=("trace",), longest=SHOWN),
            use_cache=False,
        )
        metrics = ("rougeL", "meteor", "clinical_f1", "clinical_score")
        found = sweep(
            plan,
            parse_axes(["evidence=words,text,boxes,multimodal"]),
            tmp_path / "sweep",
            metrics=metrics,
            bootstrap=BootstrapSettings(draws=50),
            fixed=["reveal"],
        )
    assert {one.failed_readings for one in found.points} == {0}
    for metric in metrics:
        words, text, boxes, cutouts = (one.card.scores[metric].value or 0.0 for one in found.points)
        assert words == text < boxes < cutouts, metric
    assert (found.points[-1].card.scores["clinical_f1"].value or 0) > 0.9
    assert all(SILENT in one.words for one in asked)
    assert json.loads((tmp_path / "sweep" / "evidence=boxes" / "spec.json").read_text())["workflow"][
        "settings"
    ]["reveal"] == ["trace"]
