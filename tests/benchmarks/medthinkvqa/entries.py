"""What the tests of MedThinkVQA share: the entries of a release, and the defects found in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import overread
from overread.core import Entry

Copy = Callable[[str], Path]


def entries(root: Path, **options: Any) -> list[Entry]:
    """Entries of one split, "test" unless told otherwise."""
    return list(overread.load("medthinkvqa", root, **options).entries())


def codes(root: Path, **options: Any) -> list[str]:
    """Names of the defects."""
    return [defect.code for defect in overread.check("medthinkvqa", root, **options)]


def errors(root: Path, **options: Any) -> list[str]:
    """Names of the defects that are errors."""
    found = overread.check("medthinkvqa", root, **options)
    return [defect.code for defect in found if defect.severity == "error"]
