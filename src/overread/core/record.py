"""Base classes of all records; handles are left out of a plain dump."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SerializationInfo, SerializerFunctionWrapHandler, model_serializer

from overread.core.notebook import html_table

WITH_HANDLES = {"whole": True}
"""Context for a dump that keeps handles: `case.model_dump_json(context=WITH_HANDLES)`."""


class Record(BaseModel):
    """Base of all records: frozen, unknown fields refused, every field documented."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    def _repr_html_(self) -> str:
        """In a notebook: every field that is filled, as a row."""
        fields = type(self).model_fields
        rows = [(name, value) for name, value in self if name in fields and fields[name].repr]
        return html_table(type(self).__name__, [row for row in rows if row[1] or row[1] == 0])


class RecordWithHandles(Record):
    """A record with handles: fields that overread needs and a reader must not see.

    An id or a file name may hint at the truth. A plain dump leaves handles out, so that a prompt
    made of it cannot carry them; to store the record, dump it with `context=WITH_HANDLES`.
    """

    handles: ClassVar[tuple[str, ...]] = ()

    @model_serializer(mode="wrap")
    def _hide_handles(self, dump: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        data: dict[str, Any] = dump(self)
        if not (isinstance(info.context, dict) and info.context.get("whole")):
            for name in self.handles:
                data.pop(name, None)
        return data
