"""Numbers and places in a text that lead to a person: ids, telephones, pages, streets, hospitals.

Numbers that measure something stay: those with a unit, those of series and images, counts and
ratios. What is left is an id where a label says so, or where it is longer than a measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from overread.build.deid.results import RemovalKind
from overread.build.deid.text.patterns import pattern, patterns
from overread.build.deid.text.spans import PhiSpan
from overread.build.deid.text.word_lists import is_common, is_town

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def find_ids(text: str) -> list[PhiSpan]:
    """Ids, telephone numbers, mail and web addresses, streets, towns, hospitals, high ages."""
    return [*_find_numbers(text), *_find_phones(text), *_find_places(text)]


def _find_numbers(text: str) -> Iterator[PhiSpan]:
    for match in pattern("id_labelled").finditer(text):
        value = match["v"]
        digits = sum(character.isdigit() for character in value)
        told = re.search(r"[:#=]|no|number|nr|n[º°]", match["sep"], re.IGNORECASE) is not None
        told = told or re.search(r"(?:no|number|nr|id|\#)$", match["label"], re.IGNORECASE) is not None
        loose = match["label"].lower() in ("room", "bed", "id", "visit", "account", "policy", "chart")
        if digits and (digits >= 4 or (told and (digits >= 2 or not loose)) or digits >= 3):
            yield PhiSpan(*match.span("v"), "id", "labelled")
    for rule, form in patterns("id_").items():
        for match in form.finditer(text) if rule != "id_labelled" else ():
            kind: RemovalKind = "email" if rule in ("id_email", "id_web") else "id"
            yield PhiSpan(*match.span(), kind, rule)
    for match in pattern("long_number").finditer(text):
        if len(match[0]) > 8 or not pattern("counted").search(
            text[max(0, match.start() - 24) : match.start()]
        ):
            yield PhiSpan(*match.span(), "id", "long-number")
    for match in pattern("mixed").finditer(text):
        word = match[0]
        digits = sum(character.isdigit() for character in word)
        if digits >= 4 and not pattern("harmless").fullmatch(word):
            yield PhiSpan(*match.span(), "id", "letters-and-digits")
    for match in pattern("age").finditer(text):
        part = "v" if match["v"] else "w"
        yield PhiSpan(*match.span(part), "age", "over-89", "90")


def _find_phones(text: str) -> Iterator[PhiSpan]:
    for rule, form in patterns("phone_").items():
        for match in form.finditer(text):
            if sum(character.isdigit() for character in match["v"]) >= 3:
                yield PhiSpan(*match.span("v"), "phone", rule)


def _find_places(text: str) -> Iterator[PhiSpan]:
    for rule, form in patterns("street_").items():
        for match in form.finditer(text):
            yield PhiSpan(*match.span(), "address", rule)
    for match in pattern("place_field").finditer(text):
        where = match["label"].lower()
        kind = (
            "hospital"
            if where[:4] in ("hosp", "inst", "faci", "clin", "depa", "hast", "kuru", "kran", "hôpi", "cent")
            else "address"
        )
        if not all(is_common(word) for word in _WORD.findall(match["v"])):
            yield PhiSpan(match.start("v"), match.end("v"), kind, "field")  # type: ignore[arg-type]
    for match in pattern("hospital_before").finditer(text):
        words = list(_WORD.finditer(match["p"]))
        own = [n for n, word in enumerate(words) if not is_common(word[0])]
        if own:
            yield PhiSpan(match.start("p") + words[own[0]].start(), match.end(), "hospital", "hospital")
    for match in pattern("hospital_behind").finditer(text):
        if any(not is_common(word) for word in _WORD.findall(match["p"]) if word[0].isupper()):
            yield PhiSpan(*match.span(), "hospital", "hospital")
    for match in _WORD.finditer(text):
        named = match[0][0].isupper() and is_town(match[0])
        if named and not pattern("classified").match(text[match.end() : match.end() + 30]):
            yield PhiSpan(*match.span(), "address", "town")
