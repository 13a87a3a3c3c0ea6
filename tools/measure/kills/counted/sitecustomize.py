"""Counts what a command does to files, in all its processes, and kills them all at a given count.

Python imports this by itself where the folder is on PYTHONPATH; `tools.measure.kills` puts it there. A
byte is added to $KILLS_COUNT at each open for writing, rename, link, removal and new folder in the folder
$KILLS_WITHIN. At the count of $KILLS_AT the whole process group ends before it does what it was about to.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

_WITHIN = os.environ.get("KILLS_WITHIN", "")
_AT = int(os.environ.get("KILLS_AT", "0"))
_CHANGES = frozenset(
    (
        "os.rename",
        "os.remove",
        "os.rmdir",
        "os.mkdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "sqlite3.connect",
    )
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _count(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" and event not in _CHANGES:
        return
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
        return
    if _WITHIN not in os.fsdecode(arguments[0] if isinstance(arguments[0], str | bytes) else b""):
        return
    os.write(_NUMBER, b".")
    if _AT and os.fstat(_NUMBER).st_size >= _AT:
        os.killpg(0, signal.SIGKILL)


if _WITHIN:
    _NUMBER = os.open(os.environ["KILLS_COUNT"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.addaudithook(_count)
