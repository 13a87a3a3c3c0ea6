"""The dataset cards of a phantom: what it is, how it was made, how much there is, its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files

from overread import __version__
from overread.phantom.visit import PatientSettings

Counts = Sequence[tuple[str, str, Mapping[str, int]]]
"""Rows of the table of counts: what is counted, its name, split → how many."""


def format_dataset_card(
    exam: str,
    settings: PatientSettings,
    patients: int,
    counts: Counts,
    *,
    exams: Sequence[str],
    splits: Sequence[str],
) -> str:
    """The card of an exam in Markdown: its page of `cards/` with the settings and the counts."""
    page = (files("overread.phantom") / "cards" / f"{exam}.md").read_text("utf-8")
    made = _format_settings(settings, patients, exams)
    return page.replace("{made}", made).replace("{counts}", _format_counts(counts, splits))


def _format_settings(settings: PatientSettings, patients: int, exams: Sequence[str]) -> str:
    """The settings, and the command that makes the same again."""
    given = settings.model_dump(mode="json")
    options = " ".join(f"--{name} {value}" for name, value in given.items())
    rows = "".join(
        f"| {name} | {value} | {PatientSettings.model_fields[name].description} |\n"
        for name, value in given.items()
    )
    return (
        "## How it was made\n\n"
        f"By overread {__version__} (numpy {version('numpy')}, scipy {version('scipy')}):\n\n"
        f"```sh\noverread phantom OUT --patients {patients} --exams {','.join(exams)} {options}\n"
        "```\n\n"
        f"| setting | value | meaning |\n|---|---|---|\n{rows}\n"
        "The same settings give the same bytes, in any order and with any number of workers, and\n"
        "a patient does not depend on how many there are.\n"
    )


def _format_counts(counts: Counts, splits: Sequence[str]) -> str:
    """What there is of everything, split by split."""
    rows = "".join(
        f"| {what} | {name} | {' | '.join(str(many.get(split, 0)) for split in splits)} "
        f"| {sum(many.get(split, 0) for split in splits)} |\n"
        for what, name, many in counts
    )
    head = f"| | | {' | '.join(splits)} | all |\n|---|---|{'---:|' * (len(splits) + 1)}\n"
    return f"## How much there is\n\n{head}{rows}"
