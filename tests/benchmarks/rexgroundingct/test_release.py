"""ReXGroundingCT: places of CTs and masks, withheld truth, every defect named."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

import overread
from overread.core import Entry, Mask
from overread.errors import NotThere, ReleaseError
from overread.pixels.masks import read_channel

Copy = Callable[[str], Path]


def listed(root: Path, file: str = "dataset.json") -> dict[str, list[dict[str, Any]]]:
    return json.loads((root / file).read_text("utf-8"))  # type: ignore[no-any-return]


def change(root: Path, edit: Callable[[dict[str, Any]], object], row: int = 1) -> None:
    """Edit one test row of dataset.json in place."""
    data = listed(root)
    edit(data["test"][row])
    (root / "dataset.json").write_text(json.dumps(data), "utf-8")


def entries(root: Path, split: str = "test", **options: Any) -> list[Entry]:
    return list(overread.load("rexgroundingct", root, split, **options).entries())


def found(root: Path, split: str = "test", **options: Any) -> dict[str, str]:
    defects = overread.check("rexgroundingct", root, split, **options)
    return {defect.code: defect.severity for defect in defects}


def test_a_row_becomes_a_case(sketch: Path) -> None:
    """Sentences are queries the reader sees; categories, counts and masks are hidden."""
    entry = entries(sketch / "rexgroundingct")[1]
    row = listed(sketch / "rexgroundingct")["test"][1]
    assert entry.case.id == row["name"].removesuffix(".nii.gz")
    assert entry.case.patient == "test_4"
    assert [query.text for query in entry.case.queries] == list(row["findings"].values())
    assert entry.truth is not None
    for number, finding in enumerate(entry.truth.findings):
        assert finding.category == row["categories"][str(number)]
        assert finding.entities == row["entity_counts"][str(number)]
        assert finding.regions == (
            Mask(picture="ct", file=f"segmentations/{row['name']}", channel=number, channels=2),
        )


def test_entities_stay_apart_and_geometry_is_the_cts(sketch: Path) -> None:
    """The labels of a mask are the annotator's; spacing and axes come from the CT."""
    release = overread.load("rexgroundingct", sketch / "rexgroundingct", "train")
    entry = release.entry("train_2_a_1")
    space = release.pictures.geometry(entry.case.pictures[0])
    assert space.axes == "LPS"
    assert space.spacing == pytest.approx((3.5, 3.5, 5.25))
    source = release.source("segmentations/train_2_a_1.nii.gz")
    labels = read_channel(source, 0, space.shape, 2)
    assert set(np.unique(labels)) == {0, 1, 2}
    assert release.pictures.pixels(entry.case.pictures[0]).dtype == np.int16


def test_load_write_load_is_the_identity(sketch: Path, tmp_path: Path) -> None:
    """Both splits, one after the other, in one list; equal entries, voxels and masks."""
    root = sketch / "rexgroundingct"
    for split in ("train", "test"):
        overread.write(overread.load("rexgroundingct", root, split), tmp_path)
    assert entries(tmp_path, "train") == entries(root, "train")
    assert entries(tmp_path) == entries(root)
    assert found(tmp_path) == found(tmp_path, "train") == {}


@pytest.mark.parametrize("order", ["HWDF", "HWD", "float"])
def test_masks_of_the_wild_are_understood_and_mended_on_writing(
    copy: Copy, tmp_path: Path, order: str
) -> None:
    """Both variants load as the official order does, and are written as it."""
    root = copy("rexgroundingct")
    before = entries(root)
    for number, row in enumerate(listed(root)["test"]):
        path = root / "segmentations" / row["name"]
        image = nib.load(path)
        array = np.asarray(image.dataobj)
        if order == "HWDF" or (order == "HWD" and number):
            array = np.moveaxis(array, 0, -1)
        elif order == "HWD":
            array = array[0]
        dtype = np.float32 if order == "float" else np.uint8
        nib.save(nib.Nifti1Image(array.astype(dtype), image.affine), path)
    assert entries(root) == before
    told = found(root)
    assert told == ({"wrong-encoding": "error"} if order == "float" else {"mask-variant": "warning"})
    overread.write(overread.load("rexgroundingct", root), tmp_path / "out")
    assert entries(tmp_path / "out") == before
    assert found(tmp_path / "out") == {}


