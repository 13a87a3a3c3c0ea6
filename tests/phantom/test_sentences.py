"""Words and statement agree: every claim in a sentence is looked up in what it was made from."""

from __future__ import annotations

import re
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import UnknownName, UsageError
from overread.ontology import lung_anatomy
from overread.phantom.statement import EXTRAPULMONARY, KINDS, SPREADS, FindingStatement
from overread.phantom.words.lexicon import list_wordings
from overread.phantom.words.sentences import STYLES, Style, is_held_out, list_wording_texts, write_sentence
from tests.phantom.statement_strategies import ALL_KINDS, GRADES, side_of, statements, statements_beyond

EVERY_KIND = ALL_KINDS + [(category, kind) for kind, category in EXTRAPULMONARY.items()]
SEEDS = st.integers(0, 2**32 - 1)
STYLE = st.sampled_from(STYLES)

NUMBERS = dict(
    zip(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), range(2, 11), strict=True)
)
VAGUE = {"a few": range(3, 5), "several": range(5, 10), "multiple": range(3, 99), "numerous": range(10, 99)}
GRADE_WORDS = {
    "mild": r"mild|minimal|slight|small|mildly|minimally|slightly",
    "moderate": r"moderate|moderately|moderate-sized",
    "severe": r"severe|marked|extensive|advanced|large|severely|markedly",
}
SPREAD_WORDS = {word: word for word in SPREADS} | {
    "apex": "apical", "apices": "apical", "base": "basal", "bases": "basal", "periphery": "peripheral",
}  # fmt: skip
TRAIT_WORDS = {
    "lobulated": "lobulated", "smooth": "smooth", "air bronchogram": "air bronchograms",
    "calcif": "calcified", "thick-walled": "thick-walled", "thick wall": "thick-walled",
    "thin-walled": "thin-walled", "thin wall": "thin-walled",
}  # fmt: skip
LATIN = {
    "mediobasal": "medial basal",
    "anterobasal": "anterior basal",
    "laterobasal": "lateral basal",
    "posterobasal": "posterior basal",
}
NAMES = sorted({part.name for part in lung_anatomy().segments.values()} | set(LATIN), key=len, reverse=True)
SEGMENT = re.compile(r"\b((?:{0})(?:(?:, | and )(?:{0}))*) segments?\b".format("|".join(NAMES)))
LEVELS = r"(?:upper|middle|lower)"
LOBES = re.compile(
    rf"(?:\b(right|left|both|bilateral) )?(?:lung )?({LEVELS}(?:(?:, | and ){LEVELS})*) lobes?\b"
    r"(?: of (both|the right|the left) lungs?)?"
)
PLACE = re.compile(
    r"\b(right|left|both|bilateral|bilaterally|lobes?|lingula|lingular|segments?|hemithora\w+|apex|apices|bases?|sides?)\b"
    r"|right-sided|left-sided"
)
NOT_BACKED = re.compile(
    r"\b(stable|new|old|older|chronic|acute|unchanged|interval|prior|previous|diffuse|scattered|tiny|right|left"
    r"|both|bilateral|bilaterally|unilateral|several|multiple|numerous|few|many|some|small|large|suspicious|benign"
    r"|malignant|infectious|lobe|lobes|hemithorax|first|second|two|three|one)\b|\d|stage|%"
)


def segments_in(text: str) -> set[str]:
    """Names of the segments that a text speaks of."""
    text = text.replace("superior segment of the lingula", "superior lingular segment")
    text = text.replace("inferior segment of the lingula", "inferior lingular segment")
    named = [name for found in SEGMENT.findall(text) for name in re.split(", | and ", found)]
    return {LATIN.get(name, name) for name in named}


def lobes_in(text: str) -> set[str]:
    """Codes of the lobes that a text speaks of."""
    found = {"LUL"} if "lingula" in text else set()
    for before, levels, behind in LOBES.findall(text):
        side = (behind or before).removeprefix("the ")
        for level in re.split(", | and ", levels):
            letter = level[0].upper() + "L"
            sides = "RL" if side in ("both", "bilateral") else side[:1].upper()
            if not sides:
                assert level == "middle", f"a lobe without a side in {text!r}"
                sides = "R"
            found |= {one + letter for one in sides}
    return found


