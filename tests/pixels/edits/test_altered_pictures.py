"""Altered pictures: only what is named changes, and it changes into nothing that tells."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.core import Box, Geometry, Image, Mask, Picture, Region, Slices, Volume, Whole
from overread.errors import PictureError, Refused
from overread.pixels.edits.altered_pictures import AlteredPictures, Edit, mask_voxels
from overread.pixels.geometry import from_ras, make_geometry, to_ras
from overread.pixels.masks import write_mask
from overread.pixels.nifti import read_volume
from overread.pixels.sent_images import encode_region

FILM = Image(name="film", file="film.png")
OTHER = Image(name="film", file="other.png")
CT = Volume(name="ct", file="ct.nii.gz")
DONOR = Volume(name="ct", file="donor.nii.gz")
BOX = Box(picture="film", x1=20, y1=30, x2=50, y2=45)


class Kept:
    """Pictures that lie in memory."""

    def __init__(self, **pixels: NDArray[Any]) -> None:
        self.kept = pixels
        self.files: dict[str, bytes] = {}
        self.spaces: dict[str, Geometry] = {}

    def _name(self, picture: Picture) -> str:
        return picture.file.partition(".")[0]

    def data(self, picture: Picture) -> Path | bytes:
        return self.files.get(self._name(picture), b"")

    def pixels(self, picture: Picture) -> Any:
        return self.kept[self._name(picture)]

    def geometry(self, picture: Picture) -> Geometry:
        return self.spaces[self._name(picture)]


def grainy(*shape: int, seed: int = 0, level: float = 100) -> NDArray[np.uint8]:
    values = np.random.default_rng(seed).normal(level, 6, shape)
    return values.clip(0, 255).astype(np.uint8)


@pytest.fixture
def film() -> Kept:
    """A grainy film with a bright spot in `BOX`, and another patient's, larger and darker."""
    pixels = grainy(100, 120)
    pixels[30:45, 20:50] = 240
    other = grainy(200, 240, seed=1, level=60)
    other[60:90, 40:100] = 120
    return Kept(film=pixels, other=other)


def altered(pictures: Kept, how: Any, *regions: Region, **more: Any) -> Any:
    edit = Edit(picture="film", how=how, regions=regions, **more)
    return AlteredPictures(pictures, [edit]).pixels(FILM)


