"""Sentences about signs: enough of them, held out, grammatical, and read back by the rules."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import numpy as np
import pytest

from overread.errors import UnknownName
from overread.language.statements import find_statements
from overread.phantom.film.lexicon import (
    Stance,
    find_sign_words,
    list_film_wording_texts,
    list_film_wordings,
    load_all_sign_words,
    sign_kind,
)
from overread.phantom.film.negatives import list_line_wordings, load_negative_words
from overread.phantom.film.sign import Sign, Visibility
from overread.phantom.film.sign_sentences import write_sign_sentence
from overread.phantom.film.zones import side_word, sign_levels, sign_sides, write_half_place, write_zone_place
from overread.phantom.statement import FindingStatement
from overread.phantom.words.lexicon import STYLES, Style, is_held_out
from tests.phantom.film.made_up_sights import ALL_KINDS, BEYOND_KINDS, sight, sign

KINDS = [*ALL_KINDS, *BEYOND_KINDS]
PRESENCE: dict[str, str] = {"positive": "present", "hedged": "uncertain"}
STANCES: tuple[tuple[Stance, Visibility], ...] = (("positive", "seen"), ("hedged", "doubtful"))
CT_WORDS = r"\blob(e|es|ar|ectomy)\b|\bsegments?\b|lingul|attenuation|hypodens|hyperdens|tree-in-bud|centrilobular|crazy|Hounsfield"


def said(category: str, kind: str, seed: int, stance: Stance, seen: Visibility) -> tuple[Sign, str]:
    """A made-up sign and a sentence about it."""
    rng = np.random.default_rng([seed, len(kind)])
    one = sign(category, kind, seen, rng)
    style: Style = "translated" if seed % 3 == 2 else "radiologist"
    film = sight(seed, view="AP supine" if seed % 4 == 1 else "PA")
    text = write_sign_sentence(one, film, rng, stance=stance, style=style, held_out=seed % 5 == 0).text
    return one, text


def test_every_kind_has_words() -> None:
    """Every kind of the population can be said of a film; another one is refused."""
    assert {sign_kind(FindingStatement(category=c, kind=k)) for c, k in KINDS} == set(load_all_sign_words())
    with pytest.raises(UnknownName, match="no words for '2z:spot'"):
        find_sign_words("2z:spot")


def test_there_are_enough_wordings() -> None:
    """At least 40 positive and 40 hedged wordings a sign, some thousands in all."""
    for kind in load_all_sign_words():
        assert len(list_film_wording_texts(kind, "positive")) >= 40, kind
        assert len(list_film_wording_texts(kind, "hedged")) >= 40, kind
    every = {text for kind in load_all_sign_words() for text in list_film_wording_texts(kind)}
    assert len(every) > 15000


def test_a_fifth_is_held_out() -> None:
    """About a fifth of the wordings of every stance is held out, and every line has both sorts."""
    for stance, style in product(("positive", "hedged"), STYLES):
        words = [w for kind in load_all_sign_words() for w in list_film_wordings(kind, stance, style)]
        share = sum(one.held_out for one in words) / len(words)
        assert 0.17 < share < 0.23, (stance, style)
    for topic in load_negative_words().topics:
        for line in topic.lines:
            plain = [text for text in list_line_wordings(line) if "{ratio}" not in text]
            assert {is_held_out(text) for text in plain} == {True, False}, (topic.group, line)


@pytest.mark.parametrize(("category", "kind"), KINDS)
def test_sentences_are_read_back(category: str, kind: str) -> None:
    """The rules read what is there as present, what may be as uncertain, on the right side."""
    for seed, (stance, seen) in product(range(10), STANCES):
        one, text = said(category, kind, seed, stance, seen)
        read = find_statements(f"{text}.")
        assert {each.presence for each in read} == {PRESENCE[stance]}, text
        side = side_word(one) if one.statement.side is not None else None
        told = {each.side for each in read} - {None}
        if side is not None:
            assert told == {side}, (text, side)


@pytest.mark.parametrize(("category", "kind"), KINDS)
def test_sentences_are_well_formed(category: str, kind: str) -> None:
    """Capitals, single spaces, right articles and verbs, no CT words, no word twice."""
    for seed, (stance, seen) in product(range(16), STANCES):
        one, text = said(category, kind, 1000 + seed, stance, seen)
        assert text[0].isupper() or text[0].isdigit()
        assert not text.endswith(".")
        assert not re.search(r"  | [,.]|\.\.|[{}\[\]|]", text), text
        assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou81]|\b[Aa] (8|11|18)\b", text), text
        assert not re.search(r"\b(\w+) \1\b", text, re.IGNORECASE), text
        # "An appearance suggestive of opacities is noted", "a group of nodules is seen".
        if not re.match("(An|The) (appearance|presence)|A (cluster|group)", text):
            assert not re.search(r"\b(opacities|nodules|lines|changes|bronchi) (is|was)\b", text), text
        if "areas of" not in text.lower():
            assert not re.search(r"\b(opacity|nodule|effusion) (are|were)\b", text), text
        assert not re.search(CT_WORDS, text), text
        assert len(text.split()) <= 30, text
        assert one.key


@pytest.mark.parametrize(("category", "kind"), KINDS)
def test_places_are_true(category: str, kind: str) -> None:
    """Sides, zones and sizes that a sentence names are the sign's own."""
    for seed, (stance, seen) in product(range(16), STANCES):
        one, text = said(category, kind, 2000 + seed, stance, seen)
        low = text.lower()
        sides = set(sign_sides(one))
        for side in ("right", "left"):
            if re.search(rf"\b{side}(-sided)?\b", low):
                assert side in sides, text
        if re.search(r"\b(both|bilateral|bilaterally|bibasilar|biapical)\b", low):
            assert len(sides) == 2, text
        levels = {level for side in sides for level in sign_levels(one, side)}
        for word in ("upper", "mid", "lower"):
            if re.search(rf"\b{word}\b", low) and category not in ("2e", "2g"):
                assert word in levels, text
        if re.search(r"\b(base|bases|basilar|bibasilar)\b", low):
            assert levels == {"lower"}, text
        for number, unit in re.findall(r"\b(\d+(?:\.\d+)?) (mm|cm)\b", low):
            assert round(float(number) * (10 if unit == "cm" else 1)) == one.size_mm, text


