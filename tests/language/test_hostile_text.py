"""Texts that nobody meant to be read: nothing crashes, nothing crawls, spans stay in the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overread.core import Record
from overread.language.compare import compare_reports
from overread.language.labels import LABELS, compute_labels
from overread.language.numerals import find_numerals
from overread.language.rewrites.diff import diff_rewrite
from overread.language.rewrites.owners import side_words
from overread.language.sizes import find_sizes
from overread.language.statements import Statement, find_statements
from overread.language.text import Span, split_sections, split_sentences
from tests.timing import cpu_seconds

WORDS = (
    "no not without nodule nodules mass effusion pleural pericardial thickening lung lungs lobe "
    "upper lower middle right left both bilateral segment posterior basal lingula calcification "
    "aorta coronary artery is are was seen not observed cannot be excluded possible new stable "
    "increased resolved 5 mm 1.5 cm x 3 × - – to and or , . ; : ( ) [ ] ? ! but however mild severe "
    "several two a an the of in with Findings: Impression: history status post CT 12.03.2021 "
    "series 3 image 45 T12 sixth rib fractures XXXX normal heart size enlarged • * \" '"
).split(" ")
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=30).map("".join),
    st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4)), max_size=40).map("\n".join),
    st.text("()[]{}<>.,;:?!\n\r\t \x00\ufeff\u200b\u0130\u0131iIşğ🫁🩻٣½²", max_size=120),
)
ODD = (
    "", "\x00", "\x00nodule\x00", "\ud800", "İİİ nodül İ right İ 5 mm", "ıIiİ sağ akciğerde 5 mm nodül",
    "🫁 5 mm nodule 🩻 in the right lung 🫁.", "nodule\u200bs", "٣ mm nodule", "5 mm" * 50, "½ cm nodule",
    "no " * 300 + "nodule", "(" * 500 + "nodule" + ")" * 500, "." * 500, "right" * 100, "\r\n\r\n" * 50,
    "nodule" * 200, "ﬁbrosis ﬂuid", "a\u0301" * 100, "NODULE İN THE RİGHT UPPER LOBE", "Findings:" * 50,
    "𝟓 mm 𝐧𝐨𝐝𝐮𝐥𝐞", "5 mm\u00a0nodule", "x" * 5000, "99999999999999999999 mm nodule", "1e999 mm", "0 mm nodule",
)  # fmt: skip


def spans_in(value: Any) -> Iterator[Span]:
    """Every span in a record, however deep."""
    if isinstance(value, Span):
        yield value
    elif isinstance(value, Record):
        for name in type(value).model_fields:
            yield from spans_in(getattr(value, name))
    elif isinstance(value, dict):
        for part in value.values():
            yield from spans_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from spans_in(part)


def hold(text: str) -> list[Statement]:
    """Read a text and see that everything about it holds."""
    parts = split_sentences(text)
    starts = [part.start for part in parts]
    assert starts == sorted(starts)
    assert all(one.end <= two.start for one, two in pairwise(parts))
    found = find_statements(text)
    whole = [*split_sections(text), *parts, *found, *find_sizes(text), *find_numerals(text)]
    for span in (*spans_in(whole), *(word.span for word in side_words(text))):
        assert 0 <= span.start <= span.end <= len(text)
    for one in found:
        assert one.span.start < one.span.end
        assert one.sentence.start <= one.span.start
        assert one.span.end <= one.sentence.end
        for spot in one.evidence.values():
            assert one.sentence.start <= spot.start < spot.end <= one.sentence.end
    order = [one.sentence.start for one in found]
    assert order == sorted(order)
    assert find_statements(text) == found
    for name in LABELS:
        assert set(compute_labels(found, name).values()) <= {0, 1}
    return found


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_any_text(text: str) -> None:
    """Random letters, radiology word salad, brackets, other scripts."""
    hold(text)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts(text: str) -> None:
    """NULs, half a surrogate, Turkish letters that grow when lowered, emoji, long runs."""
    hold(text)
    diff_rewrite(text, "A 5 mm nodule in the right lung.")
    compare_reports("A 5 mm nodule in the right lung.", text)


def test_positions_survive_odd_letters() -> None:
    """A letter whose lower case is longer shifts nothing."""
    text = "İİİ 🫁 A 5 mm nodule in the right lung. \x00 No effusion."
    found = hold(text)
    assert [one.span.extract(text) for one in found] == ["nodule", "effusion"]
    assert found[0].evidence["size_mm"].extract(text) == "5 mm"


@settings(max_examples=120, deadline=None)
@given(TEXTS, TEXTS)
@example("nodule", "nodule " * 40)
def test_any_two_texts(one: str, two: str) -> None:
    """Comparing and accounting hold for any pair, and give the same twice."""
    told = compare_reports(one, two)
    for match in told.matches:
        for span in spans_in(match.reference):
            assert 0 <= span.start <= span.end <= len(one)
        for span in spans_in(match.other):
            assert 0 <= span.start <= span.end <= len(two)
    assert told == compare_reports(one, two)
    kept = diff_rewrite(one, two)
    assert all(item.span.end <= len(one) for item in kept.lost)
    assert all(item.span.end <= len(two) for item in kept.invented)
    assert all(c.span.end <= len(one) and c.rewrite_span.end <= len(two) for c in kept.changed)
    assert kept == diff_rewrite(one, two)
    assert diff_rewrite(one, one).faithful


MEGA = 1_000_000
HOSTILE: dict[str, tuple[str, int]] = {
    "brackets": ("([{<", 2 * MEGA),
    "closed brackets": ("()", 2 * MEGA),
    "no no no": ("no ", 2 * MEGA),
    "no full stop": ("nodule in the lung and ", 2 * MEGA),
    "every kind of thing, no full stop": ("no 5 mm nodule, mild right pleural effusion and ", MEGA // 2),
    "digits": ("7", 2 * MEGA),
    "digits with blanks": ("7 ", 2 * MEGA),
    "sizes": ("5x", 2 * MEGA),
    "right left": ("right left ", MEGA // 2),
    "lobes": ("right upper lobe and ", MEGA // 2),
    "segments": ("posterior ", MEGA // 2),
    "line breaks": ("\n", 2 * MEGA),
    "lines": ("a\n", 2 * MEGA),
    "dots": (". ", 2 * MEGA),
    "headings": ("Findings: ", MEGA),
    "blanks": (" ", 2 * MEGA),
    "one word": ("a", 2 * MEGA),
    "quotes": ('" ', MEGA),
    "bullets": ("•", MEGA),
    "pleural or": ("pleural or ", MEGA),
    "verbs": ("is and ", MEGA),
    "commas": (",", 2 * MEGA),
    "question marks": ("?", 2 * MEGA),
    "NUL": ("\x00", 2 * MEGA),
}  # fmt: skip


def took(work: Callable[[str], object], text: str) -> float:
    """Seconds that a piece of work takes, the better of two."""
    return cpu_seconds(lambda: work(text))


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length_and_no_faster(name: str) -> None:
    """Four times the text takes about four times as long: sixteen would be quadratic."""
    unit, _ = HOSTILE[name]
    short, long = (took(find_statements, unit * (size // len(unit))) for size in (25_000, 100_000))
    assert long < 10 * short + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_megabytes_take_seconds(name: str) -> None:
    """Two megabytes of nothing good take about a hundred times as long as looking at each sign."""
    unit, size = HOSTILE[name]
    text = unit * (size // len(unit))
    floor = cpu_seconds(lambda: [sign.isprintable() for sign in text])
    assert cpu_seconds(lambda: find_statements(text), rounds=1) < 500 * floor + 0.5


@pytest.mark.parametrize("unit", ["7 ", "5 mm ", "right left ", "nodule. ", "A 5 mm nodule in the right lung. ", "se 3 ", "12.03.2021 ", "T1", "7."])  # fmt: skip
@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda text: compare_reports(text, text), id="compare"),
        pytest.param(lambda text: diff_rewrite(text, text), id="account", marks=pytest.mark.slow),
    ],
)
def test_comparing_takes_linear_time(work: Callable[[str], object], unit: str) -> None:
    """So do two texts side by side."""
    short, long = (took(work, unit * (size // len(unit))) for size in (5_000, 20_000))
    assert long < 10 * short + 0.05
