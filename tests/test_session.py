"""A session: pictures are encoded aside and once, masks are kept small, settings are checked."""

from __future__ import annotations

import asyncio
import io
import threading
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from overread.core import Box, Case, DrawnMask, Image, Query, Request, Volume, Whole
from overread.errors import OverreadError, PictureError, UnknownName, UsageError
from overread.pixels.sparse_masks import SparseMask, to_sparse_mask
from overread.runs.reading_files import write_masks
from overread.session import Session, SessionSettings
from tests.runs.fake_readers import Echo


def picture(shade: int) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(np.full((20, 30), shade, np.uint8)).save(out, "PNG")
    return out.getvalue()


class Waiting:
    """Pictures that cannot be opened before somebody in the event loop says so."""

    def __init__(self) -> None:
        self.said = threading.Event()
        self.opened: list[str] = []
        self.threads: set[str] = set()

    def data(self, image: Any) -> bytes:
        """The bytes, once they may be had."""
        assert self.said.wait(300), "the loop was held up by a picture"
        self.opened.append(image.name)
        self.threads.add(threading.current_thread().name)
        return picture(int(image.name[-1]))

    def pixels(self, image: Any) -> Any:
        """Decoded."""
        with Pillow.open(io.BytesIO(self.data(image))) as found:
            return np.asarray(found)

    def geometry(self, image: Any) -> Any:
        """There is no volume here."""
        raise PictureError(f"{image.name} is flat")


CASE = Case(
    id="c",
    benchmark="b",
    split="test",
    pictures=tuple(Image(name=f"image-{n}", file=f"{n}.png") for n in (1, 2, 3)),
)


def session(pictures: Any, case: Case = CASE, reader: Any = None) -> Session:
    reader = reader or Echo()
    return Session(reader.read, reader, case, pictures)


def test_the_loop_goes_on_while_pictures_are_encoded() -> None:
    """Another task runs, and says so, while `look` is still waiting for the pictures."""

    async def both() -> list[Any]:
        pictures = Waiting()
        at_work = session(pictures)
        looking = asyncio.create_task(at_work.show_async())
        await asyncio.sleep(0.01)
        assert not looking.done()
        pictures.said.set()
        shown = await looking
        assert pictures.opened == ["image-1", "image-2", "image-3"]
        assert threading.current_thread().name not in pictures.threads
        assert await at_work.show_async() == shown == at_work.show_all()
        assert len(pictures.opened) == 3  # once each
        box = Box(picture="image-2", x1=1, y1=2, x2=11, y2=8)
        whole, part = await at_work.show_async(Whole(picture="image-1"), box)
        assert whole == shown[0]
        assert (part.width, part.height, part.region) == (10, 6, box)
        return shown

    shown = asyncio.run(both())
    assert [(s.region.picture, s.width, s.height) for s in shown] == [
        (f"image-{n}", 30, 20) for n in (1, 2, 3)
    ]


def test_pictures_of_many_cases_are_opened_in_their_order() -> None:
    """Those in a parquet file are a stream: who comes first is served first."""

    async def many() -> list[str]:
        pictures = Waiting()
        pictures.said.set()
        cases = [
            CASE.model_copy(update={"pictures": (Image(name=f"image-{n}", file="x"),)}) for n in range(10)
        ]
        await asyncio.gather(*(session(pictures, case).show_async() for case in cases))
        return pictures.opened

    assert asyncio.run(many()) == [f"image-{n}" for n in range(10)]


def test_errors_of_pictures_come_through() -> None:
    """What cannot be shown raises where it was asked for."""

    class Lost(Waiting):
        def data(self, image: Any) -> bytes:
            raise PictureError(f"the file of {image.name} is not there")

    with pytest.raises(PictureError, match="image-1"):
        asyncio.run(session(Lost()).show_async())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"longest": 0}, "longest"),
        ({"slices": 0}, "slices"),
        ({"repairs": -1}, "repairs"),
        ({"windows": ()}, "no HU window"),
        ({"windows": ("lnug",)}, "did you mean 'lung'"),
    ],
)
def test_settings_that_show_nothing_are_refused(wrong: dict[str, Any], told: str) -> None:
    """Before a case is opened, in one sentence."""
    with pytest.raises(UsageError, match=told) as caught:
        SessionSettings(**wrong)
    assert isinstance(caught.value, UnknownName) == ("mean" in told)


# ---- masks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int16, float])
def test_a_spot_is_its_mask(kind: Any) -> None:
    """All of a mask comes back, wherever its voxels are; labels of one byte stay labels."""
    dice = np.random.default_rng(0)
    for _ in range(40):
        mask = np.zeros((7, 6, 5), kind)
        for _ in range(int(dice.integers(0, 4))):
            mask[tuple(dice.integers(0, (7, 6, 5)))] = 3
        kept = to_sparse_mask(mask)
        expected = mask if kind is np.uint8 else mask != 0
        assert (np.asarray(kept) == expected).all()
        assert np.asarray(kept).dtype == np.uint8
        assert kept.shape == (7, 6, 5)
        assert kept.block.base is None


def test_a_drawn_mask_is_held_small() -> None:
    """A session keeps what is marked, not a byte for every voxel of the CT."""

    class Draws(Echo):
        async def read(self, request: Request) -> Any:
            mask = np.zeros((200, 200, 100), bool)
            mask[50:60, 50:60, 50] = True
            return DrawnMask(mask, note="here")

    case = Case(
        id="c",
        benchmark="b",
        split="t",
        pictures=(Volume(name="ct", file="ct.nii.gz"),),
        queries=(Query(id="0", text="A nodule"),),
    )
    at_work = session(Waiting(), case, Draws())
    region = asyncio.run(at_work.draw(case.queries[0]))
    assert (region.channel, region.channels) == (0, 1)
    [kept] = at_work.masks.values()
    assert isinstance(kept, SparseMask)
    assert kept.block.nbytes == 100
    assert np.asarray(kept).sum() == 100


def test_a_mask_of_another_shape_is_told_before_it_is_made(tmp_path: Any) -> None:
    """A spot of a wrong shape is refused by its shape alone."""

    class Space(Waiting):
        def geometry(self, image: Any) -> Any:
            from overread.pixels.geometry import make_geometry

            return make_geometry((4, 4, 4), np.eye(4), where="here")

    case = Case(
        id="c",
        benchmark="b",
        split="t",
        pictures=(Volume(name="ct", file="ct.nii.gz"),),
        queries=(Query(id="0", text="A nodule"),),
    )
    far = SparseMask((10**6, 10**6, 10**6), (0, 0, 0), np.zeros((1, 1, 1), np.uint8))
    with pytest.raises(OverreadError, match="was drawn for a CT of shape"):
        write_masks(tmp_path / "m.nii.gz", case, Space(), {"0": far})
