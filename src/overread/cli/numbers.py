"""Numbers as text: an estimate with its interval, an amount of money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overread.cli.console import safe

if TYPE_CHECKING:
    from overread.metrics.statistics import Interval


def format_interval(found: Interval, *, sign: str = "") -> str:
    """A value with its interval behind it; with sign="+" differences show theirs."""
    if found.value is None:
        return "undefined"
    if found.low is None:
        why = found.note.partition(":")[0]
        return f"{found.value:{sign}.3f}" + (f" ({why})" if why else "")
    between = f" ({found.low:{sign}.3f} – {found.high:{sign}.3f})"
    return f"{found.value:{sign}.3f}{between}"


def format_money(amount: float, currency: str) -> str:
    """An amount with its currency; four decimals below 1.

    >>> format_money(1234.5, "EUR"), format_money(0.06, "USD"), format_money(0, "")
    ('1,234.50 EUR', '0.0600 USD', '0.00')
    """
    shown = f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.4f}"
    return f"{shown} {safe(currency)}".strip()
