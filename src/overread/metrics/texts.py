"""Which text of a reading is held against which text of the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from overread.core import Finding, Whole
from overread.metrics.contract import Subject

Part = Literal["report", "findings", "discussion"]
"""The report or summary; what is said of each picture; the teaching discussion."""


def part_metric_name(part: Part, name: str) -> str:
    """What a metric of one part of a reading is called: those of the report have plain names.

    >>> part_metric_name("findings", "rougeL"), part_metric_name("findings", "ceiling_cider")
    ('findings_rougeL', 'ceiling_findings_cider')
    """
    if part == "report":
        return name
    head = "ceiling_" if name.startswith("ceiling_") else ""
    return f"{head}{part}_{name.removeprefix(head)}"


def text_pairs(subject: Subject, part: Part) -> Iterator[tuple[str, str, str]]:
    """(unit, reference, what the reader wrote); an empty text where the reader wrote nothing.

    Nothing comes where the truth has no such text. Findings are held against each other picture by
    picture, those of one picture joined in their order.
    """
    truth, reading = subject.entry.truth, subject.usable_reading
    if truth is None:
        return
    if part == "findings":
        references = _by_picture(truth.findings)
        written = _by_picture(reading.findings or ()) if reading else {}
        for picture, text in references.items():
            yield picture, text, written.get(picture, "")
        return
    reference = truth.report if part == "report" else truth.discussion
    if reference and reference.strip():
        own = None if reading is None else getattr(reading, part)
        yield "", reference, own or ""


def _by_picture(findings: tuple[Finding, ...]) -> dict[str, str]:
    """What is said of each whole picture."""
    said: dict[str, list[str]] = {}
    for finding in findings:
        for picture in dict.fromkeys(r.picture for r in finding.regions if isinstance(r, Whole)):
            if finding.text.strip():
                said.setdefault(picture, []).append(finding.text)
    return {picture: " ".join(texts) for picture, texts in said.items()}
