"""Corrected data: what a person puts in the place of what was shown, checked before it is kept."""

from __future__ import annotations

import json
from typing import Any

from overread.build.item import Data
from overread.errors import UsageError

MAX_CHARACTERS = 20_000
"""Characters of the corrected data as JSON; a cell of a spreadsheet holds little more."""
MAX_COORDINATE = 1_000_000
"""Pixels from the corner beyond which no picture goes."""


def check_correction(corrected: Any) -> Data:
    """The data as they are kept; refused where they are no JSON object, or a box is none.

    `box` is four numbers, left, top, right, bottom; `boxes` several of them; `slices` are numbers
    of slices. Whatever else a kind of question needs may stand beside them.

    >>> check_correction({"box": [10, 20, 30, 40.5]})
    {'box': [10, 20, 30, 40.5]}
    """
    try:
        if not isinstance(corrected, dict) or not corrected:
            raise ValueError
        text = json.dumps(corrected, allow_nan=False, ensure_ascii=False)
        text.encode()
        again: Data = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise UsageError(
            "the corrected data are no JSON object",
            remedy='write them as {"box": [left, top, right, bottom]} or {"slices": [12, 13]}',
        ) from None
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            f"the corrected data have {len(text):,} characters",
            remedy=f"keep to {MAX_CHARACTERS:,}; a mask belongs in a file, named here",
        )
    boxes = again.get("boxes", [])
    for box in [*(boxes if isinstance(boxes, list) else [boxes]), again.get("box", ())]:
        if box != () and not _is_box(box):
            raise UsageError(
                f"{json.dumps(box)[:60]} is no box",
                remedy="give left, top, right and bottom in pixels, left before right",
            )
    slices = again.get("slices", [0])
    if not (isinstance(slices, list) and slices and all(map(_is_slice, slices))):
        raise UsageError(f"{json.dumps(slices)[:60]} are no slices", remedy="give their numbers, from 0")
    return again


def _is_box(box: Any) -> bool:
    if not isinstance(box, list) or len(box) != 4:
        return False
    if not all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in box):
        return False
    return all(abs(n) < MAX_COORDINATE for n in box) and box[0] < box[2] and box[1] < box[3]


def _is_slice(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0
