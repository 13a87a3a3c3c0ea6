"""The pictures of a case as they are now: a step that shows them is done anew with others."""

from __future__ import annotations

from pydantic import JsonValue

from overread.build.item import Item
from overread.build.medthinkvqa.fields import pictures_of
from overread.build.source_pictures import picture_path
from overread.build.step import StepContext
from overread.errors import PictureError


def pictures_state(item: Item, context: StepContext) -> JsonValue:
    """How large each picture of an item is, or None where it is not there."""
    if context.settings.get("pictures") == "named":
        return None
    found: list[JsonValue] = []
    for picture in pictures_of(item):
        try:
            found.append(picture_path(context.source, picture.file).stat().st_size)
        except (PictureError, OSError):
            found.append(None)
    return found
