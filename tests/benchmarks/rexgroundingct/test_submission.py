"""ReXGroundingCT predictions: masks in folders and zips, and the sentence for each bad one."""

from __future__ import annotations

import gzip
import io
import pickle
import random
import shutil
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import overread
from overread.benchmarks.rexgroundingct.submission import read_submission
from overread.core import Geometry, Mask, Release, Submission
from overread.errors import PictureError, SubmissionError
from overread.pixels.masks import read_channel
from overread.pixels.nifti import write_volume

ONE, TWO = "test_3_a_1.nii.gz", "test_4_a_1.nii.gz"
FIRST, SECOND = "test_3_a_1", "test_4_a_1"
SHAPE = (2, 96, 72, 64)


@pytest.fixture
def release(sketch: Path) -> Release:
    """Two scans with one and two findings."""
    return overread.load("rexgroundingct", sketch / "rexgroundingct")


@pytest.fixture
def folder(sketch: Path, tmp_path: Path) -> Path:
    """A perfect submission, to be broken."""
    target = tmp_path / "mine"
    target.mkdir()
    for name in (ONE, TWO):
        shutil.copy(sketch / "rexgroundingct" / "segmentations" / name, target / name)
    return target


@pytest.fixture
def space(release: Release) -> Geometry:
    """Where the voxels of the scans lie."""
    return release.pictures.geometry(next(iter(release)).pictures[0])


def zipped(folder: Path, *entries: tuple[str, str], top: str = "") -> Path:
    """A zip of (name in the zip, file of the folder)."""
    path = folder.with_suffix(".zip")
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as out:
        warnings.simplefilter("ignore")  # two entries of one name
        for name, file in entries or ((ONE, ONE), (TWO, TWO)):
            out.writestr(top + name, (folder / file).read_bytes())
    return path


def said(submission: Submission, severity: str = "error") -> list[str]:
    return [str(problem) for problem in submission.problems if problem.severity == severity]


def only_second_failed(submission: Submission) -> str:
    """The one error, after checking that it cost the second scan and nothing else."""
    assert submission.readings[FIRST].error is None
    assert submission.readings[SECOND].error
    (error,) = said(submission)
    return error


@pytest.mark.parametrize("way", ["folder", "zip", "deflated", "top"])
def test_a_perfect_submission(release: Release, folder: Path, way: str) -> None:
    """Masks come back by query and channel, from a folder or a zip, in another process too."""
    path = folder
    if way != "folder":
        path = zipped(folder, top="preds/" if way == "top" else "")
    if way == "deflated":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for name in (ONE, TWO):
                out.writestr(name, gzip.decompress((folder / name).read_bytes()))
    submission = pickle.loads(pickle.dumps(read_submission(release, path)))
    assert submission.reader == "mine"
    words = ["the masks lie in the folder 'preds'"] if way == "top" else []
    assert [problem.what for problem in submission.problems] == words
    for entry in release.entries():
        findings = submission.readings[entry.case.id].findings
        assert findings is not None
        assert [finding.query for finding in findings] == [q.id for q in entry.case.queries]
        assert entry.truth is not None
        for mine, true in zip(findings, entry.truth.findings, strict=True):
            region, key = mine.regions[0], true.regions[0]
            assert isinstance(region, Mask)
            assert isinstance(key, Mask)
            assert (region.channel, region.channels) == (key.channel, key.channels)
            mask, official = (
                read_channel(source, key.channel, SHAPE[1:], key.channels)
                for source in (submission.source(region.file), release.source(key.file))
            )
            assert np.array_equal(mask, official)


def test_the_truth_is_a_submission(release: Release, sketch: Path) -> None:
    """The release's own masks can be graded; those of another split are strangers."""
    submission = read_submission(release, sketch / "rexgroundingct" / "segmentations")
    assert len(submission.readings) == 2
    assert said(submission) == []
    assert all("the release has no case 'train_" in w for w in said(submission, "warning"))
    with pytest.raises(PictureError):
        submission.source("../dataset.json")


