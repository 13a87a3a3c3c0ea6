"""The looks of an anatomical chain of thought, as the workflow `ground-cot` would take them.

Each level is shown what the level before left, closer: the same close-ups, cut by the same rule, as a
reader of `overread run --workflow ground-cot` gets where it answers as the reference does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from overread.build.release.export_job import CannotExport
from overread.build.release.picture_files import MONTAGE, SLICES, WINDOWS, flat_bytes
from overread.core import ChainLevel, Entry, Geometry, Query, Release, Slices, Step, Truth, VoxelBox
from overread.pixels.encode import EncodedImage
from overread.pixels.montages import encode_closeup
from overread.pixels.relative_boxes import RelativeBox
from overread.pixels.voxel_boxes import to_share, to_shown
from overread.workflows.blocks import Block, make_block
from overread.workflows.ground_cot import LEVELS, format_level, narrow

NOT_APPLICABLE = "It is not looked for on this level."


@dataclass(frozen=True)
class ChainLook:
    """One level of a chain: what is shown, what was found before, and what is found now."""

    level: ChainLevel
    shown: EncodedImage
    before: tuple[str, ...]
    """The levels before in words, a line each."""
    structures: tuple[str, ...]
    """The structures of the last level that applied."""
    thought: str
    places: tuple[tuple[str, Block], ...]
    """Structure and block, in shares of what is shown; none where the level does not apply."""


def chain_links(entry: Entry, query: Query) -> list[Step]:
    """The links of the chain that leads to a query."""
    trace = (entry.truth or Truth()).trace
    return [step for step in (trace.steps if trace else ()) if step.link and step.link.query == query.id]


def chain_looks(release: Release, entry: Entry, query: Query) -> Iterator[ChainLook]:
    """The looks at lung, lobe, segment and lesion; raises where a structure has no box."""
    links = chain_links(entry, query)
    space = release.pictures.geometry(entry.case.pictures[0])
    state = _State()
    for level in (*LEVELS, "lesion"):
        wanted = ("lung", "pleura") if level == "lung" else (level,)
        own = [step for step in links if step.link and step.link.level in wanted]
        thought = " ".join(step.text.strip() for step in own) or NOT_APPLICABLE
        found = [place for step in own for place in _places(step, space, lesion=level == "lesion")]
        seen = tuple((name, _seen(block, state.part)) for name, block in found)
        shown = show_place(release, entry, state.span, state.part)
        yield ChainLook(level, shown, tuple(state.lines), state.structures, thought, seen)
        names, blocks = tuple(dict.fromkeys(name for name, _ in found)), [block for _, block in found]
        state.lines.append(format_level(level, names, blocks, thought))
        if blocks:
            state.structures = names
            last = to_shown(_whole(entry, space), space).last
            state.span, state.part = narrow(blocks, last)


@dataclass
class _State:
    """How far a chain has come."""

    lines: list[str] = field(default_factory=list)
    structures: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    part: RelativeBox | None = None


def _whole(entry: Entry, space: Geometry) -> VoxelBox:
    return VoxelBox(picture=entry.case.pictures[0].name, low=(0, 0, 0), high=space.shape)


def _places(step: Step, space: Geometry, *, lesion: bool) -> list[tuple[str, Block]]:
    """Structure and block of a link, in shares of whole slices; of a lesion each entity."""
    boxes = [region for region in step.regions if isinstance(region, VoxelBox)]
    if not boxes:
        told = step.link.level if step.link else "its level"
        raise CannotExport(f"the chain of a finding has no box on the level '{told}'")
    chosen = (boxes[1:] or boxes) if lesion else boxes[:1]
    found = []
    for box in chosen:
        shown = to_shown(box, space)
        found.append((box.label or "", make_block((shown.first, shown.last), to_share(shown, space))))
    return found


def _seen(block: Block, part: RelativeBox | None) -> Block:
    """A block in shares of the part that is shown, cut at its edges."""
    if part is None:
        return block
    own = block.part.seen_in(part)
    edges = (round(min(max(edge, 0.0), 1.0), 4) for edge in (own.left, own.top, own.right, own.bottom))
    return make_block(block.span, RelativeBox(*edges))


def show_place(
    release: Release, entry: Entry, span: tuple[int, int] | None, part: RelativeBox | None
) -> EncodedImage:
    """The whole CT as a montage, or some slices of it closer."""
    picture = entry.case.pictures[0]
    if span is None:
        return flat_bytes(release, picture)
    return encode_closeup(
        release.pictures,
        picture,
        Slices(picture=picture.name, first=span[0], last=span[1]),
        part=part,
        longest=MONTAGE,
        media="png",
        windows=WINDOWS,
        count=SLICES // 2,
    )