def sides_in(text: str) -> set[str]:
    """Which sides a text speaks of, in so many words or by what exists on one side only."""
    found = set(re.findall(r"\b(right|left)\b", text))
    found |= {"right", "left"} if re.search(r"\b(both|bilateral|bilaterally)\b", text) else set()
    found |= {"right"} if "middle lobe" in text else set()
    return found | ({"left"} if "lingula" in text else set())


def test_there_are_enough_wordings() -> None:
    """At least forty a category in each style, twelve a kind after the held-out ones are gone."""
    for category, kinds in KINDS.items():
        for style in STYLES:
            made = {w.text for kind in kinds for w in list_wordings(category, kind, style)}
            assert len(made) >= 40, (category, style)
        assert len(list_wording_texts(category)) >= 60
        assert len(set(list_wording_texts(category))) == len(list_wording_texts(category))
    for category, kind in EVERY_KIND:
        assert sum(not is_held_out(text) for text in list_wording_texts(category, kind)) >= 12


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("category", "kind"), EVERY_KIND)
def test_every_kind_has_wordings_in_both_parts(category: str, kind: str, style: Style) -> None:
    """For one and for several, with and without a place, both parts have a choice."""
    for count in (1, 4):
        for placed in (True, False):
            fitting = [
                is_held_out(w.text)
                for w in list_wordings(category, kind, style)
                if w.fits(count, countable=category in ("2d", "2h"))
                and (w.has_place if placed else not w.needs_place)
            ]
            assert fitting.count(False) >= 12
            assert fitting.count(True) >= 3


def test_a_fifth_is_held_out() -> None:
    """Overall about a fifth; which ones does not depend on the others."""
    texts = {text for category, kind in EVERY_KIND for text in list_wording_texts(category, kind)}
    held = sum(is_held_out(text) for text in texts)
    assert 0.17 < held / len(texts) < 0.23
    for category in KINDS:
        ours = list_wording_texts(category)
        assert 0.13 < sum(map(is_held_out, ours)) / len(ours) < 0.27, category


def test_no_wording_claims_anything_by_itself() -> None:
    """Sides, numbers, sizes, time and extent only ever come from a statement."""
    for category, kind in EVERY_KIND:
        for text in list_wording_texts(category, kind):
            assert not NOT_BACKED.search(text.replace("both-sided", "")), text


def test_what_has_no_words_is_refused() -> None:
    """A category or a kind that nobody has words for is refused by name."""
    with pytest.raises(UnknownName, match="no words for the category '9z'"):
        list_wording_texts("9z")
    with pytest.raises(UnknownName, match="no words for 'purple'"):
        list_wording_texts("2d", "purple")
    lung, rng = FindingStatement(category="2f", kind="honeycombing"), np.random.default_rng(0)
    with pytest.raises(UsageError, match="no style 'shouted'"):
        write_sentence(lung, rng, style="shouted")  # type: ignore[arg-type]
    assert set(get_args(Style)) == set(STYLES)