@pytest.mark.parametrize(
    ("shape", "what", "remedy"),
    [
        ((2, 72, 96, 64), "(F, W, H, D), H and W are swapped", "(0, 2, 1, 3)"),
        ((64, 2, 96, 72), "(D, F, H, W), as torchio and MONAI", "(1, 2, 3, 0)"),
        ((64, 72, 96, 2), "(D, W, H, F), as SimpleITK", "(3, 2, 1, 0)"),
        ((2, 64, 72, 96), "(F, D, W, H), as nnU-Net and VoxTell", "(0, 3, 2, 1)"),
        ((2, 64, 96, 72), "(F, D, H, W), with the slices first", "(0, 2, 3, 1)"),
        ((96, 2, 72, 64), "(H, F, W, D)", "(1, 0, 2, 3)"),
        ((3, 96, 72, 64), "the mask has 3 channel(s), the case 2", "one channel for each finding"),
        ((1, 96, 72, 64), "the mask has 1 channel(s), the case 2", "one channel for each finding"),
        ((96, 72, 64, 3), "the mask has 3 channel(s), the case 2", "one channel for each finding"),
        ((96, 72, 64), "the mask has one channel, the case 2", "one channel for each finding"),
        ((2, 48, 36, 32), "not (2, 96, 72, 64)", "resample the mask"),
        ((2, 96, 72, 64, 1), "an axis too many", "mask.reshape((2, 96, 72, 64))"),
        ((7,), "not (2, 96, 72, 64)", "the findings in their order"),
    ],
)
def test_shapes_that_do_not_fit(
    release: Release, folder: Path, shape: tuple[int, ...], what: str, remedy: str
) -> None:
    """Each wrong shape fails its scan alone, and the sentence names the mistake and the way out."""
    write_volume(folder / TWO, np.zeros(shape, np.uint8), np.eye(4))
    error = only_second_failed(read_submission(release, folder))
    assert what in error
    assert f"(in {TWO}, {SECOND})" in error
    assert remedy in error


def test_variants_are_understood(release: Release, folder: Path, space: Geometry) -> None:
    """Findings last, one finding without its axis, floats and scaling: taken, with warnings."""
    affine = np.asarray(space.affine)
    write_volume(folder / ONE, np.zeros(SHAPE[1:], np.float32), affine)
    write_volume(folder / TWO, np.zeros((*SHAPE[1:], 2), np.uint8), affine)
    raw = bytearray(gzip.decompress((folder / TWO).read_bytes()))
    raw[112:116] = struct.pack("<f", 2.0)
    (folder / TWO).write_bytes(gzip.compress(bytes(raw)))
    submission = read_submission(release, folder)
    assert said(submission) == []
    assert [p.what for p in submission.problems] == [
        "the mask is stored as (H, W, D); it was understood all the same",
        "the mask is stored as floats",
        "the mask is stored as (H, W, D, F); it was understood all the same",
        "the mask is scaled",
    ]


def turn(affine: NDArray[Any], *axes: int) -> NDArray[Any]:
    turned = affine.copy()
    turned[:3, axes] *= -1
    return turned


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ((0, 1), "says RAS, the CT's LPS, so it may be flipped along H and W"),
        ((2,), "says LPI, the CT's LPS, so it may be flipped along D"),
    ],
)
def test_the_right_shape_in_the_wrong_orientation(
    release: Release, folder: Path, space: Geometry, axes: tuple[int, ...], words: str
) -> None:
    """A header that points elsewhere than the CT's is pointed out once for all files."""
    affine = turn(np.asarray(space.affine), *axes)
    write_volume(folder / ONE, np.zeros((1, *SHAPE[1:]), np.uint8), affine)
    write_volume(folder / TWO, np.zeros(SHAPE, np.uint8), affine)
    submission = read_submission(release, folder)
    assert said(submission) == []
    (warning,) = said(submission, "warning")
    assert words in warning
    assert f"(2 files: {ONE}, {TWO})" in warning
    assert "turn the array back into the CT's own order" in warning


def test_missing_scans_are_one_line(release: Release, folder: Path) -> None:
    """A scan without a mask has no reading."""
    (folder / TWO).unlink()
    submission = read_submission(release, folder)
    assert list(submission.readings) == [FIRST]
    assert said(submission) == [
        f"1 of 2 cases have no prediction ({SECOND}) (in mine): hand in one file for each; they "
        "count as the worst"
    ]


