"""How records show themselves in a notebook: small HTML tables, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_MAX_TEXT = 400


def html_table(
    title: str, rows: Iterable[Sequence[object]], *, head: Sequence[str] = (), note: str = ""
) -> str:
    """A table of plain values, with what it is above it and a note below.

    >>> html_table("Case", [("history", "<b>cough</b>")])
    '<table><caption>Case</caption><tr><td>history</td><td>&lt;b&gt;cough&lt;/b&gt;</td></tr></table>'
    """
    lines = [f"<table><caption>{escape(title)}</caption>"]
    if head:
        lines.append("<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>")
    lines += ["<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows]
    lines.append("</table>")
    if note:
        lines.append(f"<p>{escape(note)}</p>")
    return "".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, tuple | list) and all(isinstance(part, str) for part in value):
        text = ", ".join(value)
    else:
        text = "" if value is None else str(value)
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 1] + "…"
    return escape(text).replace("\n", "<br>")
