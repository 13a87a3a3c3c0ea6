"""What is expensive to make is made by one test process for all of them."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """A folder, made by whichever test process comes first; not to be changed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = folder.with_name(f"{folder.name}.done")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            # With a cache of its own: other tests use and sweep the user's meanwhile.
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("OVERREAD_CACHE", str(folder.with_name(f"{folder.name}.cache")))
                make(folder)
            done.touch()
    return folder
