"""Volumes over the wire: voxels, places, bytes, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from nibabel.affines import apply_affine
from numpy.typing import NDArray
from PIL import Image

from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume
from overread.site.volumes.byte_responses import MAX_GZIP_BYTES
from tests.site.served_site import Site, serve_site

SHAPE = (21, 18, 14)
AFFINES = {
    "lps": np.array([[-0.7, 0, 0, 80], [0, -0.8, 0, 60], [0, 0, 2.0, -50], [0, 0, 0, 1.0]]),
    "turned": np.array([[0, 0, 1.5, -30], [0.9, 0, 0, -40], [0, -0.6, 0, 20], [0, 0, 0, 1.0]]),
    "aslant": np.array([[0.7, 0.05, 0.1, -9], [-0.04, 0.8, 0.2, 3], [0.02, -0.1, 1.9, 7], [0, 0, 0, 1.0]]),
}


def volume_of(name: str) -> NDArray[np.int16]:
    """Voxels that no two places share, so that a wrong one shows."""
    seed = sorted(AFFINES).index(name)
    return np.random.default_rng(seed).integers(-1000, 3000, SHAPE).astype(np.int16)


def labels_of(name: str) -> NDArray[np.uint8]:
    """Two entities far from the edges, of no regular shape."""
    labels = np.zeros(SHAPE, np.uint8)
    labels[3:8, 4:9, 2:6] = 1
    labels[4:6, 5:7, 3:5] = 0
    labels[12:15, 10:16, 7:12] = 2
    return labels


def make_release(folder: Path) -> None:
    """A small copy of ReXGroundingCT with a scan for each way a file may be stored."""
    rows = []
    for name, affine in AFFINES.items():
        file = f"test_{sorted(AFFINES).index(name)}_a_1.nii.gz"
        for part in ("images", "segmentations"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        write_volume(folder / "images" / file, volume_of(name), affine)
        write_mask(folder / "segmentations" / file, [labels_of(name)], affine)
        rows.append(
            {"name": file, "findings": {"0": "A nodule"}, "categories": {"0": "2d"},
             "shape": list(SHAPE)}
        )  # fmt: skip
    (folder / "dataset.json").write_text(json.dumps({"train": [], "val": [], "test": rows}))


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A page on such a release, with a cache of its own."""
    folder = tmp_path_factory.mktemp("volumes")
    make_release(folder / "release")
    before = os.environ.get("OVERREAD_CACHE")
    os.environ["OVERREAD_CACHE"] = str(folder / "cache")
    try:
        with serve_site([folder / "release"], "--read-only") as site:
            yield site
    finally:
        if before is None:
            del os.environ["OVERREAD_CACHE"]
        else:
            os.environ["OVERREAD_CACHE"] = before


def address(site: Site, name: str, more: str = "") -> str:
    """Where a scan of the small release is."""
    dataset = site.get("/api/shelf")["datasets"][0]["id"]
    return f"/api/volumes/{dataset}/test/test_{sorted(AFFINES).index(name)}_a_1/ct{more}"


def image_of(data: bytes) -> nib.Nifti1Image:
    """NIfTI bytes as nibabel reads them."""
    return nib.Nifti1Image.from_bytes(data)


def whole(name: str) -> nib.Nifti1Image:
    """The scan as nibabel has it: what every cut is held against."""
    return nib.Nifti1Image(volume_of(name), AFFINES[name])


def assert_same_places(found: nib.Nifti1Image, name: str, count: int | None = None) -> None:
    """Every voxel has the value that the scan has at the same millimetres."""
    values = np.asarray(found.dataobj)
    if count is not None:
        assert values.size == count
    index = np.indices(values.shape).reshape(3, -1)
    mm = apply_affine(found.affine, index.T)
    there = apply_affine(np.linalg.inv(AFFINES[name]), mm)
    assert np.abs(there - np.rint(there)).max() < 1e-3
    i, j, k = np.rint(there).astype(int).T
    assert (volume_of(name)[i, j, k] == values.reshape(-1)).all()


@pytest.mark.parametrize("name", AFFINES)
def test_a_volume_comes_whole(scans: Site, name: str) -> None:
    """All voxels, where they were, and a notice in the header."""
    answer = scans.ask(address(scans, name))
    found = image_of(answer.body)
    assert found.get_data_dtype() == np.int16
    assert (np.asarray(found.dataobj) == volume_of(name)).all()
    assert np.allclose(found.affine, AFFINES[name], atol=1e-4)
    assert b"not for patient care" in bytes(found.header["descrip"])


