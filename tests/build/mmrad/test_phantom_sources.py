"""The recipe `mmrad` on the phantom's sources: what is determined equals the generator's own.

Determined are the report, the boxes of regions, which major regions are told with which sentences in
which order, the box of each round where the words tell it, film and crops. Free are the wording of
prompt, announcements and cue, the order in which the major regions come (the generator draws it), and
the split (the generator has it from the patient's number).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.benchmarks import check, load, splits_of
from overread.build.mmrad import RECIPE
from overread.build.mmrad.pairs import boxes_of, pairs_of
from overread.build.mmrad.rounds import rounds_of
from overread.build.mmrad.verification import verdicts_of
from overread.build.plan import BuildOutcome
from overread.build.runner import run_build
from overread.core import Entry
from overread.phantom.exams.xray import write_films, write_lists
from overread.phantom.film.sign import View
from overread.phantom.generator import make_population
from overread.phantom.visit import PatientSettings
from overread.pixels.image_files import read_image
from tests.phantom.film.made_up_sights import HEIGHT, WIDTH, sight

PATIENTS = 12


@dataclass
class Built:
    """A population, and what the recipe made of its sources."""

    root: Path
    outcome: BuildOutcome
    lines: dict[str, dict[str, Any]]
    """Film → all that the generator knows of it."""


class _Film(NamedTuple):
    pixels: NDArray[np.uint8]


class _Room:
    """Takes films that show noise: of the pixels only size and bytes matter here."""

    def render(self, view: View, /) -> _Film:
        """The same noise for every view."""
        rng = np.random.default_rng(5)
        return _Film(rng.normal(128, 20, (HEIGHT, WIDTH)).clip(0, 255).astype(np.uint8))


class _Patient(NamedTuple):
    number: int
    settings: PatientSettings


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Films of made-up sights through the generator's own writer, built anew from its sources."""
    root = tmp_path_factory.mktemp("population")
    settings = PatientSettings(seed=4)
    records = [
        write_films(_Patient(number, settings), _Room(), sight(number), root)
        for number in range(1, PATIENTS + 1)
    ]
    write_lists(root, records)
    return rebuilt(root)


def rebuilt(root: Path) -> Built:
    """The build by rules from the sources of a population."""
    outcome = run_build(RECIPE, root / "sources" / "mmrad", root / "built")
    rows = (root / "mmrad" / "phantom.jsonl").read_text("utf-8").splitlines()
    return Built(root, outcome, {row["name"]: row for row in map(json.loads, rows)})


def entries(folder: Path) -> Iterator[Entry]:
    """All entries of a release."""
    for split in splits_of("mmrad", folder):
        yield from load("mmrad", folder, split).entries()


def told(entry: Entry) -> list[tuple[str | None, str]]:
    """Region and words of each round, by region; the rounds of one region in their order."""
    assert entry.truth is not None
    rounds = [(one.regions[0].label, one.text) for one in entry.truth.findings]  # type: ignore[union-attr]
    return sorted(rounds, key=lambda one: one[0] or "")


def test_the_release_is_intact(built: Built) -> None:
    """`check` finds nothing wrong with any split, pictures and crops opened."""
    _intact(built, PATIENTS)


def _intact(built: Built, patients: int) -> None:
    assert built.outcome.release is not None
    assert len(built.outcome.items) == patients
    for split in splits_of("mmrad", built.outcome.release):
        assert not list(check("mmrad", built.outcome.release, split))


def test_what_is_determined_equals_the_generators_release(built: Built) -> None:
    """Reports, told regions, and the sentences of each in their order are the generator's."""
    assert built.outcome.release is not None
    ours = {entry.case.id: entry for entry in entries(built.outcome.release)}
    theirs = {entry.case.id: entry for entry in entries(built.root / "mmrad")}
    assert ours.keys() == theirs.keys()
    for name, entry in ours.items():
        own, other = entry.truth, theirs[name].truth
        assert own is not None
        assert other is not None
        assert own.report == other.report
        assert told(entry) == told(theirs[name])
        assert entry.case.patient == theirs[name].case.patient


