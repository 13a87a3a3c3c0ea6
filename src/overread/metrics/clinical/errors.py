"""The errors of one report, by kind and by what they are about: counted, not yet weighed.

It stands on `overread.language.compare`. Every difference between a reading and its reference is an
error of one kind; the words of two texts that could not be read are a kind too, so that a report
that was not understood does not pass for a faithful one. What an error weighs is told elsewhere
(`overread.metrics.clinical.significance`), so that stored counts can be weighed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from overread.language.compare import FindingMatch, ReportComparison
from overread.language.edits import Edit, Edits, find_edits, find_sides, reassures
from overread.language.findings import ReportFinding, places_fit, same_size, sides_fit
from overread.language.presence import Presence
from overread.language.sizes import find_sizes
from overread.language.statements import Statement
from overread.language.text import Span
from overread.language.unread import ROUNDED, TextRead, differing_lengths, rounded_lengths, unlike
from overread.language.wording import may_be_same, topics

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
    "rounding",
    "number",
    "change",
    "certainty",
    "denial",
    "wording",
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
    "rounding": "has another number for a size, within what two measurements differ by",
    "number": "has another number of them",
    "change": "tells another change since the prior",
    "certainty": "is surer than the reference, or less sure; tells it more closely, or less",
    "denial": "denies what the other does not mention",
    "wording": "may say in other words what was taken for left out or added",
    "unread": "has sentences that were not read and that the other does not have",
    "no text": "is not there",
}
"""The kinds of error, in words."""

BETWEEN = " / "
"""Parts the two observations of one error of the kind 'finding'."""

_OF_LUNG_TISSUE = frozenset(("1d", "1e", "2b", "2c", "2d", "2f", "2h"))
"""Categories of the ontology that a clear lung does not have: what is dense or a nodule, a cavity or
honeycombing. Effusions, pneumothorax, scars and emphysema go with lungs that are called clear."""

_DEVICE = "device"
_GENERAL = frozenset(("lung opacity", "infiltrate", "lung lesion", "other lesion", _DEVICE))
"""Names that leave open what it is: against a closer one of the same place they are no other finding."""
_SYNONYMS: tuple[set[str], ...] = (
    {"pneumonia", "consolidation"},
    {"pneumonia", "aspiration"},
    {"atelectasis", "volume loss"},
)
"""Names that are used for one appearance by its look or by its cause."""
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
_WHOLE_REGION = " abnormality"
"""How the observations end that a region which is called normal denies: "bony thorax intact"."""
_WIDE_REGIONS = frozenset(("L",))
"""Regions of which more than one part is called normal on its own: lungs and pleura."""
_OF_PLEURA = "2e"
_SIGNS = {"obscured contour": ("white lung",), "volume loss": ("white lung",)}
"""What goes with an appearance and is said or not: "consolidation, obscuring the heart border"."""

_OPPOSITE = {"left": "right", "right": "left"}
_SHARED = 2
"""Topics that a sentence must share with another that was read, to be the same in other words."""
_SHARED_UNNAMED = 3
"""The same, where the finding itself is not among them."""

_THE_SAME_OR_GRAVER: dict[str, tuple[Kind, ...]] = {
    "presence": (),
    "omission": ("presence", "finding"),
    "addition": ("presence", "finding"),
    "side": ("presence", "omission", "addition", "finding", "device position"),
    "severity": ("presence", "omission", "addition", "finding"),
    "size": ("presence", "omission", "addition", "finding", "place"),
}
"""Change of a sentence → errors that tell the same or more of it."""

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
    edits = find_edits(ours, theirs)
    found, heard = _matched_sentences(matches), set[_EchoKey]()
    misplaced: set[int] = set()
    told = list(_errors(compared, matches, ours.clear, theirs.clear))
    changes = _own_changes(edits.found, matches)
    told = _name_changes(_join_by_size(told), changes)
    told = _doubt_wordings(told, matches, ours, theirs, edits)
    unseen = list(_unseen_edits(told, changes, ours.statements, theirs.statements))
    unseen += _unseen_drops(told, edits, ours.statements, theirs.statements)
    for error in (*told, *unseen):
        keys = _echo_keys(error)
        listens = keys | _keys_of_doubt(error, "uncertain")
        table = (
            errors
            if heard.isdisjoint(listens) and (not _is_part(error, keys, found) or _stands_alone(error))
            else echoes
        )
        heard |= keys | _keys_of_doubt(error, "present")
        if error.kind == "side" and table is errors:
            misplaced.add(id(error.ours))
        of_kind = table.setdefault(error.kind, {})
        of_kind[error.about] = of_kind.get(error.about, 0) + 1
    apart = _count_unread(errors, ours, theirs, edits)
    if apart:
        errors["unread"] = {"": apart}
    lengths = differing_lengths(ours, theirs)
    if lengths and not any(error.kind == "size" for error in unseen):
        errors.setdefault("size", {})[""] = lengths
    rounded = rounded_lengths(ours, theirs) if "size" not in errors else 0
    if rounded:
        errors["rounding"] = {"": rounded}
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


def _join_by_size(told: list[_Error]) -> list[_Error]:
    """What is left out and what is added may be one thing under two names: of one size, or at one place."""
    added = [error for error in told if error.kind == "addition"]
    joined: list[_Error] = []
    taken: set[int] = set()
    for error in told:
        partner = None
        if error.kind == "omission":
            fitting = (other for other in added if _is_same_lesion(error.ours, other.theirs))
            partner = next((other for other in fitting if id(other) not in taken), None)
        if partner is None:
            joined.append(error)
            continue
        taken.add(id(partner))
        names = (error.about, partner.about)
        joined.append(_Error(_name_error(*names), BETWEEN.join(names), error.ours, partner.theirs))
    return [error for error in joined if id(error) not in taken]


def _is_same_lesion(ours: Statement | None, theirs: Statement | None) -> bool:
    if ours is None or theirs is None or not sides_fit(ours.side, theirs.side):
        return False
    if not places_fit(ours.lobes, theirs.lobes) or not places_fit(ours.zones, theirs.zones):
        return False
    if ours.size_mm and theirs.size_mm:
        return abs(ours.size_mm - theirs.size_mm) <= ROUNDED
    if _DEVICE in (ours.observation, theirs.observation):
        return ours.category == theirs.category
    # Without a size: one name is general, both are of the lung, and both tell where.
    general = _GENERAL.intersection((ours.observation, theirs.observation))
    of_lung = {ours.category, theirs.category} <= _OF_LUNG_TISSUE
    return bool(general) and of_lung and all(told.side or told.zones for told in (ours, theirs))


def _doubt_wordings(
    told: list[_Error], matches: Sequence[FindingMatch], ours: TextRead, theirs: TextRead, edits: Edits
) -> list[_Error]:
    """What is left out or added where the other text has a sentence that may say just that.

    That sentence is one that ours does not have word by word, says that something is there, tells no
    other side and no other length, and speaks of the same things, less those that are found in both.
    """
    lone = [error for error in told if error.kind in ("omission", "addition")]
    if not lone or not edits.mine or not edits.yours:
        return told
    found = [
        [match.reference.statement for match in matches if match.both_present],
        [match.other.statement for match in matches if match.both_present],
    ]
    mine = _hear(edits.mine, ours, found[0])
    yours = _hear(edits.yours, theirs, found[1])
    doubted = []
    for error in told:
        own, here, there = (
            (error.ours, mine, yours) if error.kind == "omission" else (error.theirs, yours, mine)
        )
        if error.kind in ("omission", "addition") and own is not None and own.sentence.start in here:
            text = ours.text if error.kind == "omission" else theirs.text
            name = own.span.extract(text)
            if any(_may_tell(own, name, here[own.sentence.start], said) for said in there.values()):
                error = error._replace(kind="wording")
        doubted.append(error)
    return doubted


class _Heard(NamedTuple):
    """A sentence that one text has and the other has not, and what it speaks of."""

    text: str
    topics: frozenset[str]
    """All of them."""
    own: frozenset[str]
    """Less those of findings that both texts have."""
    unread: bool


def _hear(sentences: Iterable[Span], read: TextRead, found: Sequence[Statement]) -> dict[int, _Heard]:
    """First character of a sentence → what is heard of it."""
    heard = {}
    for sentence in sentences:
        said = sentence.extract(read.text)
        every = topics(said)
        names = (each.span.extract(read.text) for each in found if each.sentence.start == sentence.start)
        own = every.difference(*map(topics, names))
        heard[sentence.start] = _Heard(said, every, own, sentence.start in read.unread_at)
    return heard


def _may_tell(own: Statement, name: str, here: _Heard, said: _Heard) -> bool:
    """Whether a sentence of the other text may state what this one states under a `name`."""
    if said.unread:
        alike = may_be_same(here.own, said.own)
    else:
        # A sentence that was read must have more in common: there, what is missed is rarely the wording.
        shared = len(here.topics & said.topics)
        enough = shared >= _SHARED and 2 * shared >= min(len(here.topics), len(said.topics))
        alike = enough and (shared >= _SHARED_UNNAMED or not said.topics.isdisjoint(topics(name)))
    if not alike or reassures(said.text):
        return False
    sides = find_sides(said.text)
    if own.side in ("right", "left") and sides and own.side not in sides:
        return False
    lengths = [size.largest for size in find_sizes(said.text)]
    return not (own.size_mm and lengths and not any(same_size(own.size_mm, each) for each in lengths))


def _own_changes(edits: Sequence[Edit], matches: Sequence[FindingMatch]) -> list[Edit]:
    """The changes of sentences whose findings have no partner in yet another sentence."""
    pairs = {(m.reference.statement.sentence.start, m.other.statement.sentence.start) for m in matches}
    return [edit for edit in edits if all((one == edit.ours) == (two == edit.theirs) for one, two in pairs)]


def _name_changes(told: list[_Error], edits: Sequence[Edit]) -> list[_Error]:
    """What is left out or added where its own sentence was changed: denied, or put on the other side."""
    mine = {edit.ours: edit.kind for edit in reversed(edits) if edit.kind in ("presence", "side")}
    yours = {edit.theirs: edit.kind for edit in reversed(edits) if edit.kind in ("presence", "side")}
    named = []
    for error in told:
        kind = None
        if error.kind == "omission" and error.ours is not None:
            kind = mine.get(error.ours.sentence.start)
        elif error.kind == "addition" and error.theirs is not None:
            kind = yours.get(error.theirs.sentence.start)
        named.append(error if kind is None else error._replace(kind=kind))
    return named


def _unseen_drops(
    told: Sequence[_Error], edits: Edits, ours: Sequence[Statement], theirs: Sequence[Statement]
) -> Iterator[_Error]:
    """Sentences that are plainly gone, or new, without an error: "rib fracture", where another is left."""
    heard = {
        (who, statement.sentence.start)
        for error in told
        for who, statement in (("ours", error.ours), ("theirs", error.theirs))
        if statement is not None
    }
    kinds: tuple[tuple[Kind, str, frozenset[int], Sequence[Statement]], ...] = (
        ("omission", "ours", edits.dropped, ours),
        ("addition", "theirs", edits.added, theirs),
    )
    for kind, who, starts, statements in kinds:
        for start in sorted(starts):
            there = [s for s in statements if s.sentence.start == start and s.presence == "present"]
            if there and (who, start) not in heard:
                yield _Error(kind, there[0].observation)


def _unseen_edits(
    told: Sequence[_Error], edits: Sequence[Edit], ours: Sequence[Statement], theirs: Sequence[Statement]
) -> Iterator[_Error]:
    """Changes of a sentence that show in no finding, named by what the sentence states, if anything."""
    seen = [
        (error.kind, statement.sentence.start if statement is not None else None)
        for error in told
        for statement in (error.ours, error.theirs)
    ]
    for edit in edits:
        kinds = {edit.kind, *_THE_SAME_OR_GRAVER[edit.kind]}
        mine = {kind for kind, start in seen[::2] if start == edit.ours}
        yours = {kind for kind, start in seen[1::2] if start == edit.theirs}
        if kinds.isdisjoint(mine | yours):
            named = [each.observation for each in ours if each.sentence.start == edit.ours]
            named += [each.observation for each in theirs if each.sentence.start == edit.theirs]
            yield _Error(edit.kind, named[0] if named else "")


def _count_unread(
    errors: dict[str, dict[str, float]], ours: TextRead, theirs: TextRead, edits: Edits
) -> float:
    """How many unread sentences have no counterpart; those that are plainly gone or new are errors."""
    left = []
    for read, plain, kind in ((ours, edits.dropped, "omission"), (theirs, edits.added, "addition")):
        gone = plain.intersection(read.unread_at)
        if gone:
            errors.setdefault(kind, {})[""] = len(gone)
        pairs = zip(read.unread_at, read.unread, strict=True)
        left.append([words for start, words in pairs if start not in gone])
    return unlike(left[0], left[1], theirs.words) + unlike(left[1], left[0], ours.words)


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
    called_normal, denied_sides = (
        _normal_regions(compared.minor_additions),
        _denied_sides(compared.minor_additions),
    )
    for finding in compared.omissions:
        told = finding.statement
        denied = _is_denied(finding, theirs | denied_sides) or told.region in called_normal
        yield _Error("presence" if denied else "omission", told.observation, told)
    called_normal, denied_sides = (
        _normal_regions(compared.minor_omissions),
        _denied_sides(compared.minor_omissions),
    )
    for finding in compared.additions:
        told = finding.statement
        denied = _is_denied(finding, ours | denied_sides) or told.region in called_normal
        yield _Error("presence" if denied else "addition", told.observation, None, told)
    for finding in (*compared.minor_omissions, *compared.minor_additions):
        if finding.statement.presence == "absent":
            yield _Error("denial", finding.statement.observation)


_EchoKey: TypeAlias = tuple[str, str, int, str]


def _echo_keys(error: _Error) -> set[_EchoKey]:
    """What another error must share to be an echo of this one: kind, text, sentence, and family.

    What is told of a thing (its side, its size) is told once a sentence, whatever it is told of. Right
    taken for left is one mistake in the whole report, however many findings go with it. Things
    themselves are one only in a family: what makes the lung white and what it may be. So are things
    that share one length: "a 36 mm focus of consolidation".
    """
    keys: set[_EchoKey] = set()
    for who, told in (("ours", error.ours), ("theirs", error.theirs)):
        if told is None:
            continue
        families = ("",) if error.kind in _TOLD_OF_THINGS else _appearances(told)
        keys |= {(error.kind, who, told.sentence.start, family) for family in families}
        if error.kind in ("omission", "addition") and "size_mm" in told.evidence:
            keys.add((error.kind, who, told.evidence["size_mm"].start, "size"))
    if error.kind == "side" and error.ours is not None and error.theirs is not None:
        keys.add(("side", f"{error.ours.side} for {error.theirs.side}", 0, ""))
    return keys


def _keys_of_doubt(error: _Error, presence: Presence) -> set[_EchoKey]:
    """What ties a guess to the finding that it explains: "thick stripe, suggesting lymphadenopathy"."""
    told = error.ours if error.kind == "omission" else error.theirs
    if error.kind not in ("omission", "addition") or told is None or told.presence != presence:
        return set()
    return {(error.kind, "", told.sentence.start, "doubt")}


def _stands_alone(error: _Error) -> bool:
    """Whether it is a pleural finding: found or not, it is no part of what is found in the lung."""
    told = error.ours or error.theirs
    return told is not None and told.category == _OF_PLEURA and told.presence == "present"


def _appearances(told: Statement) -> tuple[str, ...]:
    """The families of a finding."""
    return _SIGNS.get(told.observation) or _FAMILIES.get(told.category, ())


def _is_part(error: _Error, keys: set[_EchoKey], found: Mapping[_EchoKey, set[str | None]]) -> bool:
    """Whether it belongs to what was found; what lies on the other side does not.

    "The left lower lobe is consolidated and there is a right effusion": two things.
    """
    told = error.ours or error.theirs
    own = told.side if told is not None and told.side in _OPPOSITE else None
    return any(own is None or found[key] != {_OPPOSITE[own]} for key in keys if key in found)


def _matched_sentences(matches: Sequence[FindingMatch]) -> dict[_EchoKey, set[str | None]]:
    """Where something of a family was found in both, and on which sides.

    What else of the family stands there is an echo.
    """
    heard: dict[_EchoKey, set[str | None]] = {}
    for match in matches:
        if match.both_present:
            sides = (("omission", "ours", match.reference), ("addition", "theirs", match.other))
            for kind, who, finding in sides:
                told = finding.statement
                keys = [(kind, who, told.sentence.start, family) for family in _appearances(told)]
                if "size_mm" in told.evidence:
                    keys.append((kind, who, told.evidence["size_mm"].start, "size"))
                for key in keys:
                    heard.setdefault(key, set()).add(told.side)
    return heard


def _match_errors(match: FindingMatch) -> Iterator[tuple[Kind, str]]:
    """The errors of two partners, each kind once."""
    a, b = match.reference.statement, match.other.statement
    names = {conflict.name for conflict in match.conflicts}
    if "observation" in names:
        # What another finding looks like says nothing of this one.
        yield _name_error(a.observation, b.observation), BETWEEN.join((a.observation, b.observation))
        return
    if "presence" in names:
        kind = _presence_error(match.reference, match.other)
        if kind is not None:
            yield kind, a.observation
        if kind != "certainty":
            return
    kinds = {_OF_CONFLICT[name] for name in names if name in _OF_CONFLICT}
    if "side" in kinds and _mirrored(a, b):
        kinds.discard("place")
    for kind in KINDS:
        if kind in kinds:
            yield kind, a.observation


def _name_error(ours: str, theirs: str) -> Kind:
    """What it is that one thing has two names."""
    alike = _GENERAL.intersection((ours, theirs)) or {ours, theirs} in _SYNONYMS
    return "certainty" if alike else "finding"


def _normal_regions(findings: Sequence[ReportFinding]) -> set[str]:
    """Regions of which a text says that nothing is wrong there."""
    told = (finding.statement for finding in findings if finding.statement.presence == "absent")
    return {s.region for s in told if s.observation.endswith(_WHOLE_REGION)} - _WIDE_REGIONS


def _denied_sides(findings: Sequence[ReportFinding]) -> frozenset[str]:
    """Sides on which a text denies any opacity or lesion of the lung: "no focal opacity"."""
    told = (finding.statement for finding in findings if finding.statement.presence == "absent")
    sides = [
        s.side
        for s in told
        if s.observation in _GENERAL and s.category in _OF_LUNG_TISSUE and not (s.lobes or s.zones)
    ]
    return frozenset(
        name for side in sides for name in ((side,) if side in ("right", "left") else ("right", "left"))
    )


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


def _mirrored(ours: Statement, theirs: Statement) -> bool:
    """Whether the lobes are the same but for the side: RUL and LUL are one error, not two."""
    mine, yours = ({code[1:] for code in told.lobes} for told in (ours, theirs))
    return mine <= yours or yours <= mine