@pytest.mark.parametrize(
    "place",
    [
        "{name}",
        "ct/{name}",
        "dataset/train_fixed/train_1/train_1_a/{name}",
        "dataset/train/train_1/train_1_a/{name}",
        "train_fixed/train_1/train_1_a/{name}",
    ],
)
def test_cts_are_found_where_people_keep_them(copy: Copy, place: str) -> None:
    """Flat, or in CT-RATE's tree; inside the release or in a folder named by --pictures."""
    root = copy("rexgroundingct")
    name = "train_1_a_1.nii.gz"
    case = entries(root, "train")[0].case
    target = root / place.format(name=name)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(root / "images" / name, target)
    release = overread.load("rexgroundingct", root, "train")
    assert release.pictures.pixels(case.pictures[0]).shape == (96, 72, 64)
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    shutil.move(target, elsewhere / name)
    with pytest.raises(NotThere, match="--pictures"):
        release.pictures.pixels(case.pictures[0])
    release = overread.load("rexgroundingct", root, "train", pictures=elsewhere)
    assert release.pictures.pixels(case.pictures[0]).shape == (96, 72, 64)


@pytest.mark.parametrize("folder", ["segmentations", "images"])
def test_large_folders_may_be_links(copy: Copy, tmp_path: Path, folder: str) -> None:
    """Masks and CTs on another disk are read as if they lay here."""
    root = copy("rexgroundingct")
    before = found(root), entries(root)
    (root / folder).rename(tmp_path / "other-disk")
    (root / folder).symlink_to(tmp_path / "other-disk")
    assert (found(root), entries(root)) == before
    entry = before[1][1]
    assert entry.truth is not None
    release = overread.load("rexgroundingct", root, "test")
    assert release.pictures.pixels(entry.case.pictures[0]).any()
    assert release.source(entry.truth.findings[0].regions[0].file)  # type: ignore[union-attr]


def test_a_mask_that_is_a_link_out_is_named_and_not_taken_for_absent(copy: Copy, tmp_path: Path) -> None:
    """Single links may lead anywhere, and stay refused; nobody is told that the truth is withheld."""
    root = copy("rexgroundingct")
    for path in list((root / "segmentations").iterdir()):
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
    codes = found(root)
    assert codes["refused-file"] == "error"
    assert "withheld-truth" not in codes


def test_a_list_that_is_a_link_out_is_named(copy: Copy, tmp_path: Path) -> None:
    """Not taken for a release without a list."""
    root = copy("rexgroundingct")
    (root / "dataset.json").rename(tmp_path / "list.json")
    (root / "dataset.json").symlink_to(tmp_path / "list.json")
    with pytest.raises(ReleaseError, match=r"link out of the release.*copy the file"):
        overread.load("rexgroundingct", root, "train")


def test_an_official_release_is_intact(copy: Copy) -> None:
    """No CTs, test masks withheld, the MICCAI twin beside it, a patient in two splits: exit 0."""
    root = copy("rexgroundingct")
    shutil.rmtree(root / "images")
    for path in (root / "segmentations").glob("test_*"):
        path.unlink()
    data = listed(root)
    data["val"] = [dict(data["train"][0], name="test_3_b_1.nii.gz")]
    shutil.copy(root / "segmentations" / "train_1_a_1.nii.gz", root / "segmentations" / "test_3_b_1.nii.gz")
    for file in ("dataset.json", "MICCAI_challenge_dataset.json"):
        (root / file).write_text(json.dumps(data), "utf-8")
    told = found(root)
    assert set(told) == {"no-pictures", "withheld-truth", "patient-in-two-splits"}
    assert set(told.values()) == {"warning"}
    assert set(found(root, "val").values()) == {"warning"}
    assert found(root, "train") == {"no-pictures": "warning"}
    first = entries(root, form="miccai")[0]
    assert first.truth is not None
    assert first.truth.findings[0].regions == ()


