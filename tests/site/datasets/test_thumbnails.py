"""Thumbnails: small, right way up, made once, kept by content, never an error."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from overread.core import Image, Volume
from overread.errors import Refused
from overread.pixels.image_files import write_image
from overread.pixels.nifti import write_volume
from overread.site.datasets import thumbnails
from tests.site.served_site import Answer, Site, serve_site


@dataclass
class Shown:
    """A page on a dataset of six cases, and where it keeps thumbnails."""

    site: Site
    root: Path
    cache: Path

    def thumb(self, number: int, known: str = "") -> Answer:
        """The thumbnail of a case."""
        dataset = self.site.shelf_id("datasets", self.root.name)
        return self.site.ask(
            f"/api/datasets/{dataset}/test/thumbs/case{number:05d}",
            headers={"if-none-match": known} if known else {},
        )

    def kept(self) -> list[Path]:
        """The files in the cache."""
        return sorted(self.cache.rglob("*.webp"))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Six cases that no test changes."""
    with _served(tmp_path_factory.mktemp("thumbs")) as found:
        yield found


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Shown]:
    """The same for tests that change files."""
    with _served(tmp_path) as found:
        yield found


@contextmanager
def _served(folder: Path) -> Iterator[Shown]:
    """Cases 1 and 2 share a picture under two names; 3 is gone, 4 no picture, 5 cut off."""
    root = folder / "few"
    images = root / "images"
    images.mkdir(parents=True)
    y, x = np.mgrid[0:400, 0:800]
    write_image(images / "1.jpg", ((x // 4) % 256).astype(np.uint8))
    shutil.copy(images / "1.jpg", images / "2.jpg")
    (images / "4.jpg").write_text("<svg onload=alert(1)>")
    (images / "5.jpg").write_bytes((images / "1.jpg").read_bytes()[:2000])
    write_image(images / "6.png", (y * 100).astype(np.uint16))
    options = {letter: f"option {letter}" for letter in "ABCDE"}
    rows = []
    for number, name in enumerate(("1.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg", "6.png"), 1):
        row = {"title": f"Case number {number:05d}", "CLINICAL_HISTORY": "h", "options": options}
        rows.append(json.dumps({**row, "image_01_path": f"images/{name}"}))
    (root / "test.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERREAD_CACHE", str(folder / "cache"))
        with serve_site([root], "--read-only") as site:
            yield Shown(site, root, folder / "cache")


def test_thumbnails_are_kept_by_content(own: Shown) -> None:
    """The same bytes under two names are one thumbnail; other bytes are another one."""
    first, second = own.thumb(1), own.thumb(2)
    assert first.status == second.status == 200
    assert first.headers["content-type"] == "image/webp"
    assert first.headers["etag"] == second.headers["etag"]
    assert "max-age" in first.headers["cache-control"]
    assert len(own.kept()) == 1
    assert own.thumb(1, known=first.headers["etag"]).status == 304
    with Pillow.open(io.BytesIO(first.body)) as picture:
        assert picture.size == (256, 128)
    write_image(own.root / "images" / "1.jpg", np.full((300, 300), 99, np.uint8))
    changed = own.thumb(1, known=first.headers["etag"])
    assert changed.status == 200
    assert changed.headers["etag"] != first.headers["etag"]
    assert len(own.kept()) == 2


def test_a_damaged_cache_is_made_again(own: Shown) -> None:
    """What is kept is looked at before it is sent; a cache that cannot be written is no fault."""
    first = own.thumb(1)
    (kept,) = own.kept()
    kept.write_bytes(b"<html>")
    assert own.thumb(1).body == first.body
    shutil.rmtree(own.cache)
    own.cache.write_text("a file where the folder should be")
    assert own.thumb(1).body == first.body


@pytest.mark.parametrize(("number", "said"), [(3, b"is missing"), (4, b"cannot be read"), (5, b"is cut off")])
def test_what_cannot_be_shown_says_so(shown: Shown, number: int, said: bytes) -> None:
    """It is a picture too, with no word of the file in it, and it is not kept."""
    kept = shown.kept()
    answer = shown.thumb(number)
    assert answer.status == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert said in answer.body
    assert b"onload" not in answer.body
    assert answer.headers["cache-control"] == "no-store"
    assert shown.kept() == kept


def test_deep_greys_become_eight_bits(shown: Shown) -> None:
    """A picture of 16 bits goes from black to white."""
    with Pillow.open(io.BytesIO(shown.thumb(6).body)) as picture:
        grey = np.asarray(picture.convert("L"))
    assert grey[0].max() < 20
    assert grey[-1].min() > 235


def test_many_at_once_are_all_answered(shown: Shown) -> None:
    """Forty requests, of one picture and of several, leave the page answering."""
    shown.thumb(1)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda n: shown.thumb(1 + n % 6), range(40)))
    assert {answer.status for answer in answers} == {200}
    assert shown.site.get("/api/shelf")["datasets"]


@pytest.mark.parametrize(
    ("axes", "plane"), [("RAS", "axial"), ("LPS", "axial"), ("RSA", "coronal"), ("SAR", "sagittal")]
)
def test_a_volumes_middle_is_shown_as_radiologists_see_it(tmp_path: Path, axes: str, plane: str) -> None:
    """However the file is stored: the patient's right is on the left, the front or head on top."""
    steps = {"R": (0, 1), "L": (0, -1), "A": (1, 1), "P": (1, -1), "S": (2, 1), "I": (2, -1)}
    matrix = np.zeros((4, 4))
    matrix[3, 3] = 1
    for stored, letter in enumerate(axes):
        axis, sign = steps[letter]
        matrix[axis, stored] = sign
    volume = np.full((20, 20, 9), -1000, np.int16)
    # Bright where right (or, seen from the side, front) meets front (or head).
    across, down = {"axial": ("R", "A"), "coronal": ("R", "S"), "sagittal": ("A", "S")}[plane]
    where: list[slice] = []
    for letter in axes:
        high = steps[letter][1] > 0
        wanted = any(steps[letter][0] == steps[one][0] for one in (across, down))
        half = slice(10, None) if high else slice(None, 10)
        where.append(half if wanted else slice(None))
    volume[tuple(where)] = 200
    file = tmp_path / "ct.nii.gz"
    write_volume(file, volume, matrix)
    grey = thumbnails.draw_thumbnail(file, Volume(name="ct"))
    height, width = grey.shape
    assert max(height, width) == thumbnails.SIDE
    assert grey[height // 4, width // 4] == 255
    assert grey[3 * height // 4, 3 * width // 4] < 70


def test_a_packed_volume_is_read_to_its_middle_only(tmp_path: Path) -> None:
    """What lies behind the slice that is shown need not even be there."""
    dice = np.random.default_rng(1)
    volume = dice.integers(-1000, 400, (64, 64, 40)).astype(np.int16)
    whole = tmp_path / "whole.nii.gz"
    write_volume(whole, volume, np.eye(4))
    cut = tmp_path / "cut.nii.gz"
    cut.write_bytes(whole.read_bytes()[: int(0.75 * whole.stat().st_size)])
    picture = Volume(name="ct")
    assert np.array_equal(thumbnails.draw_thumbnail(cut, picture), thumbnails.draw_thumbnail(whole, picture))


def test_a_volume_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its header is enough to tell."""
    file = tmp_path / "ct.nii.gz"
    write_volume(file, np.zeros((8, 8, 8), np.int16), np.eye(4))
    monkeypatch.setattr(thumbnails, "MAX_BYTES", 100)
    with pytest.raises(Refused):
        thumbnails.draw_thumbnail(file, Volume(name="ct"))


def test_a_turned_photograph_is_shown_upright(tmp_path: Path) -> None:
    """The camera's note of how it was held is heeded."""
    pixels = np.zeros((100, 300), np.uint8)
    pixels[:, :150] = 255
    image = Pillow.fromarray(pixels)
    exif = Pillow.Exif()
    exif[274] = 6  # to be turned a quarter to the right
    file = tmp_path / "photo.jpg"
    image.save(file, exif=exif)
    grey = thumbnails.draw_thumbnail(file, Image(name="image-1"))
    assert grey.shape[0] > grey.shape[1]
    assert grey[: len(grey) // 3].min() > 200
