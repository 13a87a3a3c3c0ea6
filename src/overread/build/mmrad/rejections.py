"""What follows from a rejection by people: other words, another region, or no film at all.

A sentence of the trace that is the report's own words cannot be wrong of the report: what people
reject is the region that it was paired with. Its pair is changed then, and the sentence is told
elsewhere; no sentence of the report gets lost by a rejection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from overread.build.adjudication.reads import CANNOT_JUDGE
from overread.build.item import Change, Item, Question
from overread.build.mmrad.major_regions import Corners, core_regions
from overread.build.mmrad.pairs import RegionPair, boxes_of, pairs_of
from overread.build.mmrad.rule_verdicts import TraceVerdict
from overread.build.mmrad.sentence_regions import RegionsByMajor, regions_of_sentence
from overread.build.mmrad.trace_looks import RegionLook, looks_of_pairs
from overread.build.step import StepContext
from overread.ontology import xray_regions
from overread.prompts.replies import normalise_text

KIND = "sentence-region"
NO_REGION = "no region"
"""The verdict that a film shows what a sentence says in none of its regions."""


@dataclass
class MendedTrace:
    """A trace after people's rejections."""

    pairs: list[RegionPair]
    looks: list[RegionLook] | None
    """None where the report's own words are no help: the film has to go."""
    questions: list[Question] = field(default_factory=list)
    """What people must say first: where a sentence belongs."""
    changes: list[Change] = field(default_factory=list)


def apply_rejections(
    item: Item, looks: list[RegionLook], rejected: Sequence[TraceVerdict], context: StepContext
) -> MendedTrace:
    """Change words to the report's own, and the regions of what are its own words already."""
    boxes, pairs = boxes_of(item), pairs_of(item)
    if not rejected:
        return MendedTrace(pairs, looks)
    own = looks_of_pairs(pairs, boxes)
    majors: set[str] = set()
    misplaced: dict[int, set[str]] = {}
    for one in rejected:
        look = looks[one.look - 1] if one.look is not None else None
        if look is None and one.sentence:
            majors |= {mine.major for mine in own if one.sentence in mine.sentences}
        elif one.problem == "unjudged" and looks != own:
            return MendedTrace(pairs, own)
        elif look is None or (one.problem == "box" and _is_among(look, own)):
            return MendedTrace(pairs, None)
        elif one.problem == "box":
            majors.add(look.major)
        else:
            said = (one.sentence,) if one.sentence else look.sentences
            numbers = [pair.number for words in said for pair in _verbatim_pairs(words, look.major, pairs)]
            for number in numbers:
                misplaced.setdefault(number, set()).add(look.major)
            if len(numbers) < len(said):
                majors.add(look.major)
    mended = _move_pairs(item, pairs, misplaced, boxes, context)
    if mended.questions:
        return mended
    mended.looks = _tell_pairs(looks, pairs, mended.pairs, majors, boxes)
    return mended


def _is_among(look: RegionLook, own: Sequence[RegionLook]) -> bool:
    """Whether a look is one of the rules' own, whoever wrote it."""
    return any(look.model_copy(update={"by": mine.by}) == mine for mine in own)


def _verbatim_pairs(sentence: str, major: str, pairs: Sequence[RegionPair]) -> list[RegionPair]:
    """The pairs that put these very words into this major region."""
    words = normalise_text(sentence)
    same = [one for one in pairs if one.role == "told" and normalise_text(one.text) == words]
    return [one for one in same if major in one.told]


def _move_pairs(
    item: Item,
    pairs: Sequence[RegionPair],
    misplaced: Mapping[int, set[str]],
    boxes: Mapping[str, Corners],
    context: StepContext,
) -> MendedTrace:
    """The pairs without what people rejected; who has no other region gets it from people."""
    made = MendedTrace(list(pairs), None)
    for place, pair in enumerate(pairs):
        wrong = misplaced.get(pair.number)
        if not wrong:
            continue
        told = {major: names for major, names in pair.told.items() if major not in wrong}
        told = told or _other_regions(pair, wrong, boxes)
        if not told:
            asked = _region_question(item, pair, wrong, boxes)
            said = context.verdict(asked.id)
            if said is None:
                made.questions.append(asked)
                continue
            told = {} if said in (NO_REGION, CANNOT_JUDGE) else {said: _boxed_regions(said, boxes)}
        role = "told" if told else "nowhere"
        made.pairs[place] = pair.model_copy(update={"told": told, "role": role})
        where = " and ".join(told) or "no region of a film"
        why = f"people rejected it in the {' and '.join(sorted(wrong))}; it speaks of {where}"
        before = {major: list(names) for major, names in pair.told.items()}
        after = {major: list(names) for major, names in told.items()}
        changes = Change(what=f"pair of sentence {pair.number}", before=before, after=after, by="people",
                         why=why)  # fmt: skip
        made.changes.append(changes)
    return made


def _other_regions(pair: RegionPair, wrong: set[str], boxes: Mapping[str, Corners]) -> RegionsByMajor:
    """The regions that rules read in a sentence, outside of those that were rejected."""
    return {
        major: names
        for major, names in regions_of_sentence(pair.text).items()
        if major not in wrong and any(name in boxes for name in names)
    }


def _boxed_regions(major: str, boxes: Mapping[str, Corners]) -> tuple[str, ...]:
    """The regions of a major region that a film has boxes of; those that one looks at, if any."""
    members = next((group.members for group in xray_regions().groups if group.name == major), ())
    core = tuple(name for name in core_regions(major) if name in boxes)
    return core or tuple(name for name in members if name in boxes)


def _region_question(item: Item, pair: RegionPair, wrong: set[str], boxes: Mapping[str, Corners]) -> Question:
    others = [
        group.name
        for group in xray_regions().groups
        if group.name not in wrong and _boxed_regions(group.name, boxes)
    ]
    about = "\n".join((pair.text, *sorted(wrong)))
    digest = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Question(
        id=f"{item.id}:region:{digest}",
        item=item.id,
        kind=KIND,
        text=f'Where does a film show what this sentence says? "{pair.text}"',
        shown={
            "image": item.data["image"],
            "report": item.data["report"],
            "boxes": item.data["boxes"],
            "sentence": pair.text,
        },
        choices=(*others, NO_REGION),
    )


def _tell_pairs(
    looks: Sequence[RegionLook],
    before: Sequence[RegionPair],
    after: Sequence[RegionPair],
    majors: set[str],
    boxes: Mapping[str, Corners],
) -> list[RegionLook]:
    """The trace with the report's own words in `majors`, and every moved pair where it is now."""
    moved = {new.number: (old, new) for old, new in zip(before, after, strict=True) if old != new}
    kept: list[RegionLook] = []
    for look in looks:
        gone = {
            normalise_text(old.text)
            for old, new in moved.values()
            if look.major in old.told and look.major not in new.told
        }
        said = tuple(words for words in look.sentences if normalise_text(words) not in gone)
        if look.major not in majors and said:
            kept.append(look.model_copy(update={"sentences": said}))
    kept += [one for one in looks_of_pairs(after, boxes) if one.major in majors]
    # What stood in a look that went, and is told by no other, is told where its pair puts it.
    was = {normalise_text(words) for look in looks for words in look.sentences}
    for pair in after:
        words = normalise_text(pair.text)
        there = {look.major for look in kept for one in look.sentences if normalise_text(one) == words}
        lost = not there and words in was
        kept += [
            one
            for one in looks_of_pairs([pair], boxes)
            if one.major not in there and (lost or pair.number in moved)
        ]
    return kept
