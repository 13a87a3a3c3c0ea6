"""What may not be lost on the way: every sentence, every number, every finding, every side.

What may be lost, and why, is in `left_out`; what is only supposed may go from any sentence.

The same checks are put to what rules made and to what a model answered. Each gives sentences that
a model can act on; none means that nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from overread.build.rexgroundingct.speculation import find_speculation
from overread.language.numerals import Numeral, find_numerals
from overread.language.rewrites.diff import diff_rewrite
from overread.language.vocabulary import vocabulary

_MAX_PROBLEMS = 6
"""Problems that are told at once."""
_EXAM_UNITS = frozenset(("date", "time", "series", "image", "slice", "frame"))
"""Numbers that are about the examination, not about what it shows."""


def join_problems(problems: Sequence[str]) -> str | None:
    """Problems joined into one text for a model to fix; None where there are none."""
    if not problems:
        return None
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    return "; ".join(problems[:_MAX_PROBLEMS]) + more


def rewrite_problems(
    sentences: Mapping[str, str], rewritten: Sequence[tuple[Sequence[str], str]]
) -> list[str]:
    """What is wrong with a rewrite: pairs of the codes that a sentence came from, and its text.

    >>> rewrite_problems({"F0": "A 5 mm nodule.", "F1": "No effusion."}, [(["F0"], "7 mm nodule.")])
    ['F1 is missing', 'F0: 5 mm became 7 mm']
    """
    used = {code for codes, _ in rewritten for code in codes}
    found = [f"there is no sentence {code}" for code in sorted(used - sentences.keys())]
    found += [f"{code} is missing" for code in sentences if code not in used]
    for codes, texts in _group_by_source(rewritten):
        if any(code not in sentences for code in codes):
            continue
        before = " ".join(_end_sentence(sentences[code]) for code in codes)
        after = " ".join(_end_sentence(text) for text in texts)
        found += [f"{', '.join(codes)}: {what}" for what in text_problems(before, after)]
    return found


def text_problems(before: str, after: str) -> list[str]:
    """What a text lost, got or changed on its way to another; the same text lost nothing."""
    if before == after:
        return []
    told = diff_rewrite(before, after)
    passing = {n.span.start for n in find_numerals(before) if n.unit in ("date", "time")}
    supposed = find_speculation(before)
    kin = {_parent(item.what) for item in told.invented if item.kind == "finding"}
    lost_kin = {_parent(item.what) for item in told.lost if item.kind == "finding"}
    found = []
    for item in told.lost:
        if item.kind == "number" and item.span.start in passing:
            continue  # dates are to be left out
        if item.kind == "finding" and (_parent(item.what) in kin or item.span.start in supposed):
            continue  # the same in other words, or nothing that was seen
        found.append(f"{_describe_item(item.kind, item.what)} is lost")
    for item in told.invented:
        if item.kind == "finding" and _parent(item.what) in lost_kin:
            continue
        found.append(f"{_describe_item(item.kind, item.what)} was not there before")
    for change in told.changed:
        if change.kind == "finding" and _parent(change.before) == _parent(change.after):
            continue
        what = f" of '{change.observation}'" if change.observation else ""
        found.append(f"{change.before}{what} became {change.after}")
    return found


def number_problems(
    coded: Mapping[str, str], rows: Iterable[tuple[str, Sequence[str], str]], needed: Iterable[str]
) -> list[str]:
    """Numbers that phrases invent, and numbers of the `needed` sentences that no phrase tells.

    `rows` are (name, codes of the sentences, phrase). Sizes may be rounded as the recipe rounds.

    >>> number_problems({"L0": "A nodule of 5.4 mm."}, [("S1", ["L0"], "5 mm nodule")], ["L0"])
    []
    """
    found: list[str] = []
    told: dict[str, set[str]] = {}
    for name, codes, phrase in rows:
        own = [n for code in codes if code in coded for n in find_numerals(coded[code])]
        allowed = {meaning for number in own for meaning in meanings(number)}
        mine = {number.meaning for number in find_numerals(phrase)}
        found += [f"{name} tells {meaning}, which its sentences do not" for meaning in sorted(mine - allowed)]
        for code in codes:
            told.setdefault(code, set()).update(mine)
    for code in needed:
        for number in find_numerals(coded[code]):
            if number.unit in _EXAM_UNITS or meanings(number) & told.get(code, set()):
                continue
            found.append(f"{number.meaning} of {code} is in no phrase")
    return found


def meanings(number: Numeral) -> set[str]:
    """A number as it is and as it may be rounded: millimetres whole, centimetres to one decimal."""
    found = {number.meaning}
    if number.unit == "mm":
        value = float(number.value)
        found |= {f"{int(value + 0.5)} mm", f"{int(value)} mm"}
    return found


def _group_by_source(rewritten: Sequence[tuple[Sequence[str], str]]) -> list[tuple[list[str], list[str]]]:
    """Rewritten sentences that share a source belong together: what one lost another may tell."""
    groups: list[tuple[list[str], list[str]]] = []
    for codes, text in rewritten:
        mine, texts = list(codes), [text]
        apart = []
        for other, told in groups:
            if set(other) & set(mine):
                mine = [*other, *(code for code in mine if code not in other)]
                texts = [*told, *texts]
            else:
                apart.append((other, told))
        groups = [*apart, (mine, texts)]
    return groups


def _end_sentence(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?;" else f"{sentence}."


def _parent(observation: str) -> str:
    known = vocabulary().observations.get(observation)
    return known.category if known is not None else observation


def _describe_item(kind: str, what: str) -> str:
    return {"number": f"the number {what}", "side": f"the side {what}"}.get(kind, f"'{what}'")
