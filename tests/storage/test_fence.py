"""No path of a release leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overread.errors import NotThere, Refused
from overread.storage.fence import Fence


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "a.png").write_bytes(b"inside")
    (tmp_path / "secret.png").write_bytes(b"outside")
    return folder


def test_a_file_inside_is_found(root: Path) -> None:
    """Plain paths, and paths through a link that stays inside, are given as real paths."""
    (root / "link.png").symlink_to("images/a.png")
    (root / "more").symlink_to("images")
    for file in ("images/a.png", "link.png", "more/a.png", "./images/a.png"):
        assert Fence(root).path(file).read_bytes() == b"inside"
    assert Fence(root).has("images/a.png")


@pytest.mark.parametrize(
    "file",
    [
        "../secret.png",
        "images/../../secret.png",
        "/etc/passwd",
        "C:\\secret.png",
        "",
        "a\0b",
        "x" * 3000,
        "y/" * 600 + "z",
    ],
)
def test_words_that_lead_out_are_refused(root: Path, file: str) -> None:
    """`..`, absolute paths, drives, NUL and endless names are refused before the disk is asked."""
    with pytest.raises(Refused):
        Fence(root).path(file)
    with pytest.raises(Refused):
        Fence(root).path_to_write(file)
    assert not Fence(root).has(file)


def test_links_that_lead_out_are_refused(root: Path, tmp_path: Path) -> None:
    """A linked file, a linked folder and a chain of links are followed before they are judged."""
    (root / "file.png").symlink_to(tmp_path / "secret.png")
    (root / "folder").symlink_to(tmp_path)
    (root / "chain.png").symlink_to("file.png")
    for file in ("file.png", "folder/secret.png", "chain.png"):
        with pytest.raises(Refused, match="out of the release"):
            Fence(root).path(file)


def test_nothing_is_written_through_a_link_out(root: Path, tmp_path: Path) -> None:
    """A place to write is judged as a file to read is."""
    (root / "folder").symlink_to(tmp_path)
    (root / "file.png").symlink_to(tmp_path / "secret.png")
    for file in ("folder/x.png", "file.png"):
        with pytest.raises(Refused, match="link"):
            Fence(root).path_to_write(file)
    assert Fence(root).path_to_write("new/folder/x.png") == root / "new/folder/x.png"


def test_what_is_no_file_is_refused(root: Path) -> None:
    """Folders, pipes and link loops are never opened; a dangling link is not there."""
    os.mkfifo(root / "pipe.png")
    (root / "loop.png").symlink_to("loop.png")
    (root / "gone.png").symlink_to("nowhere.png")
    for file in ("images", "pipe.png"):
        with pytest.raises(Refused, match="not a regular file"):
            Fence(root).path(file)
    for file in ("loop.png", "gone.png", "none.png", "images/a.png/b.png"):
        with pytest.raises(NotThere):
            Fence(root).path(file)


def test_a_snapshot_of_the_hubs_cache_is_one_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache keeps files as links into `blobs`; that is inside, anything else is not."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / ("0" * 40)
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (blobs / "b1").write_bytes(b"blob")
    (tmp_path / "other").write_bytes(b"other")
    (snapshot / "test.jsonl").symlink_to("../../blobs/b1")
    (snapshot / "bad.jsonl").symlink_to("../../other")
    assert Fence(snapshot).path("test.jsonl").read_bytes() == b"blob"
    with pytest.raises(Refused):
        Fence(snapshot).path("bad.jsonl")
    monkeypatch.chdir(snapshot)
    assert Fence(Path()).path("test.jsonl").read_bytes() == b"blob"


def test_named_folders_may_be_links(root: Path, tmp_path: Path) -> None:
    """Only those, only directly in the root, and what links further out behind them stays refused."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / "b.png").write_bytes(b"linked")
    (elsewhere / "out.png").symlink_to(tmp_path / "secret.png")
    for name in ("masks", "other"):
        (root / name).symlink_to(elsewhere)
    (root / "images" / "masks").symlink_to(tmp_path)
    fence = Fence(root, linked=("masks", "nothing"))
    assert fence.path("masks/deep/b.png").read_bytes() == b"linked"
    for file in ("masks/out.png", "images/masks/secret.png", "masks/../secret.png"):
        assert not fence.has(file)
    assert Fence(root).refusal("masks/deep/b.png") is not None
    assert Fence(root).holds("masks/deep/b.png")
    assert not Fence(root).holds("masks/nothing.png")
    assert not Fence(root).holds("../secret.png")


def test_a_link_to_everything_opens_nothing(root: Path) -> None:
    """The root of the disk is no folder of masks."""
    (root / "masks").symlink_to("/")
    assert not Fence(root, linked=("masks",)).has("masks/etc/passwd")
