"""Sentences sorted into the seven regions of a report, in the house's own words or a model's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field, field_validator

from overread.build.item import Change, Item, Keep, StepResult
from overread.build.rexgroundingct.completeness import join_problems, rewrite_problems
from overread.build.rexgroundingct.left_out import SURE, find_repeated, reason_to_leave_out
from overread.build.rexgroundingct.settings import by_rules, read_setting
from overread.build.rexgroundingct.speculation import find_speculation
from overread.build.rexgroundingct.statement_cache import cached_statements
from overread.build.step import StepContext, answer_or_note
from overread.language.phrases import drop_joiners
from overread.language.places import find_places
from overread.language.statements import Statement
from overread.language.tokens import tokenise
from overread.language.vocabulary import vocabulary
from overread.ontology import report_regions
from overread.prompts.replies import json_parser

PROMPT = "build-rex-regions"

# Words of machine-translated reports → what a radiologist writes. Each keeps its meaning.
_GLOSSARY = {
    r"calibration": "caliber", r"natural": "normal", r"millimetric": "millimeter-sized",
    r"sequelae? changes?": "scarring", r"monitored": "seen", r"oesophag": "esophag",
    r"(?<=h)aem(?=o)": "em", r"tumour": "tumor", r"calibre": "caliber", r"oedema": "edema",
    r"centimetre": "centimeter", r"millimetre": "millimeter",
    r"space[- ]occupying lesion": "lesion",
}  # fmt: skip


class Sorted(BaseModel):
    """One sentence of a rewrite and the sentences that it came from."""

    origin: list[str] = Field(alias="from", min_length=1)
    text: str = Field(min_length=1)


class Rewrite(BaseModel):
    """A report rewritten: region → sentences, then the impression."""

    findings: dict[str, list[Sorted]]
    impressions: list[Sorted]
    left_out: dict[str, str] = Field(default_factory=dict)
    """Sentence → why, in the writer's words; a bare list of sentences is taken too."""

    @field_validator("left_out", mode="before")
    @classmethod
    def _name_reasons(cls, given: object) -> object:
        return dict.fromkeys(given, "") if isinstance(given, list) else given


async def sort_sentences(item: Item, context: StepContext) -> StepResult:
    """Rewrite the sentences and sort them into regions; all of them must be accounted for."""
    sentences = sentences_of(item)
    wording = read_setting(context.settings, "wording")
    changes: list[Change] = []
    if context.has():
        listed = "\n".join(f"{code}: {text}" for code, text in sentences.items())
        asking = context.ask(
            PROMPT,
            {"sentences": listed, "regions": region_list()},
            json_parser(Rewrite),
            check=lambda reply: join_problems(reply_problems(sentences, reply)),
        )
        made = await answer_or_note(asking, changes, by_rules(context, "regions"))
        if made is not None:
            return _keep_report(sentences, made, context.name())
    return _keep_report(sentences, sort_by_rules(sentences, wording=wording), "rules", changes)


def sentences_of(item: Item) -> dict[str, str]:
    """The sentences of an item, code → text."""
    found = item.data["sentences"]
    assert isinstance(found, dict)
    return {code: str(text) for code, text in found.items()}


def region_list() -> str:
    """The regions, one a line, for a prompt."""
    return "\n".join(f"{r.code}: {r.name}. {r.about}" for r in report_regions().item)


def reply_problems(sentences: Mapping[str, str], made: Rewrite) -> list[str]:
    """Everything that is wrong with a rewrite: regions, sentences, numbers, findings."""
    known = [region.code for region in report_regions().item]
    found = [f"the region {code} is missing" for code in known if code not in made.findings]
    found += [f"there is no region {code[:20]}" for code in made.findings if code not in known]
    rows = [(one.origin, one.text) for part in made.findings.values() for one in part]
    rows += [(one.origin, one.text) for one in made.impressions]
    left = set(made.left_out)
    reasons = left_out_reasons(sentences, made)
    found += [
        f"{code} was left out and tells or denies something; leave out only what is administrative, about "
        "quality, speculation, empty of findings, or told in another sentence"
        for code in sorted(left & sentences.keys())
        if code not in reasons
    ]
    kept = {code: text for code, text in sentences.items() if code not in left}
    swapped = [
        f"{code} is a finding and stands in the impressions"
        for one in made.impressions
        for code in one.origin
        if code.startswith("F")
    ]
    return found + swapped + rewrite_problems(kept, rows)