def test_zones_become_places() -> None:
    """Each pattern of zones has the words that hold it, and nothing is left out."""
    rng = np.random.default_rng(0)
    base = sign("2b", "consolidation", "seen", rng)
    tables: list[tuple[str, tuple[str, ...], str]] = [
        ("right", ("right apical zone",), r"the right (lung )?(apex|apical zone)"),
        ("right", ("right apical zone", "right upper lung zone"), r"the right upper (lung zone|zone|lung)"),
        ("left", ("left mid lung zone", "left lower lung zone"), r"the left mid and lower lung zones"),
        ("both", ("right lower lung zone", "left lower lung zone"), r"both (lower (lung )?zones|lung bases)|the lower zones of both lungs"),
        ("both", ("right lower lung zone",), r"the right (lower|base|lung base).*"),
        ("left", ("left upper lung zone", "left mid lung zone", "left lower lung zone"), r"the left lung( field)?"),
        ("right", (), r"the right lung( field)?"),
        ("both", ("right upper lung zone", "left lower lung zone"), r"the right upper and left lower lung zones|both lungs"),
    ]  # fmt: skip
    for side, zones, wanted in tables:
        changed = base.statement.model_copy(update={"side": side})
        one = base.model_copy(update={"statement": changed, "zones": zones})
        names = Counter(str(getattr(write_zone_place(one, rng), "name", "")) for _ in range(30))
        assert all(re.fullmatch(wanted, name) for name in names), (zones, names)
    heart = sign("8d", "cardiomegaly", "seen", rng)
    assert write_zone_place(heart, rng) is None
    assert write_half_place(heart, rng, pleural=False) is None
