"""The looks of a trace: at which region, in which box, and what was said of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from overread.core import Box, Step, Trace
from overread.language.statements import Statement, find_statements
from overread.language.vocabulary import Vocabulary, vocabulary
from overread.metrics.boxes.region_names import canonical_place
from overread.metrics.contract import Subject
from overread.ontology import xray_regions
from overread.prompts.interleaved import drop_marks

_LONGEST = 6
"""Words that the name of a region has at most."""


@dataclass(frozen=True)
class TraceLook:
    """One look of a trace."""

    place: str
    """The region in our wording; "" where it has no name."""
    label: str | None
    """The region in the reader's words."""
    box: Box | None
    """Where it is."""
    crop: str | None
    """File of the cut-out."""
    words: str
    """What the step right after it says, without boxes and marks."""
    said: str = ""
    """The same as it stands in the trace."""


def collect_looks(trace: Trace | None) -> list[TraceLook]:
    """The looks of a trace, in order.

    A look whose box has no label takes the region that the words before it name last.

    >>> box = Box(picture="xray", x1=1, y1=2, x2=3, y2=4)
    >>> said, look = Step(kind="say", text="Now the left lung."), Step(kind="look", regions=(box,))
    >>> [(look.place, look.box is box) for look in collect_looks(Trace(steps=(said, look)))]
    [('left lung', True)]
    """
    steps = trace.steps if trace else ()
    found = []
    for n, step in enumerate(steps):
        if step.kind != "look" or step.link is not None:
            continue  # links of an anatomical chain are judged as such
        boxes = [region for region in step.regions if isinstance(region, Box)]
        label = next((box.label for box in boxes if box.label), None)
        if label is None:
            label = _last_named_region(_words_before(steps, n))
        following = steps[n + 1] if n + 1 < len(steps) else None
        words = following.text if following is not None and following.kind == "say" else ""
        box = boxes[0] if boxes else None
        found.append(TraceLook(canonical_place(label), label, box, step.crop, drop_marks(words), words))
    return found


def step_words(trace: Trace | None) -> str:
    """All that the steps say before the conclusion, without its boxes and image marks."""
    steps = trace.steps if trace else ()
    return drop_marks("".join(step.text for step in steps if step.kind != "conclude"))


def cached_statements(text: str) -> tuple[Statement, ...]:
    """The statements of a text, cached, because several metrics need those of the same words."""
    return _cached_statements(text, vocabulary())


@lru_cache(maxsize=4096)
def _cached_statements(text: str, _words: Vocabulary) -> tuple[Statement, ...]:
    """The vocabulary in use is part of the key, for one's own may be taken up at any time."""
    return tuple(find_statements(text))


def trace_pair(subject: Subject) -> tuple[Trace | None, Trace | None]:
    """The reference trace and the reader's; None for what is not there."""
    truth, reading = subject.entry.truth, subject.usable_reading
    return (truth.trace if truth else None), (reading.trace if reading else None)


def _words_before(steps: Sequence[Step], n: int) -> str:
    """The words right before a look."""
    return steps[n - 1].text if n and steps[n - 1].kind == "say" else ""


def _last_named_region(words: str) -> str | None:
    """The region that is named last in the words, as long a name as possible."""
    row = re.findall(r"[\w/-]+", words[-400:])
    for end in range(len(row), 0, -1):
        for first in range(max(0, end - _LONGEST), end):
            name = " ".join(row[first:end])
            if xray_regions().find(name):
                return name
    return None
