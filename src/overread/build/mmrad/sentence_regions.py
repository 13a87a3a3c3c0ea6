"""Which regions a sentence speaks of, by rules: through what it states, else by the names in it.

What a sentence states is read by `overread.language`. Much of a normal report states nothing in
that sense ("clear lungs", "the trachea is central"): there the names of regions tell. They are
looked for in clauses that state nothing, so that "effusion over the left hemidiaphragm" stays one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from overread.build.mmrad.major_regions import find_major, major_of, major_of_statement, sort_regions
from overread.language.regions import xray_regions_of
from overread.language.statements import Statement, find_statements
from overread.ontology import xray_regions

_SIDES = r"(?:(right|left|both|bilateral)[ -](?:sided )?)?"
_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:lung )?(?:apex|apices|apical zones?)", ("apical zone",)),
    (r"upper (?:lung )?zones?", ("upper lung zone",)),
    (r"mid(?:dle)? (?:lung )?zones?", ("mid lung zone",)),
    (r"lower (?:lung )?zones?|(?:lung )?bases?", ("lower lung zone",)),
    (r"costophrenic (?:angles?|sulc[iu]s?)|pleura\w*|pneumothora\w+", ("costophrenic angle",)),
    (r"(?:free|subdiaphragmatic) (?:\w+ )?(?:air|gas)|pneumoperitoneum", ("abdomen",)),
    (r"(?:hemi)?diaphragm(?:s|atic)?", ("hemidiaphragm",)),
    (r"cardiophrenic angles?", ("cardiophrenic angle",)),
    (r"cardiomediastin\w+", ("cardiac silhouette", "mediastinum")),
    (r"cardiopulmonary", ("lung", "cardiac silhouette")),
    (r"(?:hilum|hila|hilar)(?: structures?)?", ("hilar structures",)),
    (r"cardiothoracic|cardiac(?: silhouette)?|hearts?|pacemaker\w*", ("cardiac silhouette",)),
    (r"right atri(?:um|al)", ("right atrium",)),
    (r"cavoatrial(?: junction)?", ("cavoatrial junction",)),
    (r"superior vena cava|svc|picc|central (?:venous )?(?:line|catheter)", ("svc",)),
    (r"aort(?:a|ic)(?: arch| knob)?", ("aortic arch",)),
    (r"mediastin(?:um|al)", ("mediastinum",)),
    (r"tracheobronchial|central airways?", ("trachea", "carina")),
    (r"(?:endo)?trachea(?:l|lly)?|tracheostomy", ("trachea",)),
    (r"carina", ("carina",)),
    (r"clavicles?|clavicular", ("clavicle",)),
    (r"spines?|spinal|vertebra\w*", ("spine",)),
    (r"osseo?us|bon(?:e|es|y)|skelet(?:on|al)|ribs?|fractures?", ("spine", "clavicle")),
    (r"(?:nasogastric|enteric|feeding|orogastric) tube|stomach|gastric|bowel", ("abdomen",)),
    (r"upper abdom(?:en|inal)|abdom(?:en|inal)", ("abdomen",)),
    (r"lungs?(?: fields?)?|pulmonary|airspace|parenchyma\w*|hemithora(?:x|ces)", ("lung",)),
)
_MENTION = re.compile(
    r"\b" + _SIDES + "(?:" + "|".join(f"({pattern})" for pattern, _ in _WORDS) + r")\b", re.I
)
_JOINT = re.compile(r"[,;:]|\b(?:and|but|while|whereas|with|without)\b", re.I)
_PLACE = re.compile(r"\s*(?:in|at|on|within|over|along|throughout|as)\b", re.I)
"""A clause that only says where the next one is: "in the left hemithorax, ..."."""
_BONES, _RIB, _WEAR = "B", re.compile(r"\brib", re.I), "degenerative change"

RegionsByMajor = dict[str, tuple[str, ...]]
"""Major region → regions that a sentence speaks of there, in the order in which they come up."""


def regions_of_sentence(sentence: str) -> RegionsByMajor:
    """What one sentence speaks of; empty where it names no region that a film shows.

    >>> regions_of_sentence("The heart is normal in size and the lungs are clear.")
    {'heart and the mediastinal region': ('cardiac silhouette',), 'lung region': ('right lung', 'left lung')}
    >>> regions_of_sentence("No pneumothorax or pleural effusion.")["pleura and diaphragm region"]
    ('right costophrenic angle', 'left costophrenic angle')
    >>> regions_of_sentence("Comparison is made with the last study.")
    {}
    """
    found: dict[str, set[str]] = {}
    said = find_statements(sentence)
    for statement in said:
        regions = xray_regions_of(statement) or sort_regions(_bone_regions(statement, sentence))
        major = major_of_statement(statement, regions)
        if major is not None:
            found.setdefault(major, set()).update(regions)
    before = {major: frozenset(names) for major, names in found.items()}
    for start, end in _split_clauses(sentence):
        stated = any(start <= one.span.start < end for one in said)
        if found and (stated or _PLACE.match(sentence, start, end)):
            continue
        for name in _find_named_regions(sentence[start:end]):
            # The lungs or the pleura as such say nothing more where a part of them is told.
            if not _is_whole_organ(name) or not _is_covered(name, before.get(major_of(name))):
                found.setdefault(major_of(name), set()).add(name)
    told = {major: _own_regions(major, names) for major, names in found.items()}
    return {major: names for major, names in told.items() if names}


def group_by_major(sentence: str, regions: Iterable[str]) -> RegionsByMajor:
    """Regions that somebody gave a sentence, sorted into major regions.

    What a sentence says of the pleura or of the mediastinum is told there, though the box of a lung
    was given for it.

    >>> group_by_major("No pneumothorax.", ["left lung"])
    {'pleura and diaphragm region': ('left lung',)}
    >>> group_by_major("No hiatal hernia.", ["left lung"])
    {'heart and the mediastinal region': ('left lung',)}
    """
    stated = [major_of_statement(one, xray_regions_of(one)) for one in find_statements(sentence)]
    moved = list(dict.fromkeys(major for major in stated if major is not None))
    found: dict[str, set[str]] = {}
    for name in regions:
        own = major_of(name)
        if moved and own not in moved and own == find_major("right lung"):
            own = moved[0]
        found.setdefault(own, set()).add(name)
    return {major: _own_regions(major, names) for major, names in found.items()}


def _own_regions(major: str, names: set[str]) -> tuple[str, ...]:
    """The regions that are the major region's own; those of others where it has none of them."""
    own = [name for name in names if major_of(name) == major]
    if not own and major == find_major("abdomen"):
        own = ["abdomen"]
    return sort_regions(own or names)


