"""The first step: checks that the image is there, its boxes lie on it, its regions are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.mmrad.major_regions import Corners
from overread.build.step import StepContext
from overread.errors import NotThere, PictureError, UsageError
from overread.metrics.boxes.overlap import iou
from overread.ontology import xray_regions
from overread.storage.fence import Fence

MAX_REPORT = 50_000
"""Characters; no trace of a longer one fits any model."""
_EDGE_TOLERANCE = 2
"""Pixels that a box may lie outside, by rounding; it is cut at the edge."""
_SCALE_TOLERANCE = 0.02
"""How far the two sides' scales from the boxes' frame to the picture may differ."""
_SAME_REGION_IOU = 0.5
"""Share of two boxes' union that they must have in common to be one region's."""


async def check_image(item: Item, context: StepContext) -> StepResult:
    """Open the picture, put the boxes into its own pixels, name the regions as the list does."""
    data, changes = item.data, []
    report = str(data["report"])
    if len(report) > MAX_REPORT:
        why = f"the report has {len(report):,} characters, over {MAX_REPORT:,}"
        return Drop(reason="report-too-long", why=why)
    if "\0" in report:
        clean = report.replace("\0", " ")
        changes.append(Change(what="report", before=report, after=clean, why="NUL bytes were blanked"))
        report = clean
    if not report.strip() and not data["said"]:
        return Drop(reason="empty-report", why="the report is empty, and nothing else is said")
    try:
        size = _image_size(item, context)
    except PictureError as error:
        code = "missing-image" if isinstance(error, NotThere) else "unreadable-image"
        return Drop(reason=code, why=str(error))
    frame = _box_frame(data, context, size)
    across, down = size[0] / frame[0], size[1] / frame[1]
    if abs(across / down - 1) > _SCALE_TOLERANCE:
        why = (
            f"the boxes are in a frame of {frame[0]} × {frame[1]}, the picture has "
            f"{size[0]} × {size[1]} pixels of another shape"
        )
        return Drop(reason="size-mismatch", why=why, changes=tuple(changes))
    if (across, down) != (1.0, 1.0):
        why = "the boxes were scaled to the picture's own pixels"
        changes.append(Change(what="frame", before=list(frame), after=list(size), why=why))
    boxes, noted, wrong = _read_boxes(data["regions"], (across, down), size)
    changes += noted
    if wrong is not None:
        return Drop(reason=wrong[0], why=wrong[1], changes=tuple(changes))
    if not boxes:
        why = "no box of a region of `overread list regions` is given"
        return Drop(reason="no-regions", why=why, changes=tuple(changes))
    return Keep(
        data={
            "report": report,
            "width": size[0],
            "height": size[1],
            "boxes": {name: list(boxes[name]) for name in xray_regions().names if name in boxes},
        },
        changes=tuple(changes),
    )


def _image_size(item: Item, context: StepContext) -> tuple[int, int]:
    from overread.pixels.image_files import verify_image

    image = str(item.data["image"])
    return verify_image(Fence(context.source).path(image), name=image)


def _box_frame(data: Mapping[str, Any], context: StepContext, size: tuple[int, int]) -> tuple[int, int]:
    """The frame that the boxes are in: as the row says, as the setting does, or the picture."""
    if isinstance(data["frame"], list):
        return int(data["frame"][0]), int(data["frame"][1])
    told = context.settings.get("frame", "").lower()
    if not told:
        return size
    try:
        width, height = (int(part) for part in (told.split("x") if "x" in told else (told, told)))
        if width > 0 and height > 0:
            return width, height
    except ValueError:
        pass
    raise UsageError(f"frame={told} is no size", remedy="give --setting frame=336x336")


def _read_boxes(
    given: Any, scales: tuple[float, float], size: tuple[int, int]
) -> tuple[dict[str, Corners], list[Change], tuple[str, str] | None]:
    """Region → box in the picture, what was altered, and what makes the film unusable."""
    found: dict[str, Corners] = {}
    changes: list[Change] = []
    for name, box in given if isinstance(given, list) else ():
        known = xray_regions().find(str(name))
        if not known:
            changes.append(Change(what="regions", before=[name, box], why=f"'{name}' is no known region"))
            continue
        wrong = _box_problem(str(name), box, scales, size)
        if wrong is not None:
            return found, changes, wrong
        corners = _to_pixels(box, scales, size)
        whole = [round(edge * scales[n % 2]) for n, edge in enumerate(box)]
        if list(corners) != whole:
            why = f"the box of {name} was cut at the edge of the picture"
            changes.append(Change(what="regions", before=whole, after=list(corners), why=why))
        # A box of several regions is none of each: it is used where they have none of their own.
        for one in known if len(known) == 1 else [n for n in known if n not in found]:
            before = found.setdefault(one, corners)
            if iou([before], [corners])[0, 0] < _SAME_REGION_IOU and len(known) == 1:
                met = f"{one} has two boxes, {list(before)} and {list(corners)}"
                return found, changes, ("conflicting-boxes", met)
    return found, changes, None


def _box_problem(
    name: str, box: Any, scales: tuple[float, float], size: tuple[int, int]
) -> tuple[str, str] | None:
    """What makes a box no box of this picture: a code and a sentence."""
    numbers = [edge for edge in box if isinstance(edge, (int, float)) and edge == edge]
    if len(box) != 4 or len(numbers) != 4 or max(map(abs, numbers)) > 1e7:
        return "bad-box", f"the box of {name} is {box}, not four numbers [x1, y1, x2, y2]"
    x1, y1, x2, y2 = (edge * scales[n % 2] for n, edge in enumerate(numbers))
    if x1 >= x2 or y1 >= y2:
        return "inverted-box", f"the box of {name}, {box}, ends before it begins"
    if min(x1, y1) < -_EDGE_TOLERANCE or x2 > size[0] + _EDGE_TOLERANCE or y2 > size[1] + _EDGE_TOLERANCE:
        told = f"the box of {name}, {box}, leaves the picture of {size[0]} × {size[1]} pixels"
        return "box-outside-picture", told
    if min(x2, size[0]) - max(x1, 0) < 1 or min(y2, size[1]) - max(y1, 0) < 1:
        return "bad-box", f"the box of {name}, {box}, holds no pixel"
    return None


def _to_pixels(box: Any, scales: tuple[float, float], size: tuple[int, int]) -> Corners:
    x1, y1, x2, y2 = (round(edge * scales[n % 2]) for n, edge in enumerate(box))
    left, top = min(max(x1, 0), size[0] - 1), min(max(y1, 0), size[1] - 1)
    return left, top, max(min(x2, size[0]), left + 1), max(min(y2, size[1]), top + 1)
