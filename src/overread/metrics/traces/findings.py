"""What a reader says of each region against what the reference says of the same region.

A finding counts only where it is told: the right words at the wrong look are one finding too many
and one too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from overread.language.compare import compare_statements
from overread.metrics.contract import Measured, Subject, by_name, stored_as
from overread.metrics.shares import share_metric
from overread.metrics.traces.looks import TraceLook, cached_statements, collect_looks, trace_pair


def words_by_region(looks: Sequence[TraceLook]) -> dict[str, str]:
    """Region → what was said after the looks at it."""
    said: dict[str, list[str]] = {}
    for look in looks:
        said.setdefault(look.place, []).append(look.words)
    return {place: "\n".join(words) for place, words in said.items()}


def region_findings(looks: Sequence[TraceLook], reference: Sequence[TraceLook]) -> tuple[int, int, int]:
    """Findings in common, those of the reader, those of the reference, region by region."""
    mine, theirs = words_by_region(looks), words_by_region(reference)
    common = own = asked = 0
    for place in dict.fromkeys([*theirs, *mine]):
        both = compare_statements(
            cached_statements(theirs.get(place, "")), cached_statements(mine.get(place, ""))
        )
        common += both.found_count
        own += both.other_count
        asked += both.reference_count
    return common, own, asked


@stored_as("traces.findings.measure_region_findings")
def measure_region_findings(subject: Subject) -> Measured:
    """One row a case whose reference says something after a look; without looks all are 0.

    Where neither has a finding, the reader is right.
    """
    truth, own = trace_pair(subject)
    reference, looks = collect_looks(truth), collect_looks(own)
    if not any(look.words.strip() for look in reference):
        return {}
    common, mine, asked = region_findings(looks, reference)
    row: dict[str, Any] = {"cases": 1, "common": common, "found": mine, "asked": asked}
    if not looks:
        return {"": row | {"precision": 0.0, "recall": 0.0, "f1": 0.0}}
    row["precision"] = common / mine if mine else 1.0
    row["recall"] = common / asked if asked else 1.0
    row["f1"] = 2 * common / (mine + asked) if mine + asked else 1.0
    return {"": row}


_share = partial(
    share_metric,
    needs=("trace",),
    measure=measure_region_findings,
    reference="language.compare region by region, counted by hand in the tests",
    settings={
        "words": "of the step after each look",
        "regions": ("labels in the wording of the regions in use; pairs and major regions as they stand"),
        "findings": "present or uncertain, by language.compare",
        "no finding in either": 1,
        "mean": "cases",
    },
)

TRACE_FINDINGS_PRECISION = _share(
    "trace_findings_precision",
    "share of the findings told at a look that the reference tells at the same region",
    top="precision",
)
TRACE_FINDINGS_RECALL = _share(
    "trace_findings_recall",
    "share of the reference's findings at a look that the reader tells at the same region",
    top="recall",
)
TRACE_FINDINGS_F1 = _share(
    "trace_findings_f1",
    "findings at the region where they are told: harmonic mean of precision and recall",
    top="f1",
)

METRICS = by_name(TRACE_FINDINGS_PRECISION, TRACE_FINDINGS_RECALL, TRACE_FINDINGS_F1)
