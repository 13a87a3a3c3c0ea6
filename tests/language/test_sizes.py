"""Sizes: what is one, in which unit, and what only looks like one."""

from __future__ import annotations

import pytest

from overread.language.sizes import find_sizes
from overread.language.statements import find_statements

SIZES = [
    ("A 5 mm nodule", "5 mm", (5.0,)),
    ("A 5mm nodule", "5mm", (5.0,)),
    ("A 5-mm nodule", "5-mm", (5.0,)),
    ("A nodule of 1.2 cm", "1.2 cm", (12.0,)),
    ("A nodule of 1,2 cm", "1,2 cm", (12.0,)),
    ("A cyst, 1.2 x 0.9 cm", "1.2 x 0.9 cm", (12.0, 9.0)),
    ("A cyst, 12x9 mm", "12x9 mm", (12.0, 9.0)),
    ("A cyst, 12 × 9 × 8 mm", "12 × 9 × 8 mm", (12.0, 9.0, 8.0)),
    ("A cyst, 12 mm x 9 mm", "12 mm x 9 mm", (12.0, 9.0)),
    ("A cyst, 1.2 cm x 9 mm", "1.2 cm x 9 mm", (12.0, 9.0)),
    ("A cyst, 4 by 3 cm", "4 by 3 cm", (40.0, 30.0)),
    ("A cyst measuring 5x4x5.", "5x4x5.", (5.0, 4.0, 5.0)),
    ("A cyst of 5x4x5. mm", "5x4x5. mm", (5.0, 4.0, 5.0)),
    ("A lesion measuring 12x9 in the liver", "12x9", (12.0, 9.0)),
    ("Nodules of 5 millimetres", "5 millimetres", (5.0,)),
    ("A mass of 2 centimeters", "2 centimeters", (20.0,)),
    ("0.5cm nodule", "0.5cm", (5.0,)),
]
RANGES = [
    ("3-5 mm nodules", "3-5 mm", (3.0, 5.0)),
    ("3–5 mm nodules", "3–5 mm", (3.0, 5.0)),
    ("nodules of 3 to 5 mm", "3 to 5 mm", (3.0, 5.0)),
    ("nodules between 3 and 5 mm", "3 and 5 mm", (3.0, 5.0)),
]
NONE = [
    "series 2, section 75", "series 4 image 112", "12.05.2019", "12/05/2019", "T12 fracture",
    "L1 and L2", "grade 2 steatosis", "a 65 year old patient", "5th rib", "24 hours",
    "blood pressure 120 mm Hg", "a volume of 3 cm3", "120 kV, 80 mAs", "2 x 2 views", "40 HU",
    "nodule x3", "segment 8", "Lung-RADS 4", "COVID-19", "1 and 2",
]  # fmt: skip
DISTANCES = [
    "tip of the tube 2 cm above the carina", "5 mm from the pleura", "a slice thickness of 1.5 mm",
    "1.5 mm thick sections", "slices of 3 mm", "3 cm below the clavicle",
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "mm"), SIZES)
def test_a_size_in_millimetres(text: str, words: str, mm: tuple[float, ...]) -> None:
    """Every axis, in every spelling of its unit, and its characters."""
    (size,) = find_sizes(text)
    assert (size.span.extract(text), size.mm) == (words, mm)
    assert not size.is_range
    assert not size.is_distance


@pytest.mark.parametrize(("text", "words", "mm"), RANGES)
def test_a_range_is_not_two_axes(text: str, words: str, mm: tuple[float, ...]) -> None:
    """Its upper end is what counts."""
    (size,) = find_sizes(text)
    assert (size.span.extract(text), size.mm, size.is_range) == (words, mm, True)
    assert size.largest == mm[1]


@pytest.mark.parametrize("text", NONE)
def test_numbers_that_are_no_sizes(text: str) -> None:
    """Images, dates, vertebrae, grades, ages, pressures."""
    assert find_sizes(text) == []


@pytest.mark.parametrize("text", DISTANCES)
def test_lengths_that_are_no_sizes(text: str) -> None:
    """How far away something is, how thick the slices are."""
    assert [size.is_distance for size in find_sizes(text)] == [True]


def test_several_sizes() -> None:
    """One after the other; a unit may stand behind the last."""
    assert [s.mm for s in find_sizes("a 12 mm and a 5 mm nodule")] == [(12.0,), (5.0,)]
    assert [s.mm for s in find_sizes("nodules of 8 and 5 mm")] == [(8.0,), (5.0,)]
    assert [s.mm for s in find_sizes("segment 8 and 5 mm nodule")] == [(5.0,)]


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("nodules up to 8 mm", "under"),
        ("nodules less than 1 cm", "under"),
        ("nodes smaller than 10 mm", "under"),
        ("nodes < 10 mm", "under"),
        ("a mass larger than 3 cm", "over"),
        ("a mass of at least 3 cm", "over"),
        ("a mass of 3 cm", ""),
    ],
)
def test_bounds(text: str, bound: str) -> None:
    """At most, at least, or exactly."""
    assert [size.bound for size in find_sizes(text)] == [bound]


def test_across_a_line_break() -> None:
    """A unit may stand on the next line."""
    text = "A nodule measuring 12\nmm."
    (one,) = find_statements(text)
    assert one.size_mm == 12


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("An 8 mm nodule and a 2 cm cyst in the lung", {"nodule": 8, "lung cyst": 20}),
        ("A nodule, measuring 8 mm, and a 2 cm mass", {"nodule": 8, "lung mass": 20}),
        ("A nodule of 8 mm with a 20 mm effusion", {"nodule": 8, "pleural effusion": 20}),
        ("Nodules, the largest measuring 6 x 4 mm", {"nodule": 6}),
        ("Two nodules, 4 mm and 7 mm", {"nodule": 7}),
        ("Emphysema and a 5 mm nodule", {"emphysema": None, "nodule": 5}),
        ("A nodule that measured 6 mm previously now measures 9 mm", {"nodule": 9}),
        ("A nodule 5 mm from the pleura", {"nodule": None}),
        ("An emphysematous bulla was detected, measuring 5.0 cm", {"emphysema": 50}),
    ],
)
def test_a_size_belongs_to_its_thing(text: str, expected: dict[str, float | None]) -> None:
    """To the nearest, and not to its neighbour."""
    assert {one.observation: one.size_mm for one in find_statements(text)} == expected


def test_size_in_words() -> None:
    """Subcentimeter and millimetric say that it is small, and no number."""
    for word in ("Subcentimeter", "Sub-centimetre", "Millimetric", "Subcentimetric"):
        (one,) = find_statements(f"{word} nodule in the right lung")
        assert (one.small, one.size_mm) == (True, None)
        assert one.evidence["small"].extract(f"{word} nodule in the right lung") == word
