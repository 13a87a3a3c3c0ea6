"""Whether the words after a look speak of the region that was looked at.

The words are those of the step right after the look. What they state lies in regions of the
radiograph (`language/regions.py`). A look agrees when a statement lies within the region looked at,
or speaks of something that holds all of it; for a left/right pair one of the two is enough. Looks
at places that have no known name, and looks after which nothing with a place is stated, are not
judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overread.core import Trace
from overread.language.regions import xray_regions_of
from overread.language.segments import SIDES_OF
from overread.language.statements import Statement
from overread.metrics.boxes.region_names import expand_regions, find_regions, major_region
from overread.metrics.contract import Measured, Subject, by_name, stored_as
from overread.metrics.shares import ceiling_metric, share_metric
from overread.metrics.traces.looks import TraceLook, cached_statements, collect_looks, trace_pair
from overread.ontology import xray_regions


def is_about(statement: Statement, regions: Sequence[str]) -> bool | None:
    """Whether a statement is about the regions; None where it, or they, have no known place.

    >>> (told,) = cached_statements("Consolidation in the left upper lobe.")
    >>> [is_about(told, [name]) for name in ("left lung", "left apical zone", "right lung")]
    [True, True, False]
    """
    told = _statement_regions(statement)
    if not told or not regions:
        return None
    held = expand_regions(told)
    # A major region is one place; of a pair, or of several regions, each is a place of its own.
    parts = [set(regions)] if major_region(regions) else [{name} for name in regions]
    return any(not told.isdisjoint(expand_regions(part)) or part <= held for part in parts)


def _statement_regions(statement: Statement) -> set[str]:
    """The regions of a statement; what is of the pleura also shows where the pleura is seen."""
    found = set(xray_regions_of(statement))
    pleural = statement.observation.startswith(("pleural", "pneumothorax"))
    if found and pleural:
        for side in SIDES_OF.get(statement.side or "", ("right", "left")):
            found.update(xray_regions().find(f"{side} costophrenic angle"))
    return found


def judge_look(look: TraceLook) -> bool | None:
    """Whether the words after a look speak of its region; None where that cannot be judged."""
    regions = find_regions(look.label)
    verdicts = [is_about(statement, regions) for statement in cached_statements(look.words)]
    known = [verdict for verdict in verdicts if verdict is not None]
    return any(known) if known else None


def _row(trace: Trace | None) -> dict[str, Any]:
    """How many looks are judged and how many agree, and the regions of those that do not."""
    verdicts = [(look.place, judge_look(look)) for look in collect_looks(trace)]
    known = [verdict for _, verdict in verdicts if verdict is not None]
    return {
        "cases": 1,
        "agree": sum(known) / len(known) if known else 0.0,
        "judged": len(known),
        "elsewhere": [place for place, verdict in verdicts if verdict is False],
    }


@stored_as("traces.words.measure_region_words")
def measure_region_words(subject: Subject) -> Measured:
    """One row a case in which a look of the reference can be judged; 0 where none of ours can."""
    truth, own = trace_pair(subject)
    return {"": _row(own)} if _row(truth)["judged"] else {}


@stored_as("traces.words.measure_reference_region_words")
def measure_reference_region_words(subject: Subject) -> Measured:
    """The same of the reference trace."""
    row = _row(trace_pair(subject)[0])
    return {"": row} if row["judged"] else {}


TRACE_REGION_WORDS = share_metric(
    "trace_region_words",
    "share of looks after which the words speak of the region that was looked at",
    needs=("trace",),
    measure=measure_region_words,
    top="agree",
    reference="a table of looks and verdicts made by hand in the tests",
    settings={
        "words": "of the step after the look",
        "agrees": "one statement within the region, or of something that holds it",
        "regions within regions": "overread 1",
        "mean": "cases",
    },
    ceiling="ceiling_trace_region_words",
)
CEILING_TRACE_REGION_WORDS = ceiling_metric(
    TRACE_REGION_WORDS,
    "what the reference traces themselves get for region words",
    measure_reference_region_words,
)

METRICS = by_name(TRACE_REGION_WORDS, CEILING_TRACE_REGION_WORDS)
