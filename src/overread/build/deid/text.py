"""Reports and other texts: names, ids, dates, telephones, streets and hospitals found and replaced.

Names become made-up names, ids become others of the same shape, dates move with the patient; the
same name is the same made-up one wherever it stands. Or each becomes a tag. Measurements stay.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from overread.build.deid.patterns import pattern
from overread.build.deid.record import Options, Removal
from overread.build.deid.secret import Secret
from overread.build.deid.spans import Found, Taken, settled
from overread.build.deid.text_dates import find_dates
from overread.build.deid.text_ids import find_ids
from overread.build.deid.text_names import Names
from overread.build.deid.text_words import Word
from overread.build.deid.words import fold, is_given, is_particle, surrogate_names

_HOUSES = "Northfield Eastbrook Westmoor Southgate Riverbend Lakeview Hillcrest Oakdale".split()
_FOREIGN = 0.3
"""The share of letters of other alphabets from which on a text is not one we have rules for."""


@dataclass(frozen=True)
class CleanText:
    """A text after it was cleaned."""

    text: str
    removals: tuple[Removal, ...]

    @property
    def changed(self) -> bool:
        """Whether anything was found."""
        return bool(self.removals)


def clean_text(
    text: str,
    secret: Secret,
    options: Options | None = None,
    *,
    patient: str = "",
    known: Iterable[str] = (),
    place: str = "",
) -> CleanText:
    """A text without what names a person, and what was done.

    `patient` decides by how much dates move, `known` are names that are known to be in it (the
    patient's own), and `place` is put before the places that the record tells.

    >>> secret = Secret(b"for example only, 32 characters.")
    >>> tags = Options(replace="tags")
    >>> clean_text("Dictated by Dr. Ayla Tekin on 03/20/2021.", secret, tags).text
    'Dictated by Dr. [NAME] on [DATE].'
    """
    chosen = options or Options()
    # A capital İ in small letters is an i and a dot over it, which would part the word.
    text = unicodedata.normalize("NFC", text).replace("i\u0307", "i")
    found = find_all(text, secret, chosen, patient=patient, known=known)
    made: list[str] = []
    removals: list[Removal] = []
    at = 0
    for one in found:
        before = text[one.start : one.end]
        after = _instead(one, before, secret, chosen)
        made += [text[at : one.start], after]
        at = one.end
        shifted = one.kind == "date" and one.instead == after and after != "[DATE]"
        removals.append(
            Removal(
                kind=one.kind,
                action="shifted" if shifted else "replaced",
                where=f"{place} characters {one.start}–{one.end}".strip(),
                rule=one.rule,
                before=before,
                after=after,
            )
        )
    return CleanText("".join([*made, text[at:]]), tuple(removals))


def find_all(
    text: str,
    secret: Secret,
    options: Options,
    *,
    patient: str = "",
    known: Iterable[str] = (),
) -> list[Found]:
    """Everything that `clean_text` would replace, in order."""
    moving = options.dates == "shift" and options.replace == "surrogates"
    days = secret.days(patient) if moving else None
    dates = [
        Found(one.start, one.end, "date", "birth", "[DATE]")
        if pattern("birth").search(text[max(0, one.start - 40) : one.start])
        else one
        for one in find_dates(text, days, day_first=options.day_first)
    ]
    names = Names(text, (*known, *options.names)).search()
    ids = find_ids(text)
    # A label makes an id of eight digits that could be a date; of 12/03/2021 it does not.
    days_told = {(one.start, one.end) for one in dates if not text[one.start : one.end].isdigit()}
    sure = [one for one in ids if one.rule == "labelled" and (one.start, one.end) not in days_told]
    labelled = Taken(text, sure)
    dates = [one for one in dates if not labelled.over(one)]
    dated = Taken(text, dates)
    numbers = [
        one
        for one in ids
        if one.rule != "labelled" and (one.kind in ("address", "hospital") or not dated.over(one))
    ]
    return settled([*dates, *names, *sure, *numbers], text)


def foreign(text: str) -> str | None:
    """Why a text cannot be cleaned by our rules, or None: it is in no alphabet that they know."""
    letters = [character for character in text if character.isalpha()]
    other = sum(
        ord(character) > 0x024F and not 0x1E00 <= ord(character) <= 0x1EFF for character in letters
    )
    if letters and other > _FOREIGN * len(letters):
        return "there are no rules for a text in this alphabet"
    if "\0" in text:
        return "the text holds NUL characters"
    return None


def _instead(one: Found, before: str, secret: Secret, options: Options) -> str:
    if one.instead is not None:
        return one.instead
    if options.replace == "tags" or one.kind == "date":
        return f"[{one.kind.upper()}]"
    if one.kind == "name":
        return stand_in(before, secret)
    if one.kind in ("id", "phone"):
        return secret.shaped("id", before)
    if one.kind == "hospital":
        return f"{secret.choose('house', fold(before), _HOUSES)} Hospital"
    if one.kind == "email":
        return "someone@example.org"
    if one.kind == "address":
        return secret.choose("town", fold(before), _HOUSES)
    return f"[{one.kind.upper()}]"


def stand_in(name: str, secret: Secret) -> str:
    """A made-up name for a name, part by part, so that the family name alone is the same again.

    >>> secret = Secret(b"for example only, 32 characters.")
    >>> stand_in("Ayla Tekin", secret).split()[1] == stand_in("TEKIN", secret).title()
    True
    """
    given, family = surrogate_names()
    made, at = "", 0
    for word in Names(name).words:
        made += name[at : word.start] + _part(word, secret, given, family)
        at = word.end
    return made + name[at:]


def _part(word: Word, secret: Secret, given: tuple[str, ...], family: tuple[str, ...]) -> str:
    if is_particle(word.text) and word.text.islower():
        return word.text
    if word.initial:
        return secret.choose(
            "initial", word.low, [chr(c) for c in range(65, 91) if chr(c) != word.text]
        )
    choices = given if is_given(word.low) else family
    drawn = secret.choose("name", word.low, [one for one in choices if fold(one) != word.low])
    if word.shouted:
        return drawn.upper()
    return drawn if word.capital else drawn.lower()
