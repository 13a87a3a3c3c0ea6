"""`overread export`: a release in the formats that training programs read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import AnySplit, AsJson, Benchmark, Form, Pictures, Root

if TYPE_CHECKING:
    from overread.build.release.export_formats import ExportResult

_MAX_SHOWN = 10


def export(
    format_name: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="parquet, chat, nnunet, dicom-seg, label-studio, …; 'list' names and describes them all.",
        ),
    ],
    benchmark: Benchmark = "",
    root: Root = Path(),
    out: Annotated[Path | None, typer.Option(help="Output folder; must not exist.", metavar="DIR")] = None,
    split: AnySplit = "all",
    limit: Annotated[int | None, typer.Option(help="Only the first cases a split.", min=1)] = None,
    style: Annotated[
        str | None,
        typer.Option(
            help="Of chat: qwen, llava, trl, ms-swift or llama-factory; of label-studio: blank or prefilled."
        ),
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option(
            help="Of chat: the workflow whose questions are asked, direct or ground-cot "
            "(level by level, answered by the anatomical chain of thought).",
        ),
    ] = None,
    image_root: Annotated[
        str | None,
        typer.Option(
            help="Of chat and lmms-eval: the folder that the export will lie in, where it will be moved; "
            "'' for none. Default: as the program finds pictures.",
            metavar="DIR",
        ),
    ] = None,
    with_test_truth: Annotated[
        bool, typer.Option("--with-test-truth", help="The truth of the test split too.")
    ] = False,
    dicom: Annotated[
        Path | None, typer.Option(help="For dicom-seg: a DICOM series a case, by its id.", metavar="DIR")
    ] = None,
    form: Form = None,
    pictures: Pictures = None,
    as_json: AsJson = False,
) -> None:
    """Write a release for training: tables, chats, traces, label maps, masks, DICOM.

    The folder appears when all of it is written. The truth of the test split stays where it is
    unless it is asked for.
    """
    from overread.build.release.export_formats import export_release, find_format
    from overread.cli.console import print_json, progress_bar
    from overread.errors import UsageError

    if format_name == "list":
        _list(as_json=as_json)
        return
    find_format(format_name)
    if not benchmark or root == Path():
        raise UsageError(
            "a benchmark and the folder of its release are missing",
            remedy=f"write overread export {format_name} BENCHMARK ROOT --out DIR",
        )
    if out is None:
        raise UsageError("there is no --out", remedy="name the folder to write with --out DIR")
    with progress_bar(f"exporting {format_name}", quiet=as_json) as told:
        done = export_release(
            format_name,
            benchmark,
            root,
            out,
            split=split,
            limit=limit,
            style=style,
            workflow=workflow,
            image_root=image_root,
            with_test_truth=with_test_truth,
            form=form,
            pictures=pictures,
            dicom=dicom,
            progress=told,
        )
    if as_json:
        print_json(done.as_json())
    else:
        _print(done)


def _list(*, as_json: bool) -> None:
    from overread.build.release.export_formats import FORMATS
    from overread.cli.console import print_json, safe, stdout_console

    if as_json:
        print_json(
            [
                {"name": one.name, "about": one.about,
                 "benchmarks": one.benchmarks() if one.takes else ["all"]}
                for one in FORMATS.values()
            ]
        )  # fmt: skip
        return
    for one in FORMATS.values():
        stdout_console().print(f"{one.name:<15} {safe(one.about)}")


def _print(done: ExportResult) -> None:
    from overread.cli.console import safe, stderr_console, stdout_console

    parts = ", ".join(f"{many} {split}" for split, many in done.cases.items())
    console = stdout_console()
    console.print(f"wrote {safe(str(done.out))}: {parts} case(s), {done.files} files")
    for note in done.notes[:_MAX_SHOWN]:
        console.print(f"  {safe(note)}")
    if len(done.notes) > _MAX_SHOWN:
        console.print(f"  and {len(done.notes) - _MAX_SHOWN} more notes, in export.json")
    for name, why in list(done.left_out.items())[:_MAX_SHOWN]:
        stderr_console().print(f"left out {safe(name)}: {safe(why)}")
    if len(done.left_out) > _MAX_SHOWN:
        stderr_console().print(f"and {len(done.left_out) - _MAX_SHOWN} more, in export.json")
