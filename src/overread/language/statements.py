"""What a sentence states: observations, whether they are there, and what is said of each."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from overread.core import Record
from overread.language.attributes import EARLIER, fill_attributes
from overread.language.parsed_sentence import ParsedSentence, StatementDraft
from overread.language.phrases import PhraseMatch, drop_joiners
from overread.language.presence import Cue, Presence, PresenceDecision, decide_presence
from overread.language.text import Sentence, Span, split_sentences
from overread.language.tokens import tokenise
from overread.language.vocabulary import Head, Observation, Vocabulary, vocabulary

_PAST_SECTIONS = frozenset(
    ("history", "indication", "indications", "clinical history", "clinical information",
     "clinical indication", "comparison", "comparisons")
)  # fmt: skip
_JOINTS = frozenset(("and", "or", "nor", ","))
_NODES = ("3a", "5b")
"""Categories of lymph nodes."""
_NODE_GAP = 8
_ADJECTIVES = 2
"""Words between an adjective and its noun, at most."""
_LINKS = frozenset(
    "and or no not without with but is are was were in of at on there may has have the a an".split()
)
_NODE_BREAKS = frozenset(("and", ",", "but", "with", "without", "no", "or", ";"))
THERE = ("present", "uncertain")
"""Presences that count as there, where yes and no are all there is, as in the label sets."""


class Statement(Record):
    """One thing that a text states, with the characters that each part of it came from."""

    observation: str
    """Its name in the vocabulary."""
    category: str
    """Code in the finding ontology."""
    region: str
    """Code of the report region."""
    presence: Presence
    """Whether it is there."""
    span: Span
    """The words that name it."""
    finding: Span | None = None
    """All names of the finding that it is part of: "focus of consolidation", "cystic change"."""
    sentence: Span
    """The sentence that it stands in."""
    section: str = ""
    """The heading that it stands under."""
    side: str | None = None
    """Right, left or both."""
    lobes: tuple[str, ...] = ()
    """Codes of lobes."""
    segments: tuple[str, ...] = ()
    """Codes of segments."""
    zones: tuple[str, ...] = ()
    """Upper, mid or lower, where a zone of a lung is told and no lobe."""
    landmarks: tuple[str, ...] = ()
    """Regions of the radiograph that are named with it, without their side: hilum, clavicle."""
    places: tuple[str, ...] = ()
    """Groups of other places that it is tied to."""
    size_mm: float | None = None
    """The largest size that is given for it, in millimetres."""
    axes_mm: tuple[float, ...] = ()
    """All axes of that size, as told."""
    small: bool = False
    """Whether it is said to be under a centimetre, without a number."""
    extent: str | None = None
    """Of a thing that one counts: small, medium or large, said without a number."""
    count: int | None = None
    """How many, where that is said exactly."""
    many: bool = False
    """Whether it is said to be several, without a number."""
    severity: str | None = None
    """Mild, moderate or severe."""
    spread: tuple[str, ...] = ()
    """How it is distributed."""
    traits: tuple[str, ...] = ()
    """What else is said of it."""
    comparison: str | None = None
    """New, stable, increased, decreased or resolved."""
    position: str | None = None
    """Of a device: satisfactory, malpositioned, too high, too low or coiled."""
    tip: tuple[str, ...] = ()
    """Of a device: where its tip lies, or its tips: svc, stomach, right main bronchus."""
    above_carina_mm: float | None = None
    """Of a device: how far its tip is said to lie above the carina; below it is negative."""
    evidence: dict[str, Span] = Field(default_factory=dict)
    """Field → the characters that it was read from."""


def find_statements(text: str) -> list[Statement]:
    """Everything that a text states, in order.

    >>> [(s.observation, s.presence) for s in find_statements("No effusion, but a 5 mm nodule.")]
    [('pleural effusion', 'absent'), ('nodule', 'present')]
    """
    words = vocabulary()
    found: list[Statement] = []
    for sentence in split_sentences(text):
        found += sentence_statements(text, sentence, words)
    return found


def sentence_statements(text: str, sentence: Sentence, words: Vocabulary | None = None) -> list[Statement]:
    """What one sentence of a text states."""
    known = words or vocabulary()
    row = drop_joiners(tokenise(text, sentence.start, sentence.end))
    things = known.thing_phrases.find(row)
    if not things:
        return []
    reading = ParsedSentence(text, sentence, known, row, things)
    # A head that no place of its clause gives a meaning is an ordinary word.
    reading.things = things = [
        thing for n, thing in enumerate(things) if _means_something(reading, things, n)
    ]
    found: list[Statement] = []
    for n, thing in enumerate(things):
        clause = reading.clause(thing.first)
        for name, places in _meanings(reading, n, clause):
            found.append(_statement(reading, n, clause, name, places))
    return found


def _means_something(
    reading: ParsedSentence, things: Sequence[PhraseMatch[Observation | Head]], n: int
) -> bool:
    thing, head = things[n], things[n].value
    if isinstance(head, Observation):
        return True
    if head.of_nodes and _is_said_of_nodes(reading, things, n):
        return False
    if head.normal and head.near and _is_said_of_next(reading, things, n):
        return False
    if head.otherwise is not None:
        return True
    if not head.by:
        return False
    clause = reading.clause(thing.first)
    first, last = _own_window(things, n, clause) if head.near else clause
    return any(p.value in head.by for p in reading.company(head) if first <= p.first and p.last <= last)


def _is_said_of_next(
    reading: ParsedSentence, things: Sequence[PhraseMatch[Observation | Head]], n: int
) -> bool:
    """Whether it is an adjective of the thing behind it: "well-defined rounded opacities"."""
    if n + 1 >= len(things):
        return False
    gap = reading.words[things[n].last : things[n + 1].first]
    return len(gap) <= _ADJECTIVES and all(word.word.isalpha() and word.word not in _LINKS for word in gap)


def _is_said_of_nodes(
    reading: ParsedSentence, things: Sequence[PhraseMatch[Observation | Head]], n: int
) -> bool:
    """Whether "enlarged" is said of lymph nodes: "enlarged hilar lymph nodes", "nodes are enlarged"."""
    for other, first, last in (
        (n + 1, things[n].last, things[n + 1].first if n + 1 < len(things) else 0),
        (n - 1, things[n - 1].last, things[n].first),
    ):
        if not 0 <= other < len(things) or last - first > _NODE_GAP:
            continue
        what = things[other].value
        named = reading.vocabulary.observations.get(
            (what.otherwise if isinstance(what, Head) else what.name) or ""
        )
        if named is not None and named.category in _NODES:
            return not _NODE_BREAKS.intersection(w.word for w in reading.words[first:last])
    return False


def _own_window(
    things: Sequence[PhraseMatch[Observation | Head]], n: int, clause: tuple[int, int]
) -> tuple[int, int]:
    """Words of a clause from the thing before to the thing behind."""
    first = max(clause[0], things[n - 1].last) if n else clause[0]
    last = min(clause[1], things[n + 1].first) if n + 1 < len(things) else clause[1]
    return first, last


def _meanings(reading: ParsedSentence, n: int, clause: tuple[int, int]) -> list[tuple[str, tuple[str, ...]]]:
    """Names of the observations that a thing means, and the places that told so."""
    thing = reading.things[n]
    if isinstance(thing.value, Observation):
        return [(thing.value.name, ()), *_coordinated_meanings(reading, n, clause)]
    head = thing.value
    before, after = _windows(reading, n, clause)
    found: dict[str, list[str]] = {}
    company = reading.company(head)
    # Right before it ("pleural or pericardial effusion"), then behind, then anywhere before.
    near = [p for p in company if before[0] <= p.first and p.last <= before[1]]
    adjacent = _adjacent_places(reading, near, thing.first)
    behind = [p for p in company if after[0] <= p.first and p.last <= after[1]]
    wide = [p for p in company if clause[0] <= p.first and p.last <= clause[1]]
    inside = [p for p in company if thing.first <= p.first and p.last <= thing.last]
    for places in (inside, adjacent, behind, near, () if head.near else wide):
        for place in places:
            if place.value in head.by:
                found.setdefault(head.by[place.value], []).append(place.value)
        if found:
            break
    if not found and head.otherwise is not None:
        return [(head.otherwise, ())]
    real = reading.vocabulary.regions  # a quality is no place
    return [(name, tuple(dict.fromkeys(g for g in groups if g in real))) for name, groups in found.items()]


def _coordinated_meanings(
    reading: ParsedSentence, n: int, clause: tuple[int, int]
) -> list[tuple[str, tuple[str, ...]]]:
    """What "pleural or" adds to "pericardial effusion": the same head at another place."""
    thing = reading.things[n]
    if thing.last - thing.first < 2 or thing.first == 0:
        return []
    if reading.words[thing.first - 1].word not in ("and", "or", "nor", ","):
        return []
    tail = reading.vocabulary.thing_phrases.find(reading.words[thing.last - 1 : thing.last])
    if not tail or isinstance(tail[0].value, Observation):
        return []
    before, _ = _windows(reading, n, clause)
    near = [p for p in reading.anatomy if before[0] <= p.first and p.last <= before[1]]
    own = thing.value.name if isinstance(thing.value, Observation) else ""
    found = {
        tail[0].value.by[p.value]: (p.value,)
        for p in _adjacent_places(reading, near, thing.first - 1)
        if p.value in tail[0].value.by
    }
    return [(name, groups) for name, groups in found.items() if name != own]


def _adjacent_places(
    reading: ParsedSentence, near: Sequence[PhraseMatch[str]], first: int
) -> list[PhraseMatch[str]]:
    """Places that stand right before a word, with nothing but joints between them."""
    kept: list[PhraseMatch[str]] = []
    edge = first
    for place in reversed(near):
        between = [w.word for w in reading.words[place.last : edge]]
        if edge == first and _JOINTS.intersection(between):
            break  # "pericardium and calcification": the place belongs to what stands before it
        # Adjectives may stand between a place and its noun: "pleural minimal effusion".
        if len(between) > 2 or any(w in ("in", "of", "at", "the", "is", "was") for w in between):
            break
        kept.append(place)
        edge = place.first
    return kept


def _windows(
    reading: ParsedSentence, n: int, clause: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Words that are this thing's own: from the thing before it, to the thing behind it."""
    thing = reading.things[n]
    start, stop = clause
    if n > 0:
        start = max(start, reading.things[n - 1].last)
    if n + 1 < len(reading.things):
        stop = min(stop, reading.things[n + 1].first)
    return (start, thing.first), (thing.last, stop)


