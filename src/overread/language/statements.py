"""What a sentence states: observations, whether they are there, and what is said of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pydantic import Field

from overread.core import Record
from overread.language.attributes import EARLIER, fill_attributes
from overread.language.head_words import meaningful_things, own_windows
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
_LIST_GAP = 4
_LIST_WORDS = frozenset(
    ", and or size sized appearing appearance of the in caliber contour shape right left both".split()
)
"""Words that may stand between places that one word is said of."""
_NORMAL = frozenset(("normal", "unremarkable"))
_COPULAS = frozenset(("is", "are", "was", "were", "appear", "appears", "remain", "remains", "look", "looks"))
_DEVICES = "11a"
_NEAR = 2
_CANCERS = frozenset(("cancer", "carcinoma", "adenocarcinoma", "malignancy", "lymphoma", "neoplasm"))
_LONGEST_REMEMBERED = 1000
"""Characters of a sentence that is kept in memory; no report has a longer one."""
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
    if sentence.end - sentence.start > _LONGEST_REMEMBERED:
        return _read_sentence(text, sentence, known)
    found = _read_remembered(sentence.extract(text), sentence.section, known)
    return [_move(statement, sentence.start) for statement in found]


@lru_cache(maxsize=4096)
def _read_remembered(said: str, section: str, known: Vocabulary) -> tuple[Statement, ...]:
    """What a sentence states, counted from its first character; every second one was seen before."""
    return tuple(_read_sentence(said, Sentence(start=0, end=len(said), section=section), known))


def _move(statement: Statement, by: int) -> Statement:
    """The same statement, that many characters further on."""
    if not by:
        return statement
    # As one: the words, the sentence and what was read are often the same characters.
    moved: dict[tuple[int, int], Span] = {}

    def move(span: Span) -> Span:
        ends = span.start, span.end
        if ends not in moved:
            moved[ends] = Span(start=span.start + by, end=span.end + by)
        return moved[ends]

    return statement.model_copy(
        update={
            "span": move(statement.span),
            "finding": None if statement.finding is None else move(statement.finding),
            "sentence": move(statement.sentence),
            "evidence": {name: move(span) for name, span in statement.evidence.items()},
        }
    )


def _read_sentence(text: str, sentence: Sentence, known: Vocabulary) -> list[Statement]:
    row = drop_joiners(tokenise(text, sentence.start, sentence.end))
    things = known.thing_phrases.find(row)
    if not things:
        return []
    reading = ParsedSentence(text, sentence, known, row, things)
    # A head that no place of its clause gives a meaning is an ordinary word.
    reading.things = things = meaningful_things(reading, things)
    found: list[Statement] = []
    for n, thing in enumerate(things):
        clause = reading.clause(thing.first)
        for name, places in _meanings(reading, n, reading.subject_clause(thing.first)):
            found.append(_statement(reading, n, clause, name, places))
    if len(found) > 1:
        if _is_only_heading(reading, found):
            del found[0]
        return _drop_vague(found, known)
    return found


def _is_only_heading(reading: ParsedSentence, found: list[Statement]) -> bool:
    """Whether the first thing only heads what follows, which names it again: "Nodules: no nodule"."""
    last = reading.things[0].last
    if last >= len(reading.words) or reading.words[last].word != ":" or reading.things[0].first:
        return False
    return any(other.observation == found[0].observation for other in found[1:])


def _drop_vague(found: list[Statement], known: Vocabulary) -> list[Statement]:
    """Without "disease" as such where the sentence says which: "emphysematous lung disease"."""
    clear = [s for s in found if s.presence in THERE and not known.observations[s.observation].vague]
    if not clear:
        return found
    return [s for s in found if s.presence not in THERE or not known.observations[s.observation].vague]


def _meanings(reading: ParsedSentence, n: int, clause: tuple[int, int]) -> list[tuple[str, tuple[str, ...]]]:
    """Names of the observations that a thing means, and the places that told so."""
    thing = reading.things[n]
    if isinstance(thing.value, Observation):
        return [(thing.value.name, ()), *_coordinated_meanings(reading, n, clause)]
    head = thing.value
    if head.together:
        return [(name, ()) for name in head.together]
    adjective = reading.adjectives.get(thing.first)
    if adjective is not None:
        return [(head.by[adjective.value], ())]
    windows = own_windows(reading, reading.things, n, clause) if head.near else _windows(reading, n, clause)
    before, after = windows
    found: dict[str, list[str]] = {}
    # Right before it ("pleural or pericardial effusion"), then behind, then anywhere before.
    near = [p for p in reading.anatomy if before[0] <= p.first and p.last <= before[1]]
    adjacent = _adjacent_places(reading, near, thing.first)
    # What a thing does to its neighbours says not where it is: "a tumor, which invades the …".
    stop = next((n for n in range(*after) if reading.words[n].word == "which"), after[1])
    behind = [p for p in reading.anatomy if after[0] <= p.first and p.last <= stop]
    wide = [p for p in reading.anatomy if clause[0] <= p.first and p.last <= clause[1]]
    inside = [p for p in reading.anatomy if thing.first <= p.first and p.last <= thing.last]
    beyond = () if head.near else wide
    rows: tuple[Sequence[PhraseMatch[str]], ...] = (inside, adjacent, behind, near, beyond)
    if head.attached:
        rows = (adjacent,)
    elif head.normal:
        # It is said of what follows at once ("a normal heart"), else of its subject.
        rows = (inside, _following_places(reading, behind, thing.last), adjacent, near, behind, beyond)
    for places in rows:
        for place in places:
            if place.value in head.by:
                found.setdefault(head.by[place.value], []).append(place.value)
        if found:
            break
    if not found and len(reading.things) == 1:
        for group in sorted(reading.heading.intersection(head.by)):
            found.setdefault(head.by[group], []).append(group)
    if not found and head.otherwise is not None:
        return [(head.otherwise, ())]
    return [(name, tuple(dict.fromkeys(groups))) for name, groups in found.items()]


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


def _following_places(
    reading: ParsedSentence, behind: Sequence[PhraseMatch[str]], last: int
) -> list[PhraseMatch[str]]:
    """Places right behind a word, and those listed with them: "normal heart size and mediastinum"."""
    kept: list[PhraseMatch[str]] = []
    for place in behind:
        between = reading.words[last : place.first]
        if len(between) > _LIST_GAP or any(word.word not in _LIST_WORDS for word in between):
            break
        kept.append(place)
        last = place.last
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


def _told_at(reading: ParsedSentence, n: int) -> tuple[int, int]:
    """The words that are denied or not: of "lung volumes are low" it is "low"."""
    thing = reading.things[n]
    adjective = reading.adjectives.get(thing.first)
    if adjective is not None and adjective.first >= thing.last:
        return adjective.first, adjective.last
    return thing.first, thing.last


def _is_known_cancer(reading: ParsedSentence, thing: PhraseMatch[Observation | Head]) -> bool:
    """Whether it is the disease that the person came with: "known sigmoid cancer"."""
    if reading.words[thing.last - 1].word not in _CANCERS:
        return False
    return any(word.word == "known" for word in reading.words[max(0, thing.first - 3) : thing.last])


def _is_called_normal(reading: ParsedSentence, n: int, name: str) -> bool:
    """Whether something that everybody has is called normal: lymph nodes, the thickness of a wall."""
    thing = reading.things[n]
    if not isinstance(thing.value, Head) and name != "lymph node":
        return False
    place = next((place for place in reading.anatomy if place.last == thing.first), thing)
    before = place.first - 1
    if before >= 0 and reading.words[before].word in _NORMAL:
        return True
    after = thing.last
    if after < len(reading.words) and reading.words[after].word in _COPULAS:
        after += 1
    return after < len(reading.words) and reading.words[after].word in _NORMAL


def _statement(
    reading: ParsedSentence, n: int, clause: tuple[int, int], name: str, places: tuple[str, ...]
) -> Statement:
    thing = reading.things[n]
    item = reading.vocabulary.observations[name]
    told = StatementDraft()
    normal = isinstance(thing.value, Head) and thing.value.normal
    first, last = _told_at(reading, n)
    judged = decide_presence(reading.cues, clause, first, last)
    if normal:
        # "No effusion, and the bones are intact": a denial must stand right before what is normal.
        outside = [
            c
            for c in reading.cues
            if c.first >= thing.last or (c.last <= thing.first and thing.first - c.last <= _NEAR)
        ]
        judged = decide_presence(outside, clause, thing.first, thing.last)
        # "Not normal" is as good as there.
        kind: Presence = "present" if judged.presence == "absent" else "absent"
        judged = PresenceDecision(kind, Cue(thing.first, thing.last, kind, "around"))
    elif judged.presence == "present" and _is_called_normal(reading, n, name):
        judged = PresenceDecision("absent", Cue(thing.first, thing.last, "absent", "around"))
    if judged.presence == "present" and (
        reading.sentence.section in _PAST_SECTIONS or _is_known_cancer(reading, thing)
    ):
        judged = PresenceDecision("historical", judged.cue)
    if judged.presence == "uncertain" and item.category == _DEVICES and judged.cue is not None:
        judged = PresenceDecision("recommended", judged.cue)  # "a drain should be considered"
    if judged.cue is not None:
        told.evidence["presence"] = reading.span(judged.cue.first, judged.cue.last)
    fill_attributes(reading, n, item, told, there=judged.presence == "present", normal=normal)
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
