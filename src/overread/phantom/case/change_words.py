"""What has changed between two days, in words that are true to what was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from overread.phantom.case.days import FindingChange
from overread.phantom.illness.draft import Turn
from overread.phantom.illness.finding_phrases import describe_place, finding_noun
from overread.phantom.statement import FindingStatement
from overread.phantom.words.place_phrases import pick

_SIZE_CHANGES: dict[Turn, tuple[str, ...]] = {
    "larger": (
        "{thing} {has} grown from {before} to {after} mm",
        "{thing} {has} increased in size from {before} to {after} mm",
        "{thing} {has} become larger, from {before} to {after} mm",
        "{thing} {has} enlarged from {before} to {after} mm",
    ),
    "smaller": (
        "{thing} {has} shrunk from {before} to {after} mm",
        "{thing} {has} decreased in size from {before} to {after} mm",
        "{thing} {has} become smaller, from {before} to {after} mm",
        "{thing} {has} diminished from {before} to {after} mm",
    ),
}
_SIZE_CHANGES_PLURAL: dict[Turn, tuple[str, ...]] = {
    "larger": (
        "{thing} {has} grown, the largest from {before} to {after} mm",
        "{thing} {is} larger than before, the largest up from {before} to {after} mm",
        "{thing} {has} enlarged, the largest from {before} to {after} mm",
    ),
    "smaller": (
        "{thing} {has} shrunk, the largest from {before} to {after} mm",
        "{thing} {is} smaller than before, the largest down from {before} to {after} mm",
        "{thing} {has} diminished, the largest from {before} to {after} mm",
    ),
}
_EXTENT_CHANGES: dict[Turn, tuple[str, ...]] = {
    "larger": (
        "{thing} {has} increased in extent",
        "{thing} {is} larger than before",
        "{thing} {has} progressed",
        "{thing} {is} more extensive than on the earlier examination",
    ),
    "smaller": (
        "{thing} {has} decreased in extent",
        "{thing} {is} smaller than before",
        "{thing} {has} regressed",
        "{thing} {is} less extensive than on the earlier examination",
    ),
    "same": ("{thing} {is} unchanged", "{thing} {is} stable", "{thing} {has} not changed"),
    "gone": ("{thing} {has} resolved", "{thing} {is} no longer seen", "{thing} {has} cleared completely"),
}
_NEW_FINDINGS = ("there {is} {fresh}", "{indefinite} {has} newly appeared", "{indefinite} {is} new")


def write_change(change: FindingChange, rng: np.random.Generator) -> str:
    """What became of one finding, as a whole sentence."""
    statement = change.before if change.turn == "gone" else change.statement
    assert statement is not None
    name, plural = finding_noun(statement)
    place = describe_place(statement)
    forms = _noun_forms(name, place, plural=plural)
    return _fill_template(_choose_template(change, statement, rng, plural=plural), forms)


def write_changes(
    changes: Sequence[FindingChange], rng: np.random.Generator, *, interval: str | None = None
) -> str:
    """All that has changed, and that the rest has not; led by the time between, where told."""
    moved = [change for change in changes if change.turn != "same"]
    said = [write_change(change, rng) for change in moved]
    still = [change for change in changes if change.turn == "same"]
    # What the body is built like is not worth a word here.
    still = [change for change in still if change.plan is not None]
    if still and moved:
        ways = ("The other findings are unchanged.", "The remaining findings are stable.")
        said.append(pick(rng, ways) if len(still) > 1 else write_change(still[0], rng))
    elif not moved:
        said.append("The findings are unchanged.")
    if interval is not None:
        said[0] = f"{_follow_up_phrase(interval, rng)} {said[0][0].lower()}{said[0][1:]}"
    return " ".join(said)


def _follow_up_phrase(interval: str, rng: np.random.Generator) -> str:
    return pick(rng, ("After {},", "At follow-up after {},", "On follow-up {} later,")).format(interval)


def _choose_template(
    change: FindingChange, statement: FindingStatement, rng: np.random.Generator, *, plural: bool
) -> str:
    if change.turn == "new":
        return pick(rng, _NEW_FINDINGS)
    sizes = _size_change(change)
    if sizes is not None and change.turn in _SIZE_CHANGES:
        table = _SIZE_CHANGES_PLURAL if plural else _SIZE_CHANGES
        return pick(rng, table[change.turn]).format_map(_OpenSlots(before=sizes[0], after=sizes[1]))
    return pick(rng, _EXTENT_CHANGES[change.turn])


def _size_change(change: FindingChange) -> tuple[int, int] | None:
    """Both sizes, where they were measured and tell the same as the volumes."""
    if change.before is None or change.after is None:
        return None
    one, two = change.before.size_mm, change.after.size_mm
    if one is None or two is None or one == two or (two > one) != (change.turn == "larger"):
        return None
    return one, two


class _OpenSlots(dict[str, object]):
    """Format arguments that leave unknown slots as they are, to be filled later."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def _noun_forms(name: str, place: str, *, plural: bool) -> dict[str, str]:
    bare = re.sub(r"^(?:an?|the) ", "", name)
    at = f" {place}" if place else ""
    return {
        "thing": f"the {bare}{at}",
        "indefinite": f"{name}{at}",
        "fresh": f"{'new' if bare == name else 'a new'} {bare}{at}",
        "has": "have" if plural else "has",
        "is": "are" if plural else "is",
        "measures": "measure up to" if plural else "measures",
    }


def _fill_template(template: str, forms: dict[str, str]) -> str:
    text = template.format_map(forms)
    return f"{text[0].upper()}{text[1:]}."