def test_boxes_are_the_generators(built: Built) -> None:
    """Every region's box is; that of a round is where its members are those that the words tell."""
    same = 0
    for item in built.outcome.items:
        line = built.lines[item.id]
        assert {name: list(box) for name, box in boxes_of(item).items()} == line["regions"]
        theirs = {one["words"]: one for one in line["rounds"]}
        for one in rounds_of(item):
            other = theirs[" ".join(one.sentences)]
            if list(one.regions) == other["members"]:
                assert list(one.box) == other["box"]
            same += list(one.box) == other["box"]
    rounds = sum(len(rounds_of(item)) for item in built.outcome.items)
    assert same >= 0.9 * rounds


def test_every_sentence_is_paired_with_the_generators_regions(built: Built) -> None:
    """Sentences of the findings are told in the right major region, all others have a role."""
    for item in built.outcome.items:
        made = built.lines[item.id]["sentences"]
        findings = [(one["text"], [one["group"]]) for one in made if one["section"] == "findings"]
        pairs = pairs_of(item)
        assert [(one.text, list(one.told)) for one in pairs if one.role == "told"] == findings
        assert {one.role for one in pairs} <= {"told", "summary", "around"}


def test_film_and_crops_are_the_generators(built: Built) -> None:
    """The film's bytes are; crops show the same, but for one more JPEG in between."""
    assert built.outcome.release is not None
    for item in built.outcome.items:
        folder = f"IVLImage/{item.id}"
        ours, theirs = built.outcome.release / folder, built.root / "mmrad" / folder
        film = "problem_image_1.jpg"
        assert (ours / film).read_bytes() == (theirs / film).read_bytes()
        whole = read_image(ours / film).astype(int)
        for number, one in enumerate(rounds_of(item), 1):
            crop = read_image(ours / f"reasoning_image_{number}.jpg").astype(int)
            x1, y1, x2, y2 = one.box
            assert crop.shape == (y2 - y1, x2 - x1)
            assert np.abs(crop - whole[y1:y2, x1:x2]).mean() < 3


def test_every_verdict_is_kept(built: Built) -> None:
    """Both stages judged every look, said as rules, and the ledger has each verdict as well."""
    from overread.build.ledger.queries import load_history

    for item in built.outcome.items:
        found = verdicts_of(item)
        assert {(one.stage, one.by, one.verdict) for one in found} == {
            (1, "rules", "accept"),
            (2, "rules", "accept"),
        }
        decided = load_history(built.root / "built", item.id).decisions
        kept = [
            change for one in decided for change in one.entry.changes if change.what.startswith("verdict")
        ]
        assert len(kept) == len(found)


def test_question_rows_of_the_phantom_make_a_release(built: Built, tmp_path: Path) -> None:
    """With the reports beside them, the reports are the generator's and the splits are kept."""
    source = tmp_path / "questions"
    shutil.copytree(built.root / "mmrad" / "thinkvg", source)
    rows = (built.root / "sources/mmrad/reports.jsonl").read_text("utf-8").splitlines()
    bare = [{k: v for k, v in json.loads(row).items() if k != "regions"} for row in rows]
    text = "\n".join(json.dumps(row) for row in bare)
    (source / "reports.jsonl").write_text(text, encoding="utf-8")
    outcome = run_build(RECIPE, source, tmp_path / "built")
    assert outcome.release is not None
    assert not outcome.waiting
    assert not outcome.failed
    assert not outcome.defects
    for split in splits_of("mmrad", outcome.release):
        assert not list(check("mmrad", outcome.release, split))
    theirs = {entry.case.id: entry for entry in entries(built.root / "mmrad")}
    for entry in entries(outcome.release):
        other = theirs[entry.case.id]
        assert entry.truth is not None
        assert other.truth is not None
        assert entry.truth.report == other.truth.report
        assert entry.case.split == other.case.split


@pytest.mark.slow
def test_real_patients_of_the_phantom_are_rebuilt(tmp_path: Path) -> None:
    """Films that were drawn from bodies: the same holds, and nothing is dropped or asked."""
    make_population(tmp_path, 2, PatientSettings(seed=9), exams=["mmrad"], workers=2)
    built = rebuilt(tmp_path)
    _intact(built, 2)
    test_what_is_determined_equals_the_generators_release(built)
    test_boxes_are_the_generators(built)
    test_film_and_crops_are_the_generators(built)
