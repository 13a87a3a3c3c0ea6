"""`overread deidentify`: free headers, pictures and reports of what names a person."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import AsJson

if TYPE_CHECKING:
    from overread.build.deid.results import CleanSummary

_MAX_SHOWN = 20


def deidentify(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder, or one file.")],
    out: Annotated[Path, typer.Option(help="Where the cleaned files go.", metavar="DIR")],
    secret: Annotated[
        Path | None,
        typer.Option(
            help="The file that everything is mapped by; made where it is not there. Without it: "
            "one in your own settings.",
            metavar="FILE",
        ),
    ] = None,
    tags: Annotated[
        bool, typer.Option("--tags", help="In texts: [NAME], [DATE] … instead of made-up values.")
    ] = False,
    remove_dates: Annotated[
        bool, typer.Option("--remove-dates", help="Remove dates instead of shifting them.")
    ] = False,
    day_first: Annotated[
        bool | None,
        typer.Option("--day-first/--month-first", help="How ambiguous dates such as 03/04/2021 are read."),
    ] = None,
    keep_side_markers: Annotated[
        bool, typer.Option("--keep-side-markers", help="Leave single R and L uncovered.")
    ] = False,
    keep_descriptions: Annotated[
        bool, typer.Option("--keep-descriptions", help="Keep series descriptions, cleaned.")
    ] = False,
    keep_characteristics: Annotated[
        bool, typer.Option("--keep-characteristics", help="Keep sex, size, weight, age to 89.")
    ] = False,
    names: Annotated[
        Path | None,
        typer.Option(help="More names to look for, one a line: staff, hospitals.", metavar="FILE"),
    ] = None,
    patient_column: Annotated[str | None, typer.Option(help="Table column with the patient's id.")] = None,
    text_column: Annotated[
        list[str] | None, typer.Option(help="Clean this column as text; repeatable.")
    ] = None,
    keep_column: Annotated[
        list[str] | None, typer.Option(help="Leave this column as it is; repeatable.")
    ] = None,
    keep_map: Annotated[
        Path | None, typer.Option(help="Write what was removed here; keep it safe.", metavar="FILE")
    ] = None,
    accept_unclean: Annotated[
        bool, typer.Option("--accept-unclean", help="Write files even if they could not be cleaned.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Clean DICOM, NIfTI, PNG, JPEG, CSV, JSONL, JSON and text files of what names a person.

    Rules, not a guarantee: look at the result before you give it away. Exit code 1 when files
    could not be cleaned; they are not written.
    """
    from overread.build.deid.folder import deidentify as clean
    from overread.build.deid.results import Options
    from overread.cli.console import print_json, progress_bar

    options = Options(
        replace="tags" if tags else "surrogates",
        dates="remove" if remove_dates else "shift",
        day_first=day_first,
        keep_side_markers=keep_side_markers,
        keep_descriptions=keep_descriptions,
        keep_characteristics=keep_characteristics,
        names=_read_names(names),
        patient_column=patient_column,
        text_columns=tuple(text_column or ()),
        keep_columns=tuple(keep_column or ()),
        accept_unclean=accept_unclean,
    )
    with progress_bar("cleaning", quiet=as_json) as told:
        cleaned = clean(source, out, options, secret=secret, keep_map=keep_map, progress=told)
    if as_json:
        print_json(cleaned.model_dump(mode="json"))
    else:
        _print(cleaned)
    sys.exit(1 if cleaned.refused else 0)


def _read_names(file: Path | None) -> tuple[str, ...]:
    if file is None:
        return ()
    from overread.storage.tables import read_user_file

    # Strict: a name with a letter replaced would be found nowhere, and stay in the texts.
    lines = read_user_file(file, "names").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _print(cleaned: CleanSummary) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    files = ", ".join(f"{count:,} {kind}" for kind, count in cleaned.files.items()) or "nothing"
    console.print(f"written to {safe(str(cleaned.out))}: {files}")
    for kind, count in cleaned.removals.items():
        console.print(f"  {count:>9,}  {kind}")
    if cleaned.left_out:
        console.print(f"{len(cleaned.left_out):,} file(s) of the system or indexes were left out")
    for one in cleaned.unclean[:_MAX_SHOWN]:
        verdict = "[yellow]written uncleaned[/]" if one.accepted else "[red]not written[/]"
        console.print(f"{verdict}: {safe(one.source)}: {safe(one.why)}")
    if len(cleaned.unclean) > _MAX_SHOWN:
        console.print(f"… and {len(cleaned.unclean) - _MAX_SHOWN:,} more")
    console.print("rules find only what they know: check a sample before you share this")