@pytest.mark.parametrize(
    "name", ["TEST_4_A_1.nii.gz", "test_4_a_1_0000.nii.gz", "test_4_a_1.nii", "test_4_a_1_seg.nii.gz"]
)
def test_names_that_are_nearly_right(release: Release, folder: Path, name: str) -> None:
    """A mask under nearly its name is not taken, and the name is told."""
    (folder / TWO).rename(folder / name)
    submission = read_submission(release, folder)
    assert list(submission.readings) == [FIRST]
    assert said(submission)[1] == (
        f"there is no file '{TWO}', but '{name}' (in mine, {SECOND}): name each mask like its CT"
    )
    assert said(submission, "warning") == []


def test_surplus_files_are_told(release: Release, folder: Path) -> None:
    """Strangers, twins, texts and hidden files are left out, each with a word."""
    shutil.copy(folder / ONE, folder / "train_9_a_1.nii.gz")
    shutil.copy(folder / TWO, folder / "test_4_a_1.nii")
    for name in ("readme.txt", ".DS_Store"):
        (folder / name).touch()
    submission = read_submission(release, folder)
    assert said(submission) == []
    warned = said(submission, "warning")
    assert len(warned) == 4
    for words in ("1 hidden file(s)", "no NIfTI and were left out (readme.txt)",
                  "another file for a scan", "no case 'train_9_a_1.nii.gz'"):  # fmt: skip
        assert any(words in warning for warning in warned), words


def test_one_scan_in_two_folders(release: Release, folder: Path) -> None:
    """Two masks for a scan and neither where it belongs: the scan has failed."""
    for part in ("x", "y"):
        (folder / part).mkdir()
        shutil.copy(folder / TWO, folder / part / TWO)
    aside = read_submission(release, folder)
    assert said(aside) == []
    assert "another file for a scan that has its mask" in said(aside, "warning")[0]
    (folder / TWO).unlink()
    error = only_second_failed(read_submission(release, folder))
    assert f"2 files for one scan (x/{TWO}, y/{TWO})" in error


def test_one_name_twice_in_a_zip(release: Release, folder: Path) -> None:
    """The same bytes twice are a warning; different bytes fail the scan."""
    same = read_submission(release, zipped(folder, (ONE, ONE), (TWO, TWO), (TWO, TWO)))
    assert said(same) == []
    assert "the same mask is there more than once" in said(same, "warning")[0]
    differing = read_submission(release, zipped(folder, (ONE, ONE), (TWO, TWO), (TWO, ONE)))
    assert "2 times, with different bytes" in only_second_failed(differing)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"../{TWO}", "its name leads out of the zip ('..')"),
        (f"/tmp/{TWO}", "its name is an absolute path"),
        (f"C:/{TWO}", "its name is an absolute path"),
        (f"x\\{TWO}", "its name is empty, or has a backslash"),
    ],
)
def test_names_that_leave_the_zip(release: Release, folder: Path, name: str, words: str) -> None:
    """A mask whose name leads elsewhere fails its scan and no other; nothing is written."""
    path = zipped(folder, (ONE, ONE), (name, TWO))
    before = sorted(folder.parent.rglob("*"))
    assert words in only_second_failed(read_submission(release, path))
    assert sorted(folder.parent.rglob("*")) == before


def test_a_zip_bomb(release: Release, folder: Path) -> None:
    """An entry that claims gigabytes fails its scan before a byte of it is inflated."""
    path = zipped(folder)
    raw = bytearray(path.read_bytes())
    place = raw.rfind(b"PK\x01\x02") + 24
    raw[place : place + 4] = struct.pack("<I", 0xFFFFFFF0)
    path.write_bytes(raw)
    error = only_second_failed(read_submission(release, path))
    assert "it claims 4,294,967,280 bytes" in error
    (folder / TWO).write_bytes((folder / TWO).read_bytes() + b"\0" * (3 << 20))
    assert "a mask of its shape at most" in only_second_failed(read_submission(release, folder))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"hello, this is no mask", "not a NIfTI file"),
        (None, "the file holds at most"),
    ],
)
@pytest.mark.parametrize("way", ["folder", "zip"])
def test_broken_masks(release: Release, folder: Path, content: bytes | None, words: str, way: str) -> None:
    """A file that is no mask, or only the beginning of one, fails its scan alone."""
    raw = (folder / TWO).read_bytes()
    (folder / TWO).write_bytes(raw[:200] if content is None else content)
    path = zipped(folder) if way == "zip" else folder
    assert words in only_second_failed(read_submission(release, path))


