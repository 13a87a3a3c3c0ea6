"""Interleaved records of films: rounds, boxes, words, and what the loader makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from overread.benchmarks.mmrad.write import trace_row
from overread.core import Box, Entry
from overread.metrics.traces.consistency import consistency
from overread.metrics.traces.looks import collect_looks, step_words
from overread.metrics.traces.words import judge_look
from overread.ontology import xray_regions
from overread.phantom.film.questions import draw_questions
from overread.phantom.film.report import ALWAYS_REPORTED, XrayReport, base_regions, write_xray_report
from overread.phantom.film.sign import FilmContents
from overread.phantom.film.source_rows import make_source_row
from overread.phantom.film.trace import FilmTrace, draw_film_trace, read_trace_entry, union_of_regions
from tests.phantom.film.made_up_sights import sight

MANY = 150


class Made:
    """A film with everything that is written about it."""

    def __init__(self, seed: int) -> None:
        self.sight: FilmContents = sight(seed)
        rng = np.random.default_rng(seed)
        self.report: XrayReport = write_xray_report(self.sight, rng)
        self.trace: FilmTrace = draw_film_trace(self.sight, self.report, rng)
        self.row = self.trace.to_row(f"IVLImage/p9{seed:07d}_1")
        self.entry: Entry = read_trace_entry(self.row, split="train", place=seed + 1)


@pytest.fixture(scope="module")
def films() -> list[Made]:
    """Some films."""
    return [Made(seed) for seed in range(MANY)]


def test_rounds_say_what_the_report_says(films: list[Made]) -> None:
    """Every sentence of the findings stands in one round of its region, in threes at most."""
    for film in films:
        wanted: dict[str, list[str]] = {}
        for one in film.report.sentences:
            if one.section == "findings":
                wanted.setdefault(one.group, []).append(one.text)
        told: dict[str, list[str]] = {}
        for look in film.trace.rounds:
            told.setdefault(look.region, []).append(look.words)
        assert {group: " ".join(words) for group, words in told.items()} == {
            group: " ".join(words) for group, words in wanted.items()
        }
        for group, words in told.items():
            assert len(words) == -(-len(wanted[group]) // 3)
        assert {look.region for look in film.trace.rounds} >= set(ALWAYS_REPORTED)


def test_boxes_are_unions(films: list[Made]) -> None:
    """A round's box holds each region that its words are about, and no more than these."""
    for film in films:
        boxes = film.sight.regions
        for look in film.trace.rounds:
            named = {
                name
                for one in film.report.group_sentences(look.region)
                if one.text in look.words
                for name in one.regions
            }
            assert set(look.members) == named | set(base_regions(look.region))
            edges = list(zip(*(boxes[name] for name in look.members), strict=True))
            assert look.box == (min(edges[0]), min(edges[1]), max(edges[2]), max(edges[3]))


def test_a_record_comes_back(films: list[Made]) -> None:
    """The loader finds looks, boxes, labels, findings and report, and writes the same row."""
    for film in films:
        truth = film.entry.truth
        assert truth is not None
        assert truth.trace is not None
        assert truth.report == film.report.text
        looks = [step for step in truth.trace.steps if step.kind == "look"]
        rounds = film.trace.rounds
        assert [step.crop for step in looks] == cast("list[str]", film.row["images"])[1:]
        found = [cast(Box, step.regions[0]) for step in looks]
        assert [box.label for box in found] == [look.region for look in rounds]
        assert [(box.x1, box.y1, box.x2, box.y2) for box in found] == [look.box for look in rounds]
        assert [finding.text for finding in truth.findings] == [look.words for look in rounds]
        assert trace_row(film.entry) == film.row
        assert film.entry.case.patient == film.entry.case.id.split("_")[0]


def test_words_speak_of_the_region_that_is_looked_at(films: list[Made]) -> None:
    """By the metric that judges traces, nearly every look is followed by words about it."""
    verdicts = [
        verdict
        for film in films
        if film.entry.truth is not None
        for look in collect_looks(film.entry.truth.trace)
        if (verdict := judge_look(look)) is not None
    ]
    assert len(verdicts) > 2 * MANY
    assert sum(verdicts) / len(verdicts) > 0.95


def test_reports_follow_from_their_steps(films: list[Made]) -> None:
    """By the metric of consistency, steps and report agree."""
    scores = [
        consistency(step_words(film.entry.truth.trace), film.report.text).f1
        for film in films
        if film.entry.truth is not None
    ]
    assert np.mean(scores) > 0.95


def test_a_union_of_nothing_is_the_film() -> None:
    """A region that a film does not show leaves the whole film."""
    film = sight(0)
    assert union_of_regions(film, ["no region"]) == (0, 0, film.columns, film.rows)
    assert union_of_regions(film, ["right lung"]) == film.regions["right lung"]


def test_a_source_has_the_report_and_the_boxes(films: list[Made]) -> None:
    """A builder gets the plain report and a box for each of the regions, and no sign."""
    film = films[0]
    row = make_source_row("p90000001_1", "p90000001", "images/x.jpg", film.sight, film.report)
    assert list(row) == ["id", "patient", "image", "view", "width", "height", "report", "regions"]
    assert row["report"] == film.report.text
    assert [one["name"] for one in row["regions"]] == list(xray_regions().names)
    assert all(len(one["box"]) == 4 for one in row["regions"])


def test_regions_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With other names and fewer regions nothing seen is left out, and only boxes are asked for."""
    own = tmp_path / "regions.toml"
    own.write_text(
        'title = "Ours"\nsource = "test"\n'
        '[[group]]\nname = "lungs"\npairs = ["lung", "costophrenic angle"]\n'
        '[[group]]\nname = "middle"\nsingle = ["cardiac silhouette", "kidney"]\n'
    )
    films = [sight(seed) for seed in range(40)]
    monkeypatch.setenv("OVERREAD_REGIONS", str(own))
    asked = 0
    for seed, whole in enumerate(films):
        boxes = {name: whole.regions[name] for name in xray_regions().names if name != "kidney"}
        film = whole.model_copy(update={"regions": boxes})
        rng = np.random.default_rng(seed)
        report = write_xray_report(film, rng)
        told = {key for one in report.sentences if one.section == "findings" for key in one.keys}
        assert told >= {one.key for one in film.signs if one.seen == "seen"}
        looks = {look.region for look in draw_film_trace(film, report, rng).rounds}
        assert {"lungs", "middle"} <= looks
        assert not looks & {"lung region", "pleura and diaphragm region"}
        for one in draw_questions(film, rng):
            assert set(one.regions) <= set(boxes)
            asked += 1
    assert asked > 100
