"""Where a release comes from: what made it, with whose help, by which decisions."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import Field

from overread.core import Record


class Provenance(Record):
    """How a release was made, for its card."""

    recipe: str = ""
    """Name of the recipe; empty where there was none."""
    source: str = ""
    """What it was made from, in words: whose reports and pictures, from when."""
    steps: tuple[str, ...] = ()
    """The steps in their order, each with its version ('sentences 1')."""
    models: tuple[str, ...] = ()
    """Models that were asked, each with what for ('reader: qwen2.5-vl-7b')."""
    people: str = ""
    """What people decided or drew, in words."""
    settings: dict[str, str] = Field(default_factory=dict)
    """Settings of the recipe."""
    seed: int | None = None
    """Of what was drawn by lot."""
    ledger: str = ""
    """SHA-256 of the ledger that holds every decision."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Packages and their versions."""


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
