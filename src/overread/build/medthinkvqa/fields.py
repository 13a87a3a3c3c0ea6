"""Fields of an item of this recipe, with their types; every step takes them from here."""

from __future__ import annotations

from typing import Any

from overread.build.item import Item
from overread.core import Record


class DifferentialDiagnoses(Record):
    """The diagnoses of a case: the right one, all that experts listed, the five of the case."""

    key: str
    """The right one, as it is written in the list."""
    listed: tuple[str, ...]
    """All that were listed, the right one too."""
    options: tuple[str, ...] = ()
    """Those that can be chosen; empty before they are."""

    @property
    def offered(self) -> tuple[str, ...]:
        """Those that can be chosen, or all as long as nothing was left out."""
        return self.options or self.listed

    @property
    def left_out(self) -> tuple[str, ...]:
        """Those that were listed and can no longer be chosen."""
        return tuple(text for text in self.listed if text not in self.offered)


class SourcePicture(Record):
    """One picture of a raw case."""

    file: str
    """Its file, relative to the source."""
    id: str | None = None
    """The source's own id of it."""
    caption: str | None = None
    """What an expert says of it."""
    modality: str | None = None
    """Level-1 modality, in the source's words."""
    sub_modality: str | None = None
    """Level-2 modality, in the source's words."""
    timepoint: int | None = None
    """Which examination it belongs to, counted from 1."""


def text_of(item: Item, field: str) -> str:
    """A text; empty where there is none."""
    value = item.data.get(field)
    return value if isinstance(value, str) else ""


def differential_of(item: Item) -> DifferentialDiagnoses:
    """The diagnoses of an item."""
    return DifferentialDiagnoses(
        key=text_of(item, "final_diagnosis"),
        listed=texts_of(item, "differential"),
        options=texts_of(item, "options"),
    )


def texts_of(item: Item, field: str) -> tuple[str, ...]:
    """A list of texts; empty where there is none."""
    value = item.data.get(field)
    return tuple(str(text) for text in value) if isinstance(value, list) else ()


def pictures_of(item: Item) -> list[SourcePicture]:
    """The pictures of an item, in their order."""
    value: Any = item.data.get("images")
    return [SourcePicture.model_validate(one) for one in value] if isinstance(value, list) else []


def patient_of(item: Item) -> str:
    """Whose case it is; where the source does not tell, each case is a patient of its own."""
    return item.patient or item.id
