"""`overread check`: every defect of a copy of a benchmark."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AnySplit, AsJson, Benchmark, Form, Pictures, Root

if TYPE_CHECKING:
    from overread.core import Defect


def check(
    benchmark: Benchmark,
    root: Root,
    split: AnySplit = "test",
    as_json: AsJson = False,
    form: Form = None,
    pictures: Pictures = None,
    no_pixels: Annotated[
        bool, typer.Option("--no-pixels", help="Only check that the pictures exist; open none.")
    ] = False,
    regions: Annotated[
        Path | None, typer.Option(help="Your own X-ray regions (TOML).", metavar="FILE")
    ] = None,
    limit: Annotated[int, typer.Option(help="Defects to print; --json gives all of them.", min=0)] = 60,
) -> None:
    """Read a release and name every defect: file, row, field, what was expected and found.

    Files are compared with checksums.sha256, where the release has it; --no-pixels leaves that out.
    Exit code 1 when there are errors, 0 when there are only warnings or none.
    """
    import overread
    from overread.benchmarks import splits_of, unopened_defect
    from overread.build.release.checksums import CHECKSUMS, verify_checksums
    from overread.cli.console import OutputClosed, print_json, progress_bar
    from overread.errors import ReleaseError
    from overread.ontology import use_regions

    if regions is not None:
        use_regions(regions)
    found: list[Defect] = []
    splits = [split]
    if split == "all":
        try:
            splits = splits_of(benchmark, root)
        except ReleaseError as error:
            splits, found = [], [unopened_defect(error)]
    for name in splits:
        with progress_bar(f"checking {benchmark} {name}", quiet=as_json) as told:
            found += overread.check(
                benchmark,
                root,
                name,
                form=form,
                pictures=pictures,
                open_pictures=not no_pixels,
                progress=told,
            )
    if not no_pixels and (root / CHECKSUMS).is_file():
        with progress_bar("comparing checksums", quiet=as_json) as told:
            found += verify_checksums(root, progress=told)
    found = list(dict.fromkeys(found))  # two splits may name the same thing
    errors = sum(defect.severity == "error" for defect in found)
    with suppress(OutputClosed):  # the exit code is for whoever asks, even if nobody reads on
        if as_json:
            print_json(_summary(benchmark, root, splits, found, errors=errors))
        else:
            _print(found, errors=errors, title=f"{benchmark} {', '.join(splits)}", limit=limit)
    sys.exit(1 if errors else 0)


def _summary(
    benchmark: str, root: Path, splits: list[str], found: list[Defect], *, errors: int
) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "root": str(root),
        "splits": splits,
        "ok": not errors,
        "errors": errors,
        "warnings": len(found) - errors,
        "defects": [
            {"severity": defect.severity, **defect.model_dump(exclude_none=True)} for defect in found
        ],
    }


def _print(found: list[Defect], *, errors: int, title: str, limit: int) -> None:
    from rich.table import Table

    from overread.cli.console import safe, stdout_console
    from overread.core.defects import KINDS

    console = stdout_console()
    ordered = sorted(found, key=lambda defect: defect.severity)
    if ordered:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in ("", "defect", "where", "expected", "found"):
            table.add_column(name, overflow="fold")
        for defect in ordered[:limit]:
            colour = "red" if defect.severity == "error" else "yellow"
            table.add_row(
                f"[{colour}]{defect.severity}[/]",
                *(safe(text) for text in (defect.code, defect.where, defect.expected, defect.found)),
            )
        console.print(table)
        if len(ordered) > limit:
            console.print(f"… and {len(ordered) - limit} more (--limit N, or --json for all)")
        console.print()
        counts = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        counts.add_column("times", justify="right")
        counts.add_column("kind", overflow="fold")
        counts.add_column("meaning", overflow="fold")
        for code, times in Counter(defect.code for defect in ordered).most_common():
            counts.add_row(f"{times:,}", safe(code), KINDS.get(code, ""))
        console.print(counts)
        console.print()
    empty = any(defect.code == "empty-split" for defect in found)
    verdict = "[green]is intact[/]" if not empty else "[yellow]has no cases[/]"
    verdict = "[red]has errors[/]" if errors else verdict
    console.print(f"{safe(title)} {verdict}: {errors:,} error(s), {len(found) - errors:,} warning(s)")
