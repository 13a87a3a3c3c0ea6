"""`overread ledger`: what became of every case of a build, step by step, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AsJson
from overread.cli.numbers import format_money

if TYPE_CHECKING:
    from overread.build.ledger.queries import BuildSummary, ItemHistory


def ledger(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that `overread build` wrote.")],
    case: Annotated[
        str | None, typer.Argument(metavar="[CASE]", help="One case, by its id or its place '#3'.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write every decision there, a row each.", metavar="FILE.parquet")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how the cases of a build went from step to step, or the whole history of one."""
    from overread.build.ledger.queries import load_history, load_summary
    from overread.cli.console import print_json, safe, stdout_console

    if export is not None:
        from overread.build.ledger.export import export_ledger

        count = export_ledger(folder, export)
        if as_json:
            print_json({"file": str(export), "decisions": count})
        else:
            stdout_console().print(f"{count:,} decisions written to {safe(str(export))}", soft_wrap=True)
        return
    if case is not None:
        found = load_history(folder, case)
        print_json(_history_json(found)) if as_json else _print_history(found)
        return
    whole = load_summary(folder)
    print_json(_summary_json(whole)) if as_json else _print_summary(whole)


def _print_summary(found: BuildSummary) -> None:
    from rich.table import Table

    from overread.cli.build_output import format_reasons
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    console.print(
        f"[bold]{safe(str(found.folder))}[/]: {safe(found.recipe)}, {found.items:,} cases of the "
        f"source, {found.left:,} left at the end",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column in ("step", "came", "kept", "dropped", "waiting", "failed", "changes", "answers"):
        words = column in ("step", "dropped", "waiting", "failed")
        table.add_column(column, justify="left" if words else "right", overflow="fold")
    for step in found.steps:
        refused = f" ({step.refused:,} rejected)" if step.refused else ""
        table.add_row(
            safe(step.name),
            f"{step.came:,}",
            f"{step.kept:,}",
            format_reasons(step.dropped),
            format_reasons(step.waiting),
            format_reasons(step.failed),
            f"{step.changes:,}" if step.changes else "",
            f"{step.calls:,}{refused}" if step.calls else "",
        )
    console.print(table)
    if found.defects:
        console.print(f"  defects of the source: {format_reasons(found.defects)}")
        for told in found.defects_told[:5]:
            console.print(f"    {safe(told)}")
    for spent in found.spending:
        cost = f", {format_money(spent.cost, spent.currency)}" if spent.cost else ""
        console.print(
            f"  {safe(spent.reader)}: {spent.replies:,} answers, {spent.input_tokens:,} tokens "
            f"read, {spent.output_tokens:,} written{cost}"
        )
    if found.questions:
        console.print(f"  {found.questions:,} questions wait for people")
    if found.released is not None:
        console.print(f"  release: {found.released:,} cases, written {found.released_at}")


def _print_history(found: ItemHistory) -> None:
    from overread.cli.build_output import print_decision
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    patient = f", patient {safe(found.patient)}" if found.patient else ""
    console.print(f"[bold]{safe(found.item)}[/]{patient}")
    console.print(f"  came with: {', '.join(safe(name) for name in found.source) or 'nothing'}")
    for told in found.defects:
        console.print(f"  defect: {safe(told)}")
    for one in found.decisions:
        note = f", {one.entry.at[:19]}" + ("" if one.current else ", superseded")
        print_decision(console, one.entry, note)
        for call in one.asked:
            known = ", known already" if call.known else ""
            who = f"{safe(call.role)}, {safe(call.reader)}"
            console.print(f"    asked the {who}, by {safe(call.prompt)}{known}")
            console.print(f"      answer: {safe(_shorten(call.reply.text if call.reply else ''))}")
            for word, told_ in (("rejected", call.problem), ("repaired", call.repaired)):
                if told_:
                    console.print(f"      {word}: {safe(told_)}")
    if not found.decisions:
        console.print("  no step has processed it yet")


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 200 else f"{plain[:199]}…"


def _summary_json(found: BuildSummary) -> dict[str, Any]:
    return {
        **vars(found),
        "folder": str(found.folder),
        "steps": [vars(step) for step in found.steps],
        "spending": [vars(spent) for spent in found.spending],
    }


def _history_json(found: ItemHistory) -> dict[str, Any]:
    return {
        "item": found.item,
        "patient": found.patient,
        "source": found.source,
        "now": found.now,
        "defects": found.defects,
        "decisions": [
            {
                **one.entry.model_dump(mode="json"),
                "current": one.current,
                "answers": [
                    {
                        **{k: v for k, v in vars(call).items() if k != "reply"},
                        "reply": call.reply.model_dump(mode="json") if call.reply else None,
                    }
                    for call in one.asked
                ],
            }
            for one in found.decisions
        ],
    }
