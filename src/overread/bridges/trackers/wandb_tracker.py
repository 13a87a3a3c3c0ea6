"""Weights & Biases: an offline run, on this machine until somebody says `wandb sync`.

Only where the environment says WANDB_MODE=online are the settings and numbers sent at once.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from overread.bridges.trackers.tracker import TrackedRun
from overread.errors import MissingPart


def make(place: str) -> WandbTracker:
    """The tracker for a folder, this one where none is named."""
    try:
        import wandb  # noqa: F401
    except ImportError:
        raise MissingPart(
            "Weights & Biases is not installed", remedy="pip install 'overread[wandb]'"
        ) from None
    return WandbTracker(Path(place or os.environ.get("WANDB_DIR") or "."))


class WandbTracker:
    """Writes runs below one folder."""

    def __init__(self, folder: Path) -> None:
        """`folder` gets a folder `wandb` with one folder a run."""
        self._folder = folder.expanduser()

    def log(self, run: TrackedRun) -> str:
        """Write a run; those of the same key become one where they are synced."""
        import wandb

        self._folder.mkdir(parents=True, exist_ok=True)  # else wandb writes to a temporary folder
        mode: Any = os.environ.get("WANDB_MODE") or "offline"
        own = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or "overread",
            id=run.key,
            name=run.name,
            dir=self._folder,
            config=dict(run.settings),
            mode=mode,
            resume="allow" if mode == "online" else None,
            # It would also keep the host, the user, the command line and the program's code.
            settings=wandb.Settings(
                silent=True,
                console="off",
                disable_git=True,
                disable_code=True,
                x_disable_stats=True,
                x_disable_meta=True,
            ),
        )
        try:
            own.log(dict(run.numbers), step=run.step)
            own.summary.update(dict(run.numbers))
        finally:
            own.finish()
        return f"run '{run.name}' below {self._folder / 'wandb'}" + (", offline" if mode == "offline" else "")
