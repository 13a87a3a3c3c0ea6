"""What all records have in common, and how those with handles keep them to themselves."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
)

WHOLE = {"whole": True}
"""Context for a dump that keeps handles: `case.model_dump_json(context=WHOLE)`."""


class Record(BaseModel):
    """A fact that does not change: frozen, nothing unknown in it, every field explained."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )


class Handled(Record):
    """A record with handles: fields that the house needs and a reader must not see.

    An id or a file name may hint at the truth. A plain dump leaves handles out, so that a prompt
    made of it cannot carry them; who stores the record asks for them with `context=WHOLE`.
    """

    handles: ClassVar[tuple[str, ...]] = ()

    @model_serializer(mode="wrap")
    def _blind(
        self, dump: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        data: dict[str, Any] = dump(self)
        if not (isinstance(info.context, dict) and info.context.get("whole")):
            for name in self.handles:
                data.pop(name, None)
        return data
