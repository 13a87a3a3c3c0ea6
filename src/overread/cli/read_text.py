"""`overread read-text`: what a text states, or the labels of a whole table of reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AsJson
from overread.cli.console import printable

if TYPE_CHECKING:
    from overread.language.statements import Statement

# Presence → the sign that stands before it, and its colour: one of them is always seen.
_MARKS = {
    "present": ("+", "bold red"),
    "absent": ("-", "green"),
    "uncertain": ("?", "bold yellow"),
    "historical": ("<", "blue"),
    "recommended": (">", "magenta"),
}


def read_text(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A text; '-' reads standard input.")
    ] = None,
    as_json: AsJson = False,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Your own terms besides ours (TOML).", metavar="FILE")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Read a table of reports.", metavar="FILE")
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column of the table that holds the text.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The column that holds the id of a report.")
    ] = None,
    labels: Annotated[str, typer.Option(help="Which labels: ctrate, chexpert or rexgroundingct.")] = "ctrate",
    out: Annotated[
        Path | None, typer.Option(help="The table to write, one row per report.", metavar="FILE")
    ] = None,
) -> None:
    """Print what a text states: each observation, whether it is there, and what is said of it.

    With --csv, --column, --id and --out: label a table of reports, a column of 0 and 1 per label.
    """
    from overread.errors import UsageError
    from overread.language.vocabulary import use_vocabulary

    if vocabulary is not None:
        use_vocabulary(vocabulary)
    if csv is not None:
        from overread.cli.label_table import label_table

        if file is not None:
            raise UsageError("a text and a table were given", remedy="leave out FILE or --csv")
        label_table(csv, column, id_column, labels, out, as_json=as_json)
        return
    if file is None:
        raise UsageError("no text was given", remedy="name a file, '-' or --csv FILE")
    if column or id_column or out:
        raise UsageError(
            "--column, --id and --out are about a table", remedy="give the table with --csv FILE"
        )
    _read_one(file, as_json=as_json)


def _read_one(file: str, *, as_json: bool) -> None:
    from overread.cli.console import print_json
    from overread.errors import OverreadError
    from overread.language.statements import find_statements

    text = _read_input(file)
    if not text.strip():
        raise OverreadError("there is no text", where=_input_name(file), remedy="give one with words")
    found = find_statements(text)
    if as_json:
        print_json(
            {
                "file": _input_name(file),
                "characters": len(text),
                "statements": [
                    {"text": one.span.extract(text), **one.model_dump(mode="json")} for one in found
                ],
            }
        )
    else:
        _print(text, found)


def _input_name(file: str) -> str:
    return "standard input" if file == "-" else file


def _read_input(file: str) -> str:
    if file == "-":
        if sys.stdin is None:
            return ""
        return decode_with_warning(sys.stdin.buffer.read(), "standard input")
    return decode_with_warning(read_bytes(Path(file)), file)


def read_bytes(path: Path) -> bytes:
    """What a file holds, or one sentence that says why not."""
    from overread.errors import UsageError

    try:
        if path.is_dir():
            raise UsageError("this is a folder", where=str(path), remedy="name a file in it")
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError("there is no such file", where=str(path), remedy="look at the path again") from None
    except ValueError:  # a NUL in the path
        raise UsageError("this cannot be a path", where=repr(str(path))) from None


def decode_with_warning(data: bytes, name: str) -> str:
    """Bytes as text; what is none is replaced, and a warning says how often and where first."""
    from overread.storage.tables import BAD_BYTE, decode_text, find_bad_byte

    text = decode_text(data)
    bad = find_bad_byte(text)
    if bad is None:
        return text
    text, times = BAD_BYTE.subn("\N{REPLACEMENT CHARACTER}", text)
    warn(
        f"{times} byte(s) of {name} are not UTF-8 and were read as '\ufffd', "
        f"the first on line {bad.line} ({bad})"
    )
    return text


def warn(sentence: str) -> None:
    """One line on stderr; the work goes on."""
    typer.echo(f"overread: {printable(sentence)}", err=True)


def _print(text: str, found: list[Statement]) -> None:
    """The text with its marks, and under it one line per statement."""
    from rich.table import Table
    from rich.text import Text

    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    console.print(_mark_text(text, found), soft_wrap=True)
    if not found:
        console.print("\nnothing that is in the vocabulary is stated")
        return
    legend = Text("\n")
    for presence, (sign, style) in _MARKS.items():
        legend.append(f"[{sign}{presence}]", style).append("  ")
    console.print(legend)
    console.print()
    names = ("observation", "presence", "side", "place", "size", "number", "severity", "change")
    rows = [_statement_cells(one) for one in found]
    shown = [n for n in range(len(names) + 1) if n < 2 or any(row[n] for row in rows)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for n in shown:
        table.add_column((*names, "further")[n], overflow="fold")
    for one, row in zip(found, rows, strict=True):
        cells = [safe(row[n]) for n in shown]
        cells[1] = f"[{_MARKS[one.presence][1]}]{cells[1]}[/]"
        table.add_row(*cells)
    console.print(table)


def _mark_text(text: str, found: list[Statement]) -> Any:
    """The text, each name of an observation in brackets, with a sign and a colour."""
    from rich.text import Text

    marked, at = Text(), 0
    for one in sorted(found, key=lambda one: (one.span.start, one.span.end)):
        if one.span.start < at:
            continue  # one word that means two things is marked once
        sign, style = _MARKS[one.presence]
        marked.append(_strip_controls(text[at : one.span.start]))
        marked.append(f"[{sign}{_strip_controls(one.span.extract(text))}]", style)
        at = one.span.end
    return marked.append(_strip_controls(text[at:]).rstrip("\n"))


def _strip_controls(text: str) -> str:
    """Text for the terminal, with no control character but the line break."""
    return printable("".join(" " if c.isspace() and c != "\n" else c for c in text), keep="\n")


def _statement_cells(one: Statement) -> tuple[str, ...]:
    axes = " × ".join(f"{axis:g}" for axis in one.axes_mm)
    size = f"{axes} mm" if axes else "under 10 mm" if one.small else ""
    number = str(one.count) if one.count else "several" if one.many else ""
    zones = [f"{zone} zone" for zone in one.zones]
    place = " ".join(one.segments or one.lobes) or ", ".join((*zones, *one.places))
    further = ", ".join((*one.spread, *one.traits))
    return (
        one.observation,
        one.presence,
        one.side or "",
        place,
        size,
        number,
        one.severity or "",
        one.comparison or "",
        further,
    )
