"""Open adjudication queues, one per folder, cached and reloaded when its log or ledger changes.

Every use holds the folder's own lock, since many threads answer at once; other processes, the
terminal among them, are kept apart by the lock of the log itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from overread.build.adjudication import Queue
from overread.build.adjudication.question_file import QUESTIONS_FILE
from overread.build.adjudication.verdict_log import OLD_VERDICT_LOG, VERDICT_LOG
from overread.build.ledger.tables import LEDGER_FILE
from overread.site.lru_cache import LruCache, file_stamp

_FILES = (LEDGER_FILE, f"{LEDGER_FILE}-wal", QUESTIONS_FILE, VERDICT_LOG, OLD_VERDICT_LOG)


@dataclass
class _OpenQueue:
    lock: threading.RLock = field(default_factory=threading.RLock)
    queue: Queue | None = None
    stamp: object = None
    """Of the questions and of the log as we left them."""


_queues: LruCache[_OpenQueue] = LruCache(16)


@contextmanager
def open_queue(folder: Path) -> Iterator[Queue]:
    """The queue of a folder, locked for the caller; read again where its files changed."""
    own = _queues.get(folder, _OpenQueue)
    with own.lock:
        # Whatever others wrote is read from the beginning: a log that was altered in the middle
        # would else be added to as long as the page runs.
        if own.queue is None or own.stamp != _stamp(folder):
            own.queue = Queue(folder)
        try:
            yield own.queue
        finally:
            own.stamp = _stamp(folder)


def _stamp(folder: Path) -> object:
    """What changes when questions or verdicts are written."""
    return [file_stamp(folder / name) for name in _FILES]
