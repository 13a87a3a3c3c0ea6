"""The DICOM export in the hands of others: dciodvfy, Orthanc and its DICOMweb, SimpleITK."""

from __future__ import annotations

import io
import shutil
import subprocess
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813
from pydicom import dcmread

from overread.build.release.export_formats import export_release
from tests.build.release.tilted_release import BIG, SMALL, release_of, tilted
from tests.works_with.orthanc_server import DICOMWEB, PROGRAM, running_orthanc

pytestmark = pytest.mark.slow

DCIODVFY = shutil.which("dciodvfy")


@pytest.fixture(params=["LPS", "PIR"])
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Any]:
    """The folder of an exported case, and the affine of its CT."""
    pytest.importorskip("highdicom")
    affine = tilted(request.param)
    root = release_of(tmp_path / "release", affine, splits=("train",))
    export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out")
    return tmp_path / "out/train/train_1_a_1", affine


@pytest.mark.skipif(DCIODVFY is None, reason="dciodvfy (Debian's dicom3tools) is not installed")
def test_dciodvfy_finds_no_error_in_what_is_exported(exported: tuple[Path, Any]) -> None:
    """Every slice and the segmentation keep to their information object definitions."""
    assert DCIODVFY is not None
    files = sorted(exported[0].rglob("*.dcm"))
    assert len(files) == 7
    for file in files:
        told = subprocess.run([DCIODVFY, str(file)], capture_output=True, text=True, check=False)
        assert "CTImage" in told.stderr or "Segmentation" in told.stderr  # it looked at it
        assert [line for line in told.stderr.splitlines() if line.startswith("Error")] == []


@pytest.mark.skipif(PROGRAM is None, reason="Orthanc is not installed")
def test_orthanc_gives_back_what_was_stored(exported: tuple[Path, Any], tmp_path: Path) -> None:
    """The same bytes, one study of two series, a preview of the CT; by DICOMweb the same pixels."""
    folder, _ = exported
    with running_orthanc(tmp_path / "orthanc") as server:
        ids = {file: server.store(file) for file in sorted(folder.rglob("*.dcm"))}
        for file, name in ids.items():
            assert server.ask(f"/instances/{name}/file") == file.read_bytes()
        (study,) = server.json("/studies?expand")
        series = server.json(f"/studies/{study['ID']}/series")
        assert sorted(one["MainDicomTags"]["Modality"] for one in series) == ["CT", "SEG"]
        slices = [file for file in ids if file.parent.name == "ct"]
        preview = server.ask(f"/instances/{ids[slices[0]]}/preview", accept="image/png")
        assert preview.startswith(b"\x89PNG")
        numbers = server.json(f"/instances/{ids[slices[0]]}/simplified-tags")
        assert numbers["RescaleType"] == "HU"
        if not DICOMWEB.exists():
            pytest.skip("orthanc-dicomweb is not installed: everything but DICOMweb was tried")
        for file in (slices[0], folder / "seg.dcm"):
            told = dcmread(file)
            place = (
                f"/dicom-web/studies/{told.StudyInstanceUID}/series/{told.SeriesInstanceUID}"
                f"/instances/{told.SOPInstanceUID}"
            )
            parts = retrieve(server.address + place)
            back = dcmread(io.BytesIO(parts[0]))
            assert back.PixelData == told.PixelData
            assert back.SOPInstanceUID == told.SOPInstanceUID


def retrieve(address: str) -> list[bytes]:
    """The DICOM files of a WADO-RS answer."""
    import urllib.request

    wanted = 'multipart/related; type="application/dicom"; transfer-syntax=*'
    request = urllib.request.Request(address, headers={"Accept": wanted})
    with urllib.request.urlopen(request, timeout=60) as answer:
        kind, body = answer.headers["Content-Type"], answer.read()
    message = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    return [bytes(part.get_payload(decode=True)) for part in message.walk() if not part.is_multipart()]


def test_the_overlay_is_the_same_in_simpleitk(exported: tuple[Path, Any]) -> None:
    """Each frame of the segmentation, put where it says, marks the voxels of the CT that NIfTI marks."""
    folder, affine = exported
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder / "ct")))
    ct = reader.Execute()
    frames = sitk.GetArrayFromImage(sitk.ReadImage(str(folder / "seg.dcm")))
    told = dcmread(folder / "seg.dcm")
    shown: list[set[tuple[int, ...]]] = [set(), set()]
    for frame, groups in zip(frames, told.PerFrameFunctionalGroupsSequence, strict=True):
        segment = groups.SegmentIdentificationSequence[0].ReferencedSegmentNumber
        place = [float(v) for v in groups.PlanePositionSequence[0].ImagePositionPatient]
        shared = told.SharedFunctionalGroupsSequence[0]
        turn = np.array([float(v) for v in shared.PlaneOrientationSequence[0].ImageOrientationPatient])
        down, across = (float(v) for v in shared.PixelMeasuresSequence[0].PixelSpacing)
        for row, column in np.argwhere(frame > 0):
            point = np.array(place) + turn[:3] * across * column + turn[3:] * down * row
            shown[segment - 1].add(ct.TransformPhysicalPointToIndex([float(v) for v in point]))
    for mask, found in zip((BIG, SMALL), shown, strict=True):
        wanted = set()
        for index in np.argwhere(mask > 0):
            point = np.array([-1, -1, 1]) * (np.asarray(affine) @ np.array([*index, 1.0]))[:3]
            wanted.add(ct.TransformPhysicalPointToIndex([float(v) for v in point]))
        assert found == wanted
