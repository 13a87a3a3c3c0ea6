"""Licence and terms of a dataset, which synthetic patients have of their own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from overread.core import Benchmark


class DataTerms(NamedTuple):
    """What may be done with the data in a folder."""

    licence: str
    terms: str
    """What one agrees to by using it."""
    synthetic: bool
    """Whether its patients are made up, by `overread phantom`."""


def find_terms(exam: Benchmark, root: Path) -> DataTerms:
    """The benchmark's terms, unless the folder holds synthetic patients."""
    if (root / "phantom.jsonl").is_file():
        return DataTerms("Apache-2.0", "synthetic patients, no real persons", synthetic=True)
    return DataTerms(exam.licence, exam.terms, synthetic=False)
