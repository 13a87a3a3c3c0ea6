"""Boxes in a model's own numbers: how a question asks for them, and how its answer is read.

The house knows boxes as shares of what is shown: left, top, right, bottom from 0 to 1. A reader that
gives boxes otherwise is asked in its own numbers, always in those of the whole picture that it was
sent; its answer is turned into shares before it is parsed. Of a montage a box lies on one of the
tiles, and becomes shares of that tile.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from overread.core import SentImage
from overread.core.box_convention import BoxConvention, Numbers
from overread.errors import BadReply
from overread.prompts.json_repair import find_objects
from overread.prompts.replies import strip_thoughts

_EDGES = ("left", "top", "right", "bottom")
_EXAMPLES: dict[str, Numbers] = {
    "lesion_box": (0.21, 0.40, 0.29, 0.47),
    "structure_box": (0.08, 0.20, 0.47, 0.85),
    "region_box": (0.12, 0.10, 0.88, 0.81),
}
_SHARES = {
    "slice_edges": "its edges as shares of the width and height of one slice "
    "(0 is the left or upper edge of the slice, 1 the right or lower)",
    "tile_edges": "its edges as shares of the width and height of one tile as it is shown above "
    "(0 is the left or upper edge of the tile, 1 the right or lower)",
    "picture_edges": "its edges as shares of the width and height of the picture "
    "(0 is the left or upper edge, 1 the right or lower)",
}
BOX_WORDS = frozenset(_EXAMPLES) | frozenset(_SHARES)
"""Gaps of a prompt that are filled by how the reader gives boxes."""
_BEYOND = 0.05
"""How far a box may reach out of the picture, in shares of it; what does is cut off."""


@dataclass(frozen=True)
class BoxFrame:
    """The picture in which boxes are asked for."""

    shown: SentImage
    tiles: tuple[Numbers, ...] = ()
    """The tiles of a montage, each by its edges in shares of the picture; none for a single picture."""


def box_words(convention: BoxConvention, frame: BoxFrame | None) -> dict[str, str]:
    """The words of a question about boxes, by the names of the gaps they fill."""
    if convention.unit == "share" or frame is None:
        fields = {
            name: ", ".join(f'"{edge}": {value:.2f}' for edge, value in zip(_EDGES, edges, strict=True))
            for name, edges in _EXAMPLES.items()
        }
        return {**_SHARES, **fields}
    size = frame.shown.width, frame.shown.height
    wide, high = convention.full_size(*size)
    if convention.unit == "pixel":
        told = f"in pixels of the whole picture above, which is {wide} wide and {high} high"
    else:
        told = "in thousandths of the whole picture above, from 0 at its left or upper edge to 1000"
    native = f'its box "{convention.field}", {convention.corners} {told}'
    on_tile = f"{native}, as it lies on one of the tiles that show it"
    examples = {
        name: f'"{convention.field}": {json.dumps(convention.from_shares(edges, *size))}'
        for name, edges in _EXAMPLES.items()
    }
    return {"slice_edges": on_tile, "tile_edges": on_tile, "picture_edges": native, **examples}


def native_schema(schema: Mapping[str, JsonValue], convention: BoxConvention) -> dict[str, JsonValue]:
    """The schema of an answer with one field of four numbers in place of the four edges."""
    found: Any = _native_schema(schema, convention)
    return dict(found)


def _native_schema(schema: Any, convention: BoxConvention) -> Any:
    if isinstance(schema, list):
        return [_native_schema(part, convention) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    inside = {name: _native_schema(part, convention) for name, part in schema.items()}
    properties = inside.get("properties")
    if isinstance(properties, dict) and set(_EDGES) <= properties.keys():
        kept = {name: part for name, part in properties.items() if name not in _EDGES}
        numbers = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}
        inside["properties"] = {**kept, convention.field: numbers}
        if "required" in inside:
            inside["required"] = [n for n in inside["required"] if n not in _EDGES] + [convention.field]
    return inside


def reply_in_shares(text: str, convention: BoxConvention, frame: BoxFrame) -> str:
    """An answer with every box of the model's own kind turned into shares; other answers as they are."""
    rest = strip_thoughts(text)
    pieces, at = [], 0
    for found in find_objects(rest):
        turned = _turn(found.value, convention, frame)
        if turned is not None:
            pieces += [rest[at : found.start], json.dumps(turned)]
            at = found.end
    return "".join([*pieces, rest[at:]]) if pieces else text


def _turn(value: Any, convention: BoxConvention, frame: BoxFrame) -> Any:
    """A value with its boxes turned; None where it holds none."""
    if isinstance(value, list):
        parts = [_turn(part, convention, frame) for part in value]
        if all(part is None for part in parts):
            return None
        return [old if new is None else new for old, new in zip(value, parts, strict=True)]
    if not isinstance(value, dict):
        return None
    found = {name: new for name, part in value.items() if (new := _turn(part, convention, frame)) is not None}
    if convention.field in value:
        edges = _edges_in_frame(value[convention.field], convention, frame)
        rest = {name: part for name, part in value.items() if name != convention.field}
        return {**rest, **found, **dict(zip(_EDGES, edges, strict=True))}
    return {**value, **found} if found else None


def _edges_in_frame(given: Any, convention: BoxConvention, frame: BoxFrame) -> Numbers:
    """Four numbers of the model as shares of the picture, or of the tile on which they lie."""
    numbers = given[0] if isinstance(given, list) and len(given) == 1 else given
    if (
        not isinstance(numbers, list)
        or len(numbers) != 4
        or not all(
            isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in numbers
        )
    ):
        raise BadReply(f'"{convention.field}" must be four numbers {convention.corners}')
    size = frame.shown.width, frame.shown.height
    edges = convention.to_shares((numbers[0], numbers[1], numbers[2], numbers[3]), *size)
    if min(edges) < -_BEYOND or max(edges) > 1 + _BEYOND:
        wide, high = convention.full_size(*size)
        raise BadReply(
            f"a box reaches out of the picture, which goes from 0 to {wide} across and {high} down"
        )
    left, top, right, bottom = _ordered(edges)
    if not frame.tiles:
        return _clipped((left, top, right, bottom))
    middle = (left + right) / 2, (top + bottom) / 2
    tile = min(frame.tiles, key=lambda one: _outside(one, middle))
    across, down = tile[2] - tile[0], tile[3] - tile[1]
    if right - left > 1.5 * across or bottom - top > 1.5 * down:
        raise BadReply("a box covers several tiles; mark it on one of them, and give the slices it reaches")
    return _clipped(
        (
            (left - tile[0]) / across,
            (top - tile[1]) / down,
            (right - tile[0]) / across,
            (bottom - tile[1]) / down,
        )
    )


def _ordered(edges: Numbers) -> Numbers:
    left, right = sorted(edges[::2])
    top, bottom = sorted(edges[1::2])
    return left, top, right, bottom


def _clipped(edges: Numbers) -> Numbers:
    left, top, right, bottom = (min(1.0, max(0.0, edge)) for edge in edges)
    return left, top, right, bottom


def _outside(tile: Numbers, point: tuple[float, float]) -> float:
    """How far a point lies from a tile; 0 within it."""
    across = max(tile[0] - point[0], 0.0, point[0] - tile[2])
    down = max(tile[1] - point[1], 0.0, point[1] - tile[3])
    return across + down
