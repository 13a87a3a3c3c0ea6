"""Word lists for finding names: names, and ordinary words that look like names."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files

_LETTERS = str.maketrans({"ı": "i", "İ": "i", "ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae"})
# Endings that words of a report have and names rarely.
_ENDINGS = re.compile(
    r"(?:tions?|sions?|ments?|ous|itis|osis|oses|omas?|graphy|graphic|grams?|scopy|ectomy|ostomy|plasty"
    r"|pathy|emia|uria|ated|ized|ised|ing|ings|ally|ly|ity|ities|ness|ical|ological|ary|ive|ular|ial|eal"
    r"|able|ible|ism|ic|ics|ed|ogy|ogist|ance|ence|ures?|ural|thorax|cardium|cardial|bronchial)$"
)


@lru_cache(1 << 16)
def fold(word: str) -> str:
    """A word as lists are searched: small letters, no accents, no dotless i.

    >>> fold("YILMAZ"), fold("Yılmaz"), fold("Müller"), fold("İbrahim")
    ('yilmaz', 'yilmaz', 'muller', 'ibrahim')
    """
    lowered = word.translate(_LETTERS).lower().translate(_LETTERS)
    if lowered.isascii():
        return lowered
    bare = unicodedata.normalize("NFKD", lowered)
    return "".join(character for character in bare if not unicodedata.combining(character))


@lru_cache(1 << 16)
def is_given_name(word: str) -> bool:
    """Whether a word is a given name of the list."""
    return any(part in _load_name_lists()["given"] for part in _name_parts(word))


@lru_cache(1 << 16)
def is_family_name(word: str) -> bool:
    """Whether a word is a family name of the list."""
    return any(part in _load_name_lists()["family"] for part in _name_parts(word))


@lru_cache(1 << 16)
def is_also_word(word: str) -> bool:
    """Whether a name of the list is a word of a report or a month too."""
    return fold(word) in _load_name_lists()["words"] or fold(word) in _load_common()


@lru_cache(1 << 16)
def is_particle(word: str) -> bool:
    """Whether a word may stand within a name in small letters: van, de, al."""
    return fold(word) in _load_name_lists()["particles"]


def is_function_word(word: str) -> bool:
    """Whether a word ends a name or never begins one: by, with, today."""
    return word in _load_name_lists()["function"]


@lru_cache(1 << 16)
def is_eponym(word: str) -> bool:
    """Whether a word is a person or brand that stayed in medicine."""
    bare = fold(re.sub(r"['’]s?$", "", word))
    return bare in _load_eponyms() or all(part in _load_eponyms() for part in bare.split("-"))


@lru_cache(1 << 16)
def is_common(word: str) -> bool:
    """Whether a word is one of a report's own, so that a capital letter means nothing."""
    bare = fold(re.sub(r"['’]s?$", "", word))
    return (
        bare in _load_common()
        or bare.removesuffix("s") in _load_common()
        or all(part in _load_common() for part in re.split(r"[-'’/]", bare))
    )


@lru_cache(1 << 16)
def looks_like_a_word(word: str) -> bool:
    """Whether a word ends as words of a report do."""
    return len(word) > 4 and _ENDINGS.search(fold(word)) is not None


def is_town(word: str) -> bool:
    """Whether a word is a town of the list."""
    return fold(word) in _load_towns()


@cache
def surrogate_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Given and family names that stand in for others: plain letters, no words, no eponyms."""
    lists = _read_names()
    return tuple(
        tuple(
            sorted(
                {
                    name
                    for name in lists[key].split()
                    if name.isascii()
                    and name.isalpha()
                    and 4 <= len(name) <= 9
                    and not is_also_word(name)
                    and not is_eponym(name)
                }
            )
        )
        for key in ("given", "family")
    )  # type: ignore[return-value]


def _name_parts(word: str) -> list[str]:
    bare = fold(re.sub(r"['’]s$", "", word)).replace("’", "'")
    parts = bare.split("-")
    # Half of a double name is enough, unless the other half is a word: "stone-like" is no Stone.
    halves = parts if len(parts) > 1 and not any(part in _load_common() for part in parts) else []
    return [bare, bare.replace("'", ""), *(part for part in halves if len(part) > 2)]


@cache
def _read_names() -> dict[str, str]:
    return tomllib.loads(_read_file("names.toml"))


@cache
def _load_name_lists() -> dict[str, frozenset[str]]:
    return {key: frozenset(fold(word) for word in held.split()) for key, held in _read_names().items()}


@cache
def _load_eponyms() -> frozenset[str]:
    words = {fold(re.sub(r"['’]s$", "", word)) for word in _read_words("eponyms.txt")}
    return frozenset(words | {part for word in words for part in word.split("-") if len(part) > 3})


@cache
def _load_towns() -> frozenset[str]:
    return frozenset(fold(word) for word in _read_words("places.txt"))


@cache
def _load_common() -> frozenset[str]:
    """Our own list, and every word of the vocabulary of findings and places."""
    found = {fold(word) for word in _read_words("common_words.txt")}
    for file in ("anatomy", "cues", "heads", "modifiers", "observations"):
        source = files("overread.language") / "vocabulary" / f"{file}.toml"
        for quoted in re.findall(r'"([^"]*)"', source.read_text("utf-8")):
            found |= {fold(word) for word in re.findall(r"[^\W\d_]{2,}", quoted)}
    return frozenset(found)


def _read_words(file: str) -> list[str]:
    lines = _read_file(file).splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


def _read_file(file: str) -> str:
    return (files("overread.build.deid") / "data" / file).read_text("utf-8")
