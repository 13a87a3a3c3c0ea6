"""Scoring that was asked for on the page: it goes on in a thread, one run at a time."""

from __future__ import annotations

import threading
from typing import Literal

from overread.core import Record
from overread.errors import OverreadError
from overread.runs.scoring.from_run import score
from overread.site.shelf import Run, Shelf
from overread.site.strip_paths import strip_paths

_lock = threading.Lock()
_scoring_lock = threading.Lock()
_state: dict[str, ScoringStatus] = {}


class ScoringStatus(Record):
    """How far the scoring of a run is."""

    state: Literal["waits", "going", "done", "failed"]
    done: int = 0
    """Cases that were measured."""
    of: int | None = None
    problem: str = ""
    """Why it failed."""


def scoring_status(run: Run) -> ScoringStatus | None:
    """How far the scoring is that was asked for here; None where none was."""
    with _lock:
        return _state.get(run.id)


def start_scoring(run: Run, shelf: Shelf) -> ScoringStatus:
    """Score a run in a thread of its own, unless that goes on already."""
    root = shelf.dataset(run.dataset).root if run.dataset is not None else None
    with _lock:
        found = _state.get(run.id)
        if found is not None and found.state in ("waits", "going"):
            return found
        _state[run.id] = begun = ScoringStatus(state="waits")

    def tell(now: ScoringStatus) -> None:
        with _lock:
            _state[run.id] = now

    def work() -> None:
        # One at a time: each measures with all it can get, and the page must still answer.
        with _scoring_lock:
            tell(ScoringStatus(state="going"))
            try:
                score(
                    run.folder,
                    root=root,
                    progress=lambda done, all_of: tell(ScoringStatus(state="going", done=done, of=all_of)),
                )
            except OverreadError as error:
                tell(ScoringStatus(state="failed", problem=strip_paths(f"{error.what} {error.remedy}")))
            except Exception as error:  # a bug of ours must not leave the page waiting for ever
                tell(
                    ScoringStatus(
                        state="failed", problem=strip_paths(f"internal error of overread: {error!r}"[:300])
                    )
                )
                raise
            else:
                tell(ScoringStatus(state="done"))

    threading.Thread(target=work, name=f"score {run.id}", daemon=True).start()
    return begun
