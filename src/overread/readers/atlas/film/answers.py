"""Questions about a film, answered from what was measured of it.

Words of the question are held against the signs by the rules of `overread.language`; what the film
part does not measure is answered as a careful reader would who did not see it: no.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from overread.language.statements import find_statements
from overread.ontology import xray_regions
from overread.readers.atlas.film.report import FilmSentence
from overread.readers.atlas.film.sign_rules import HEART_LIMIT
from overread.readers.atlas.film.signs import FilmSign, FilmSigns

_OPTION = re.compile(r"(?:^|\s)\(?([A-E])[.):]\s+(.*?)(?=\s+\(?[A-E][.):]\s|$)", re.S)
_RANGE = re.compile(r"(0?\.\d+)\s*(?:to|-|–)\s*(0?\.\d+)")
_NUMBER = re.compile(r"0?\.\d+")
_CLOSED = re.compile(r"^\s*(?:is|are|does|do|has|have|can|was|were)\b", re.I)
_SEVERAL = re.compile(r"\bwhich of (?:these|the following)\b.*\bare\b", re.I)
_FAMILIES = (
    frozenset({"nodule", "lung mass"}),
    frozenset({"consolidation", "lung opacity", "pneumonia", "infiltrate"}),
)
_NONE = re.compile(r"\bnone of\b", re.I)


@dataclass(frozen=True)
class FilmAnswer:
    """An answer in words, the regions that it rests on, and why."""

    text: str
    regions: tuple[str, ...]
    because: str


def answer_question(question: str, signs: FilmSigns, told: list[FilmSentence]) -> FilmAnswer:
    """Answer with yes or no, with letters, or in a few words."""
    stem, options = _split_options(question)
    regions = _relevant_regions(question, signs)
    if options:
        return FilmAnswer(_choose_letters(stem, options, signs), regions, _explain(question, signs))
    if _CLOSED.match(stem):
        holds = _holds(stem, signs)
        return FilmAnswer("Yes" if holds else "No", regions, _explain(stem, signs))
    return FilmAnswer(_answer_open(stem, signs, told), regions, _explain(stem, signs))


def _split_options(question: str) -> tuple[str, list[tuple[str, str]]]:
    """The question and its choices, where it has at least two."""
    choices = [(letter, text.strip()) for letter, text in _OPTION.findall(question)]
    if len(choices) < 2 or choices[0][0] != "A":
        return question, []
    return question.split(choices[0][1])[0].rstrip(" A.():"), choices


def _choose_letters(stem: str, options: list[tuple[str, str]], signs: FilmSigns) -> str:
    ranged = [(letter, _RANGE.search(text)) for letter, text in options]
    if all(match for _, match in ranged) and signs.heart_ratio is not None:
        return min(
            (abs(signs.heart_ratio - (float(m[1]) + float(m[2])) / 2), letter) for letter, m in ranged if m
        )[1]
    holding = [letter for letter, text in options if not _NONE.search(text) and _holds(text, signs)]
    nothing = [letter for letter, text in options if _NONE.search(text)]
    if _SEVERAL.search(stem):
        return ", ".join(holding or nothing or [options[0][0]])
    if holding:
        strong = {letter: _strength(text, signs) for letter, text in options if letter in holding}
        return max(sorted(strong), key=lambda letter: strong[letter])
    return (nothing or [options[0][0]])[0]


def _holds(text: str, signs: FilmSigns) -> bool:
    """Whether what is asked, or offered as an answer, is so by what was measured."""
    low = text.lower()
    side = _named_side(low)
    if "cardiothoracic" in low and (number := _NUMBER.search(low)) and signs.heart_ratio:
        above = not re.search(r"\b(?:below|under|less|smaller)\b", low)
        return (signs.heart_ratio > float(number[0])) is above
    normal = bool(re.search(r"\b(?:normal|sharp|clear|unremarkable|not enlarged|free)\b", low))
    if "heart" in low or "cardiac" in low or "cardiomegaly" in low:
        return bool(signs.find_present("cardiomegaly")) is not normal
    if "angle" in low:
        return bool(signs.find_present("pleural effusion", side)) is not normal
    if normal and re.search(r"\blungs?\b", low):
        return not _lung_signs(signs, side)
    if normal and re.search(r"\b(?:mediastin|hil|trachea|diaphragm|bone)", low):
        return True
    return bool(_matching_signs(text, signs))


def _matching_signs(text: str, signs: FilmSigns) -> list[FilmSign]:
    """The signs that are there and are what the words speak of."""
    side = _named_side(text.lower())
    found: list[FilmSign] = []
    for name in _named_observations(text):
        family = next((names for names in _FAMILIES if name in names), frozenset({name}))
        found += [sign for kin in sorted(family) for sign in signs.find_present(kin, side)]
    return found


def _named_observations(text: str) -> list[str]:
    """Observations that the words name."""
    plain = re.sub(r"^\s*(?:is|are|does|do)\b(?: there| this radiograph show)?", "", text, flags=re.I)
    return [one.observation for one in find_statements(plain.rstrip("?. ") + ".")]


def _strength(text: str, signs: FilmSigns) -> float:
    return max((sign.strength for sign in _matching_signs(text, signs)), default=0.0)


def _named_side(low: str) -> str | None:
    sides = {side for side in ("right", "left") if re.search(rf"\b{side}\b", low)}
    return sides.pop() if len(sides) == 1 else None


def _lung_signs(signs: FilmSigns, side: str | None) -> list[FilmSign]:
    names = ("consolidation", "lung opacity", "nodule", "lung mass", "pneumothorax")
    return [sign for name in names for sign in signs.find_present(name, side)]


def _answer_open(stem: str, signs: FilmSigns, told: list[FilmSentence]) -> str:
    low, side = stem.lower(), _named_side(stem.lower())
    if "heart" in low or "cardiac" in low or "cardiothoracic" in low:
        size = "enlarged" if signs.find_present("cardiomegaly") else "normal in size"
        if re.search(r"\b(?:size|large|ratio)\b", low) and signs.heart_ratio is not None:
            return f"It is {size}, with a cardiothoracic ratio of {signs.heart_ratio:.2f}."
        return "Enlarged heart." if size == "enlarged" else "Normal heart size."
    if "angle" in low and side:
        blunt = signs.find_present("pleural effusion", side)
        words = f"Pleural effusion on the {side}" if blunt else f"Sharp {side} costophrenic angle"
        return f"{words}."
    if re.search(r"\blung\b|\bzone\b", low):
        found = _lung_signs(signs, side)
        if not found:
            return f"Clear {side} lung." if side else "Clear lungs."
        said = [one.text for one in told if one.positive and set(one.signs) & set(found)]
        return " ".join(said)
    stated = [one.text for one in told if one.positive]
    return " ".join(stated) or "No abnormality is seen."


def _relevant_regions(question: str, signs: FilmSigns) -> tuple[str, ...]:
    """Regions that the question names, else those that its findings were looked for in."""
    low = question.lower()
    named = [name for name in xray_regions().names if name in low and name in signs.places]
    named = [n for n in named if not any(n != other and n in other for other in named)]
    if not named and re.search(r"\bheart\b|cardiothoracic", low):
        named = ["cardiac silhouette"]
    if not named:
        sides = [side for side in ("right", "left") if re.search(rf"\b{side}\b", low)]
        named = [f"{side} lung" for side in sides or ("right", "left")]
    return tuple(name for name in named if name in signs.places)[:4]


def _explain(text: str, signs: FilmSigns) -> str:
    """The measurement that decides."""
    low, side = text.lower(), _named_side(text.lower())
    if re.search(r"heart|cardi", low) and signs.heart_ratio is not None:
        ratio, limit = f"{signs.heart_ratio:.2f}", f"{HEART_LIMIT:.2f}"
        return f"The measured cardiothoracic ratio is {ratio} (limit {limit})."
    wanted = {"pleural effusion"} if "angle" in low or "effusion" in low else set(_named_observations(text))
    for sign in signs.signs:
        if sign.name in wanted and side in (None, sign.side) and sign.measured:
            return f"Measured: {sign.measured}."
    return "By what was measured of both lungs, the pleura and the heart."
