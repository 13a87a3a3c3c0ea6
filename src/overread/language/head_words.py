"""Which head words of a sentence mean something: the others are ordinary words.

A head ("elevated", "thickening") has its meaning from a place. Most heads take one from anywhere in
their clause; some only from their own side of the things beside them ("displaced rib fracture, normal
mediastinum" is no shift), some only from right before them ("bony findings"). A few rare nouns have
theirs from a common adjective instead ("lung volumes are low").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from overread.language.parsed_sentence import ParsedSentence
from overread.language.phrases import PhraseMatch
from overread.language.thing_words import Range
from overread.language.vocabulary import Head, Observation

Thing = PhraseMatch[Observation | Head]

_NODES = ("3a", "5b")
"""Categories of lymph nodes."""
_NODE_GAP = 8
_NODE_BREAKS = frozenset(("and", ",", "but", "with", "without", "no", "or", ";", "suggesting", "suggest"))
_LISTED = 3
"""Words between two things of one list, at most."""
_LIST_JOINTS = frozenset(("and", "or", ","))
_ARE = (["is"], ["are"], ["was"], ["were"], ["appear"])
_ADJECTIVES = 2
"""Words between an adjective and its noun, at most."""
_ADJECTIVE_ENDS = ("al", "ar", "ary", "ic")
_LINKS = frozenset(
    "and or no not without with but is are was were in of at on there may has have the a an".split()
)


_ENDING = frozenset("and or with without but is are was were no not ; there".split())
"""Words that part a thing from what is said behind it."""


def meaningful_things(reading: ParsedSentence, things: Sequence[Thing]) -> list[Thing]:
    """The things of a sentence without the heads that mean nothing in it."""
    qualities = reading.vocabulary.qualities
    nouns = {
        n
        for n, thing in enumerate(things)
        if isinstance(thing.value, Head) and thing.value.by and qualities.issuperset(thing.value.by)
    }
    kept = _settle_nouns(reading, things, nouns) if nouns else things
    # What never means anything ("pleural cavity") parts no head from its place either.
    kept = [thing for thing in kept if not _is_empty(thing)]
    return [thing for n, thing in enumerate(kept) if _means_something(reading, kept, n)]


def _is_empty(thing: Thing) -> bool:
    head = thing.value
    return isinstance(head, Head) and not (head.by or head.otherwise or head.together)


def _settle_nouns(reading: ParsedSentence, things: Sequence[Thing], nouns: set[int]) -> list[Thing]:
    """Things without the nouns that no adjective is near, and without the adjectives of the others."""
    dropped: set[int] = set()
    taken: set[int] = set()
    edges = [n for n, thing in enumerate(things) if n in nouns or isinstance(thing.value, Observation)]
    for at, n in enumerate(edges):
        if n not in nouns:
            continue
        first, last = reading.clause(things[n].first)
        if at:
            first = max(first, things[edges[at - 1]].last)
        if at + 1 < len(edges):
            last = min(last, things[edges[at + 1]].first)
        first, last = _between_commas(reading, things[n], (first, last))
        told = _company_in(reading, things[n], (first, last))
        taken.update(mark.first for mark in told)
        if told:
            reading.adjectives[things[n].first] = min(
                told, key=lambda mark: abs(mark.first - things[n].first)
            )
        else:
            dropped.add(n)
    return [
        thing
        for n, thing in enumerate(things)
        if n not in dropped
        and (n in nouns or thing.first not in taken or isinstance(thing.value, Observation))
    ]


def _between_commas(reading: ParsedSentence, thing: Thing, window: Range) -> Range:
    """The words of a window that neither a comma nor "with" parts from a thing."""
    first, last = window
    commas = [n for n in range(first, last) if reading.words[n].word in (",", "with")]
    before = [n + 1 for n in commas if n < thing.first]
    behind = [n for n in commas if n >= thing.last]
    return before[-1] if before else first, behind[0] if behind else last


def _company_in(reading: ParsedSentence, thing: Thing, window: Range) -> list[PhraseMatch[str]]:
    """The places or qualities among some words that give a head its meaning."""
    head = thing.value
    assert isinstance(head, Head)
    company = reading.company(head)
    at = bisect_left(company, window[0], key=lambda mark: mark.first)
    found = []
    while at < len(company) and company[at].first < window[1]:
        if company[at].value in head.by and company[at].last <= window[1]:
            found.append(company[at])
        at += 1
    return found


def _means_something(reading: ParsedSentence, things: Sequence[Thing], n: int) -> bool:
    thing, head = things[n], things[n].value
    if isinstance(head, Observation):
        return True
    if _is_portion_of_next(reading, things, n) or _is_quality_of_last(reading, things, n):
        return False
    if head.of_nodes and _is_said_of_nodes(reading, things, n):
        return False
    if head.normal and head.near and _is_said_of_next(reading, things, n):
        return False
    if head.otherwise is not None or head.together:
        return True
    if not head.by:
        return False
    clause = reading.subject_clause(thing.first)
    if head.attached:
        return any(mark.last == thing.first for mark in _company_in(reading, thing, (clause[0], thing.first)))
    if len(things) == 1 and not reading.heading.isdisjoint(head.by):
        return True
    if not head.near:
        return bool(_company_in(reading, thing, clause))
    if not head.normal and _is_adjective_of_next(reading, things, n):
        return False
    before, after = own_windows(reading, things, n, clause)
    return bool(_company_in(reading, thing, (before[0], after[1])))


def _is_portion_of_next(reading: ParsedSentence, things: Sequence[Thing], n: int) -> bool:
    """Whether it only counts what follows: "two foci of dense consolidation"."""
    if n + 1 >= len(things) or reading.words[things[n].last - 1].word != "focus":
        return False
    row = [word.word for word in reading.words[things[n].last : things[n + 1].first]]
    return row[:1] == ["of"] and len(row) <= 1 + _ADJECTIVES and _LINKS.isdisjoint(row[1:])


def _is_quality_of_last(reading: ParsedSentence, things: Sequence[Thing], n: int) -> bool:
    """Whether it is a quality of the thing before it: "metastases, three in number, of low attenuation"."""
    if not n or not isinstance(things[n - 1].value, Observation):
        return False
    row = [word.word for word in reading.words[things[n - 1].last : things[n].first]]
    return row[-2:] == [",", "of"] and _ENDING.isdisjoint(row)


def _is_adjective_of_next(reading: ParsedSentence, things: Sequence[Thing], n: int) -> bool:
    """Whether the noun right behind it is another thing, at no place of its own: "a big hernia"."""
    if n + 1 >= len(things) or things[n + 1].first != things[n].last:
        return False
    following = things[n + 1]
    if isinstance(following.value, Head):
        return False
    return not _company_in(reading, things[n], (following.first, following.last))


def _is_said_of_next(reading: ParsedSentence, things: Sequence[Thing], n: int) -> bool:
    """Whether it is an adjective of the thing behind it: "well-defined rounded opacities"."""
    if n + 1 >= len(things):
        return False
    gap = reading.words[things[n].last : things[n + 1].first]
    row = [word.word for word in gap if word.word != ","]
    return len(row) <= _ADJECTIVES and all(word.isalpha() and word not in _LINKS for word in row)


def _is_said_of_nodes(reading: ParsedSentence, things: Sequence[Thing], n: int) -> bool:
    """Whether "enlarged" is said of lymph nodes: "enlarged hilar lymph nodes", "nodes are enlarged"."""
    for other in (n + 1, n - 1):
        if not 0 <= other < len(things):
            continue
        one, two = sorted((things[n], things[other]), key=lambda thing: thing.first)
        what = things[other].value
        name = what.otherwise if isinstance(what, Head) else what.name
        if name is None or two.first - one.last > _NODE_GAP:
            continue
        if reading.vocabulary.observations[name].category in _NODES:
            gap = [word.word for word in reading.words[one.last : two.first]]
            if other < n and gap[:1] in _ARE and not _company_in(reading, things[n], (one.last, two.first)):
                gap = [word for word in gap if word not in _LIST_JOINTS]  # "nodes are small and calcified"
            if other > n:
                # "Bulky hilar and subcarinal nodes", but not "enlarged heart and nodes".
                gap = [
                    word
                    for before, word in zip(("", *gap), gap, strict=False)
                    if word not in _LIST_JOINTS or not before.endswith(_ADJECTIVE_ENDS)
                ]
            return not _NODE_BREAKS.intersection(gap)
    return False


def own_windows(
    reading: ParsedSentence, things: Sequence[Thing], n: int, clause: Range
) -> tuple[Range, Range]:
    """Words of a clause from the thing before to the word, and from it to the thing behind.

    Things that are only listed with it are passed over, for they share their place: "the aorta is
    calcified and tortuous", "blood and air in the pleural space". Of a noun that ends such a list the
    words themselves may hold the place: "tortuous and calcified aorta".
    """
    first, last = clause
    m = n
    while m and isinstance(things[m - 1].value, Head) and _is_listed(reading, things[m - 1], things[m]):
        m -= 1
    if m:
        first = max(first, things[m - 1].last)
    m = n
    while m + 1 < len(things) and _is_listed(reading, things[m], things[m + 1]):
        m += 1
        if not isinstance(things[m].value, Head):
            last = min(last, things[m].last)
            break
    if m + 1 < len(things):
        last = min(last, things[m + 1].first)
    return (first, things[n].first), (things[n].last, last)


def _is_listed(reading: ParsedSentence, one: Thing, two: Thing) -> bool:
    """Whether nothing but joints and adverbs stand between two things."""
    gap = two.first - one.last
    if gap > _LISTED:
        return False
    return all(
        word.word in _LIST_JOINTS or word.word.endswith("ly") for word in reading.words[one.last : two.first]
    )