def inside(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    mask = np.zeros(shape, bool)
    mask[30:45, 20:50] = True
    return mask


def test_a_hidden_box_becomes_its_surroundings(film: Kept) -> None:
    """Outside not a pixel changes; inside there is the level and the grain of what is around."""
    before, after = film.kept["film"], altered(film, "hide", BOX)
    place = inside(before.shape)
    assert (after[~place] == before[~place]).all()
    assert abs(after[place].mean() - before[~place].mean()) < 3
    assert 3 < after[place].std() < 9
    assert film.kept["film"][place].min() == 240  # the release's own pixels are left alone


def test_the_same_edit_gives_the_same_pixels(film: Kept) -> None:
    """Replies are found again by the hash of what was shown; another seed is other grain."""
    assert (altered(film, "hide", BOX) == altered(film, "hide", BOX)).all()
    assert (altered(film, "hide", BOX) != altered(film, "hide", BOX, seed=1)).any()


def test_a_gradient_runs_on_through_a_hidden_box() -> None:
    """What is carried in lies between what is on both sides."""
    ramp = np.repeat(np.linspace(20, 220, 120)[None], 100, axis=0).astype(np.uint8)
    pictures = Kept(film=ramp.copy())
    pictures.kept["film"][30:45, 20:50] = 0
    after = altered(pictures, "hide", BOX).astype(float)
    assert np.abs(after[30:45, 20:50] - ramp[30:45, 20:50]).max() < 12


def test_only_a_box_is_left(film: Kept) -> None:
    """Inside not a pixel changes, outside all are the picture's median."""
    before, after = film.kept["film"], altered(film, "keep", BOX)
    place = inside(before.shape)
    assert (after[place] == before[place]).all()
    assert set(after[~place]) == {int(np.median(before))}


def test_a_swapped_box_is_the_same_place_of_the_donor(film: Kept) -> None:
    """Stretched to the size and the exposure of the picture; outside nothing changes."""
    before, after = film.kept["film"], altered(film, "swap", BOX, donor=OTHER)
    place = inside(before.shape)
    assert (after[~place] == before[~place]).all()
    low, high = np.percentile(film.kept["other"], (5, 95))
    ours = np.percentile(before, (5, 95))
    expected = (120 - low) * (ours[1] - ours[0]) / (high - low) + ours[0]
    assert abs(np.median(after[place]) - expected) < 3


def test_whole_pictures(film: Kept) -> None:
    """Hidden they are mid-grey, swapped the donor's own, kept as they were."""
    whole = Whole(picture="film")
    hidden = altered(film, "hide", whole)
    assert hidden.shape == (100, 120)
    assert set(hidden.ravel()) == {128}
    assert (altered(film, "swap", whole, donor=OTHER) == film.kept["other"]).all()
    assert (altered(film, "keep", whole) == film.kept["film"]).all()
    assert set(altered(film, "hide", Box(picture="film", x1=-5, y1=-5, x2=200, y2=200)).ravel()) == {128}


def test_colour_and_deep_greys() -> None:
    """Each colour is filled from its own; more than 8 bits become the 8 that models are shown."""
    colour = np.stack([grainy(100, 120, level=level) for level in (40, 100, 200)], axis=2)
    after = altered(Kept(film=colour), "hide", BOX)
    assert [round(float(after[30:45, 20:50, n].mean()), -1) for n in range(3)] == [40, 100, 200]
    deep = np.linspace(0, 4000, 12000).reshape(100, 120).astype(np.uint16)
    after = altered(Kept(film=deep), "keep", BOX)
    assert after.dtype == np.uint8
    assert (after[30:45, 20:50] == np.rint(deep[30:45, 20:50] * (255 / 4000))).all()


def test_other_pictures_are_as_they_were(film: Kept) -> None:
    """An edit concerns the picture that it names."""
    edit = Edit(picture="another", how="hide", regions=(Whole(picture="another"),))
    pictures = AlteredPictures(film, [edit])
    film.files["film"] = b"as it lies"
    assert pictures.pixels(FILM) is film.kept["film"]
    assert pictures.data(FILM) == b"as it lies"


def test_what_is_sent_is_what_was_altered(film: Kept) -> None:
    """The bytes of an altered picture hold its pixels, exactly."""
    pictures = AlteredPictures(film, [Edit(picture="film", how="hide", regions=(BOX,))])
    data, media, size = encode_region(pictures, FILM, Whole(picture="film"), longest=512)
    with Pillow.open(io.BytesIO(data)) as image:
        assert (np.asarray(image) == pictures.pixels(FILM)).all()
    assert (media, size) == ("image/png", (120, 100))


def test_a_turned_photograph_stays_turned(film: Kept) -> None:
    """Whether it is altered or not, a picture is shown the same way up."""
    out, tags = io.BytesIO(), Pillow.Exif()
    tags[0x0112] = 6
    Pillow.fromarray(film.kept["film"]).save(out, "JPEG", quality=95, exif=tags.tobytes())
    film.files["film"] = out.getvalue()
    pictures = AlteredPictures(film, [Edit(picture="film", how="hide", regions=(BOX,))])
    data, _, size = encode_region(pictures, FILM, Whole(picture="film"), longest=512)
    assert size == (100, 120)
    with Pillow.open(io.BytesIO(data)) as image:
        shown = np.asarray(image, float)
    assert np.abs(shown - np.rot90(pictures.pixels(FILM), -1)).mean() < 3


# ---- volumes -------------------------------------------------------------------------------


@pytest.fixture(params=["RAS", "LPS", "PSR"])
def scan(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Kept, str]:
    """A CT in some order of axes with a ball in it, its mask file, and another patient's CT."""
    columns = {"R": (1, 0, 0), "L": (-1, 0, 0), "A": (0, 1, 0), "P": (0, -1, 0), "S": (0, 0, 1)}
    affine = np.eye(4)
    affine[:3, :3] = np.array([columns[axis] for axis in request.param]).T * 2.0
    shape = {"RAS": (40, 36, 30), "LPS": (40, 36, 30), "PSR": (36, 30, 40)}[request.param]
    space = make_geometry(shape, affine, where="here")
    ras = np.random.default_rng(0).normal(-800, 20, (40, 36, 30))
    across, along, up = np.ogrid[:40, :36, :30]
    ball = (across - 12) ** 2 + (along - 20) ** 2 + (up - 9) ** 2 <= 16
    ras[ball] = 50
    donor = np.full((20, 18, 15), -500, np.int16)
    donor[:, :, :8] = 700
    pictures = Kept(ct=np.ascontiguousarray(from_ras(ras.astype(np.int16), space)), donor=donor)
    pictures.spaces = {
        "ct": space, "donor": make_geometry((20, 18, 15), np.diag([4.0, 4, 4, 1]), where="there"),
    }  # fmt: skip
    mask: Any = np.ascontiguousarray(from_ras(ball.astype(np.uint8), space))
    write_mask(tmp_path / "arrays" / "m.nii.gz", [np.zeros_like(mask), mask], affine)
    return pictures, str(tmp_path)


MARKED = Mask(picture="ct", file="arrays/m.nii.gz", channel=1, channels=2)


def changed(scan: tuple[Kept, str], how: Any, *regions: Region, **more: Any) -> Any:
    """The altered CT in RAS order."""
    pictures, files = scan
    edit = Edit(picture="ct", how=how, regions=regions, files=files, **more)
    edit = pickle.loads(pickle.dumps(edit))
    edit = Edit.model_validate_json(edit.model_dump_json(context={"whole": True}))
    return to_ras(AlteredPictures(pictures, [edit]).pixels(CT), pictures.spaces["ct"])


def before(scan: tuple[Kept, str]) -> Any:
    return to_ras(scan[0].kept["ct"], scan[0].spaces["ct"])


def place_of(scan: tuple[Kept, str]) -> Any:
    space = scan[0].spaces["ct"]
    return to_ras(mask_voxels(MARKED, space, Path(scan[1])), space)


def test_a_mask_outside_its_folder_is_not_opened(scan: tuple[Kept, str]) -> None:
    """Whatever a reading names: a path that leads out, or a link."""
    space, folder = scan[0].spaces["ct"], Path(scan[1])
    (folder / "run").mkdir()
    (folder / "run" / "link.nii.gz").symlink_to(folder / "arrays" / "m.nii.gz")
    for file in ("../arrays/m.nii.gz", str(folder / "arrays" / "m.nii.gz"), "link.nii.gz"):
        with pytest.raises(Refused):
            mask_voxels(MARKED.model_copy(update={"file": file}), space, folder / "run")


def test_a_hidden_lesion_becomes_lung(scan: tuple[Kept, str]) -> None:
    """With a margin of a voxel, in any order of axes; the rest is untouched."""
    after, was, place = changed(scan, "hide", MARKED), before(scan), place_of(scan)
    assert place[12, 20, 14]
    assert not place[12, 20, 15]
    assert (after[~place] == was[~place]).all()
    assert after.max() < -700
    assert abs(after[place].mean() + 800) < 10
    assert 10 < after[place].std() < 30


def test_a_moved_mask_hides_another_place(scan: tuple[Kept, str]) -> None:
    """As many voxels, elsewhere; the lesion stays."""
    space = scan[0].spaces["ct"]
    shift = tuple({"R": 12, "L": -12}.get(axis, 0) for axis in space.axes)
    after, was = changed(scan, "hide", MARKED, shifts=(shift,)), before(scan)
    assert after[12, 20, 9] == 50
    place = np.roll(place_of(scan), 12, axis=0)
    assert ((after != was) & ~place).sum() == 0
    assert (after != was)[place].mean() > 0.9


def test_only_a_lesion_is_left(scan: tuple[Kept, str]) -> None:
    """All else has the median of the volume."""
    after, was, place = changed(scan, "keep", MARKED), before(scan), place_of(scan)
    assert (after[place] == was[place]).all()
    assert len(np.unique(after[~place])) == 1
    assert abs(int(after[0, 0, 0]) + 800) < 10


def test_a_swapped_lesion_is_the_same_place_of_the_donor(scan: tuple[Kept, str]) -> None:
    """As far between the feet and the head: here in the donor's lower half."""
    after, was, place = changed(scan, "swap", MARKED, donor=DONOR), before(scan), place_of(scan)
    assert (after[~place] == was[~place]).all()
    assert set(after[place]) == {700}
    high = changed(scan, "swap", Slices(picture="ct", first=20, last=21), donor=DONOR)
    assert set(high[:, :, 20:22].ravel()) == {-500}


@pytest.mark.parametrize("axis", ["sagittal", "coronal", "axial"])
def test_hidden_slices_are_bridged(scan: tuple[Kept, str], axis: Any) -> None:
    """The slices counted from left, back or feet lose the lesion, and no others change."""
    number = {"sagittal": (0, 12), "coronal": (1, 20), "axial": (2, 9)}[axis]
    region = Slices(picture="ct", axis=axis, first=number[1] - 5, last=number[1] + 5)
    after = np.moveaxis(changed(scan, "hide", region), number[0], 0)
    was = np.moveaxis(before(scan), number[0], 0)
    inner = slice(number[1] - 5, number[1] + 6)
    assert after[inner].max() < -650
    assert (after[: inner.start] == was[: inner.start]).all()
    assert (after[inner.stop :] == was[inner.stop :]).all()
    assert abs(after[inner].mean() + 800) < 10


def test_slices_that_show_a_lesion_on_both_sides_do_not_show_it_again(scan: tuple[Kept, str]) -> None:
    """One slice through the middle of a ball is blurred, not guessed."""
    after = changed(scan, "hide", Slices(picture="ct", first=9, last=9))
    assert after[12, 20, 8] == 50
    assert after[12, 20, 9] < -300


def test_the_whole_volume(scan: tuple[Kept, str]) -> None:
    """Hidden it has one value, its median; as a file it is what its pixels are."""
    pictures, _ = scan
    whole = Whole(picture="ct")
    assert len(np.unique(changed(scan, "hide", whole))) == 1
    assert (changed(scan, "keep", whole) == before(scan)).all()
    view = AlteredPictures(pictures, [Edit(picture="ct", how="hide", regions=(whole,))])
    data = view.data(CT)
    volume, space = read_volume(data)
    assert (volume == view.pixels(CT)).all()
    assert space.axes == view.geometry(CT).axes


def test_what_cannot_be_hidden_is_refused(film: Kept, scan: tuple[Kept, str]) -> None:
    """Slices of a film, boxes of a CT, slices that are not there, a swap with nobody."""
    for edit in (
        Edit(picture="film", how="hide", regions=(Slices(picture="film", first=0, last=1),)),
        Edit(picture="film", how="swap", regions=(BOX,)),
        Edit(picture="film", how="hide", regions=(Box(picture="film", x1=200, y1=0, x2=210, y2=5),)),
    ):
        with pytest.raises(PictureError):
            AlteredPictures(film, [edit]).pixels(FILM)
    for region in (Box(picture="ct", x1=0, y1=0, x2=5, y2=5), Slices(picture="ct", first=5, last=99)):
        with pytest.raises(PictureError):
            changed(scan, "hide", region)
