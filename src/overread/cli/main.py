"""The `overread` command: its verbs, and what becomes of errors.

Exit codes: 0 all is well; 1 something is wrong with the data; 2 the command was not understood;
70 a bug of ours; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Annotated

import typer

from overread import __version__
from overread.cli.adjudicate import adjudicate
from overread.cli.audit import audit
from overread.cli.build import build
from overread.cli.check import check
from overread.cli.compare import compare
from overread.cli.console import (
    OutputClosed,
    drop_output,
    flush_output,
    is_debugging,
    name_stdout,
    printable,
)
from overread.cli.deidentify import deidentify
from overread.cli.demo import demo
from overread.cli.describe import describe
from overread.cli.doctor import doctor
from overread.cli.export import export
from overread.cli.get import get
from overread.cli.grade import grade
from overread.cli.import_annotations import import_annotations
from overread.cli.judge import judge
from overread.cli.ledger import ledger
from overread.cli.list import list_kinds
from overread.cli.look import look
from overread.cli.mrmc import mrmc
from overread.cli.password import password
from overread.cli.phantom import phantom
from overread.cli.power import power
from overread.cli.publish import publish
from overread.cli.quality import quality
from overread.cli.read_text import read_text
from overread.cli.report import report
from overread.cli.run import run
from overread.cli.score import score
from overread.cli.show import show
from overread.cli.submit import submit
from overread.cli.sweep import sweep
from overread.cli.view import view
from overread.cli.write import write
from overread.errors import OverreadError, UsageError
from overread.storage.system_errors import explain_lack, explain_system_error

app = typer.Typer(
    name="overread",
    help="A workbench for visually grounded radiology reasoning. For research and education; "
    "not for patient care.",
    epilog="Any verb takes --debug, which shows the traceback behind an error.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo)
app.command("check")(check)
app.command("describe")(describe)
app.command("show")(show)
app.command("look")(look)
app.command("view")(view)
app.command("password")(password)
app.command("list")(list_kinds)
app.command("phantom")(phantom)
app.command("grade")(grade)
app.command("run")(run)
app.command("score")(score)
app.command("sweep")(sweep)
app.command("judge")(judge)
app.command("audit")(audit)
app.command("submit")(submit)
app.command("deidentify")(deidentify)
app.command("build")(build)
app.command("ledger")(ledger)
app.command("quality")(quality)
app.command("publish")(publish)
app.command("adjudicate")(adjudicate)
app.command("export")(export)
app.command("import")(import_annotations)
app.command("compare")(compare)
app.command("mrmc")(mrmc)
app.command("power")(power)
app.command("report")(report)
app.command("read-text")(read_text)
app.command("write")(write)
app.command("get")(get)
app.command("doctor")(doctor)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"overread {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before the verb."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = is_debugging(words)
    words = [word for word in words if word != "--debug"]
    _replace_bad_letters()
    name_stdout()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _exit_on_signal)  # so that half-written files are tidied away
    try:
        _run_and_flush(words)
    except OverreadError as error:
        _exit_with_error(str(error), 2 if isinstance(error, UsageError) else 1, debug=debug)
    except OutputClosed:
        sys.exit(0)
    except KeyboardInterrupt:
        _exit_with_error("stopped", 130, debug=False)
    except Exception as error:  # the last line of defence: a bug is told as one
        if isinstance(error, OSError):
            drop_output(error)
        lack = explain_system_error(error) if isinstance(error, OSError) else explain_lack(error)
        if lack is not None:
            _exit_with_error(str(lack), 1, debug=debug)
        told = f"{type(error).__name__}: {error}"
        _exit_with_error(
            f"this is a bug in overread ({told}): run it again with --debug and report what it prints",
            70,
            debug=debug,
        )


def _run_and_flush(words: list[str]) -> None:
    """Run one command; what it printed is out before it ends, or it is told why not."""
    try:
        app(words, prog_name="overread")
    except SystemExit:
        flush_output()
        raise


def _exit_on_signal(number: int, _: object) -> None:
    sys.exit(128 + number)


def _replace_bad_letters() -> None:
    """Make stdout and stderr replace characters that they cannot encode, instead of failing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _exit_with_error(sentence: str, code: int, *, debug: bool) -> None:
    if debug:
        import traceback

        traceback.print_exc()
    with suppress(OSError):  # there is nobody left to tell
        sys.stderr.write(f"overread: {printable(sentence)}\n")
    sys.exit(code)
