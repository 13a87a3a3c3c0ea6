"""Whether something is there: clauses, cues, and how far a cue reaches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from overread.language.phrases import PhraseMatch
from overread.language.tokens import Token
from overread.language.vocabulary import Vocabulary

Presence = Literal["present", "absent", "uncertain", "historical", "recommended"]

_VERBS = frozenset(
    (
        "is are was were has have had show showed demonstrate demonstrated reveal revealed "
        "exist appear appeared remain measure contain attract may can should"
    ).split()
)
_OPENERS = frozenset(
    "absence without despite rather instead lack apart besides after following status".split()
)
_SHORT = 6
"""Words behind a colon that are an answer rather than a clause."""
_ANSWERS = frozenset((": no", ": none", ": nil", ": negative", "none"))
_BETWEEN = 4
"""Words between two negations of which the first denies the second."""
_SUBJECT = frozenset("no there a an the without however not".split())
_EARLIER = frozenset(
    "prior previous earlier preceding old older last pre preprocedure preoperative initial outside "
    "admission yesterday baseline first".split()
)
_BEFORE = frozenset("before previously yesterday earlier formerly hitherto then".split())
_MONTHS = frozenset(
    "january february march april may june july august september october november december".split()
)
_COMPARED = frozenset(
    "compared comparison than since from scan study film examination radiograph ct of".split()
)
"""Words before a time that make it the time of the other examination: "than a year ago"."""
_DUMMIES = frozenset("it there is are was were be been has have could can does do also".split())
"""Words that stand for a subject which only follows: "it is not observed pneumothorax"."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue at words `first` to `last`, excluding the last, before or behind its thing."""

    first: int
    last: int
    kind: str
    side: str
    words: str = ""


@dataclass(frozen=True)
class PresenceDecision:
    """Whether something is present, and the cue that decided it."""

    presence: Presence
    cue: Cue | None = None


def split_clauses(words: Sequence[Token], ends: Sequence[PhraseMatch[str]]) -> list[tuple[int, int]]:
    """Rows of words that belong together: a cue does not reach beyond them."""
    count = len(words)
    borders = {0, count}
    for n, word in enumerate(words):
        # "Pneumothorax: none." is one clause, "Impression: …" is not.
        joined = word.word == "," and n + 1 < count and words[n + 1].word == "with"
        answered = n + 1 < count and words[n + 1].word in ("none", "nil")
        if word.word == ";" or joined or (word.word == ":" and count - n > _SHORT and not answered):
            borders.add(n + 1)
    borders |= {match.first for match in ends}
    opening = _opening_end(words)
    if opening is not None:
        borders.add(opening)
    edges = sorted(borders)
    found: list[tuple[int, int]] = []
    for first, last in itertools.pairwise(edges):
        found += _split_by_verbs(words, first, last)
    return found


def _opening_end(words: Sequence[Token]) -> int | None:
    """Where "In the absence of effusion, …" or "Rather than a nodule, …" ends."""
    if not words or not any(word.word in _OPENERS for word in words[:3]):
        return None
    comma = next((n for n, word in enumerate(words) if word.word in (",", "there")), None)
    if comma is not None and words[comma].word == "there":
        return comma  # "Following removal of the drain there is …"
    if comma is None or any(word.word in _VERBS for word in words[:comma]):
        return None
    follows = any(word.word in _VERBS for word in words[comma:])
    return comma + 1 if follows else None


def _split_by_verbs(words: Sequence[Token], first: int, last: int) -> list[tuple[int, int]]:
    """Two verbs with a joint between them are two clauses."""
    cuts = [first]
    verb: int | None = None
    for n in range(first, last):
        if words[n].word not in _VERBS:
            continue
        if verb is not None and n - verb > 1:
            joint = _clause_border(words, max(verb + 1, cuts[-1] + 1), n)
            if joint is not None:
                cuts.append(joint)
        verb = n
    cuts.append(last)
    return list(itertools.pairwise(cuts))


def _clause_border(words: Sequence[Token], first: int, last: int) -> int | None:
    """Where the second of two clauses begins, whose verbs stand around these words."""
    plain = None
    for n in range(first, last):
        word = words[n].word
        if word not in ("and", ",", "or", "which", "that", "with"):
            continue
        follows = words[n + 1].word if n + 1 < last else ""
        if word == "," and follows == "and":
            continue
        if word in ("which", "that"):
            return n
        if follows in _SUBJECT and word != "or":
            return n + 1
        if plain is None and word in ("and", ","):
            plain = n + 1
    return plain


