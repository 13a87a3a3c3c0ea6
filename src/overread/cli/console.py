"""How the command line speaks: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from overread.core import Progress


def out() -> Console:
    """The console for results; wide where nobody watches, so that nothing is cut."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else max(120, shutil.get_terminal_size().columns)
    return Console(width=width, highlight=False, soft_wrap=False)


def err() -> Console:
    """The console for progress and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout, and nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on stderr while the block runs; silent where nobody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Left(),
        console=err(),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(title, total=None)

        def told(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield told
