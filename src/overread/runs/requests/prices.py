"""Price lists: what tokens cost, so that a run can say what it spends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from overread.catalog import unknown_name
from overread.core import Usage
from overread.errors import UsageError

HIGHEST = 1e12
"""What a million tokens may cost at most; more is a slip, and its sums could not be stored."""
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Prices:
    """Prices of one model, per million tokens."""

    input: float
    """Of a million tokens that are read."""
    output: float
    """Of a million tokens that are written."""
    currency: str = ""
    """What the numbers are in; nothing is converted."""

    def __post_init__(self) -> None:
        """Refuse what cannot be a price."""
        for price in (self.input, self.output):
            if not 0 <= price <= HIGHEST:
                raise UsageError(f"a price of {price:g} is none", remedy=f"give a number, 0 to {HIGHEST:g}")

    def cost(self, usage: Usage) -> float:
        """What a reply costs.

        >>> Prices(2.0, 10.0).cost(Usage(input_tokens=1_000_000, output_tokens=100_000))
        3.0
        """
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


def read_prices(path: Path, model: str) -> Prices:
    """The prices of a model from a TOML or JSON file.

    The file has one table a model, by its name, with `input` and `output` per million tokens, and
    may name a `currency` at its top.
    """
    where = str(path)
    remedy = 'write a table for each model: ["name"], input = 1.25, output = 10.0'
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError("this is too large for a price list", where=where, remedy=remedy)
        data = _parse_file(path)
    except OSError as error:
        raise UsageError(f"the price list cannot be read ({error.strerror})", where=where) from None
    except ValueError as error:
        raise UsageError(f"this is not a price list ({error})", where=where, remedy=remedy) from None
    except RecursionError:
        raise UsageError("its values are nested too deeply", where=where, remedy=remedy) from None
    tables = {name: row for name, row in data.items() if isinstance(row, dict)}
    if model not in tables:
        raise unknown_name(f"model in {path.name}", model, tables)
    row = tables[model]
    into: Any = row.get("input")
    out: Any = row.get("output")
    if not (_is_price(into) and _is_price(out)):
        what = f"the prices of '{model}' are not numbers from 0 to {HIGHEST:g}"
        raise UsageError(what, where=where, remedy=remedy)
    return Prices(float(into), float(out), str(data.get("currency", "")))


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST


def _parse_file(path: Path) -> dict[str, Any]:
    import tomllib

    raw = path.read_bytes()
    data = from_json(raw) if path.suffix == ".json" else tomllib.loads(raw.decode("utf-8"))
    if not isinstance(data, dict):
        raise ValueError("it holds no tables")
    return data
