"""What a rewrite lost, invented or changed: hand-written pairs, and the corners of numbers."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from overread.language.numerals import find_numerals
from overread.language.rewrites.diff import RewriteDiff, diff_rewrite
from overread.language.text import Span
from tests.timing import cpu_seconds

CASES = tomllib.loads((Path(__file__).parent / "accounting_cases.toml").read_text("utf-8"))["case"]
# Pairs that the rules do not get right, and why.
LIMITS: dict[str, str] = {}
# Their plain names of observations → ours.
NAMES = {
    "infiltrate/pneumonia": ("pneumonia", "infiltrate"),
    "embolism": ("pulmonary embolism",),
    "malignancy": ("lung mass", "malignancy", "metastasis"),
    "metastasis": ("metastasis", "bone lesion"),
}


def touches(span: Span, text: str, piece: str) -> bool:
    """Whether a span and one of the places of a piece of text overlap."""
    at = text.find(piece)
    while at >= 0:
        if span.start < at + len(piece) and at < span.end:
            return True
        at = text.find(piece, at + 1)
    return False


def differs(case: dict[str, Any], told: RewriteDiff) -> list[str]:
    """What was found and not expected, or the other way round."""
    text, rewrite = case["text"], case["rewrite"]
    changed = list(told.changed)
    problems = []
    for name, found, whole in (("lost", told.lost, text), ("invented", told.invented, rewrite)):
        items = list(found)
        for piece in case[name]:
            item = next((item for item in items if touches(item.span, whole, piece)), None)
            if item is None:
                problems.append(f"{name} {piece!r} was not found")
            else:
                items.remove(item)
                if item.kind in ("number", "side") and item.span.extract(whole) != piece:
                    problems.append(f"{name} {item.span.extract(whole)!r}, not {piece!r}")
        problems += [f"{name} {item.span.extract(whole)!r} was not expected" for item in items]
    for one, two in case["changed"]:
        change = next(
            (
                change
                for change in changed
                if touches(change.span, text, one) and touches(change.rewrite_span, rewrite, two)
            ),
            None,
        )
        if change is None:
            problems.append(f"changed {one!r} to {two!r} was not found")
        else:
            changed.remove(change)
    problems += [
        f"changed {c.span.extract(text)!r} to {c.rewrite_span.extract(rewrite)!r} was not expected"
        for c in changed
    ]
    presence = [change for change in told.changed if change.kind == "presence"]
    flips = [(f.observation, f.before, f.after) for f in presence]
    expected = case.get("flips", [])
    if len(flips) != len(expected):
        problems.append(f"flips {flips}, not {expected}")
    problems += [
        f"flip {flip} is not among {flips}"
        for flip in expected
        if not any(
            (name, flip["from"], flip["to"]) in flips
            for name in NAMES.get(flip["observation"], (flip["observation"],))
        )
    ]
    return problems


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}: {case['text'][:40]}")
def test_hand_written_pairs(case: dict[str, Any]) -> None:
    """All of them, or listed as limits; a limit that is none any more is to be taken off."""
    problems = differs(case, diff_rewrite(case["text"], case["rewrite"]))
    if case["text"] in LIMITS:
        assert problems, "this is no limit any more"
        return
    assert not problems


def test_limits_are_few_and_known() -> None:
    """At most three, each of them a case."""
    assert len(LIMITS) <= 3
    assert set(LIMITS) <= {case["text"] for case in CASES}
    assert len(CASES) == 44


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40])
def test_a_text_is_faithful_to_itself(case: dict[str, Any]) -> None:
    """No loss, no change, every sentence has its counterpart."""
    for text in (case["text"], case["rewrite"]):
        told = diff_rewrite(text, text)
        assert told.faithful
        assert all(fate.carried == fate.kept for fate in told.sentences)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5 x 2 cm", ["15 mm", "20 mm"]),
        ("5x4x5. mm and 3-5 mm", ["5 mm", "4 mm", "5 mm", "3 mm", "5 mm"]),
        ("1,5 cm, 1,500 ml, 1.5 L, 4.0 mm", ["15 mm", "1500 ml", "1500 ml", "4 mm"]),
        ("12.03.2021; March 12, 2021; 2021-03-12; 12th of March 2021", ["2021-03-12"] * 4),
        ("CT of May 2020 at 10:30", ["2020-05", "10:30"]),
        ("Series 3, image 45 (se 4 im 7)", ["series 3", "image 45", "series 4", "image 7"]),
        ("T12, Th12 and D12, L1.", ["T12", "T12", "T12", "L1"]),
        ("the sixth and 7th ribs, three nodules", ["6", "7", "3"]),
        ("a density of -10 HU, 20%, a 65-year-old", ["-10 HU", "20 %", "65 year"]),
        ("1. Emphysema. 2. No effusion.\n3) A cyst of 2 cm", ["20 mm"]),
        ("COVID-19, one nodule, 1 cyst", []),
        ("9" * 50 + " mm", ["9" * 50 + " mm"]),
    ],
)  # fmt: skip
def test_numbers_and_their_units(text: str, expected: list[str]) -> None:
    """What every number means; list numbers, names and a plain one mean nothing."""
    assert [numeral.meaning for numeral in find_numerals(text)] == expected


@pytest.mark.parametrize(
    ("text", "rewrite", "lost", "invented", "changed"),
    [
        # Dates, series and images.
        ("Compared with CT of 12.03.2021.", "Compared with CT of March 12, 2021.", [], [], []),
        ("Compared with CT of 12.03.2021.", "Compared with CT of 12.03.2020.", [], [], [("2021-03-12", "2020-03-12")]),
        ("Nodule of 5 mm (series 3, image 45).", "Nodule of 5 mm (series 3, image 54).", [], [], [("image 45", "image 54")]),
        ("Nodule of 5 mm (series 3, image 45).", "Nodule of 5 mm.", ["series 3", "image 45"], [], []),
        # Two findings that changed their numbers.
        ("A 5 mm nodule. A 9 mm cyst.", "A 9 mm nodule. A 5 mm cyst.", [], [], [("5 mm", "9 mm"), ("9 mm", "5 mm")]),
        # Told again in the impression, told once in the rewrite; a finding told where it was not.
        ("A 5 mm nodule on the right. Impression: 5 mm nodule.", "5 mm nodule on the right.", [], [], []),
        ("Right nodule and right effusion.", "Nodule and effusion on the right.", [], [], []),
        # A number of a finding that went is lost too; its side goes with it.
        ("Emphysema. A 12 mm cyst in the left lung.", "Emphysema.", ["lung cyst", "12 mm"], [], []),
        ("The unit went: a nodule of 5 mm.", "The unit went: a nodule of 5.", [], [], [("5 mm", "5")]),
        ("Nodule in the right upper lobe.", "Nodule in the right lower lobe.", [], [], [("RUL", "RLL")]),
        # Lobes that only one side has.
        ("Nodule in the right middle lobe.", "Nodule in the middle lobe.", [], [], []),
        ("Atelectasis in the lingula.", "Atelectasis in the lingula of the left lung.", [], [], []),
        ("Linear atelectasis at the left base.", "Atelectasis at the left base.", [], [], []),
        ("", "", [], [], []),
        ("", "A 5 mm nodule.", [], ["5 mm", "nodule"], []),
    ],
)  # fmt: skip
def test_more_pairs(
    text: str, rewrite: str, lost: list[str], invented: list[str], changed: list[tuple[str, str]]
) -> None:
    """Numbers, sides and places by what they mean."""
    told = diff_rewrite(text, rewrite)
    assert sorted(item.what for item in told.lost) == sorted(lost)
    assert sorted(item.what for item in told.invented) == sorted(invented)
    assert sorted((c.before, c.after) for c in told.changed) == sorted(changed)


def test_sentences_without_a_counterpart() -> None:
    """A sentence of which nothing is left; one that says nothing that counts is not missed."""
    text = "Emphysema in both lungs. The study is of good quality. A 5 mm nodule on the right. No effusion."
    rewrite = "There is a right nodule of 6 mm. Both lungs are emphysematous."
    told = diff_rewrite(text, rewrite)
    assert [(fate.carried, fate.kept) for fate in told.sentences] == [(1, 1), (0, 0), (2, 2), (1, 0)]
    assert [span.extract(rewrite) for span in told.sentences[2].counterparts] == [
        "There is a right nodule of 6 mm."
    ]


def test_spans_lie_in_their_texts() -> None:
    """Every span of every case points into the text it is of."""
    for case in CASES:
        told = diff_rewrite(case["text"], case["rewrite"])
        spans = [(item.span, case["text"]) for item in told.lost]
        spans += [(item.span, case["rewrite"]) for item in told.invented]
        spans += [(change.span, case["text"]) for change in told.changed]
        spans += [(change.rewrite_span, case["rewrite"]) for change in told.changed]
        assert all(0 <= span.start < span.end <= len(whole) for span, whole in spans)
        assert RewriteDiff.model_validate_json(told.model_dump_json()) == told


def test_long_texts_take_linear_time() -> None:
    """Thousands of sentences of numbers, sides and findings."""
    sentence = "A 5 mm nodule in the right lung, series 3, image 4. No left pleural effusion. "

    assert diff_rewrite(sentence * 10, sentence * 10).faithful
    short, long = (
        cpu_seconds(partial(diff_rewrite, sentence * times, sentence * times)) for times in (100, 400)
    )
    assert long < 12 * short + 0.05
