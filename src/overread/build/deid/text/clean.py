"""Reports and other texts: names, ids, dates, telephones, streets and hospitals found and replaced.

Names become made-up names, ids become others of the same shape, dates move with the patient; the
same name is the same made-up one wherever it stands. Or each becomes a tag. Measurements stay.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from overread.build.deid.results import Options, Removal
from overread.build.deid.secret import DeidSecret
from overread.build.deid.text.dates import find_dates
from overread.build.deid.text.ids import find_ids
from overread.build.deid.text.names import NameSearch, NameWord
from overread.build.deid.text.patterns import pattern
from overread.build.deid.text.spans import CoveredText, PhiSpan, resolve_overlaps
from overread.build.deid.text.word_lists import fold, is_given_name, is_particle, surrogate_names

_SURROGATE_PLACES = "Northfield Eastbrook Westmoor Southgate Riverbend Lakeview Hillcrest Oakdale".split()
_MAX_FOREIGN_SHARE = 0.3
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
    secret: DeidSecret,
    options: Options | None = None,
    *,
    patient: str = "",
    known: Iterable[str] = (),
    place: str = "",
) -> CleanText:
    """A text without what names a person, and what was done.

    `patient` decides by how much dates move, `known` are names that are known to be in it (the
    patient's own), and `place` is put before the places that the record tells.

    >>> secret = DeidSecret(b"for example only, 32 characters.")
    >>> tags = Options(replace="tags")
    >>> clean_text("Dictated by Dr. Ayla Tekin on 03/20/2021.", secret, tags).text
    'Dictated by Dr. [NAME] on [DATE].'
    """
    chosen = options or Options()
    # A capital İ in small letters is an i and a dot over it, which would part the word.
    text = unicodedata.normalize("NFC", text).replace("i\u0307", "i")
    found = find_identifiers(text, secret, chosen, patient=patient, known=known)
    made: list[str] = []
    removals: list[Removal] = []
    at = 0
    for one in found:
        before = text[one.start : one.end]
        after = _choose_replacement(one, before, secret, chosen)
        made += [text[at : one.start], after]
        at = one.end
        shifted = one.kind == "date" and one.replacement == after and after != "[DATE]"
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


def find_identifiers(
    text: str, secret: DeidSecret, options: Options, *, patient: str = "", known: Iterable[str] = ()
) -> list[PhiSpan]:
    """Everything that `clean_text` would replace, in order."""
    moving = options.dates == "shift" and options.replace == "surrogates"
    days = secret.shift_days(patient) if moving else None
    dates = [
        PhiSpan(one.start, one.end, "date", "birth", "[DATE]")
        if pattern("birth").search(text[max(0, one.start - 40) : one.start])
        else one
        for one in find_dates(text, days, day_first=options.day_first)
    ]
    names = NameSearch(text, (*known, *options.names)).search()
    ids = find_ids(text)
    # A label makes an id of eight digits that could be a date; of 12/03/2021 it does not.
    days_told = {(one.start, one.end) for one in dates if not text[one.start : one.end].isdigit()}
    sure = [one for one in ids if one.rule == "labelled" and (one.start, one.end) not in days_told]
    labelled = CoveredText(text, sure)
    dates = [one for one in dates if not labelled.overlaps(one)]
    dated = CoveredText(text, dates)
    numbers = [
        one
        for one in ids
        if one.rule != "labelled" and (one.kind in ("address", "hospital") or not dated.overlaps(one))
    ]
    return resolve_overlaps([*dates, *names, *sure, *numbers], text)


def why_unsupported(text: str) -> str | None:
    """Why a text cannot be cleaned by our rules, or None: it is in no alphabet that they know."""
    letters = [character for character in text if character.isalpha()]
    other = sum(ord(character) > 0x024F and not 0x1E00 <= ord(character) <= 0x1EFF for character in letters)
    if letters and other > _MAX_FOREIGN_SHARE * len(letters):
        return "there are no rules for a text in this alphabet"
    if "\0" in text:
        return "the text holds NUL characters"
    return None


def _choose_replacement(one: PhiSpan, before: str, secret: DeidSecret, options: Options) -> str:
    if one.replacement is not None:
        return one.replacement
    if options.replace == "tags" or one.kind == "date":
        return f"[{one.kind.upper()}]"
    if one.kind == "name":
        return make_surrogate(before, secret)
    if one.kind in ("id", "phone"):
        return secret.fake_like("id", before)
    if one.kind == "hospital":
        return f"{secret.choose('house', fold(before), _SURROGATE_PLACES)} Hospital"
    if one.kind == "email":
        return "someone@example.org"
    if one.kind == "address":
        return secret.choose("town", fold(before), _SURROGATE_PLACES)
    return f"[{one.kind.upper()}]"


def make_surrogate(name: str, secret: DeidSecret) -> str:
    """A made-up name for a name, part by part, so that the family name alone is the same again.

    >>> secret = DeidSecret(b"for example only, 32 characters.")
    >>> make_surrogate("Ayla Tekin", secret).split()[1] == make_surrogate("TEKIN", secret).title()
    True
    """
    given, family = surrogate_names()
    made, at = "", 0
    for word in NameSearch(name).words:
        made += name[at : word.start] + _surrogate_word(word, secret, given, family)
        at = word.end
    return made + name[at:]


def _surrogate_word(
    word: NameWord, secret: DeidSecret, given: tuple[str, ...], family: tuple[str, ...]
) -> str:
    if is_particle(word.text) and word.text.islower():
        return word.text
    if word.is_initial:
        return secret.choose("initial", word.folded, [chr(c) for c in range(65, 91) if chr(c) != word.text])
    choices = given if is_given_name(word.folded) else family
    drawn = secret.choose("name", word.folded, [one for one in choices if fold(one) != word.folded])
    if word.is_all_caps:
        return drawn.upper()
    return drawn if word.is_capitalised else drawn.lower()
