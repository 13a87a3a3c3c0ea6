"""Console output: results to stdout, progress and errors to stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from overread.core import Progress


def stdout_console() -> Console:
    """The console for results; wide where nobody watches, so that nothing is cut."""
    from rich.console import Console

    class Results(Console):
        """rich answers a closed pipe with exit code 1, which here means a broken release."""

        def on_broken_pipe(self) -> None:
            raise _close_output()

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Results(width=width, highlight=False, soft_wrap=False)


def stderr_console() -> Console:
    """The console for progress and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def safe(text: str) -> str:
    """Text from outside for the terminal: no markup is obeyed and no control character passes."""
    from rich.markup import escape

    return escape(printable(text, keep="\n"))


def printable(text: str, *, keep: str = "") -> str:
    """Text with a mark in the place of control characters, but for those to be kept."""
    return "".join(c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in text)


def is_debugging(words: list[str]) -> bool:
    """Whether tracebacks are wanted, by an option or by the environment."""
    return "--debug" in words or bool(os.environ.get("OVERREAD_DEBUG"))


def tell_waiting(words: str) -> None:
    """One line on stderr, in the middle of a command: what it is waiting for."""
    stderr_console().print(f"overread: {safe(words)}", soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON document on stdout, and nothing else."""
    print_text([json.dumps(value, ensure_ascii=False, indent=2)])


def print_text(pieces: Iterable[str]) -> None:
    """A text on stdout, and nothing else, written as its pieces come."""
    try:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.write("\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise _close_output() from None


def print_logged(sentences: list[str], *, quiet: bool) -> None:
    """Where results were logged, one line each; nothing where only JSON is printed."""
    for sentence in [] if quiet else sentences:
        stdout_console().print(safe(sentence), soft_wrap=True)


class OutputClosed(Exception):
    """stdout was closed by the reading end (`overread list | head`); not an error."""


def _close_output() -> OutputClosed:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OutputClosed()


_STDOUT = "standard output"


class _NamedOutput(io.TextIOWrapper):
    """stdout whose errors say that it was stdout: the system names no file."""

    def write(self, text: str, /) -> int:
        """Write, as ever."""
        with _naming_stdout():
            return super().write(text)

    def flush(self) -> None:
        """Flush, as ever."""
        with _naming_stdout():
            super().flush()


@contextmanager
def _naming_stdout() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = _STDOUT
        raise


def name_stdout() -> None:
    """Have errors of stdout name it; one that is not the process's own is left as it is."""
    own = sys.stdout
    if type(own) is io.TextIOWrapper and own is sys.__stdout__:
        own.flush()
        sys.stdout = _NamedOutput(
            own.buffer,
            encoding=own.encoding,
            errors=own.errors,
            line_buffering=own.line_buffering,
            write_through=own.write_through,
        )


def flush_output() -> None:
    """Send what was printed on its way; that nobody reads it any more is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise _close_output() from None


def drop_output(error: OSError) -> None:
    """Where stdout itself failed: forget what is left for it, which would fail again at the end."""
    if error.filename == _STDOUT:
        _close_output()


@contextmanager
def progress_bar(title: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on stderr while the block runs; silent where nobody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Left(),
        console=stderr_console(),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(title, total=None)

        def told(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield told
