"""What all results of the statistics have in common: one line for people, plain JSON for files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class Result:
    """Base of the results: frozen dataclasses that can be stored."""

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON values; None stands where a number is undefined."""
        return {field.name: _to_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def format_number(value: float | None) -> str:
    """A number as people read it, to three places; 'undefined' where there is none."""
    return "undefined" if value is None else f"{value:.3f}"


def format_p(value: float | None) -> str:
    """A p as people write it.

    >>> format_p(0.0421), format_p(0.00002)
    ('p = 0.042', 'p < 0.001')
    """
    if value is None:
        return "p undefined"
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def finite_or_none(value: float) -> float | None:
    """The number as a plain float; None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def _to_json(value: Any) -> Any:
    """The value with nothing in it that JSON does not know."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return finite_or_none(value) if isinstance(value, float) else value