def test_links_are_not_followed(release: Release, folder: Path, sketch: Path) -> None:
    """A link out of the folder is refused, with the way out."""
    (folder / TWO).unlink()
    (folder / TWO).symlink_to(sketch / "rexgroundingct" / "segmentations" / TWO)
    error = only_second_failed(read_submission(release, folder))
    assert "a link out of the folder" in error
    assert error.endswith("copy the file itself into the folder")


def test_submissions_that_cannot_be_graded(release: Release, folder: Path, tmp_path: Path) -> None:
    """Nothing, no masks, no mask for any scan: one sentence each."""
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    (tmp_path / "bare").mkdir()
    strangers = zipped(folder, ("foo.nii.gz", ONE))
    for path, words in (
        (tmp_path / "empty.zip", r"nothing in it \(in empty.zip\): put one .nii.gz a scan"),
        (tmp_path / "bare", "nothing in it"),
        (folder / ONE, "neither a folder nor a zip"),
        (tmp_path / "none", "no such file or folder"),
        (strangers, "The first file is about 'foo.nii.gz', the release has 'test_3_a_1'"),
    ):
        with pytest.raises(SubmissionError, match=words):
            read_submission(release, path)
    (tmp_path / "bare" / "a.txt").touch()
    with pytest.raises(SubmissionError, match="no NIfTI file"):
        read_submission(release, tmp_path / "bare")
    for name in (ONE, TWO):
        (folder / name).rename(folder / name.removesuffix(".gz"))
    with pytest.raises(SubmissionError, match=r"there is no file 'test_3_a_1.nii.gz', but"):
        read_submission(release, folder)


def test_without_the_scans(sketch: Path, folder: Path, tmp_path: Path) -> None:
    """The stated shape, else that of the official mask, is held against; orientation is not."""
    root = tmp_path / "copy"
    shutil.copytree(sketch / "rexgroundingct", root)
    shutil.rmtree(root / "images")
    write_volume(folder / TWO, np.zeros((2, 72, 96, 64), np.uint8), np.eye(4))
    for text in (None, '"shape"'):
        if text:  # a list without shapes
            listed = (root / "dataset.json").read_text().replace(text, '"was"')
            (root / "dataset.json").write_text(listed)
        submission = read_submission(overread.load("rexgroundingct", root), folder)
        assert "H and W are swapped" in only_second_failed(submission)
        assert "2 masks could not be checked" in said(submission, "warning")[0]
    shutil.rmtree(root / "segmentations")
    submission = read_submission(overread.load("rexgroundingct", root), folder)
    assert submission.readings[SECOND].error is None
    write_volume(folder / TWO, np.zeros((3, 4, 4, 4), np.uint8), np.eye(4))
    submission = read_submission(overread.load("rexgroundingct", root), folder)
    assert "not (2, H, W, D)" in only_second_failed(submission)


@settings(max_examples=100)
@given(seed=st.integers(0, 10**9))
def test_damage_is_told_and_never_crashes(sketch: Path, release: Release, tmp_path: Path, seed: int) -> None:
    """Bytes of a zip of masks changed at random: problems or a SubmissionError, nothing else."""
    rng = random.Random(seed)
    masks = sketch / "rexgroundingct" / "segmentations"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as z:
        for name in (ONE, TWO):
            mask = bytearray((masks / name).read_bytes())
            if rng.random() < 0.5:  # damage a header under a sound gzip
                plain = bytearray(gzip.decompress(mask))
                for _ in range(3):
                    plain[rng.randrange(352)] = rng.randrange(256)
                mask = bytearray(gzip.compress(plain, 1))
            z.writestr(name, mask)
    raw = bytearray(out.getvalue())
    for _ in range(rng.choice((0, 1, 3))):
        raw[rng.randrange(len(raw) - 400, len(raw))] = rng.randrange(256)
    for _ in range(rng.choice((0, 1, 3))):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    path = tmp_path / "a.zip"
    path.write_bytes(raw)
    try:
        submission = read_submission(release, path)
    except SubmissionError as error:
        assert str(error)
        return
    failed = [r for r in submission.readings.values() if r.error]
    if failed or len(submission.readings) < 2:
        assert said(submission)
    for reading in submission.readings.values():
        for finding in reading.findings or ():
            for region in finding.regions:
                assert isinstance(region, Mask)
                try:
                    submission.source(region.file)
                except PictureError as error:
                    assert str(error)
