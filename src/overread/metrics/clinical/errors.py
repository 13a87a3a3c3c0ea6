"""The errors of one report, by kind and by what they are about: counted, not yet weighed.

It stands on `overread.language.compare`. Every difference between a reading and its reference is an
error of one kind; the words of two texts that could not be read are a kind too, so that a report
that was not understood does not pass for a faithful one. What an error weighs is told elsewhere
(`overread.metrics.clinical.significance`), so that stored counts can be weighed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from overread.language.compare import FindingMatch, ReportComparison
from overread.language.findings import ReportFinding
from overread.language.statements import Statement
from overread.language.unread import TextRead, differing_lengths, unlike

Kind: TypeAlias = Literal[
    "presence",
    "omission",
    "addition",
    "finding",
    "side",
    "place",
    "device position",
    "severity",
    "size",
    "number",
    "change",
    "certainty",
    "denial",
    "unread",
    "no text",
]
KINDS: dict[Kind, str] = {
    "presence": "says there is what the reference denies, or denies what is there",
    "omission": "leaves out a finding",
    "addition": "adds a finding",
    "finding": "has another finding at the same place",
    "side": "has it on another side",
    "place": "has it in another lobe, segment or zone",
    "device position": "has a device in another position",
    "severity": "has it more or less severe",
    "size": "has it of another size",
    "number": "has another number of them",
    "change": "tells another change since the prior",
    "certainty": "is surer than the reference, or less sure; tells it more closely, or less",
    "denial": "denies what the other does not mention",
    "unread": "has sentences that were not read and that the other does not have",
    "no text": "is not there",
}
"""The kinds of error, in words."""

BETWEEN = " / "
"""Parts the two observations of one error of the kind 'finding'."""

_OF_LUNG_TISSUE = frozenset(("1d", "1e", "2b", "2c", "2d", "2f", "2h"))
"""Categories of the ontology that a clear lung does not have: what is dense or a nodule, a cavity or
honeycombing. Effusions, pneumothorax, scars and emphysema go with lungs that are called clear."""

_GENERAL = frozenset(("lung opacity", "infiltrate", "lung lesion"))
"""Names that leave open what it is: against a closer one of the same place they are no other finding."""
_OF_THE_PAST = frozenset(("11b", "11c", "12"))
"""Categories of what stays of an operation: "status post sternotomy" and "sternal wires" say the same."""
_TOLD_OF_THINGS = frozenset(("side", "place", "severity", "size", "number", "change", "certainty"))
"""Kinds of error about what is told of a thing."""
_FAMILIES = {
    **dict.fromkeys(("1d", "2a", "2b", "2c", "2e"), ("white lung",)),
    **dict.fromkeys(("2d", "2h"), ("lesions",)),
    "1e": ("white lung", "lesions"),
}
"""Category → what it looks like: "opacity, likely atelectasis or pneumonia" is one appearance."""

_OF_CONFLICT: dict[str, Kind] = {
    "side": "side",
    "lobes": "place",
    "segments": "place",
    "zones": "place",
    "position": "device position",
    "tip": "place",
    "distance": "size",
    "severity": "severity",
    "extent": "severity",
    "size": "size",
    "count": "number",
    "comparison": "change",
}
"""Conflict of two partners → the error that it is."""


def count_errors(compared: ReportComparison, ours: TextRead, theirs: TextRead) -> dict[str, Any]:
    """The errors of one pair as plain numbers: kind → observation → how many.

    `matched` counts, by observation, the findings that both say are there, less those whose side is an
    error: what is on the wrong side is no better than what is left out. `unread_…` counts the
    sentences that were not read, `sentences_…` all of them.

    A length that no finding has, and that differs, is an error of size about nothing. `echoes` are
    errors that repeat another one of the same sentence: "right opacity, likely pneumonia" put on the
    left is one mistake, and so is that sentence left out.

    >>> from overread.language.compare import compare_statements
    >>> from overread.language.unread import read_statements
    >>> one = read_statements("Large right effusion. Nodule. No edema.")
    >>> two = read_statements("Small left effusion. Edema.")
    >>> count_errors(compare_statements(one.statements, two.statements), one, two)["errors"]
    ... # doctest: +NORMALIZE_WHITESPACE
    {'side': {'pleural effusion': 1}, 'severity': {'pleural effusion': 1},
     'presence': {'pulmonary edema': 1}, 'omission': {'nodule': 1}}
    """
    errors: dict[str, dict[str, float]] = {}
    echoes: dict[str, dict[str, float]] = {}
    matches = compared.matches
    heard = _matched_sentences(matches)
    misplaced: set[int] = set()
    for error in _errors(compared, matches, ours.clear, theirs.clear):
        keys = _echo_keys(error)
        table = errors if heard.isdisjoint(keys) else echoes
        heard.update(keys)
        if error.kind == "side" and table is errors:
            misplaced.add(id(error.ours))
        of_kind = table.setdefault(error.kind, {})
        of_kind[error.about] = of_kind.get(error.about, 0) + 1
    apart = unlike(ours.unread, theirs.unread) + unlike(theirs.unread, ours.unread)
    if apart:
        errors["unread"] = {"": apart}
    lengths = differing_lengths(ours, theirs)
    if lengths:
        errors.setdefault("size", {})[""] = lengths
    matched: dict[str, int] = {}
    for match in matches:
        if match.both_present and id(match.reference.statement) not in misplaced:
            name = match.reference.statement.observation
            matched[name] = matched.get(name, 0) + 1
    return {
        "errors": errors,
        "echoes": echoes,
        "matched": matched,
        "unread_reference": len(ours.unread),
        "unread_other": len(theirs.unread),
        "sentences_reference": ours.sentences,
        "sentences_other": theirs.sentences,
    }


def count_silence(compared: ReportComparison, ours: TextRead) -> dict[str, Any]:
    """The errors of a text that is not there: all that the reference has, and that there is none."""
    told = count_errors(compared, ours, TextRead([], 0, []))
    return {**told, "errors": {**told["errors"], "no text": {"": 1}}}


class _Error(NamedTuple):
    """One error, and the statements that it was found between."""

    kind: Kind
    about: str
    ours: Statement | None = None
    theirs: Statement | None = None


def _errors(
    compared: ReportComparison, matches: Sequence[FindingMatch], ours: frozenset[str], theirs: frozenset[str]
) -> Iterator[_Error]:
    """Every error but the unread; with the lungs that each text calls clear."""
    for match in matches:
        if not match.conflicts:
            continue
        a, b = match.reference.statement, match.other.statement
        for kind, about in _match_errors(match):
            yield _Error(kind, about, a, b)
    for finding in compared.omissions:
        told = finding.statement
        yield _Error("presence" if _is_denied(finding, theirs) else "omission", told.observation, told)
    for finding in compared.additions:
        told = finding.statement
        yield _Error("presence" if _is_denied(finding, ours) else "addition", told.observation, None, told)
    for finding in (*compared.minor_omissions, *compared.minor_additions):
        if finding.statement.presence == "absent":
            yield _Error("denial", finding.statement.observation)


_EchoKey: TypeAlias = tuple[str, str, int, str]


def _echo_keys(error: _Error) -> set[_EchoKey]:
    """What another error must share to be an echo of this one: kind, text, sentence, and family.

    What is told of a thing (its side, its size) is told once a sentence, whatever it is told of. Right
    taken for left is one mistake in the whole report, however many findings go with it. Things
    themselves are one only in a family: what makes the lung white and what it may be.
    """
    keys: set[_EchoKey] = set()
    for who, told in (("ours", error.ours), ("theirs", error.theirs)):
        if told is None:
            continue
        families = ("",) if error.kind in _TOLD_OF_THINGS else _FAMILIES.get(told.category, ())
        keys |= {(error.kind, who, told.sentence.start, family) for family in families}
    if error.kind == "side" and error.ours is not None and error.theirs is not None:
        keys.add(("side", f"{error.ours.side} for {error.theirs.side}", 0, ""))
    return keys


def _matched_sentences(matches: Sequence[FindingMatch]) -> set[_EchoKey]:
    """Where something of a family was found in both: what else of it stands there is an echo."""
    heard: set[_EchoKey] = set()
    for match in matches:
        if match.both_present:
            sides = (("omission", "ours", match.reference), ("addition", "theirs", match.other))
            for kind, who, finding in sides:
                told = finding.statement
                heard |= {
                    (kind, who, told.sentence.start, family) for family in _FAMILIES.get(told.category, ())
                }
    return heard


def _match_errors(match: FindingMatch) -> Iterator[tuple[Kind, str]]:
    """The errors of two partners, each kind once."""
    a, b = match.reference.statement, match.other.statement
    names = {conflict.name for conflict in match.conflicts}
    if "observation" in names:
        # What another finding looks like says nothing of this one.
        closer = _GENERAL.intersection((a.observation, b.observation))
        yield "certainty" if closer else "finding", BETWEEN.join((a.observation, b.observation))
        return
    if "presence" in names:
        kind = _presence_error(match.reference, match.other)
        if kind is not None:
            yield kind, a.observation
        if kind != "certainty":
            return
    kinds = {_OF_CONFLICT[name] for name in names if name in _OF_CONFLICT}
    if "side" in kinds and _mirrored(match):
        kinds.discard("place")
    for kind in KINDS:
        if kind in kinds:
            yield kind, a.observation


def _is_denied(finding: ReportFinding, clear: frozenset[str]) -> bool:
    """Whether "the lungs are clear" denies a finding: an opacity, a nodule, on a side that is clear."""
    told = finding.statement
    sides = {told.side} if told.side in ("right", "left") else {"right", "left"}
    return told.category in _OF_LUNG_TISSUE and sides <= clear


def _presence_error(ours: ReportFinding, theirs: ReportFinding) -> Kind | None:
    """What two presences that are not the same amount to."""
    if ours.is_there and theirs.is_there:
        return "certainty"
    if not ours.is_there and not theirs.is_there:
        return None
    gone = theirs if ours.is_there else ours
    if gone.statement.presence == "absent":
        return "presence"
    if gone.statement.presence == "historical" and gone.statement.category in _OF_THE_PAST:
        return None
    # What is only recalled or asked for is neither there nor denied.
    return "omission" if ours.is_there else "addition"


def _mirrored(match: FindingMatch) -> bool:
    """Whether the lobes are the same but for the side: RUL and LUL are one error, not two."""
    ours, theirs = (
        {code[1:] for code in told.lobes} for told in (match.reference.statement, match.other.statement)
    )
    return ours <= theirs or theirs <= ours
