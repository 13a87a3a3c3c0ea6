"""Cases as text alone: thousands of them in seconds, for experiments that need no pixel."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from overread.core import Entry, Progress
from overread.errors import UsageError
from overread.phantom.exams.case import NAME
from overread.phantom.exams.list_files import write_entries
from overread.phantom.illness.entries import make_text_entry
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.visit import PatientSettings
from overread.storage.atomic import stage


def write_text_cases(
    out: Path, patients: int, settings: PatientSettings, *, progress: Progress | None = None
) -> dict[str, int]:
    """Write the cases of patients 1 to `patients` as MedThinkVQA rows whose pictures are not made.

    What a reader may see is word for word what the drawn cases have; captions and findings are
    those that are planned, since nothing was drawn that could be measured.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} already exists and is not an empty folder", remedy="choose another folder")
    splits: dict[str, list[Entry]] = {}
    for number in range(1, patients + 1):
        entry = make_text_entry(draw_draft(number, settings), settings)
        splits.setdefault(entry.case.split, []).append(entry)
        if progress is not None:
            progress(number, patients)
    with stage(out.resolve()) as part:  # whole or not at all: half of it would be refused the next time
        root = part / NAME
        root.mkdir(parents=True)
        write_entries(root, NAME, splits)
    return dict(Counter({split: len(entries) for split, entries in splits.items()}))
