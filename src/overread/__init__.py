"""overread: a workbench for visually grounded radiology reasoning.

For research and education; not for patient care. What stands in `__all__` is the Python API,
described in docs/python.md; everything else may move.

>>> import overread
>>> overread.__version__.count(".")
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from overread.benchmarks import check, describe, load, write
    from overread.build.runner import run_build
    from overread.core import (
        Box,
        Case,
        Defect,
        Entry,
        Finding,
        Geometry,
        Image,
        Mask,
        Option,
        Query,
        Reader,
        Reading,
        Release,
        Reply,
        Request,
        Slices,
        Step,
        Trace,
        Truth,
        Volume,
        Whole,
    )
    from overread.core.description import Description
    from overread.errors import OverreadError, UsageError
    from overread.language.compare import compare_reports
    from overread.language.statements import find_statements
    from overread.metrics import Metric, Sample, Subject
    from overread.phantom.generator import make_population
    from overread.phantom.visit import PatientSettings
    from overread.runs.audit.records import AuditPlan
    from overread.runs.audit.runner import audit
    from overread.runs.engine import RunOutcome, RunPlan, run
    from overread.runs.scoring.card import Card, read_card
    from overread.runs.scoring.comparison import compare
    from overread.runs.scoring.from_run import score
    from overread.runs.scoring.from_submission import grade
    from overread.runs.store import last_readings
    from overread.runs.submission_export import export_submission
    from overread.runs.sweep.runner import sweep
    from overread.session import SessionSettings

# Where each public name lives. Imported when first asked for, so that `import overread` stays
# instant and loads neither numpy nor nibabel.
_PUBLIC = {
    name: module
    for module, names in {
        "overread.benchmarks": "check describe load write",
        "overread.build.runner": "run_build",
        "overread.core": (
            "Box Case Defect Entry Finding Geometry Image Mask Option Query Reader Reading Release "
            "Reply Request Slices Step Trace Truth Volume Whole"
        ),
        "overread.core.description": "Description",
        "overread.errors": "OverreadError UsageError",
        "overread.language.compare": "compare_reports",
        "overread.language.statements": "find_statements",
        "overread.metrics": "Metric Sample Subject",
        "overread.phantom.generator": "make_population",
        "overread.phantom.visit": "PatientSettings",
        "overread.runs.audit.runner": "audit",
        "overread.runs.audit.records": "AuditPlan",
        "overread.runs.engine": "RunOutcome RunPlan run",
        "overread.runs.scoring.card": "Card read_card",
        "overread.runs.scoring.from_submission": "grade",
        "overread.runs.scoring.comparison": "compare",
        "overread.runs.scoring.from_run": "score",
        "overread.runs.store": "last_readings",
        "overread.runs.submission_export": "export_submission",
        "overread.runs.sweep.runner": "sweep",
        "overread.session": "SessionSettings",
    }.items()
    for name in names.split()
}

__all__ = [
    "AuditPlan",
    "Box",
    "Card",
    "Case",
    "Defect",
    "Description",
    "Entry",
    "Finding",
    "Geometry",
    "Image",
    "Mask",
    "Metric",
    "Option",
    "OverreadError",
    "PatientSettings",
    "Query",
    "Reader",
    "Reading",
    "Release",
    "Reply",
    "Request",
    "RunOutcome",
    "RunPlan",
    "Sample",
    "SessionSettings",
    "Slices",
    "Step",
    "Subject",
    "Trace",
    "Truth",
    "UsageError",
    "Volume",
    "Whole",
    "__version__",
    "audit",
    "check",
    "compare",
    "compare_reports",
    "describe",
    "export_submission",
    "find_statements",
    "grade",
    "last_readings",
    "load",
    "make_population",
    "read_card",
    "run",
    "run_build",
    "score",
    "sweep",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'overread' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
