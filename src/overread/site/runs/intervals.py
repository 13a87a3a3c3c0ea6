"""Numbers with their intervals, as files of audits and sweeps hold them and the page gets them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StoredModel(BaseModel):
    """A part of a file that anybody may have changed since; there may be more in it."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )


class IntervalValue(StoredModel):
    """A number with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    note: str = ""
    """Why there is no interval, or what to know about it."""


class PairedDifference(StoredModel):
    """One number minus another on the same answers."""

    first: float | None
    second: float | None
    difference: IntervalValue
    p: float | None = None
    notes: tuple[str, ...] = ()
    p_method: str = ""
    """How p was found; empty in files of earlier versions."""