@given(statements() | statements_beyond(), SEEDS, STYLE, st.booleans(), st.sampled_from((None, True, False)))
def test_a_sentence_says_nothing_but_its_statement(
    statement: FindingStatement, seed: int, style: Style, held: bool, place: bool | None
) -> None:
    """Places, numbers, sizes, grades, spread and traits in the text are those of the statement."""
    made = write_sentence(
        statement, np.random.default_rng(seed), style=style, held_out=held, name_place=place
    )
    text = made.text[0].lower() + made.text[1:]
    assert is_held_out(made.wording) is held
    assert made.wording in list_wording_texts(statement.category, statement.kind)

    # Place: sides, lobes and segments are all there, or none is mentioned at all.
    real = (
        set()
        if statement.side is None
        else {"right", "left"}
        if statement.side == "both"
        else {statement.side}
    )
    assert sides_in(text) in (set(), real)
    lobes, segments = lobes_in(text), segments_in(text)
    assert lobes in (set(), set(statement.lobes))
    assert segments in (set(), {lung_anatomy().segments[code].name for code in statement.segments})
    assert ("side" in made.said) is bool(sides_in(text))
    assert ("lobes" in made.said) is bool(lobes)
    if "segments" in made.said:
        assert segments or re.search(r"\blingular?\b", text)
    if place is False or not real:
        assert not PLACE.search(SEGMENT.sub("", text)), text
        assert not {"side", "lobes", "segments"} & set(made.said)
    if place and real:
        assert sides_in(text)

    # Numbers: nothing but the size, and the count in words.
    size = statement.size_mm
    bare = re.sub(r"\b\d+ mm\b|\b\d+\.\d cm\b", "", text)
    assert not re.search(r"\d", bare)
    for millimetres in re.findall(r"\b(\d+) mm\b", text):
        assert int(millimetres) == size
    for whole, tenth in re.findall(r"\b(\d+)\.(\d) cm\b", text):
        assert int(whole + tenth) == size
        assert int(whole) >= 1
    assert ("size_mm" in made.said) is (bare != text)
    if re.search("millimetric|subcentimeter", text):
        assert size is not None
        assert size < 10
    told = [number for word, number in NUMBERS.items() if re.search(rf"\b{word}\b", text)]
    assert all(number == statement.count and statement.countable for number in told)
    for word, fitting in VAGUE.items():
        if re.search(rf"\b{word}\b", text):
            assert statement.count in fitting
            assert statement.countable
    if "count" in made.said:
        assert statement.countable
        assert told or statement.count == 1

    # Grade, spread, traits.
    for grade, words in GRADE_WORDS.items():
        if re.search(rf"\b({words})\b", text):
            assert statement.severity == grade
            assert "severity" in made.said
    loose = SEGMENT.sub("", text)
    for word, spread in SPREAD_WORDS.items():
        if re.search(rf"\b{word}\b", loose):
            assert spread in statement.spread, text
            assert "spread" in made.said
    if statement.category in ("2b", "2d", "2h"):
        for word, trait in TRAIT_WORDS.items():
            if word in text:
                assert trait in statement.traits or trait == statement.kind


@given(statements() | statements_beyond(), SEEDS, STYLE, st.booleans())
def test_a_sentence_is_well_formed(statement: FindingStatement, seed: int, style: Style, held: bool) -> None:
    """One capital, single spaces, right articles, right numbers of nouns and verbs, not too long."""
    text = write_sentence(statement, np.random.default_rng(seed), style=style, held_out=held).text
    assert re.fullmatch(r"[A-Z0-9][a-z0-9 ,.()\-]*[a-z)]", text), text
    assert not re.search(r"  | ,|,,|\(\s*\)|[{}\[\]/|]|\b(\w+) \1\b", text), text
    assert len(text.split()) <= 40
    low = text.lower()
    assert not re.search(r"\ba ([aeiou]|8|11 |18 )", low), text
    assert not re.search(r"\ban ([^aeiou18]|1[0-79]|1\.|1 )", low), text
    assert not re.search(r"\b(a|an) (areas|foci|bands|changes|\w+odules|effusions|scars)\b", low), text
    assert not re.search(r"\bboth \w+ lobe\b|\bthe both\b|\bin in\b|\bsegment and (?!the\b)", low), text
    if statement.category in ("2d", "2h"):
        nouns = re.sub(
            r"\bmass (lesions?)",
            r"\1",
            low.replace("space-occupying mass", "").replace("of mass character", ""),
        )
        one = re.search(r"\b(nodule|mass|cyst|cavity|lesion|airspace)\b", nouns)
        many = re.search(r"\b(nodules|masses|cysts|cavities|lesions|airspaces)\b", nouns)
        assert bool(one) is (statement.count == 1) or "cavitation area" in low, text
        assert bool(many) is (statement.count > 1) or "cavitation area" in low, text
        verbs = re.findall(
            r"\b(is|are|was|were|lies|lie|attracts|attract|measures|measure)\b", low.removeprefix("note is")
        )
        plural = {"are", "were", "lie", "attract", "measure"}
        assert all((verb in plural) is (statement.count > 1) for verb in verbs), text


@given(statements(), SEEDS, STYLE)
def test_the_same_chance_gives_the_same_sentence(
    statement: FindingStatement, seed: int, style: Style
) -> None:
    """Nothing but the generator decides."""
    first, second = (write_sentence(statement, np.random.default_rng(seed), style=style) for _ in range(2))
    assert first == second