def _is_covered(name: str, stated: frozenset[str] | None) -> bool:
    """Whether what is stated of a major region makes the name of a whole organ say nothing more."""
    if stated is not None and name.endswith(" lung"):
        return any("lung" in one or "apical" in one for one in stated)
    return stated is not None


def _is_whole_organ(name: str) -> bool:
    return name.endswith((" lung", "costophrenic angle", "mediastinum", "abdomen")) or (
        name == "cardiac silhouette"
    )


def _bone_regions(statement: Statement, sentence: str) -> Iterator[str]:
    """Ribs are no region: they are looked for all over the bones, or along the lung of a side."""
    if statement.region != _BONES:
        return
    if statement.observation == _WEAR:
        yield "spine"
    elif statement.side is not None and _RIB.search(sentence):
        yield from ("spine",)
        sides = ("right", "left") if statement.side == "both" else (statement.side,)
        yield from (f"{side} clavicle" for side in sides)
    else:
        yield from ("spine", "right clavicle", "left clavicle")


def _split_clauses(sentence: str) -> Iterator[tuple[int, int]]:
    start = 0
    for joint in _JOINT.finditer(sentence):
        yield start, joint.start()
        start = joint.end()
    yield start, len(sentence)


def _find_named_regions(clause: str) -> Iterator[str]:
    """Regions that a clause calls by name."""
    known = xray_regions()
    for mention in _MENTION.finditer(clause):
        side = (mention[1] or "").lower()
        number = next(n for n, text in enumerate(mention.groups()[1:]) if text is not None)
        for name in _WORDS[number][1]:
            yield from known.find(f"{side} {name}") or known.find(name)
