"""`overread describe`: what a copy of a benchmark holds, as its paper's dataset tables show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import AnySplit, AsJson, Benchmark, Form, Pictures, Root

if TYPE_CHECKING:
    from rich.table import Table

    from overread.core.description import CountTable, Description, NumberTable


def describe(
    benchmark: Benchmark,
    root: Root,
    split: AnySplit = "all",
    as_json: AsJson = False,
    form: Form = None,
    pictures: Pictures = None,
    headers: Annotated[
        bool,
        typer.Option(
            "--headers", help="Read the pictures' headers too: sizes, spacing, volumes; no pixel is decoded."
        ),
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(
            help="A column of your own copy that tells the body region (MedThinkVQA has none).",
            metavar="NAME",
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Print the paper's numbers beside this copy's.")
    ] = False,
    regions: Annotated[
        Path | None, typer.Option(help="Your own X-ray regions (TOML).", metavar="FILE")
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows of a table to print; --json gives all.", min=1)] = 15,
) -> None:
    """Count what a copy holds, by split: every number of the paper's dataset tables and figures.

    Rows are read one by one. What a copy does not tell is said at the end, never guessed.
    """
    import overread
    from overread.cli.console import print_json, progress_bar
    from overread.ontology import use_regions

    if regions is not None:
        use_regions(regions)
    with progress_bar(f"reading {benchmark}", quiet=as_json) as told:
        found = overread.describe(
            benchmark,
            root,
            () if split == "all" else (split,),
            form=form,
            pictures=pictures,
            headers=headers,
            column=column,
            progress=told,
        )
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print(found, published=published, limit=limit)


def _print(found: Description, *, published: bool, limit: int) -> None:
    from overread.cli.console import safe, stdout_console
    from overread.core.description import CountTable

    console = stdout_console()
    totals = _table(found.benchmark, *found.splits)
    for total in found.totals:
        totals.add_row(safe(total.name), *(f"{total.values[split]:,}" for split in found.splits))
    console.print(totals)
    for table in found.tables:
        console.print()
        if isinstance(table, CountTable):
            _print_counts(table, found.splits, limit)
        else:
            _print_numbers(table, limit)
    if published:
        console.print()
        _print_published(found)
    if found.missing:
        console.print("\n[bold]Not told by this copy[/]")
        for one in found.missing:
            console.print(f"{safe(one.what)}: {safe(one.why)}", soft_wrap=True)


def _print_counts(table: CountTable, splits: list[str], limit: int) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    console.print(f"[bold]{safe(table.title)}[/]: {safe(table.about)}", soft_wrap=True)
    shown = _table(table.unit, *splits)
    for row in table.rows[:limit]:
        cells = []
        for split in splits:
            whole = table.whole[split]
            share = f" ({row.values[split] / whole:.1%})" if whole else ""
            cells.append(f"{row.values[split]:,}{share}")
        shown.add_row(safe(row.name), *cells)
    shown.add_row("[dim]of[/]", *(f"[dim]{table.whole[split]:,}[/]" for split in splits))
    console.print(shown)
    _print_rest(len(table.rows), limit)


def _print_numbers(table: NumberTable, limit: int) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    console.print(f"[bold]{safe(table.title)}[/]: {safe(table.about)}", soft_wrap=True)
    grouped = len(table.rows) > 1
    first = ["group", "split"] if grouped else ["split"]
    shown = _table(*first, table.unit, "mean", "sd", "least", "quarter", "median", "three quarters", "most")
    for row in table.rows[:limit]:
        # Of a group only the last: all splits together. JSON and the page have every one.
        told = row.values if row is table.rows[0] else dict(list(row.values.items())[-1:])
        for split, one in told.items():
            numbers = (one.mean, one.sd, one.least, one.q1, one.median, one.q3, one.most)
            names = [safe(row.name), split] if grouped else [split]
            shown.add_row(*names, f"{one.count:,}", *map(_short, numbers))
    console.print(shown)
    _print_rest(len(table.rows), limit)


def _print_published(found: Description) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    console.print("[bold]Beside the published numbers[/]")
    shown = _table("what", "split", "published", "here", "source")
    for one in found.published:
        here = "not told" if one.here is None else _short(one.here)
        shown.add_row(safe(one.what), one.split, _short(one.published), here, safe(one.source))
    console.print(shown)


def _print_rest(rows: int, limit: int) -> None:
    from overread.cli.console import stdout_console

    if rows > limit:
        stdout_console().print(f"… and {rows - limit} more (--limit N, or --json for all)")


def _table(first: str, *others: str) -> Table:
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(first, overflow="fold")
    for name in others:
        made.add_column(name, justify="left" if name in ("split", "source") else "right")
    return made


def _short(number: float) -> str:
    """A number with as many digits as a reader wants.

    >>> _short(7347), _short(6.6234), _short(0.30412), _short(14023.7)
    ('7,347', '6.62', '0.304', '14,024')
    """
    if float(number).is_integer() or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.2f}" if abs(number) >= 1 else f"{number:.3g}"