def some_statements(count: int, seed: int) -> list[FindingStatement]:
    """Statements of all categories, as a patient might have them."""
    rng = np.random.default_rng(seed)
    order = [lobe.code for lobe in lung_anatomy().lobes]
    made = []
    for _ in range(count):
        category, kind = ALL_KINDS[int(rng.integers(len(ALL_KINDS)))]
        wanted = rng.choice(order, int(rng.choice((1, 1, 1, 2, 2, 3, 5))), replace=False)
        lobes = tuple(code for code in order if code in wanted)
        inside = lung_anatomy().by_code[lobes[0]].segments
        pleura, things = category in ("2e", "2g"), category in ("2d", "2h")
        made.append(
            FindingStatement(
                category=category,
                kind=kind,
                side=side_of(lobes),
                lobes=() if pleura else lobes,
                segments=(inside[0].code,) if len(lobes) == 1 and not pleura and rng.random() < 0.7 else (),
                count=len(lobes) + int(rng.integers(3)),
                countable=things,
                size_mm=int(rng.integers(4, 40)) if things else None,
                severity=None if things else GRADES[int(rng.integers(4))],
                spread=((), ("subpleural",), ("basal",))[int(rng.integers(3))],
            )
        )
    return made


def test_sentences_are_as_long_as_real_ones() -> None:
    """Mean words near the 11.7 of the real findings, and about 64 % of them name a place."""
    rng = np.random.default_rng(11)
    made = [write_sentence(statement, rng) for statement in some_statements(3000, 7)]
    words = [len(one.text.split()) for one in made]
    assert 9 < np.mean(words) < 15
    assert max(words) <= 35
    assert 0.60 < np.mean(["side" in one.said for one in made]) < 0.68


def test_translated_sentences_sound_otherwise() -> None:
    """The manner of a machine: observed, of the right lung, millimetric; and never the other way."""
    listed = some_statements(1500, 3)
    texts = {
        style: [write_sentence(s, np.random.default_rng(n), style=style).text for n, s in enumerate(listed)]
        for style in STYLES
    }
    same = [a == b for a, b in zip(texts["radiologist"], texts["translated"], strict=True)]
    assert np.mean(same) < 0.05
    ours, theirs = (" ".join(texts[style]) for style in STYLES)
    for phrase in ("millimetric", "lobe of the right lung", "sequela", "space-occupying", "attract"):
        assert phrase in theirs
        assert phrase not in ours
    assert theirs.count("observed") > 3 * ours.count("observed")
    assert "subcentimeter" in ours


@pytest.mark.parametrize(
    ("lobes", "words"),
    [
        (
            ("RLL", "LLL"),
            {
                "both lower lobes",
                "the bilateral lower lobes",
                "the lower lobes of both lungs",
                "bilateral lower lobe",
            },
        ),
        (("RUL", "RML", "RLL"), {"the right lung", "right lung", "right"}),
        (("LUL", "LLL"), {"the left lung", "left lung", "left"}),
        (("RUL", "RML", "LUL", "LLL"), {"both lungs", "bilateral", "bilaterally"}),
        (("RUL", "RML"), {"the right upper and middle lobes"}),
        (("RUL", "LLL"), {"the right upper lobe and the left lower lobe"}),
    ],
)
def test_lobes_are_added_up(lobes: tuple[str, ...], words: set[str]) -> None:
    """Both lower lobes, one lung, both lungs: lobes are named as one would."""
    statement = FindingStatement(
        category="1c", kind="centrilobular", side=side_of(lobes), lobes=lobes, count=3
    )
    for seed in range(60):
        text = write_sentence(statement, np.random.default_rng(seed), name_place=True).text.lower()
        side = {"both lungs", "bilateral", "bilaterally", f"{statement.side} lung"}
        assert any(word in text for word in words | side), text
    said = {write_sentence(statement, np.random.default_rng(n), name_place=True).said for n in range(60)}
    assert any("lobes" in one for one in said) is any("lobe" in word for word in words)


def test_the_lingula_has_its_name() -> None:
    """Both of its segments are the lingula; one may be called so too, without naming the segment."""
    both = FindingStatement(category="2a", kind="scar", side="left", lobes=("LUL",), segments=("LS4", "LS5"))
    texts = [write_sentence(both, np.random.default_rng(n), name_place=True) for n in range(200)]
    assert any("the lingula" in one.text and "segments" in one.said for one in texts)
    one = both.model_copy(update={"segments": ("LS5",)})
    texts = [write_sentence(one, np.random.default_rng(n), name_place=True) for n in range(200)]
    assert any("inferior segment of the lingula" in one.text for one in texts)
    assert all("superior" not in one.text for one in texts)