def find_cues(words: Sequence[Token], vocabulary: Vocabulary) -> list[Cue]:
    """The cues of a sentence; negations that speak of something else are read over."""
    found = []
    for match in vocabulary.cue_phrases.find(words):
        said = _cue_text(words, match.first, match.last)
        ends = all(word.word in ".!" for word in words[match.last :])
        for kind, side in match.value:
            if kind == "pseudo" or _is_number_sign(words, match.first, match.last):
                continue
            if said in _ANSWERS and not ends and not _is_answer_of_places(words, match.last):
                # "Effusion: no." is an answer, "Pleura: no effusion." is a new beginning.
                if said != ": no":
                    continue
                found.append(Cue(match.first + 1, match.last, kind, "before", "no"))
                continue
            if side == "after" and kind == "absent" and _is_of_earlier(words, match.last):
                continue  # "not seen on the earlier film": there now
            if side == "after" and kind == "historical" and _is_time_of_other(words, match.first):
                continue
            if side == "after" and kind == "absent" and not ends and _has_no_subject(words, match.first):
                side = "before"
            found.append(Cue(match.first, match.last, kind, side, said))
    return found


def _is_answer_of_places(words: Sequence[Token], last: int) -> bool:
    """Whether an answer goes on with where: "Metastases: none in the liver"."""
    said = words[last - 1].word in ("none", "nil")
    return said and last < len(words) and words[last].word in ("in", "within", "of", "elsewhere")


def _is_of_earlier(words: Sequence[Token], last: int) -> bool:
    """Whether what is denied is denied of an earlier examination."""
    if last < len(words) and words[last].word in _BEFORE:
        return True
    if last >= len(words) or words[last].word not in ("on", "in", "at"):
        return False
    if any(word.word in _EARLIER for word in words[last + 1 : last + 4]):
        return True
    # "Not present on the film of 2019", "not seen in January".
    return any(_is_date(word.word) for word in words[last + 1 : last + 6])


def _is_date(word: str) -> bool:
    return word in _MONTHS or (len(word) == 4 and word.isdigit() and word[:2] in ("19", "20"))


def _is_time_of_other(words: Sequence[Token], first: int) -> bool:
    """Whether a time in the past is that of the examination compared with: "4.9 cm two years ago"."""
    before = words[max(0, first - 5) : first]
    # "Not there a year ago": there now.
    return any(word.word in _COMPARED or word.word == "not" for word in before)


def _has_no_subject(words: Sequence[Token], at: int) -> bool:
    """Whether a verb that denies opens its clause, so that it speaks of what follows."""
    if words[at].word not in ("not", "no"):
        return False
    while at > 0 and words[at - 1].word in _DUMMIES:
        at -= 1
    return at == 0 or words[at - 1].word in (";", ":")


def _cue_text(words: Sequence[Token], first: int, last: int) -> str:
    return " ".join(word.word for word in words[first:last])


def _is_number_sign(words: Sequence[Token], first: int, last: int) -> bool:
    """Whether "no" is "no. 5"."""
    if last - first > 1 or words[first].word != "no" or last + 1 >= len(words):
        return False
    return words[last].word == "." and words[last + 1].word[:1].isdigit()


def decide_presence(cues: Sequence[Cue], clause: tuple[int, int], first: int, last: int) -> PresenceDecision:
    """Whether the thing at words `first` to `last` is there; the nearest cue decides."""
    best: tuple[int, int, Cue] | None = None
    for cue in cues:
        if cue.first < clause[0] or cue.last > clause[1]:
            continue
        if cue.first < first < cue.last:
            far = 0  # "not enlarged" of "enlarged"
        elif cue.side == "before" and cue.last <= first:
            far = first - cue.last
        elif cue.side == "after" and cue.first >= last:
            if cue.words == "?" and cue.last < clause[1]:
                continue  # it asks of what follows
            far = cue.first - last
        else:
            continue
        rank = (far, 0 if cue.kind != "absent" else 1)
        if best is None or rank < best[:2]:
            best = (*rank, cue)
    if best is None:
        return PresenceDecision("present")
    chosen = best[2]
    if chosen.kind == "absent" and chosen.side == "before" and _is_double_negation(cues, clause, chosen):
        return PresenceDecision("present", chosen)
    if chosen.words.startswith("suggest"):
        # "No findings that suggest fibrosis": the doubt is denied.
        for cue in cues:
            near = clause[0] <= cue.first < chosen.first and chosen.first - cue.last <= _BETWEEN
            if near and cue.kind == "absent" and cue.side == "before":
                return PresenceDecision("absent", cue)
    if chosen.words in ("rather than", "instead of"):
        # Where the one is only likely, the other is not ruled out.
        for cue in cues:
            if cue.kind == "uncertain" and clause[0] <= cue.first < chosen.first:
                return PresenceDecision("uncertain", cue)
    kind: Presence = chosen.kind  # type: ignore[assignment]
    return PresenceDecision(kind, chosen)


def _is_double_negation(cues: Sequence[Cue], clause: tuple[int, int], chosen: Cue) -> bool:
    """Whether a negation is itself negated: "no lobe is without", "neither lung is free of"."""
    return (
        chosen.last - chosen.first <= 2
        and any(
            cue.kind == "absent"
            and cue.words in ("no", "not", "neither", "none of", "never")
            and clause[0] <= cue.first
            and 0 < chosen.first - cue.last <= _BETWEEN
            for cue in cues
        )
        and chosen.words in ("without", "free of", "clear of", "devoid of", "lack")
    )
