"""Phrases by rules: what each sentence of a report says is there, one finding a phrase.

A sentence that tells one finding and nothing else is the phrase, without its full stop. One that
tells several is cut: a phrase has the words that name the finding and those that were read of it.
A finding that the impression repeats is the same finding, and its phrase names both sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from overread.build.rexgroundingct.completeness import number_problems
from overread.build.rexgroundingct.speculation import ADVICE, is_speculation
from overread.build.rexgroundingct.statement_cache import cached_statements
from overread.language.findings import places_fit, sides_fit
from overread.language.main_statement import find_main_statement
from overread.language.numerals import find_numerals
from overread.language.statements import Statement
from overread.language.text import Span
from overread.language.vocabulary import vocabulary

_PRIOR = re.compile(
    r"\b(?:previous|prior|earlier|former|compar\w+|interval|unchanged|stable|since|control)\w*\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:no|not|without|nor)\b|;", re.IGNORECASE)
_COMPONENT = re.compile(r"[\s-]{1,2}(?:component|attenuation|density|character)", re.IGNORECASE)
_KIN_CATEGORIES = (frozenset(("1e", "2d")), frozenset(("2a", "2b")), frozenset(("1d", "2a", "2f")))
"""Categories between which an impression may call a finding by its wider name."""
_CLOSING_QUESTION = re.compile(r"[\s,]*\([^()]*\?\)?$")
_DECIMALS = re.compile(r"(?<![\d.,])(\d{1,4}[.,]\d{1,3})(?=\s{0,2}(mm|cm)\b)", re.IGNORECASE)


@dataclass
class Phrase:
    """One phrase while it is made."""

    text: str
    codes: list[str]
    abnormal: bool
    prior: bool
    statement: Statement | None = None


@dataclass(frozen=True)
class PhraseTable:
    """The phrases of a report in the published form, and what was left out and why."""

    phrases: dict[str, list[str]]
    left_out: dict[str, str]


def phrases_by_rules(coded: Mapping[str, str]) -> PhraseTable:
    """All phrases of a report: S1, S2, … → [phrase, codes, abnormal, refers to a prior].

    >>> coded = {"L0": "A 5 mm nodule in the left lung.", "I0": "Left lung nodule."}
    >>> told = phrases_by_rules(coded)
    >>> told.phrases
    {'S1': ['A 5 mm nodule in the left lung', 'L0,I0', 'Y', 'N']}
    """
    found: list[Phrase] = []
    left_out: dict[str, str] = {}
    for code, sentence in coded.items():
        made, why = sentence_phrases(code, sentence)
        if why:
            left_out[code] = why
        for phrase in made:
            if not _merge_repeat(phrase, found):
                found.append(phrase)
    rows = {
        f"S{n}": [p.text, ",".join(p.codes), "YN"[not p.abnormal], "YN"[not p.prior]]
        for n, p in enumerate(found, 1)
    }
    return PhraseTable(rows, left_out)


def sentence_phrases(code: str, sentence: str) -> tuple[list[Phrase], str]:
    """The phrases of one sentence; none, and the reason, where it only asks or recommends."""
    shown = strip_question(sentence)
    told = cached_statements(shown)
    prior = bool(_PRIOR.search(sentence))
    bare = round_sizes(shown.rstrip(" .;"))
    there = positive_statements(sentence)
    if not there:
        asks = {one.presence for one in told} & {"uncertain", "recommended"}
        if asks and not any(one.presence in ("absent", "historical") for one in told):
            return [], "speculation, a question or a recommendation"
        historical = any(one.presence == "historical" for one in told)
        return [Phrase(bare, [code], abnormal=False, prior=prior or historical)], ""
    groups = _group_statements(shown, there)
    if len(groups) == 1 and not any(one.presence == "absent" for one in told):
        return [_make_phrase(bare, code, groups[0], prior=prior)], ""
    spots = [one.span for one in told]
    made = [_make_phrase(_compose_phrase(shown, group, spots), code, group, prior=prior) for group in groups]
    _restore_numbers(made, code, shown, bare, groups)
    return made, ""


def round_sizes(text: str) -> str:
    """Sizes as the benchmark writes them: millimetres whole, centimetres with one decimal.

    >>> round_sizes("12.4 mm and 1.25 cm, 5.5 mm")
    '12 mm and 1.3 cm, 6 mm'
    """

    def written(match: re.Match[str]) -> str:
        value = float(match[1].replace(",", "."))
        if match[2].lower() == "mm":
            return str(int(value + 0.5)) if value >= 0.5 else match[1]
        if len(match[1]) - max(match[1].find("."), match[1].find(",")) == 2 or value < 0.05:
            return match[1]  # one decimal already
        return f"{int(value * 10 + 0.5 + 1e-9) / 10:.1f}"

    return _DECIMALS.sub(written, text)


def positive_statements(sentence: str) -> list[Statement]:
    """What a sentence says is there; where nothing surely is, what it shows with mild doubt.

    >>> [one.observation for one in positive_statements("Findings in favor of atelectasis.")]
    ['atelectasis']
    >>> positive_statements("A nodule cannot be excluded.")
    []
    """
    shown = strip_question(sentence)
    told = cached_statements(shown)
    sure = [one for one in told if one.presence == "present"]
    if sure or ADVICE.search(shown):
        return sure
    return [one for one in told if one.presence == "uncertain" and not is_speculation(one, shown)]


def strip_question(sentence: str) -> str:
    """A sentence less a question in brackets at its end, which asks for a cause, unless it counts.

    >>> strip_question("A 5 mm nodule (granuloma?)"), strip_question("Nodule? (5 mm?)")
    ('A 5 mm nodule', 'Nodule? (5 mm?)')
    """
    found = _CLOSING_QUESTION.search(sentence)
    if found is None or not found.start() or find_numerals(found.group()):
        return sentence
    return sentence[: found.start()]


def states_finding(sentence: str) -> bool:
    """Whether a sentence says that something is there."""
    return bool(positive_statements(sentence))


def _make_phrase(text: str, code: str, group: Sequence[Statement], *, prior: bool) -> Phrase:
    main = find_main_statement(group) or group[0]
    compared = any(one.comparison is not None for one in group)
    return Phrase(text, [code], abnormal=True, prior=prior or compared, statement=main)


def _group_statements(sentence: str, there: Sequence[Statement]) -> list[list[Statement]]:
    """Statements of one sentence that speak of the same finding under several names."""
    groups: list[list[Statement]] = []
    for one in sorted(there, key=lambda one: _is_trait(sentence, one)):
        home = next((g for g in groups if any(_is_same_finding(other, one) for other in g)), None)
        if home is None and _is_trait(sentence, one):
            home = next((g for g in groups if g[0].category[0] in "12"), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    return sorted(groups, key=lambda group: min(one.span.start for one in group))


def _is_trait(sentence: str, one: Statement) -> bool:
    """Whether a name only says what another finding is like: calcified, with ground glass."""
    return one.category in ("5c", "12") or bool(_COMPONENT.match(sentence, one.span.end))


def _is_same_finding(a: Statement, b: Statement) -> bool:
    """Whether two names in one sentence are of one finding."""
    if a.finding is not None and a.finding == b.finding:
        return True
    if a.category == b.category:
        return a.side == b.side or not (a.side and b.side) or a.category[0] not in "12"
    more, less = find_main_statement([a, b]), find_main_statement([b, a])
    assert more is not None
    assert less is not None
    return more.observation == b.observation or less.observation == a.observation


def _compose_phrase(text: str, group: Sequence[Statement], spots: Sequence[Span]) -> str:
    """The words of one finding: from its first to its last, less what names another."""
    own = {one.span.start for one in group}
    strange = [spot for spot in spots if spot.start not in own]
    spans: list[tuple[int, int]] = []
    for one in group:
        name = one.finding or one.span
        told = [span for kind, span in one.evidence.items() if kind != "presence"]
        spans += [(span.start, span.end) for span in (name, *told)]
    spans.sort()
    merged = [spans[0]]
    for start, end in spans[1:]:
        low, high = merged[-1]
        if start <= high or _belongs(text, high, start, strange):
            merged[-1] = (low, max(high, end))
        else:
            merged.append((start, end))
    if _belongs(text, 0, merged[0][0], strange):
        merged[0] = (0, merged[0][1])
    if _belongs(text, merged[-1][1], len(text), strange):
        merged[-1] = (merged[-1][0], len(text))
    said = ", ".join(text[start:end].strip(" ,;.") for start, end in merged)
    return round_sizes(said[:1].upper() + said[1:])


def _belongs(text: str, start: int, end: int, strange: Sequence[Span]) -> bool:
    """Whether a stretch belongs to what stands beside it: it names and denies nothing else."""
    named = any(start < spot.end and spot.start < end for spot in strange)
    return not named and not _DENIES.search(text, start, end)


def _restore_numbers(
    made: list[Phrase], code: str, text: str, bare: str, groups: Sequence[Sequence[Statement]]
) -> None:
    """Let no number go: where the pieces lost one, the phrase next to it is the whole sentence."""
    rows = [(f"S{n}", [code], phrase.text) for n, phrase in enumerate(made)]
    if number_problems({code: text}, rows, [code]):
        lung = next((n for n, g in enumerate(groups) if g[0].category[0] in "12"), 0)
        made[lung].text = bare


def _merge_repeat(phrase: Phrase, found: Sequence[Phrase]) -> bool:
    """Whether a phrase is told already; then the earlier one takes its codes and what it adds.

    Within the findings the same words are a repetition, and the same thing in the same lobe with
    the same size; two nodules are two otherwise. What the impression tells is sought among the
    findings.
    """
    same = [p for p in found if p.text.lower() == phrase.text.lower()]
    if same:
        same[0].codes += [code for code in phrase.codes if code not in same[0].codes]
        return True
    twin = next((p for p in found if _is_told_again(p, phrase)), None)
    if twin is not None:
        twin.codes += [code for code in phrase.codes if code not in twin.codes]
        twin.prior |= phrase.prior
        return True
    if not phrase.codes[0].startswith("I") or phrase.statement is None:
        return False
    earlier = [p for p in found if p.statement is not None and not p.codes[0].startswith("I")]
    homes: list[Phrase] = []
    for alike in (_same_name, _same_label, _same_category, _same_kin):
        homes = homes or [p for p in earlier if alike(p, phrase) and _can_be_one(p, phrase)]
    if not homes:
        return False
    if not _numbers_covered(homes, phrase):
        homes[0].text += f" ({phrase.text[:1].lower()}{phrase.text[1:]})"
    for home in homes:
        home.codes += [code for code in phrase.codes if code not in home.codes]
        home.prior |= phrase.prior
    return True


def _is_told_again(earlier: Phrase, later: Phrase) -> bool:
    """Whether a measured finding is told once more in other words that say nothing new."""
    if earlier.statement is None or later.statement is None or not later.abnormal:
        return False
    one, two = earlier.statement, later.statement
    same = all(
        getattr(one, name) == getattr(two, name)
        for name in ("observation", "side", "lobes", "segments", "axes_mm", "count", "comparison")
    )
    return same and bool(two.axes_mm) and bool(two.lobes) and _numbers_covered([earlier], later)


def _numbers_covered(homes: Sequence[Phrase], phrase: Phrase) -> bool:
    """Whether the findings tell every number of what the impression says of them."""
    rows = [("S1", ["x"], "; ".join(home.text for home in homes))]
    problems = number_problems({"x": phrase.text}, rows, ["x"])
    return not any("is in no phrase" in problem for problem in problems)


def _same_name(a: Phrase, b: Phrase) -> bool:
    return _statement_of(a).observation == _statement_of(b).observation


def _same_label(a: Phrase, b: Phrase) -> bool:
    known = vocabulary().observations
    return bool(
        set(known[_statement_of(a).observation].ctrate) & set(known[_statement_of(b).observation].ctrate)
    )


def _same_category(a: Phrase, b: Phrase) -> bool:
    return _statement_of(a).category == _statement_of(b).category


def _same_kin(a: Phrase, b: Phrase) -> bool:
    return any({_statement_of(a).category, _statement_of(b).category} <= kin for kin in _KIN_CATEGORIES)


def _can_be_one(a: Phrase, b: Phrase) -> bool:
    """Whether two phrases can be of one finding: no side and no place speaks against it."""
    one, two = _statement_of(a), _statement_of(b)
    return sides_fit(one.side, two.side) and places_fit(one.lobes, two.lobes)


def _statement_of(phrase: Phrase) -> Statement:
    assert phrase.statement is not None
    return phrase.statement
