"""One rule says where caches are, and old files in them go."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from overread.build.deid.secret import open_secret
from overread.errors import UsageError
from overread.storage.cache_folder import cache_folder, remove_unused


def test_one_rule_for_every_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """OVERREAD_CACHE, then the place of a Mac or of Windows, then XDG_CACHE_HOME, then ~/.cache."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("OVERREAD_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder() == tmp_path / ".cache" / "overread"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "overread"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "overread"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "overread"
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_user_without_a_home_has_a_temporary_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as anybody; a secret is not kept there but asked for."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("OVERREAD_CACHE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "OVERREAD_SECRET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert cache_folder().is_relative_to(tempfile.gettempdir())
    with pytest.raises(UsageError, match="there is no home folder to keep the secret in"):
        open_secret()


def test_what_nobody_used_for_long_goes(tmp_path: Path) -> None:
    """Only files that match, and only old ones."""
    for name in ("old.jsonl", "new.jsonl", "old.txt"):
        (tmp_path / name).touch()
    for name in ("old.jsonl", "old.txt"):
        os.utime(tmp_path / name, (time.time() - 61 * 86400,) * 2)
    remove_unused(tmp_path, "*.jsonl", days=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.jsonl", "old.txt"]
    remove_unused(tmp_path / "gone", "*", days=60)
