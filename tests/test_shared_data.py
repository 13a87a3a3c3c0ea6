"""The real data beside the checkout: real CTs, real radiographs, real cases."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

import overread
from overread.core import Case
from overread.pixels.formats import read_picture
from overread.pixels.image_files import verify_image
from overread.pixels.masks import count_voxels, read_channel

pytestmark = pytest.mark.shared


def test_real_cts_and_masks_equal_nibabels(shared: Path) -> None:
    """Every CT and every mask channel, voxel by voxel, and the counts that the list states."""
    release = overread.load("rexgroundingct", shared / "ct", "val")
    seen = 0
    for entry in release.entries():
        assert entry.truth is not None
        volume = entry.case.pictures[0]
        path = release.source(volume.file)
        peer = nib.load(path)
        np.testing.assert_array_equal(release.pictures.pixels(volume), np.asarray(peer.dataobj))
        space = release.pictures.geometry(volume)
        assert space.axes == "".join(nib.aff2axcodes(peer.affine))
        file = f"segmentations/{volume.file}"
        count = len(entry.case.queries)
        masks = np.asarray(nib.load(release.source(file)).dataobj)
        counted = count_voxels(release.source(file), space.shape, count)
        for channel, finding in enumerate(entry.truth.findings):
            found = read_channel(release.source(file), channel, space.shape, count)
            np.testing.assert_array_equal(found, masks[channel])
            assert len(counted[channel]) == finding.entities
            assert sum(counted[channel].values()) == finding.voxels
            seen += 1
    assert seen > 8


def test_real_cts_have_no_error_but_their_category(shared: Path) -> None:
    """The organ masks carry a category of nobody's; all else is in order."""
    defects = list(overread.check("rexgroundingct", shared / "ct", "val"))
    errors = {defect.code for defect in defects if defect.severity == "error"}
    assert errors <= {"unknown-category"}


def test_real_cts_come_out_again(shared: Path, tmp_path: Path) -> None:
    """load → write → load, on real scans."""
    release = overread.load("rexgroundingct", shared / "ct", "val")
    overread.write(release, tmp_path)
    again = overread.load("rexgroundingct", tmp_path, "val")
    assert list(again.entries()) == list(release.entries())


@pytest.mark.parametrize("split", ["train", "test"])
def test_real_cases_load_and_come_out_again(shared: Path, tmp_path: Path, split: str) -> None:
    """Teaching cases of another source in the same shape: all load, all pictures open."""
    release = overread.load("medthinkvqa", shared / "cases", split)
    cases = list(release)
    assert len(cases) >= 20
    defects = list(overread.check("medthinkvqa", shared / "cases", split))
    assert [defect for defect in defects if defect.severity == "error"] == []
    for form in ("jsonl", "parquet-embedded"):
        overread.write(release, tmp_path / form, form=form)
        again = overread.load("medthinkvqa", tmp_path / form, split)
        assert list(again.entries()) == list(release.entries())
    assert isinstance(cases[0], Case)
    assert release.pictures.pixels(cases[0].pictures[0]).ndim in (2, 3)


def test_real_radiographs_open_whole(shared: Path) -> None:
    """Every radiograph decodes to the size its box file states."""
    stated = {
        image["file_name"]: (image["width"], image["height"])
        for image in json.loads((shared / "cxr" / "lung_boxes.json").read_text())["images"]
    }
    with (shared / "cxr" / "metadata.csv").open(newline="") as rows:
        names = [row["filename"] for row in csv.DictReader(rows)]
    for name in names:
        path = shared / "cxr" / "images" / name
        size = verify_image(path)
        assert read_picture(path).shape[:2] == size[::-1]
        assert stated.get(name, size) == size
