"""HTML that is safe by the way it is made: whatever is not markup already is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"meta", "img", "br", "hr", "link"})


class Markup(str):
    """Text that is HTML already, made by `h`."""

    __slots__ = ()


Child = Markup | str | int | float | None
Children = Child | Iterable[Child]


def h(name: str, /, *children: Children, **attributes: str | float | None) -> Markup:
    """One element; words in it are escaped, `class_` is class and `aria_label` aria-label.

    >>> h("p", "1 < 2 ", h("b", "& so"), class_='a"b')
    '<p class="a&quot;b">1 &lt; 2 <b>&amp; so</b></p>'
    """
    told = "".join(
        f' {_attribute(key)}="{escape(_text(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{join_markup(*children)}</{name}>")


def join_markup(*children: Children) -> Markup:
    """Children one after the other, each escaped unless it is markup."""
    parts = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            parts.append(str(child))
        elif isinstance(child, str | int | float):
            parts.append(escape(_text(child)))
        else:
            parts.append(str(join_markup(*child)))
    return Markup("".join(parts))


def with_line_breaks(name: str) -> Markup:
    """A name of several words joined by underscores, which may be broken behind each.

    >>> with_line_breaks("hit_rate")
    'hit_<wbr>rate'
    """
    return Markup("_<wbr>".join(escape(part) for part in name.split("_")))


def table(heads: Iterable[Child], rows: Iterable[Iterable[Child]], *, numbers: Iterable[int] = ()) -> Markup:
    """A table whose first cells name their rows; `numbers` are columns that stand to the right."""
    heads = list(heads)
    side = dict.fromkeys(numbers, "number")
    head = h("tr", [h("th", cell, scope="col", class_=side.get(n)) for n, cell in enumerate(heads)])
    body = [
        h(
            "tr",
            [
                h("th", cell, scope="row") if n == 0 else h("td", cell, class_=side.get(n))
                for n, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    return h(
        "div",
        h("table", h("thead", head), h("tbody", body)),
        class_="scrolls",
        tabindex="0",
        role="region",
        aria_label=f"Table: {heads[0]}",
    )


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    """As text that every HTML file may hold: no control characters."""
    if isinstance(value, float):
        return f"{value:.4g}" if value != int(value) else str(int(value))
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in str(value))
