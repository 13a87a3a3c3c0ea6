"""Histories that name a diagnosis to choose from: three levels, each with its place in the text.

    L3  the name itself: "Diagnosis: X", "biopsy-proven X"
    L2  a synonym, an acronym, an eponym, a foreign or shortened form
    L1  a mention under its name or another that is hedged, denied or of the past: "? X", "r/o X",
        "suspected X", "consistent with X", "history of X", "known case of X", "no X"

Symptoms that merely suggest a diagnosis are none of these, nor is a family history that is denied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import DifferentialDiagnoses, differential_of, text_of
from overread.build.medthinkvqa.hedges import is_denied_of_family, is_hedged, sentence_at
from overread.build.medthinkvqa.missing_answer import missing_answer
from overread.build.medthinkvqa.settings import leak_levels, read_choice, setting_file
from overread.build.step import StepContext, answer_or_note
from overread.core import Record
from overread.language.diagnoses.names import DiagnosisNames, Mention, NamingWay, load_names
from overread.language.diagnoses.words import WordIndex, sentences_of
from overread.language.text import Span
from overread.prompts.replies import json_parser

LeakLevel = Literal["L1", "L2", "L3"]

_RANK: dict[LeakLevel, int] = {"L1": 1, "L2": 2, "L3": 3}


class Leak(Record):
    """One place where a history names a diagnosis of the list."""

    level: LeakLevel
    """How plainly."""
    about: str
    """The differential, as it is written in the list."""
    evidence: str
    """What stands there, character by character."""
    start: int
    """Its first character in the history."""
    end: int
    """The first character after it."""
    way: NamingWay | None = None
    """How it is named; absent where a model found it."""
    is_key: bool = False
    """Whether it is the right diagnosis."""
    is_option: bool = True
    """Whether it can still be chosen."""
    by: str = "rules"
    """Who found it."""


def find_leaks(history: str, listed: DifferentialDiagnoses, names: DiagnosisNames) -> list[Leak]:
    """Every leak of a history that rules find, in the order of the text.

    >>> from overread.language.diagnoses.names import bundled_names
    >>> listed = DifferentialDiagnoses(key="Sarcoidosis", listed=("Sarcoidosis", "Lung abscess"))
    >>> for leak in find_leaks("? Sarcoidosis. Then TB, later Boeck's disease.", listed,
    ...                        bundled_names()):
    ...     print(leak.level, leak.evidence)
    L1 Sarcoidosis
    L2 Boeck's disease
    """
    found = names.find_mentions(WordIndex(history), listed.listed)
    spans = sentences_of(history)
    return [
        _make_leak(history, one, spans, listed)
        for one in found
        if not is_denied_of_family(history, one.start, one.end, spans)
    ]


def _make_leak(history: str, one: Mention, spans: Sequence[Span], listed: DifferentialDiagnoses) -> Leak:
    plain: LeakLevel = "L3" if one.way == "name" else "L2"
    return Leak(
        level="L1" if is_hedged(history, one.start, one.end, spans) else plain,
        about=one.about,
        evidence=history[one.start : one.end],
        start=one.start,
        end=one.end,
        way=one.way,
        is_key=one.about == listed.key,
        is_option=one.about in listed.offered,
    )


# ---- the step ----------------------------------------------------------------------------------


class _SaidLeak(BaseModel):
    option: str
    level: LeakLevel
    evidence: str = Field(min_length=1)


class SaidLeaks(BaseModel):
    """What a model says of a history."""

    leaks: list[_SaidLeak]


async def handle_leaks(item: Item, context: StepContext) -> StepResult:
    """Find leaks by rules, and by a model where there is one; then drop, cut or keep the case."""
    history = text_of(item, "history")
    listed = differential_of(item)
    names = load_names(setting_file(context, "synonyms"))
    found = find_leaks(history, listed, names)
    unsaid: list[Change] = []
    if context.has("reader"):
        asking = _ask_model(history, listed, context)
        said = await answer_or_note(asking, unsaid, missing_answer(context, "leaks"))
        denied = [leak for leak in said or [] if is_denied_of_family(history, leak.start, leak.end)]
        unsaid += [_denied_change(leak) for leak in denied]
        found = _merge_leaks(found, [leak for leak in said or [] if leak not in denied])
    levels = leak_levels(context)
    about = read_choice(context, "leak-about", ("listed", "options", "key"))
    counted = [leak for leak in found if leak.level in levels and _is_counted(leak, about)]
    noted = {"leaks": [leak.model_dump(mode="json") for leak in found]}
    doing = read_choice(context, "leaks", ("drop", "cut", "keep"))
    if not counted or doing == "keep":
        return Keep(data=noted, changes=(*unsaid, *(_leak_change(leak) for leak in counted)))
    worst = max(counted, key=lambda leak: (_RANK[leak.level], leak.is_key))
    if doing == "drop":
        return Drop(
            reason=f"leak-{worst.level}",
            why=f"the history names '{worst.about}' ({worst.level}) at characters "
            f"{worst.start} to {worst.end}: '{worst.evidence}'",
            by=worst.by,
            changes=(*unsaid, *(_leak_change(leak) for leak in counted)),
        )
    cut = _cut_sentences(history, counted, listed, names, noted)
    return cut.model_copy(update={"changes": (*unsaid, *cut.changes)})


def _is_counted(leak: Leak, about: str) -> bool:
    return {"listed": True, "options": leak.is_option, "key": leak.is_key}[about]


def _leak_change(leak: Leak) -> Change:
    return Change(
        what="history",
        before={"text": leak.evidence, "start": leak.start, "end": leak.end},
        after={"text": leak.evidence, "start": leak.start, "end": leak.end},
        by=leak.by,
        why=f"a leak of level {leak.level}: it names '{leak.about}'",
    )


def _denied_change(leak: Leak) -> Change:
    why = f"the model says that it names '{leak.about}', but a family history that is denied is no leak"
    place: dict[str, JsonValue] = {"text": leak.evidence, "start": leak.start, "end": leak.end}
    return Change(what="history", before=place, after=place, by=leak.by, why=why)


def _cut_sentences(
    history: str,
    counted: Sequence[Leak],
    listed: DifferentialDiagnoses,
    names: DiagnosisNames,
    noted: Mapping[str, object],
) -> Keep | Drop:
    """The history without the sentences that leak; nothing else in it is touched."""
    spans = sentences_of(history)
    gone: dict[tuple[int, int], Leak] = {}
    for leak in counted:
        first, last = sentence_at(leak.start, spans, history)
        # A question mark before the sentence is part of it, though it opens none.
        lead = re.search(r"(?:^|\s)\?\s*$", history[:first])
        gone.setdefault((lead.start() if lead else first, max(last, leak.end)), leak)
    left, changes = history, []
    for (first, last), leak in sorted(gone.items(), reverse=True):
        changes.append(
            Change(
                what="history",
                before={"text": history[first:last].strip(), "start": first, "end": last},
                by=leak.by,
                why=f"the sentence names '{leak.about}' ({leak.level})",
            )
        )
        head, tail = left[:first].rstrip(), left[last:].lstrip()
        left = f"{head} {tail}" if head and tail else head + tail
    again = [leak for leak in find_leaks(left, listed, names) if leak.level in _RANK]
    still = [leak for leak in again if any(leak.about == one.about for one in counted)]
    if not left or still:
        return Drop(
            reason=f"leak-{counted[0].level}",
            why="nothing of the history is left without its leaks"
            if not left
            else f"'{still[0].about}' is still named when its sentences are cut",
            by=counted[0].by,
            changes=tuple(changes),
        )
    data = {**noted, "history": left}
    return Keep.model_validate({"data": data, "changes": changes})


async def _ask_model(history: str, listed: DifferentialDiagnoses, context: StepContext) -> list[Leak]:
    """What a model finds, each held against the text."""
    known = {option.casefold(): option for option in listed.listed}

    def wrong(said: SaidLeaks) -> str | None:
        for one in said.leaks:
            if one.option.strip().casefold() not in known:
                return f"'{one.option[:80]}' is none of the diagnoses that were given"
            if one.evidence not in history:
                return f"the evidence '{one.evidence[:80]}' does not stand in the history"
        return None

    said = await context.ask(
        "build-med-leaks",
        {"history": history, "options": "\n".join(f"- {text}" for text in listed.listed)},
        json_parser(SaidLeaks),
        check=wrong,
    )
    found = []
    for one in said.leaks:
        about, start = known[one.option.strip().casefold()], history.index(one.evidence)
        found.append(
            Leak(
                level=one.level,
                about=about,
                evidence=one.evidence,
                start=start,
                end=start + len(one.evidence),
                is_key=about == listed.key,
                is_option=about in listed.offered,
                by=context.name("reader"),
            )
        )
    return found


def _merge_leaks(rules: list[Leak], model: list[Leak]) -> list[Leak]:
    """What rules found, and what a model found besides."""
    more = [
        one
        for one in model
        if not any(
            one.about == leak.about and one.start < leak.end and leak.start < one.end for leak in rules
        )
    ]
    return sorted([*rules, *more], key=lambda leak: (leak.start, leak.end))
