"""The step that takes phrases out of a report, and the one that keeps the positive ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, JsonValue

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.rexgroundingct.completeness import join_problems, number_problems
from overread.build.rexgroundingct.left_out import reason_to_leave_out
from overread.build.rexgroundingct.phrases import phrases_by_rules, states_finding
from overread.build.rexgroundingct.settings import by_rules
from overread.build.rexgroundingct.statement_cache import cached_statements
from overread.build.step import StepContext, answer_or_note
from overread.language.findings import is_there
from overread.prompts.replies import json_parser

PROMPT = "build-rex-phrases"


class Phrases(BaseModel):
    """Phrases in the published form: S1 → [phrase, codes, abnormal Y/N, refers to a prior Y/N]."""

    phrases: dict[str, tuple[str, str, str, str]]


async def extract_phrases(item: Item, context: StepContext) -> StepResult:
    """Take one phrase for each finding out of the sorted sentences."""
    coded = coded_sentences(item)
    changes: list[Change] = []
    if context.has():
        listed = "\n".join(f"{code}: {text}" for code, text in coded.items())
        asking = context.ask(
            PROMPT,
            {"sentences": listed},
            json_parser(Phrases),
            check=lambda reply: join_problems(phrase_problems(coded, reply.phrases)),
        )
        made = await answer_or_note(asking, changes, by_rules(context, "phrases"))
        if made is not None:
            rows = {key: list(row) for key, row in made.phrases.items()}
            changes = _phrase_changes(coded, rows, {}, context.name())
            return Keep.model_validate({"data": {"phrases": rows}, "changes": tuple(changes)})
    told = phrases_by_rules(coded)
    changes += _phrase_changes(coded, told.phrases, told.left_out, "rules")
    return Keep.model_validate({"data": {"phrases": told.phrases}, "changes": tuple(changes)})


def _phrase_changes(
    coded: Mapping[str, str], rows: Mapping[str, Sequence[str]], left_out: Mapping[str, str], by: str
) -> list[Change]:
    """What was told more than once and is one phrase, and every sentence that is in none and why."""
    changes: list[Change] = []
    cited: set[str] = set()
    for key, row in rows.items():
        codes = parse_codes(row[1])
        cited.update(codes)
        if len(codes) > 1:
            told: list[JsonValue] = [coded[code] for code in codes]
            why = f"told more than once: merged into {key}"
            changes.append(Change(what="+".join(codes), before=told, after=row[0], by=by, why=why))
    for code, sentence in coded.items():
        if code not in cited:
            why = left_out.get(code) or reason_to_leave_out(sentence) or "no finding is told in it"
            changes.append(Change(what=code, before=sentence, by=by, why=f"left out: {why}"))
    return changes


def coded_sentences(item: Item) -> dict[str, str]:
    """The sorted sentences of an item: code → text."""
    found = item.data["coded"]
    assert isinstance(found, dict)
    return {code: str(text) for code, text in found.items()}


def parse_codes(text: str) -> list[str]:
    """The sentence codes of a phrase.

    >>> parse_codes("L1, I0")
    ['L1', 'I0']
    """
    return [part for part in re.split(r"[,;\s]+", text) if part]


def phrase_problems(coded: Mapping[str, str], rows: Mapping[str, tuple[str, str, str, str]]) -> list[str]:
    """What is wrong with phrases: form, codes, findings that no phrase tells, numbers, denials."""
    found: list[str] = []
    cited: set[str] = set()
    for key, (phrase, codes, abnormal, prior) in rows.items():
        found += _form_problems(key, phrase, codes, abnormal, prior, coded)
        if abnormal == "Y":
            cited.update(parse_codes(codes))
            found += _find_denied(key, phrase, codes, coded)
    needed = [code for code, sentence in coded.items() if states_finding(sentence)]
    found += [
        f"{code} tells a finding, and no abnormal phrase names it" for code in needed if code not in cited
    ]
    told = [(key, parse_codes(codes), phrase) for key, (phrase, codes, _, _) in rows.items()]
    return found + number_problems(coded, told, [code for code in needed if code in cited])


def _form_problems(
    key: str, phrase: str, codes: str, abnormal: str, prior: str, coded: Mapping[str, str]
) -> list[str]:
    found = []
    if not re.fullmatch(r"S\d{1,4}", key):
        found.append(f"'{key[:20]}' is no phrase number S1, S2, …")
    if not phrase.strip():
        found.append(f"{key} is empty")
    if abnormal not in ("Y", "N") or prior not in ("Y", "N"):
        found.append(f"{key} says neither Y nor N")
    strange = [code for code in parse_codes(codes) if code not in coded]
    if strange or not parse_codes(codes):
        found.append(f"{key} names {', '.join(strange)[:40] or 'no sentence'}, which is no code")
    return found


def _find_denied(key: str, phrase: str, codes: str, coded: Mapping[str, str]) -> list[str]:
    """Findings that a phrase says are there and its sentences only deny."""
    own = [s for code in parse_codes(codes) if code in coded for s in cached_statements(coded[code])]
    there = {s.category for s in own if is_there(s)}
    absent = {s.category for s in own if s.presence == "absent"} - there
    told = [s for s in cached_statements(phrase) if is_there(s) and s.category in absent]
    return [f"{key} says '{s.observation}' is there, and its sentences deny it" for s in told[:1]]


async def keep_positives(item: Item, context: StepContext) -> StepResult:
    """Keep the phrases that are abnormal: P1, P2, … → phrase, and the sentences of each."""
    rows = item.data["phrases"]
    assert isinstance(rows, dict)
    found: dict[str, str] = {}
    codes: dict[str, list[str]] = {}
    for row in rows.values():
        assert isinstance(row, list)
        if row[2] == "Y":
            key = f"P{len(found) + 1}"
            found[key] = str(row[0])
            codes[key] = parse_codes(str(row[1]))
    if not found:
        return Drop(reason="nothing-abnormal", why="no phrase of the report is abnormal")
    return Keep.model_validate({"data": {"positives": found, "positive_codes": codes}})
