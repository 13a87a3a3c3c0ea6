"""What a report only supposes, asks for or recommends, told apart from what it shows with doubt."""

from __future__ import annotations

import re

from overread.language.statements import Statement, find_statements

ADVICE = re.compile(r"\b(?:recommend|advis|correlat)", re.IGNORECASE)
"""Words of somebody who recommends."""
_DOUBTFUL = re.compile(
    r"\?|exclu|rule|question|query|whether|likely|differential|versus|\bvs\b|consider|evaluat"
    r"|assess|definite|clearly|may|might|could|cannot",
    re.IGNORECASE,
)
"""Cues of doubt that ask whether a thing is there; "in favor of" and "suspicious" show one."""


def is_speculation(one: Statement, text: str) -> bool:
    """Whether a statement only asks for a thing, supposes or recommends it; mild doubt shows one."""
    if one.presence != "uncertain":
        return one.presence == "recommended"
    cue = one.evidence.get("presence")
    return cue is None or bool(_DOUBTFUL.search(cue.extract(text)))


def find_speculation(text: str) -> dict[int, str]:
    """Where a text speculates, and on what: first character of a statement → its observation.

    >>> find_speculation("A 5 mm nodule; metastasis cannot be excluded.")
    {15: 'metastasis'}
    """
    return {one.span.start: one.observation for one in find_statements(text) if is_speculation(one, text)}
