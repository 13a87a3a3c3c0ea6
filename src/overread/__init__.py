"""overread: a workbench for visually grounded radiology reasoning.

For research and education; not for patient care.

>>> import overread
>>> overread.__version__.count(".")
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from overread.benchmarks import check, load, write
    from overread.core import Case, Defect, Entry, Finding, Reading, Step, Trace, Truth
    from overread.runs.engine import RunPlan, run
    from overread.runs.scoring.card import Card, read_card
    from overread.runs.scoring.card_builder import grade
    from overread.runs.scoring.comparison import compare
    from overread.runs.scoring.from_run import score

# The public names and where they live. Imported when first asked for, so that
# `import overread` stays instant and loads neither numpy nor nibabel.
_PUBLIC = {
    "load": "overread.benchmarks",
    "check": "overread.benchmarks",
    "write": "overread.benchmarks",
    "RunPlan": "overread.runs.engine",
    "run": "overread.runs.engine",
    "score": "overread.runs.scoring.from_run",
    "grade": "overread.runs.scoring.card_builder",
    "compare": "overread.runs.scoring.comparison",
    "read_card": "overread.runs.scoring.card",
    "Card": "overread.runs.scoring.card",
    "Case": "overread.core",
    "Defect": "overread.core",
    "Entry": "overread.core",
    "Finding": "overread.core",
    "Reading": "overread.core",
    "Step": "overread.core",
    "Trace": "overread.core",
    "Truth": "overread.core",
}

__all__ = [
    "Card",
    "Case",
    "Defect",
    "Entry",
    "Finding",
    "Reading",
    "RunPlan",
    "Step",
    "Trace",
    "Truth",
    "__version__",
    "check",
    "compare",
    "grade",
    "load",
    "read_card",
    "run",
    "score",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'overread' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
