"""Where overread keeps what it can make again."""

from __future__ import annotations

import os
import time
from pathlib import Path

from overread.storage.system import user_cache


def cache_folder() -> Path:
    """OVERREAD_CACHE, or the system's place: ~/Library/Caches on a Mac, LOCALAPPDATA on Windows, else
    XDG_CACHE_HOME or ~/.cache.
    """
    own = os.environ.get("OVERREAD_CACHE")
    return Path(own) if own else user_cache() / "overread"


def remove_unused(folder: Path, pattern: str, *, days: int) -> None:
    """Delete files of a cache that were not touched for so long; what cannot be deleted stays."""
    oldest = time.time() - days * 86400
    for path in folder.glob(pattern):
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            continue