def left_out_reasons(sentences: Mapping[str, str], made: Rewrite) -> dict[str, str]:
    """Why each sentence that a rewrite leaves out may go; those that may not are not in it."""
    kept = [code for code in sentences if code not in made.left_out]
    reasons: dict[str, str] = {}
    for code in made.left_out:
        if code not in sentences:
            continue
        reason = reason_to_leave_out(sentences[code])
        if reason is None:
            other = find_repeated(code, sentences, kept)
            reason = None if other is None else f"told again: {other} tells all of it"
        if reason is not None:
            reasons[code] = reason
    return reasons


def sort_by_rules(sentences: Mapping[str, str], *, wording: str = "keep") -> Rewrite:
    """The sentences as they are, or with a translator's words replaced, each in its region.

    What is surely administrative, or about the quality of the examination, is left out.
    """
    found: dict[str, list[Sorted]] = {region.code: [] for region in report_regions().item}
    impressions: list[Sorted] = []
    last = "L"
    left_out = {code: "" for code, text in sentences.items() if reason_to_leave_out(text) in SURE}
    for code, text in sentences.items():
        if code in left_out:
            continue
        said = to_american(text) if wording == "american" else text
        one = Sorted.model_validate({"from": [code], "text": said})
        if code.startswith("I"):
            impressions.append(one)
            continue
        last = find_region(text, last)
        found[last].append(one)
    return Rewrite(findings=found, impressions=impressions, left_out=left_out)


def to_american(text: str) -> str:
    """A sentence with the words of machine translation replaced; as it was where that would tell.

    >>> to_american("Calibration of the aorta is natural.")
    'Caliber of the aorta is normal.'
    """
    said = text
    for word, better in _GLOSSARY.items():
        said = re.sub(rf"\b{word}" if word[0] != "(" else word, better, said, flags=re.IGNORECASE)
    said = said[:1].upper() + said[1:] if text[:1].isupper() else said
    return said if not rewrite_problems({"F0": text}, [(["F0"], said)]) else text


def find_region(sentence: str, before: str = "L") -> str:
    """The region of a sentence: of what it states, of the places it names, or of the one before.

    >>> find_region("Small hiatal hernia."), find_region("Calibration of the aorta is natural.")
    ('M', 'H')
    """
    told = cached_statements(sentence)
    there = [one for one in told if one.presence not in ("absent", "recommended")]
    if there and not all(one.category.startswith(("3a", "11")) for one in there):
        counts = Counter(_report_region(one) for one in there)
        return max(counts, key=lambda code: counts[code])
    # What is absent, nodes and devices are where the sentence looks: "no stenosis of the trachea".
    words = drop_joiners(tokenise(sentence, 0, len(sentence)))
    places = vocabulary().anatomy_phrases.find(words)
    if places:
        return str(vocabulary().regions[places[0].value])
    if told:
        return _report_region(told[0])
    return "L" if find_places(words) else before


def _report_region(statement: Statement) -> str:
    """Where a report sorts it: lymph nodes of the axilla are not those of the mediastinum."""
    regions = vocabulary().regions
    if statement.region in "MC" and statement.places:
        return str(regions[statement.places[0]])
    return statement.region


def _keep_report(sentences: Mapping[str, str], made: Rewrite, by: str, before: Sequence[Change] = ()) -> Keep:
    """The coded sentences, where each came from, and what was reworded or left out."""
    coded: dict[str, str] = {}
    origins: dict[str, list[str]] = {}
    changes = list(before)
    order = [(r.code, made.findings.get(r.code, [])) for r in report_regions().item]
    for region, part in (*order, ("I", made.impressions)):
        for number, one in enumerate(part):
            code = f"{region}{number}"
            coded[code] = " ".join(one.text.split())
            origins[code] = list(dict.fromkeys(one.origin))
            was = " ".join(sentences.get(origin, "") for origin in origins[code])
            if was != coded[code]:
                what = "+".join(origins[code])
                why = f"{'merged' if len(origins[code]) > 1 else 'rewritten'} as {code}"
                supposed = sorted(
                    set(find_speculation(was).values()) - set(find_speculation(coded[code]).values())
                )
                if supposed:
                    why += f"; speculation left out: {', '.join(supposed)}"
                changes.append(Change(what=what, before=was, after=coded[code], by=by, why=why))
    reasons = left_out_reasons(sentences, made)
    for code, reason in reasons.items():
        said = made.left_out[code]
        why = f"left out: {reason}" + (f' ("{said[:200]}")' if said else "")
        changes.append(Change(what=code, before=sentences[code], by=by, why=why))
    # The published form: region → sentences, and the impression as one text.
    told = {region: [one.text for one in part] for region, part in order}
    report = {"Findings": told, "Impressions": " ".join(one.text for one in made.impressions)}
    data = {"coded": coded, "origins": origins, "regions": report, "left_out": reasons}
    return Keep.model_validate({"data": data, "changes": tuple(changes)})