@pytest.mark.parametrize("name", AFFINES)
@pytest.mark.parametrize(
    "query", ["bbox=3,17,2,9,5,12", "step=3", "bbox=4,19,0,18,1,14&step=2,3,4", "bbox=-9,99,0,5,0,9"]
)
def test_cuts_of_stored_voxels(scans: Site, name: str, query: str) -> None:
    """Cropped and coarser voxels are still where they were in the patient."""
    found = image_of(scans.ask(address(scans, name, f"?{query}")).body)
    parts = dict(part.split("=") for part in query.split("&"))
    box = [int(n) for n in parts.get("bbox", "0,21,0,18,0,14").split(",")]
    steps = [int(n) for n in parts.get("step", "1").split(",")]
    steps = steps * 3 if len(steps) == 1 else steps
    cut = tuple(slice(max(0, a), b, s) for a, b, s in zip(box[::2], box[1::2], steps, strict=True))
    assert (np.asarray(found.dataobj) == volume_of(name)[cut]).all()
    assert_same_places(found, name)


@pytest.mark.parametrize("name", AFFINES)
def test_cuts_in_the_patient(scans: Site, name: str) -> None:
    """In the patient's frame axes run right, front, head, and a box is in millimetres."""
    found = image_of(scans.ask(address(scans, name, "?frame=patient")).body)
    assert "".join(nib.aff2axcodes(found.affine)) == "RAS"
    assert_same_places(found, name, count=int(np.prod(SHAPE)))
    coarse = image_of(scans.ask(address(scans, name, "?frame=patient&step=2")).body)
    assert (np.asarray(coarse.dataobj) == np.asarray(found.dataobj)[::2, ::2, ::2]).all()
    assert_same_places(coarse, name)
    # Every voxel whose centre is in the box is there; in an upright scan no other one.
    middle = apply_affine(AFFINES[name], np.array(SHAPE) / 2)
    low, high = middle - [3.1, 3.3, 5.7], middle + [2.9, 3.2, 5.2]
    text = ",".join(f"{n:.4f}" for pair in zip(low, high, strict=True) for n in pair)
    cut = image_of(scans.ask(address(scans, name, f"?frame=patient&bbox={text}")).body)
    assert_same_places(cut, name)
    grid = apply_affine(AFFINES[name], np.indices(SHAPE).reshape(3, -1).T)
    inside = int(((grid >= low) & (grid <= high)).all(axis=1).sum())
    count = int(np.prod(cut.shape))
    assert inside > 20
    assert count == inside if name != "aslant" else count > inside


def test_geometry_tells_both_frames(scans: Site) -> None:
    """Shape, spacing, axes and affine as in the file, and as the page turns it; then the HU."""
    found = scans.get(address(scans, "turned", "/geometry"))
    assert found["stored"]["shape"] == list(SHAPE)
    assert found["stored"]["axes"] == "".join(nib.aff2axcodes(AFFINES["turned"]))
    assert found["patient"]["axes"] == "RAS"
    scans.ask(address(scans, "turned"))
    again = scans.get(address(scans, "turned", "/geometry"))
    assert (again["low"], again["high"]) == (volume_of("turned").min(), volume_of("turned").max())


def test_a_range_of_bytes(scans: Site) -> None:
    """206 for one range, from either end; 416 for none; what is not understood is ignored."""
    path = address(scans, "lps")
    body = scans.ask(path).body
    for asked, part in (
        ("bytes=0-99", body[:100]),
        ("bytes=340-", body[340:]),
        ("bytes=-50", body[-50:]),
        (f"bytes=300-{10**9}", body[300:]),
    ):
        answer = scans.ask(path, headers={"range": asked})
        assert (answer.status, answer.body) == (206, part), asked
        first = body.find(part) if len(part) > 60 else len(body) - 50
        assert answer.headers["content-range"] == f"bytes {first}-{first + len(part) - 1}/{len(body)}"
    gone = scans.ask(path, headers={"range": f"bytes={len(body)}-"})
    assert gone.status == 416
    assert gone.headers["content-range"] == f"bytes */{len(body)}"
    for strange in ("bytes=9-3", "bytes=0-1,5-6", "rows=1-2", "bytes=-", "bytes=x"):
        assert scans.ask(path, headers={"range": strange}).body == body