def test_an_official_release_can_be_written(copy: Copy, tmp_path: Path) -> None:
    """Without CTs, the list and the masks go out and come in again."""
    root = copy("rexgroundingct")
    shutil.rmtree(root / "images")
    overread.write(overread.load("rexgroundingct", root, "train"), tmp_path / "out")
    assert entries(tmp_path / "out", "train") == entries(root, "train")
    assert found(tmp_path / "out", "train") == {"no-pictures": "warning"}


def test_masks_are_looked_at_without_ct_and_shape(copy: Copy) -> None:
    """Where nothing tells the shape, a mask that is cut off is noticed all the same."""
    root = copy("rexgroundingct")
    shutil.rmtree(root / "images")
    for row in (0, 1):
        change(root, lambda r: r.pop("shape"), row)
    assert found(root) == {"no-pictures": "warning"}
    path = root / "segmentations" / "test_3_a_1.nii.gz"
    path.write_bytes(path.read_bytes()[:200])
    assert found(root)["truncated-file"] == "error"


def test_the_twin_list_is_held_against_the_same_masks(copy: Copy) -> None:
    """A wrong count in the MICCAI list is told, though the base list has the scan too."""
    root = copy("rexgroundingct")
    data = listed(root)
    data["test"][0]["pixels"]["0"] = 5
    (root / "MICCAI_challenge_dataset.json").write_text(json.dumps(data), "utf-8")
    (defect,) = overread.check("rexgroundingct", root)
    assert (defect.code, defect.file) == ("count-mismatch", "MICCAI_challenge_dataset.json")


def test_bytes_after_the_last_voxel_are_told(copy: Copy) -> None:
    """A CT whose file goes on is a warning; nothing of the tail is used."""
    root = copy("rexgroundingct")
    path = root / "images" / "test_3_a_1.nii.gz"
    path.write_bytes(path.read_bytes() + gzip.compress(bytes(1000)))
    assert found(root) == {"surplus-bytes": "warning"}


@pytest.mark.parametrize("name", ["../x.nii.gz", "/etc/x.nii.gz", ".nii.gz", "x" * 300 + ".nii.gz"])
def test_names_that_are_no_file_names_are_refused_without_any_ct(copy: Copy, name: str) -> None:
    """Whether CTs are here or not, a hostile name is an error."""
    root = copy("rexgroundingct")
    shutil.rmtree(root / "images")
    change(root, lambda r: r.update(name=name))
    assert found(root)["refused-file"] == "error"


