"""Sides, lobes, segments and zones in a row of words.

A place is told in many orders ("the posterior basal segment of the right lower lobe", "left lung
upper lobe inferior lingular and lower lobe superior segments", "both lower lobes"). So the words of
a place are cut where they are joined by "and" or a comma, each piece is read alone, and what a
piece leaves out it takes from its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise

from overread.language.segments import SIDES_OF, NamedPlace, find_codes
from overread.language.tokens import Token
from overread.ontology import lung_anatomy

SIDES = {
    "right": "right", "left": "left", "both": "both", "bilateral": "both", "bilaterally": "both",
    "rt": "right", "lt": "left", "bibasilar": "both", "bibasal": "both", "biapical": "both",
    "rightward": "right", "leftward": "left", "bihilar": "both",
}  # fmt: skip
_LEVELS = {"upper": "upper", "middle": "middle", "mid": "middle", "lower": "lower"}
_ABBREVIATED = {"rul", "rml", "rll", "lul", "lll"}
_NAMES = {
    "apical": "apical", "posterior": "posterior", "anterior": "anterior", "lateral": "lateral",
    "medial": "medial", "superior": "superior", "inferior": "inferior", "basal": "basal",
    "basilar": "basal", "apicoposterior": "apicoposterior", "anteromedial": "anteromedial",
    "mediobasal": "medial basal", "anterobasal": "anterior basal", "laterobasal": "lateral basal",
    "posterobasal": "posterior basal", "anteromediobasal": "anteromedial basal",
    "mediobasilar": "medial basal", "anterobasilar": "anterior basal",
    "laterobasilar": "lateral basal", "posterobasilar": "posterior basal",
    "lingular": "lingular", "lingula": "lingular",
}  # fmt: skip
_ALONE = frozenset(
    name for name in _NAMES if name[:6] in ("lingul", "apicop") or "obas" in name
)  # need no "segment" beside them
_SEGMENT = frozenset({"segment", "subsegment"})
_PART = frozenset({"part", "aspect", "portion", "area", "region", "side", "zone", "wall"})
_JOINTS = frozenset({"and", ",", "or", "&"})
_INSIDE = frozenset(
    "the of and or , lung lobe segment in to level part area region side at & pulmonary zone as"
    " well subsegment respectively lobar field hemithorax sided".split()
)  # may stand inside a place without ending it
_NOT_A_SIDE = frozenset(
    "atrium atrial ventricle ventricular heart main coronary circumflex cardiac".split()
)  # "left ventricle" is the name of a part, no side
_LONGEST = 80
"""Words of the longest place; more than that is no place that anybody meant."""


@dataclass
class _Piece:
    """What stands between two joints of a place; any of it may be missing."""

    side: str | None = None
    levels: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    """Lobes that were abbreviated."""
    names: list[tuple[str, int]] = field(default_factory=list)
    """Segment names, and the word that each of them is."""
    lung: bool = False
    lobe: bool = False
    zone: bool = False
    segment: bool = False
    lobe_first: bool = False
    """Whether a segment is named behind its lobe."""

    @property
    def has_only_names(self) -> bool:
        """Whether there is nothing but segment names."""
        return bool(self.names) and self.side is None and not self.levels

    @property
    def is_empty(self) -> bool:
        return not (self.side or self.levels or self.names or self.codes)


@dataclass(frozen=True)
class PlaceMention:
    """A mention of a place: words `first` to `last`, excluding the last, and what they name."""

    first: int
    last: int
    side: str | None
    lobes: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    """Upper, mid or lower, where a zone and no lobe is told."""
    unsided: tuple[NamedPlace, ...] = ()
    """Levels and segment names whose side is not told here."""
    segment_words: frozenset[int] = frozenset()
    """Words that name a segment, and so are no distribution."""


@dataclass(frozen=True)
class PlaceCodes:
    """Side, lobes, segments and zones, put together."""

    side: str | None
    lobes: tuple[str, ...]
    segments: tuple[str, ...]
    zones: tuple[str, ...]


def combine_places(places: Sequence[PlaceMention]) -> PlaceCodes:
    """What places that belong to one thing say together."""
    sides = {side for place in places if place.side for side in SIDES_OF[place.side]}
    lobes = {code for place in places for code in place.lobes}
    segments = {code for place in places for code in place.segments}
    # "Bilateral … in the lower lobes": the side stands in one place, the level in another.
    for named in (named for place in places for named in place.unsided):
        for side in sorted(sides):
            found = find_codes(named.with_side(side))
            lobes |= set(found[0])
            segments |= set(found[1])
    sides |= {lung_anatomy().by_code[code].side for code in lobes}
    zones = [zone for place in places for zone in place.zones]
    return PlaceCodes(
        side="both" if len(sides) == 2 else next(iter(sides), None),
        lobes=tuple(lobe.code for lobe in lung_anatomy().lobes if lobe.code in lobes),
        segments=tuple(code for code in lung_anatomy().segments if code in segments),
        zones=tuple(dict.fromkeys(zones)),
    )


def find_places(words: Sequence[Token]) -> list[PlaceMention]:
    """All places of a row of words, in order."""
    found: list[PlaceMention] = []
    at = 0
    while at < len(words):
        if not _is_place_start(words, at):
            at += 1
            continue
        end = _place_end(words, at)
        place = _parse_place(words, at, end)
        if place is not None:
            found.append(place)
        at = max(end, at + 1)
    return found


def split_place(
    words: Sequence[Token], place: PlaceMention, starts: Set[int], ends: Set[int]
) -> list[PlaceMention]:
    """Two places instead of one in "effusion on the right | and left pneumothorax".

    `starts` and `ends` are the words that things begin at and end before.
    """
    joints = [n for n in range(place.first, place.last) if words[n].word in _JOINTS]
    if not joints or not any(n in starts for n in range(place.last, place.last + 2)):
        return [place]
    # Only behind a thing and its preposition, and only where the second place has its own side.
    before = place.first - (place.first > 0 and words[place.first - 1].word == "the")
    behind = before - 1 in ends and words[before - 1].word in ("on", "in", "at")
    if not behind or words[joints[-1] + 1].word not in SIDES:
        return [place]
    parts = (_parse_place(words, place.first, joints[-1]), _parse_place(words, joints[-1] + 1, place.last))
    return [part for part in parts if part is not None]


def _is_place_start(words: Sequence[Token], at: int) -> bool:
    """Whether a place begins here."""
    word = words[at].word
    if word in SIDES:
        return _is_side(words, at)
    if word in _ABBREVIATED or word in _ALONE:
        return True
    if word not in _LEVELS and word not in _NAMES:
        return False
    # "posterior" or "lower" are a place only where a lobe, a zone or a segment follows soon.
    for later in words[at + 1 : at + 9]:
        if later.word in ("lobe", "lobar", "zone") or later.word in _SEGMENT:
            return True
        if word in _LEVELS and later.word in ("lung", "field"):
            return True
        known = later.word in _LEVELS or later.word in _NAMES or later.word in SIDES
        if not known and later.word not in _INSIDE:
            return False
    return False


def _is_side(words: Sequence[Token], at: int) -> bool:
    following = words[at + 1].word if at + 1 < len(words) else ""
    if following == "anterior" and at + 2 < len(words):
        return words[at + 2].word != "descending"
    if following == "main" and at + 2 < len(words):
        return words[at + 2].word in ("pulmonary", "pa")  # and not the left main coronary artery
    return following not in _NOT_A_SIDE


def _place_end(words: Sequence[Token], at: int) -> int:
    """Where the words that belong to a place end."""
    end = at
    for n in range(at, min(len(words), at + _LONGEST)):
        word = words[n].word
        if word in SIDES:
            if not _is_side(words, n):
                break
            end = n + 1
        elif (
            word in _LEVELS
            or word in _NAMES
            or word in _ABBREVIATED
            or word in _SEGMENT
            or word in ("lobe", "lung", "zone", "lobar", "field")
        ):
            end = n + 1
        elif word not in _INSIDE:
            break
    return _trim_end(words, at, end)


def _trim_end(words: Sequence[Token], at: int, end: int) -> int:
    """Without a last piece that names no segment: "… of the upper lobe, | anterior bands"."""
    joint = next((n for n in range(end - 1, at, -1) if words[n].word in _JOINTS), None)
    if joint is None:
        return end
    last = [words[n].word for n in range(joint + 1, end)]
    loose = bool(last) and all(word in _NAMES and word not in _ALONE for word in last)
    return _trim_end(words, at, joint) if loose else end


def _parse_place(words: Sequence[Token], first: int, last: int) -> PlaceMention | None:
    """Put the words of a place together."""
    pieces = [_Piece()]
    for n in range(first, last):
        word = words[n].word
        piece = pieces[-1]
        if word in _JOINTS:
            if not piece.is_empty:
                pieces.append(_Piece())
        elif word in SIDES:
            if piece.side is not None and piece.side != SIDES[word]:
                piece = _Piece()  # "right upper lobe left lower lobe": a joint was left out
                pieces.append(piece)
            piece.side = SIDES[word]
        elif word in _LEVELS:
            piece.levels.append(_LEVELS[word])
        elif word in _ABBREVIATED:
            piece.codes.append(word.upper())
        elif word in _NAMES:
            if _is_name(words, n):
                piece.names.append((_NAMES[word], n))
                piece.lobe_first = piece.lobe_first or bool(piece.levels)
        else:
            # "Right lower lung" is a zone, "right lung lower lobe" is none.
            zone = word in ("zone", "field", "lung") and bool(piece.levels) and not piece.lobe
            piece.zone = piece.zone or zone
            piece.lung = piece.lung or word == "lung"
            piece.lobe = piece.lobe or word in ("lobe", "lobar")
            piece.segment = piece.segment or word in _SEGMENT
    return _resolve([piece for piece in pieces if not piece.is_empty], first, last)


def _is_name(words: Sequence[Token], n: int) -> bool:
    """Whether a word names a segment, and not the front of something."""
    return n + 1 >= len(words) or words[n + 1].word not in _PART


def _resolve(pieces: list[_Piece], first: int, last: int) -> PlaceMention | None:
    """The place that the pieces make."""
    if not pieces:
        return None
    _inherit(pieces)
    sides: set[str] = set()
    lobes: set[str] = set()
    segments: set[str] = set()
    zones: list[str] = []
    left_open: list[NamedPlace] = []
    used: set[int] = set()
    for piece in pieces:
        levels = piece.levels if piece.lobe or piece.segment else []
        if piece.levels and not levels and piece.zone:
            zones += ["mid" if level == "middle" else level for level in piece.levels]
        names = tuple(name for name, _ in piece.names)
        named = NamedPlace(piece.side, tuple(levels), names, piece.segment)
        found = find_codes(named)
        lobes |= {*found[0], *piece.codes}
        segments |= set(found[1])
        if found[1]:
            used |= {n for _, n in piece.names}
        if piece.side is not None:
            sides |= set(SIDES_OF[piece.side])
        elif (levels or names) and not found[0]:
            left_open.append(named)
            used |= {n for _, n in piece.names} if piece.segment else set()
    sides |= {lung_anatomy().by_code[code].side for code in lobes}
    if not sides and not left_open and not zones:
        return None
    return PlaceMention(
        first,
        last,
        "both" if len(sides) == 2 else next(iter(sides), None),
        tuple(lobe.code for lobe in lung_anatomy().lobes if lobe.code in lobes),
        tuple(code for code in lung_anatomy().segments if code in segments),
        tuple(dict.fromkeys(zones)),
        tuple(left_open),
        frozenset(used),
    )


def _inherit(pieces: list[_Piece]) -> None:
    """Give each piece what it leaves to its neighbours."""
    for piece, later in pairwise(pieces):
        # "superior and inferior lingular segments"
        lingular = later.has_only_names and any(name == "lingular" for name, _ in later.names)
        if lingular and piece.has_only_names and piece.names[-1][0] in ("superior", "inferior"):
            piece.names.append(("lingular", piece.names[-1][1]))
    # What is said once behind a row holds for all of it: "right upper and left lower lobes".
    closed = [piece.lobe for piece in pieces]
    for piece, later in zip(pieces[-2::-1], pieces[:0:-1], strict=False):
        if piece.levels and not (piece.lobe or piece.zone or piece.segment):
            piece.lobe, piece.zone = later.lobe, later.zone
        if piece.names and not piece.segment:
            piece.segment = later.segment
    for n, piece in enumerate(pieces):
        before = pieces[n - 1] if n > 0 else None
        behind = [later for later in pieces[n + 1 :] if not later.has_only_names]
        lone = piece.side is not None and not (piece.levels or piece.names or piece.lung)
        if piece.has_only_names and not any("lingular" in name for name, _ in piece.names):
            # "upper lobe anterior and posterior segments", or "anterior and … of the upper lobe"
            ahead = before is not None and before.lobe_first
            source = before if ahead or not behind else behind[0]
            if source is not None:
                piece.side, piece.levels = source.side, list(source.levels)
                piece.lobe = source.lobe
                piece.lobe_first = ahead
        elif lone and not piece.codes and behind and not behind[0].lung:
            # "right and left lower lobes"
            piece.levels, piece.lobe = list(behind[0].levels), behind[0].lobe
    for n, piece in enumerate(pieces):
        if piece.side is None and piece.levels and piece.levels != ["middle"]:
            earlier = [one.side for one in pieces[:n] if one.side is not None]
            coming = [one.side for one in pieces[n + 1 :] if one.side is not None]
            # "… lobe and the upper and lower lobes of the left lung" starts anew.
            anew = n > 0 and closed[n - 1] and not closed[n]
            if coming and (anew or not earlier):
                piece.side = coming[0]
            elif earlier:
                piece.side = earlier[-1]