def test_nothing_is_sent_twice(scans: Site) -> None:
    """An ETag that is known is answered by 304; another cut has another one."""
    path = address(scans, "lps", "?step=2")
    first = scans.ask(path)
    tag = first.headers["etag"]
    again = scans.ask(path, headers={"if-none-match": f'"other", W/{tag}'})
    assert (again.status, again.body) == (304, b"")
    other = scans.ask(address(scans, "lps", "?step=3"), headers={"if-none-match": tag})
    assert other.status == 200
    assert other.headers["etag"] != tag
    late = {"range": "bytes=0-9", "if-range": '"old"'}
    assert scans.ask(path, headers=late).status == 200
    assert scans.ask(path, headers={**late, "if-range": tag}).status == 206


def test_the_head_alone(scans: Site) -> None:
    """HEAD tells length and tag and sends nothing."""
    path = address(scans, "lps", "?bbox=0,5,0,5,0,5")
    head, body = scans.ask(path, method="HEAD"), scans.ask(path)
    assert head.body == b""
    assert head.status == 200
    assert head.headers["content-length"] == str(len(body.body)) == str(352 + 2 * 125)
    assert head.headers["etag"] == body.headers["etag"]


def test_gzip_only_where_it_pays(scans: Site) -> None:
    """On one machine a volume goes out as it is, and a mask packed; both are the same bytes."""
    wants = {"accept-encoding": "gzip"}
    plain = scans.ask(address(scans, "lps"), headers=wants)
    assert plain.headers["content-encoding"] == "identity"
    assert (np.asarray(image_of(plain.body).dataobj) == volume_of("lps")).all()
    path = address(scans, "lps", "/truth/0")
    packed, bare = scans.ask(path, headers=wants), scans.ask(path)
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < len(bare.body) / 2
    assert gzip.decompress(packed.body) == bare.body
    assert packed.headers["etag"] != bare.headers["etag"]
    assert MAX_GZIP_BYTES > 1 << 20


@pytest.mark.parametrize("name", AFFINES)
@pytest.mark.parametrize("frame", ["stored", "patient"])
def test_truth_masks_lie_on_their_scan(scans: Site, name: str, frame: str) -> None:
    """Labels are cut to their box, and each is where it was drawn."""
    found = image_of(scans.ask(address(scans, name, f"/truth/0?frame={frame}")).body)
    values = np.asarray(found.dataobj)
    for axis in range(3):  # the box is tight
        across = tuple(other for other in range(3) if other != axis)
        assert np.asarray(values.any(axis=across))[[0, -1]].all()
    mm = apply_affine(found.affine, np.indices(values.shape).reshape(3, -1).T)
    i, j, k = np.rint(apply_affine(np.linalg.inv(AFFINES[name]), mm)).astype(int).T
    assert (labels_of(name)[i, j, k] == values.reshape(-1)).all()
    assert np.count_nonzero(values) == np.count_nonzero(labels_of(name))


def test_coarse_masks_lie_on_the_coarse_scan(scans: Site) -> None:
    """A mask with a step is on the same grid as the volume with that step."""
    volume = image_of(scans.ask(address(scans, "lps", "?frame=patient&step=3")).body)
    found = image_of(scans.ask(address(scans, "lps", "/truth/0?frame=patient&step=3")).body)
    shift = apply_affine(np.linalg.inv(volume.affine), found.affine[:3, 3])
    assert np.abs(shift - np.rint(shift)).max() < 1e-3
    mm = apply_affine(found.affine, np.indices(found.shape).reshape(3, -1).T)
    i, j, k = np.rint(apply_affine(np.linalg.inv(AFFINES["lps"]), mm)).astype(int).T
    assert (labels_of("lps")[i, j, k] == np.asarray(found.dataobj).reshape(-1)).all()