def _statement(
    reading: ParsedSentence, n: int, clause: tuple[int, int], name: str, places: tuple[str, ...]
) -> Statement:
    thing = reading.things[n]
    item = reading.vocabulary.observations[name]
    told = StatementDraft()
    normal = isinstance(thing.value, Head) and thing.value.normal
    judged = decide_presence(reading.cues, clause, thing.first, thing.last)
    if normal:
        outside = [c for c in reading.cues if c.last <= thing.first or c.first >= thing.last]
        judged = decide_presence(outside, clause, thing.first, thing.last)
        # "Not normal" is as good as there.
        kind: Presence = "present" if judged.presence == "absent" else "absent"
        judged = PresenceDecision(kind, Cue(thing.first, thing.last, kind, "around"))
    if judged.presence == "present" and reading.sentence.section in _PAST_SECTIONS:
        judged = PresenceDecision("historical", judged.cue)
    if judged.cue is not None:
        told.evidence["presence"] = reading.span(judged.cue.first, judged.cue.last)
    fill_attributes(reading, n, item, told, there=judged.presence == "present")
    if judged.presence == "absent" and "comparison" not in told.fields:
        earlier = next((w for w in reading.words if w.word in EARLIER), None)
        if earlier is not None:
            told.add("comparison", "resolved", Span(start=earlier.start, end=earlier.end))
    return Statement(
        observation=name,
        category=item.category,
        region=item.region,
        presence=judged.presence,
        span=reading.span(thing.first, thing.last),
        sentence=Span(start=reading.sentence.start, end=reading.sentence.end),
        section=reading.sentence.section,
        places=places,
        evidence=told.evidence,
        **told.fields,
    )
