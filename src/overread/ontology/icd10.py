"""ICD-10: 22 chapters, 263 blocks, the titles of all 2,050 categories, names of what they hold."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Icd10Range(NamedTuple):
    """A chapter or a block."""

    first: str
    """Its first category."""
    last: str
    """Its last category."""
    name: str
    """'Chapter X - Diseases of the respiratory system', or 'J09-J18 - Influenza and pneumonia'."""


@cache
def icd10_titles() -> dict[str, str]:
    """Category → title.

    >>> len(icd10_titles()), icd10_titles()["B37"], icd10_titles()["I64"]
    (2050, 'Candidiasis', 'Stroke, not known to be haemorrhage or infarction')
    """
    return dict(sorted((dict(_pairs("titles.tsv")) | dict(_pairs("own_titles.tsv"))).items()))


@cache
def icd10_terms() -> tuple[tuple[str, str], ...]:
    """Category and name, for what a category holds: titles of its parts, and what it includes."""
    return tuple(_pairs("terms.tsv"))


@cache
def icd10_chapters() -> tuple[Icd10Range, ...]:
    """The chapters, in order."""
    return tuple(
        _range(told["range"], f"Chapter {number} - {told['title']}")
        for number, told in _order()["chapter"].items()
    )


@cache
def icd10_blocks() -> tuple[Icd10Range, ...]:
    """The blocks, in order."""
    return tuple(_range(span, f"{span} - {title}") for span, title in _order()["block"].items())


def _range(span: str, name: str) -> Icd10Range:
    first, _, last = span.partition("-")
    return Icd10Range(first, last, name)


def _order() -> dict[str, Any]:
    return tomllib.loads(_text("order.toml"))


def _pairs(file: str) -> list[tuple[str, str]]:
    found = []
    for line in _text(file).splitlines():
        if not line.startswith("#"):
            code, _, name = line.partition("\t")
            found.append((code, name))
    return found


def _text(file: str) -> str:
    return (files("overread.ontology") / "data" / "icd10" / file).read_text("utf-8")