def test_facts_say_where_entities_lie(scans: Site) -> None:
    """Voxels, millilitres, a place inside, and the box around each entity."""
    for name, affine in AFFINES.items():
        facts = scans.get(address(scans, name, "/findings"))["findings"][0]
        labels = labels_of(name)
        assert facts["category_name"]
        assert facts["voxels"] == np.count_nonzero(labels)
        for spot in facts["entities"]:
            own = np.argwhere(labels == spot["number"])
            assert spot["voxels"] == len(own)
            size = abs(np.linalg.det(affine[:3, :3]))
            assert spot["ml"] == pytest.approx(len(own) * size / 1000)
            at = np.rint(apply_affine(np.linalg.inv(affine), spot["at"])).astype(int)
            assert labels[tuple(at)] == spot["number"]
            away = np.linalg.norm((own - own.mean(axis=0)) * np.linalg.norm(affine[:3, :3], axis=0), axis=1)
            here = np.linalg.norm((at - own.mean(axis=0)) * np.linalg.norm(affine[:3, :3], axis=0))
            assert here == pytest.approx(away.min())
            mm = apply_affine(affine, own)
            assert (mm.min(axis=0) >= spot["low"]).all()
            assert (mm.max(axis=0) <= spot["high"]).all()
            assert spot["met"] is None


@pytest.mark.parametrize(("plane", "axis"), [("sagittal", 0), ("coronal", 1), ("axial", 2)])
def test_a_slice_and_a_slab(scans: Site, plane: str, axis: int) -> None:
    """A slab is the greatest value over its slices, in the radiologist's orientation."""
    ras = np.asarray(nib.as_closest_canonical(whole("lps")).dataobj)
    spacing = (0.7, 0.8, 2.0)
    for slab in (0, 9):
        reach = int(slab / 2 / spacing[axis] + 1e-6)
        flat = np.take(ras, range(max(0, 5 - reach), 6 + reach), axis=axis).max(axis=axis)
        expected = flat[::-1, ::-1].T
        query = f"/slice?plane={plane}&index=5&window=1000,4000&slab={slab}&longest=2000"
        answer = scans.ask(address(scans, "lps", query))
        assert answer.headers["content-type"] == "image/png"
        with Image.open(io.BytesIO(answer.body)) as image:
            drawn = np.asarray(image, float)
        # At the middle of each voxel the picture has that voxel's grey.
        down, right = (
            ((np.arange(count) + 0.5) * size / count).astype(int)
            for count, size in zip(expected.shape, drawn.shape, strict=True)
        )
        grey = np.clip((expected + 1000) / 4000, 0, 1) * 255
        assert np.abs(drawn[np.ix_(down, right)] - grey).max() < 4


def test_a_box_of_a_slice(scans: Site) -> None:
    """A box cuts the slice, and boxes outside of it are refused."""
    answer = scans.ask(address(scans, "lps", "/slice?box=2,3,12,8&longest=100"))
    with Image.open(io.BytesIO(answer.body)) as image:
        assert image.size == (100, 57)  # 10 × 5 voxels of 0.7 × 0.8 mm
    assert scans.ask(address(scans, "lps", "/slice?box=90,90,99,99")).status == 422


@pytest.mark.parametrize(
    "query",
    [
        "?bbox=1,2,3", "?bbox=a,b,c,d,e,f", "?bbox=5,5,0,9,0,9", "?bbox=0,1e99,0,1,0,1",
        "?bbox=0.5,2,0,1,0,1", "?bbox=nan,1,0,1,0,1", "?bbox=" + "9" * 400, "?step=0", "?step=17",
        "?step=1,2", "?step=x", "?frame=lps", "?frame=patient&bbox=9e4,9e4,0,1,0,1",
        "/slice?plane=oblique", "/slice?index=99", "/slice?index=-1", "/slice?window=1,0",
        "/slice?window=x", "/slice?slab=1e9", "/slice?slab=nan", "/slice?box=1,2",
        "/slice?longest=99999", "/truth/0?step=0", "/truth/9", "/marks", "/marks?run=none",
        "/prediction/0?run=../..", "/findings?run=none", "/findings?run=x&sample=-1",
    ],
)  # fmt: skip
def test_what_cannot_be_asked(scans: Site, query: str) -> None:
    """One sentence, never a failure of ours."""
    answer = scans.ask(address(scans, "lps", query))
    assert answer.status in (404, 422), answer.body[:300]
    assert answer.json()["what"]


def test_other_pictures_are_no_volumes(site: Site) -> None:
    """A flat picture, a wrong name and a wrong case are told apart from a volume."""
    dataset = site.shelf_id("datasets", "mmrad")
    split = site.get("/api/shelf")["datasets"]
    name = next(one["splits"][0] for one in split if one["id"] == dataset)
    assert site.ask(f"/api/volumes/{dataset}/{name}/nobody/ct").status == 404
    ct = site.shelf_id("datasets", "rexgroundingct")
    assert site.ask(f"/api/volumes/{ct}/test/test_7_a_1/mr").status == 404
