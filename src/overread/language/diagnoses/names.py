"""Names of diagnoses in a text: in full, shortened, as an acronym, a synonym, in other languages.

What is known of diagnoses is data (`ontology/data/diagnoses/*.toml`), one list for builds and for
the embedded reader; a file of somebody's own adds to it or stands in its place. A diagnosis that no
file knows is still found by its own words, by their first letters and by cognates of its rarest word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from overread.language.diagnoses.words import GENERAL, WordIndex, content_of, join_words, stem
from overread.ontology.diagnoses import Diagnosis, diagnoses, diagnoses_file

NamingWay = Literal["name", "reordered", "synonym", "acronym", "shortened", "cognate"]
"""How a text names a diagnosis."""

_RARE = 7
"""Letters of a word that may stand for a whole name."""
_COGNATE = 6
"""Letters of a stem by which words of two languages are one."""
_SHORT = 4
"""Letters of a word that is not folded: 'mets' are no 'met'."""
_CAUSE = re.compile(r"\b[^\W_]+[- ](?:related|induced|associated)\b", re.IGNORECASE)
"""What a name gives as a cause ('asbestos-related'): an exposure is no diagnosis."""
_MAX_MENTIONS = 100
"""Mentions of one diagnosis that are looked at; a text with more of them is settled by these."""


@dataclass(frozen=True)
class Mention:
    """A diagnosis that a text names, and where."""

    about: str
    """The option as it is written."""
    way: NamingWay
    """How it is named."""
    start: int
    """First character."""
    end: int
    """First character after it."""


class _Name(NamedTuple):
    """One name of a diagnosis, as it is compared."""

    words: frozenset[str]
    letters: int
    order: int
    about: Diagnosis
    text: str
    full: bool
    """Whether it is a name in full, to which general words may be added."""

    def rank(self) -> tuple[int, int, int]:
        """The longer name before the shorter, the later entry before the earlier."""
        return len(self.words), self.letters, self.order


class DiagnosisNames:
    """What is known of diagnoses, ready to be looked up."""

    def __init__(self, known: Sequence[Diagnosis]) -> None:
        """Later entries win where two have the same name."""
        self.known = tuple(known)
        self._names: dict[str, list[_Name]] = {}
        self._words: dict[Diagnosis, frozenset[str]] = {}
        self._whole: dict[str, list[Diagnosis]] = {}
        for order, one in enumerate(known):
            full = (frozenset(word.folded for word in content_of(name)) for name in one.names)
            self._words[one] = frozenset().union(*full)
            for name in (*one.also, *one.names):
                self._whole.setdefault(join_words(content_of(name)), []).append(one)
                words = frozenset(word.folded for word in content_of(name))
                if words:
                    entry = _Name(words, sum(map(len, words)), order, one, name, name in one.names)
                    self._names.setdefault(max(words, key=lambda w: (len(w), w)), []).append(entry)
        self.find = lru_cache(maxsize=20_000)(self._find)
        self.phrases = lru_cache(maxsize=20_000)(self._make_phrases)

    def _find(self, option: str) -> Diagnosis | None:
        """The diagnosis that an option means; None where nothing is known of it.

        All of the option's words must be accounted for: 'tuberculous pericarditis' is not
        pericarditis.
        """
        whole = self._whole.get(join_words(content_of(option)))
        if whole:
            return whole[-1]
        words = {word.folded for word in content_of(option)}
        fitting = [
            name
            for name in self._names_within(words)
            if name.full and not words - self._words[name.about] - GENERAL
        ]
        return max(fitting, key=_Name.rank).about if fitting else None

    def find_within(self, option: str) -> Diagnosis | None:
        """The diagnosis of which an option holds the longest name, whatever else it says.

        >>> bundled_names().find_within("Tuberculous cavity, or lung abscess with a thick wall").names[0]
        'lung abscess'
        """
        said = content_of(option)
        raw = {word.raw for word in said}
        fitting = [
            name
            for name in self._names_within({word.folded for word in said})
            if not _is_acronym(name.text) or name.text in raw
        ]
        return max(fitting, key=_Name.rank).about if fitting else None

    def _names_within(self, words: AbstractSet[str]) -> Iterator[_Name]:
        """Names of which all words are among these."""
        return (name for word in words for name in self._names.get(word, ()) if name.words <= words)

    def _make_phrases(self, option: str) -> tuple[tuple[str, NamingWay, bool], ...]:
        """What stands for an option: words run together, the way, whether capitals count."""
        own = join_words(content_of(option))
        found: dict[str, tuple[NamingWay, bool]] = {own: ("name", False)}
        meant = self.find(option)
        entries = dict.fromkeys((*([meant] if meant else []), *self._whole.get(own, ())))
        for name in (name for known in entries for name in (*known.names, *known.also)):
            if _is_acronym(name):
                found.setdefault(name, ("acronym", True))
            elif len(name) <= _SHORT and name.isalpha():
                found.setdefault(name, ("synonym", True))
            else:
                found.setdefault(join_words(content_of(name)), ("synonym", False))
        initials = _initials(option)
        if initials is not None:
            found.setdefault(initials, ("acronym", True))
        found.pop("", None)
        return tuple((phrase, way, exact) for phrase, (way, exact) in found.items())

    def find_mentions(self, text: WordIndex, options: Iterable[str]) -> list[Mention]:
        """Every place where a text names one of the options, the fullest mention of each place.

        What lies within the longer name of another option is no mention: 'invasive aspergillosis'
        speaks of no allergic one.
        """
        found: list[Mention] = []
        listed = tuple(options)
        own = {join_words(content_of(option)) for option in listed}
        for option in listed:
            # The name of one option is no synonym of another, though the list may take them for one.
            here = [
                Mention(option, way, *text.span(first, last))
                for phrase, way, exact in self.phrases(option)
                if way == "name" or phrase not in own
                for first, last in (_find_exact(text, phrase) if exact else text.find(phrase))
            ]
            here += _find_by_words(text, option)
            found += _drop_overlaps(here[:_MAX_MENTIONS])
        return sorted(
            (one for one in found if not any(_is_within(one, other) for other in found)),
            key=lambda one: (one.start, one.end),
        )


def _is_within(one: Mention, other: Mention) -> bool:
    """Whether a mention is a part of another, longer one."""
    inside = other.start <= one.start and one.end <= other.end
    return inside and other.end - other.start > one.end - one.start


def _is_acronym(name: str) -> bool:
    """Whether a name is all capitals, as acronyms are: it is then not looked for in small letters.

    >>> _is_acronym("NSIP"), _is_acronym("HFrEF"), _is_acronym("COVID-19"), _is_acronym("Pneu")
    (True, True, False, False)
    """
    letters = [c for c in name if c.isalpha()]
    capitals = sum(c.isupper() for c in letters)
    return name.isalnum() and len(name) <= 7 and capitals >= 2 and capitals * 2 > len(letters)


def _initials(option: str) -> str | None:
    """The first letters of a name of three or more words.

    >>> _initials("Idiopathic pulmonary fibrosis"), _initials("Lung abscess")
    ('IPF', None)
    """
    bare = re.sub(r"\([^)]*\)", " ", option)
    words = content_of(bare)
    if len(words) < 3 or not all(word.raw[0].isalpha() for word in words):
        return None
    return "".join(word.raw[0] for word in words).upper()


def _find_exact(text: WordIndex, acronym: str) -> list[tuple[int, int]]:
    """Where an acronym stands in its own capitals, or a short word just as it is."""
    if not _is_acronym(acronym):
        low = acronym.casefold()
        return [(at, at) for at, word in enumerate(text.words) if word.raw.casefold() == low]
    return [(at, at) for at, word in enumerate(text.words) if word.raw in (acronym, f"{acronym}s")]


def rare_words(option: str) -> frozenset[str]:
    """The words of a name that are its own: neither general nor short.

    >>> sorted(rare_words("Post-infectious bronchiectasis")), sorted(rare_words("Lung abscess"))
    (['bronchiectasis'], [])
    >>> rare_words("Asbestos-related pleural plaques")
    frozenset()
    """
    words = {word.folded for word in content_of(_CAUSE.sub(" ", option))}
    return frozenset(word for word in words - GENERAL if len(word) >= _RARE)


def _find_by_words(text: WordIndex, option: str) -> list[Mention]:
    """Where a text has the words of a name in another order, or the rarest alone, or a cognate."""
    found: list[Mention] = []
    all_words = frozenset(word.folded for word in content_of(option))
    if len(all_words) > 1:
        found += [Mention(option, "reordered", *text.span(*place)) for place in text.find_near(all_words)]
    rare = rare_words(option)
    if not rare:
        return found
    found += [Mention(option, "shortened", *text.span(*p)) for p in text.find_near(rare, 1)]
    if len(rare) > 1:
        return found
    wanted = stem(next(iter(rare)))
    if len(wanted) >= _COGNATE:
        found += [
            Mention(option, "cognate", word.start, word.end)
            for word in text.words
            if word.folded not in rare and len(word.folded) >= _RARE and stem(word.raw) == wanted
        ]
    return found


_RANK: tuple[NamingWay, ...] = ("name", "reordered", "synonym", "acronym", "shortened", "cognate")


def _drop_overlaps(found: list[Mention]) -> list[Mention]:
    """Mentions of one option without those that lie within another."""
    kept: list[Mention] = []
    for one in sorted(found, key=lambda m: (_RANK.index(m.way) > 0, m.start - m.end)):
        if not any(one.start < other.end and other.start < one.end for other in kept):
            kept.append(one)
    return kept


def bundled_names() -> DiagnosisNames:
    """What the house knows of diagnoses."""
    return load_names("")


def load_names(file: str) -> DiagnosisNames:
    """What is known with a file of somebody's own (an empty name: the list in use)."""
    return _load_names(file or diagnoses_file())


@lru_cache(maxsize=4)
def _load_names(file: str) -> DiagnosisNames:
    return DiagnosisNames(diagnoses(Path(file) if file else None))