def test_truth_may_be_absent(copy: Copy) -> None:
    """With sentences alone, cases load and there is no truth."""
    root = copy("rexgroundingct")
    for row in (0, 1):
        change(root, lambda r: [r.pop(k) for k in list(r) if k not in ("name", "findings")], row)
    shutil.rmtree(root / "segmentations")
    (root / "anatomical_cot.json").unlink()
    assert [entry.truth for entry in entries(root)] == [None, None]
    assert found(root) == {"withheld-truth": "warning"}


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "entities": (lambda r: r["entity_counts"].update({"0": 9}), "count-mismatch"),
    "voxels": (lambda r: r["pixels"].update({"1": 9}), "count-mismatch"),
    "shape": (lambda r: r.update(shape=[64, 64, 64]), "shape-mismatch"),
    "odd shape": (lambda r: r.update(shape=[0, 1]), "wrong-type"),
    "category": (lambda r: r["categories"].update({"0": "13z"}), "unknown-category"),
    "lost category": (lambda r: r["categories"].pop("0"), "keys-mismatch"),
    "odd key": (lambda r: r["findings"].update(x="y"), "wrong-type"),
    "gap in keys": (lambda r: r["findings"].update({"7": "y"}), "keys-mismatch"),
    "no sentences": (lambda r: r.update(findings={}), "missing-field"),
    "empty sentence": (lambda r: r["findings"].update({"0": " "}), "missing-field"),
    "no name": (lambda r: r.pop("name"), "missing-field"),
    "other name": (lambda r: r.update(name="scan.png"), "missing-field"),
    "way out": (lambda r: r.update(name="../test_4_a_1.nii.gz"), "refused-file"),
    "lost scan": (lambda r: r.update(name="test_9_a_1.nii.gz"), "missing-file"),
    "list for mapping": (lambda r: r.update(pixels=[1, 2]), "wrong-type"),
    "text for number": (lambda r: r["pixels"].update({"0": "many"}), "wrong-type"),
    "negative": (lambda r: r["pixels"].update({"0": -1}), "wrong-type"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_defect_is_an_error(copy: Copy, name: str) -> None:
    """One thing broken in one row is told by its name, at that row."""
    edit, code = BROKEN[name]
    root = copy("rexgroundingct")
    change(root, edit)
    defects = [d for d in overread.check("rexgroundingct", root) if d.severity == "error"]
    assert code in {defect.code for defect in defects}
    # A chain of thought that no longer fits is told by its case.
    assert {defect.row for defect in defects if defect.code != "bad-chain"} == {2}


def test_parts_of_the_list_that_are_no_splits_are_told_and_kept(copy: Copy, tmp_path: Path) -> None:
    """A split of another name, or notes of the organiser's: a warning, and written back."""
    root = copy("rexgroundingct")
    data = listed(root)
    text = json.dumps(data | {"validation": data["test"], "meta": {"version": 2}})
    (root / "dataset.json").write_text(text, "utf-8")
    assert found(root) == {"unknown-key": "warning"}
    overread.write(overread.load("rexgroundingct", root), tmp_path / "out")
    kept: Any = listed(tmp_path / "out")["meta"]
    assert kept == {"version": 2}


def test_duplicate_scans_are_named(copy: Copy) -> None:
    """The same name twice in a split."""
    root = copy("rexgroundingct")
    data = listed(root)
    data["test"].append(data["test"][0])
    (root / "dataset.json").write_text(json.dumps(data), "utf-8")
    assert found(root) == {"duplicate-id": "error"}


@pytest.mark.parametrize("folder", ["images", "segmentations"])
def test_files_cut_off_or_lost_are_named(copy: Copy, folder: str) -> None:
    """A gzip stream that ends early, a flipped byte, a file that is no NIfTI, no file at all."""
    root = copy("rexgroundingct")
    path = root / folder / "test_3_a_1.nii.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert found(root) == {"truncated-file": "error"}
    path.write_bytes(whole[: len(whole) // 2])
    assert found(root) == {"truncated-file": "error"}
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    path.write_bytes(damaged)
    assert set(found(root)) & {"unreadable-file", "truncated-file", "count-mismatch"}
    path.write_bytes(gzip.compress(b"\x80\x04\x95pickle" * 100))
    assert found(root) == {"unreadable-file": "error"}
    path.unlink()
    assert found(root) == {"missing-file": "error"}
    assert found(root, open_pictures=False) == {"missing-file": "error"}


def test_mask_headers_that_disagree_are_warned_of(copy: Copy) -> None:
    """The mask's own affine is not used, so a wrong one is a warning; a wrong shape is an error."""
    root = copy("rexgroundingct")
    path = root / "segmentations" / "test_3_a_1.nii.gz"
    array = np.asarray(nib.load(path).dataobj)
    nib.save(nib.Nifti1Image(array, np.eye(4)), path)
    assert found(root) == {"mask-header": "warning"}
    nib.save(nib.Nifti1Image(array[:, :-1], np.eye(4)), path)
    assert found(root) == {"shape-mismatch": "error"}
    nib.save(nib.Nifti1Image(np.zeros_like(array), np.eye(4)), path)
    assert found(root)["empty-mask"] == "warning"
    assert found(root)["count-mismatch"] == "error"


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"test": 5}', b"\xff\xfe", b"null"])
def test_a_list_that_is_none(copy: Copy, content: bytes) -> None:
    """Whatever dataset.json holds instead, it is one named error."""
    root = copy("rexgroundingct")
    (root / "dataset.json").write_bytes(content)
    assert set(found(root).values()) == {"error"}
    with pytest.raises(ReleaseError):
        entries(root)


def test_an_empty_split_says_where_the_cases_are(copy: Copy) -> None:
    """`val` is empty here; the others are named."""
    root = copy("rexgroundingct")
    (defect,) = overread.check("rexgroundingct", root, "val")
    assert (defect.code, defect.found) == ("empty-split", "none (2 in train, 2 in test)")
    (root / "dataset.json").unlink()
    assert found(root) == {"missing-file": "error"}
