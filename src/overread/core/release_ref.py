"""Which copy of which benchmark: small enough to hand to another process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from overread import catalog
from overread.core.benchmark import Benchmark, Release
from overread.errors import UsageError


@dataclass(frozen=True)
class ReleaseRef:
    """One split of one copy of a benchmark."""

    benchmark: str
    root: Path
    split: str
    form: str | None = None
    pictures: Path | None = None

    @property
    def definition(self) -> Benchmark:
        """The benchmark."""
        return cast(Benchmark, catalog.find("benchmarks", self.benchmark))

    def open(self) -> Release:
        """The release."""
        part = self.definition
        if self.split not in part.splits:
            raise UsageError(
                f"{part.title} has no split '{self.split}'", remedy=f"it has {', '.join(part.splits)}"
            )
        return part.load(self.root, self.split, form=self.form, pictures=self.pictures)
