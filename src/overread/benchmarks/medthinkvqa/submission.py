"""MedThinkVQA submissions: the original rows unchanged, and a prediction in each.

`prediction` is a letter. `prediction_rationale` and `prediction_twi` (findings for each picture,
one summary, the weighing of the differentials) may come with it, and so may two fields of ours:
`prediction_probabilities`, by letter, and `prediction_discussion`. A row may also be bare:
`{"id": "case19254", "prediction": "B"}`.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from overread.benchmarks.intake import Intake, entries_by_case, format_few, json_kind, quote_value
from overread.benchmarks.medthinkvqa.release import LETTERS, read_row
from overread.benchmarks.medthinkvqa.write import row_of
from overread.benchmarks.prediction_rows import CaseRow, read_prediction_rows
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry, Finding, Option, Release, Step, Submission, Trace, Whole
from overread.prompts.replies import normalise_text

SUM_TOLERANCE = 0.03
"""How far probabilities may be from adding up to 1: five of them, rounded to two places."""

_COPY_REMEDY = "copy the original row and add the prediction to it"
_FIELDS_MISSING = "the row has not all of the original fields; its prediction was taken"
_LETTER_REMEDY = f"write one letter, {LETTERS[0]} to {LETTERS[-1]}"
_IDENTIFYING = ("title", "options", "CLINICAL_HISTORY", "image_01_path")


def read_submission(release: Release, path: Path, entries: Collection[Entry] | None = None) -> Submission:
    """The predictions of a file of rows, matched to the cases by what the original rows say."""
    known = entries_by_case(release, entries)
    intake = Intake(path, known)
    for place, row in enumerate(read_prediction_rows(path, intake), 1):
        data = row.data or {}
        case_id, sent = _identify_row(data, release.split, place, known=known)
        if case_id is None:
            what = "the row has neither the original fields nor an id"
            intake.error(what, _COPY_REMEDY, row=row.number)
        elif case_id not in known:
            intake.note_unknown_case(case_id, row=row.number)
        else:
            ours = known[case_id]
            told = CaseRow(row.number, data, ours.case, intake)
            refusal = _find_refusal(told, ours, sent)
            letter, why = _parse_choice(told, ours.case.options) if not refusal else (None, refusal)
            if letter is None:
                remedy = _COPY_REMEDY if refusal else f"{_LETTER_REMEDY}; it counts as wrong"
                told.fail(why, remedy)
            else:
                _add_reading(told, letter)
    return intake.to_submission()


def _identify_row(
    data: dict[str, Any], split: str, place: int, *, known: Container[str | None]
) -> tuple[str | None, Entry | None]:
    """The id of the case that a row is about, and the row as an entry where it is a whole one."""
    own = data.get("id")
    if all(data.get(field) is None for field in _IDENTIFYING):
        return (own, None) if isinstance(own, str) else (None, None)
    reader = RowFields(data, file="", number=place)
    sent = read_row(reader, split=split, place=place)
    if reader.case not in known and isinstance(own, str) and own in known:
        return own, sent
    return reader.case, sent


def _find_refusal(row: CaseRow, ours: Entry, sent: Entry | None) -> str:
    """Why the letters of a row cannot be trusted: the options or the key are other ones."""
    if sent is not None and (sent.case, sent.truth) == (ours.case, ours.truth):
        return ""
    if row.data.get("options") is None:
        row.warn(_FIELDS_MISSING, _COPY_REMEDY)
        return ""
    if sent is None:
        # Something of another kind than it was; the options decide whether it matters.
        kept = {k: v for k, v in row.data.items() if k in ("options", "correct_answer")}
        sent = read_row(RowFields(kept, file="", number=row.number), split="", place=1)
        if sent is None:
            return "the options are no mapping of letters to texts, or the key is no letter"
        row.warn("the row has original fields of another kind than they were", _COPY_REMEDY)
    else:
        _compare_fields(row, ours, sent)
    texts = {option.letter: normalise_text(option.text) for option in ours.case.options}
    theirs = {option.letter: normalise_text(option.text) for option in sent.case.options}
    if theirs != texts:
        if sorted(theirs.values()) == sorted(texts.values()):
            return "the options are in another order than the original ones"
        return "the options are not the original ones"
    # Which letter is the right one is not for a message that a participant reads.
    key, told = (entry.truth.answer if entry.truth else None for entry in (ours, sent))
    if key and told and told != key:
        return "`correct_answer` is not the original one"
    return ""


def _compare_fields(row: CaseRow, ours: Entry, sent: Entry) -> None:
    """Original fields that were changed or left out, beyond those that decide."""
    original, received = row_of(ours), row_of(sent)
    decisive = {"options", "correct_answer", *ours.extra}
    fields = [field for field in original if field not in decisive]
    if any(field not in received for field in fields):
        row.warn(_FIELDS_MISSING, _COPY_REMEDY)
    changed = [f for f in fields if f in received and received[f] != original[f]]
    if changed:
        row.warn(f"original fields were changed: {format_few(changed, len(changed))}", _COPY_REMEDY)


def _parse_choice(row: CaseRow, options: tuple[Option, ...]) -> tuple[str | None, str]:
    """The letter that was chosen, or why none was."""
    if "prediction" not in row.data:
        return None, "the row has no `prediction`"
    value = row.data["prediction"]
    if not isinstance(value, str):
        return None, f"the prediction is {json_kind(value)}"
    letter = value.strip().upper()
    if not letter:
        return None, "the prediction is empty"
    if letter in {option.letter for option in options}:
        if letter != value:
            row.warn("the prediction is a letter in other writing", _LETTER_REMEDY)
        return letter, ""
    meant = [option.letter for option in options if normalise_text(option.text) == normalise_text(value)]
    if len(meant) == 1:
        row.warn("the prediction is the text of an option; its letter was taken", _LETTER_REMEDY)
        return meant[0], ""
    return (None, f"the prediction {quote_value(value)} is none of {', '.join(o.letter for o in options)}")


def _add_reading(row: CaseRow, letter: str) -> None:
    """The reading of a row whose letter is known, with whatever else it says."""
    twi = _parse_mapping(row, "prediction_twi", "the three steps") or {}
    strange = set(twi) - {*TWI_STEPS}
    if strange:
        row.warn("`prediction_twi` has unknown parts, which were not read", f"it has {_STEP_NAMES}")
    findings = _parse_findings(row, twi.get(TWI_STEPS[0]))
    summary, weighing = (row.text(step, twi) for step in TWI_STEPS[1:])
    row.add_reading(
        choice=letter,
        probabilities=_parse_probabilities(row, letter),
        rationale=row.text("prediction_rationale") or weighing,
        findings=findings,
        report=summary,
        discussion=row.text("prediction_discussion"),
        trace=_make_trace(findings or (), summary, weighing),
    )


TWI_STEPS = ("step1_per_image_findings", "step2_integrated_summary", "step3_differential_reasoning")
_STEP_NAMES = ", ".join(TWI_STEPS)


def _parse_mapping(row: CaseRow, field: str, content: str) -> dict[str, Any] | None:
    """A mapping, also as the JSON text that parquet makes of it."""
    value = row.data.get(field)
    if isinstance(value, str) and value.strip():
        try:
            value = from_json(value)
        except ValueError:
            value = "no JSON"
    if value is None or value == "":
        return None
    if not isinstance(value, dict):
        remedy = f"write an object with {content}; it counts as not handed in"
        row.error(f"`{field}` is {json_kind(value)}, not an object", remedy)
        return None
    return value


def _parse_findings(row: CaseRow, value: object) -> tuple[Finding, ...] | None:
    """What is said of each picture, by its place in the list."""
    if value is None:
        return None
    if not isinstance(value, list):
        what = f"`{TWI_STEPS[0]}` is {json_kind(value)}, not a list"
        row.error(what, "write one text for each picture; it counts as not handed in")
        return None
    pictures = row.case.pictures
    if len(value) != len(pictures):
        what = f"`{TWI_STEPS[0]}` has not as many texts as the case has pictures"
        row.warn(what, "write one for each picture, in their order; they were matched by place")
    found = []
    for place, item in enumerate(value[: len(pictures) + _MAX_SURPLUS]):
        text = row.as_text(item, TWI_STEPS[0])
        if text is not None:
            where = (Whole(picture=pictures[place].name),) if place < len(pictures) else ()
            found.append(Finding(text=text, regions=where))
    return tuple(found)


_MAX_SURPLUS = 100


def _parse_probabilities(row: CaseRow, letter: str) -> dict[str, float] | None:
    value = _parse_mapping(row, "prediction_probabilities", "a number for each letter")
    if value is None:
        return None
    letters = [option.letter for option in row.case.options]
    wrong = ""
    if not set(value) <= set(letters):
        wrong = f"has other keys than {', '.join(letters)}"
    elif not all(_is_probability(number) for number in value.values()):
        wrong = "holds something else than numbers from 0 to 1"
    elif abs(sum(value.values()) - 1) > SUM_TOLERANCE:
        wrong = f"adds up to {sum(value.values()):.3g}, not to 1"
    if wrong:
        remedy = "write a probability for each letter; they count as not handed in"
        row.error(f"`prediction_probabilities` {wrong}", remedy)
        return None
    found = {key: float(value.get(key, 0.0)) for key in letters}
    if found[letter] < max(found.values()):
        what = "the prediction is not the most probable option"
        row.warn(what, "check how the two were made; both were taken as they are")
    return found


def _is_probability(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return 0 <= number <= 1 + SUM_TOLERANCE  # false for NaN too


def _make_trace(findings: tuple[Finding, ...], summary: str | None, weighing: str | None) -> Trace | None:
    """The three steps as moves, in their order."""
    steps = [Step(kind="look", text=f.text, regions=f.regions) for f in findings]
    steps += [Step(kind="say", text=summary)] if summary else []
    steps += [Step(kind="conclude", text=weighing)] if weighing else []
    return Trace(steps=tuple(steps)) if steps else None
