"""The measurements of `make bench`: best of five, on synthetic data, beside a limit or a peer.

Every job runs in a process of its own and this one only collects, so that it stays small: the
peak memory that a process reports counts what its parent held when it was started.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.bench.harness import (
    MEGABYTE,
    ROUNDS,
    Line,
    Work,
    best_in_turns,
    memory_growth,
    report,
    start_job,
    time_once,
    time_process,
)

ROWS = 7347
CT = (512, 512, 300)
FINDINGS = 3
DICOM_SLICES = 100

TEXT = (
    "axial coronal sagittal image shows a well defined hypodense lesion in the right left upper "
    "lower lobe with peripheral enhancement after contrast and no sign of bone destruction while "
    "adjacent vessels are patent on T2 weighted sequences there is high signal consistent with "
    "oedema the patient presented with abdominal pain fever weight loss for three weeks"
)
MODALITIES = (
    ("CT", "Contrast-enhanced CT"),
    ("MRI", "Conventional MRI"),
    ("X-ray", "Chest radiography"),
    ("Ultrasound", "B-mode ultrasound"),
)


# ---- synthetic data ------------------------------------------------------------------------


def make_rows(folder: Path, seed: int, *, rows: int = ROWS, split: str = "train") -> None:
    """A MedThinkVQA split, at the published size of train, with a file for every picture."""
    dice = random.Random(seed)
    empty = {
        f"image_{slot:02d}_{cell}": None
        for slot in range(1, 50)
        for cell in ("id", "path", "caption", "modality", "sub_modality", "timepoint")
    }
    with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as out:
        for number in range(1, rows + 1):
            case = f"case{number:05d}"
            (folder / "images" / case).mkdir(parents=True)
            options = {letter: f"{_words(dice, 3)} {letter}" for letter in "ABCDE"}
            pictures = min(49, max(1, round(dice.gauss(7, 3))))
            row: dict[str, Any] = {
                "title": f"Case number {number}",
                "CLINICAL_HISTORY": _words(dice, dice.randint(60, 120)),
                "IMAGING_FINDINGS": _words(dice, dice.randint(100, 250)),
                "discussion": _words(dice, dice.randint(150, 250)),
                "options": options,
                "correct_answer": "B",
                "correct_answer_text": options["B"],
                "ICD Chapter": "Chapter X - Diseases of the respiratory system",
                "ICD Block": "J95-J99 - Other diseases of the respiratory system",
                "ICD Category": "J98 - Other respiratory disorders",
                "is_longitudinal": False,
                "timepoint_count": 1,
                "interval_text": None,
                "image_count": pictures,
                **empty,
            }
            for slot in range(1, pictures + 1):
                name = f"{number:05d}{slot:02d}"
                path = f"images/{case}/{name}.jpg"
                modality, sub = dice.choice(MODALITIES)
                cells = (name, path, _words(dice, 30), modality, sub)
                for cell, value in zip(_CELLS, cells, strict=True):
                    row[f"image_{slot:02d}_{cell}"] = value
                # Never opened (--no-pixels), so a few bytes stand for a picture.
                (folder / path).write_bytes(b"\xff\xd8\xff\xd9")
            out.write(json.dumps(row) + "\n")


_CELLS = ("id", "path", "caption", "modality", "sub_modality")


def _words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choices(TEXT.split(), k=count))


def make_pixels(folder: Path, seed: int) -> None:
    """A CT and its mask as NIfTI, written by nibabel, and a DICOM series."""
    import nibabel as nib
    import numpy as np

    dice = np.random.default_rng(seed)
    x, y, z = np.ogrid[-1 : 1 : CT[0] * 1j, -1 : 1 : CT[1] * 1j, -1 : 1 : CT[2] * 1j]
    volume = np.empty(CT, dtype=np.int16, order="F")
    for k in range(CT[2]):
        tissue = 40 + 60 * np.sin(7 * x[..., 0]) * np.cos(5 * y[..., 0] + 3 * z[0, 0, k])
        body = (x[..., 0] ** 2 + (y[..., 0] * 1.4) ** 2) < 0.8
        noise = dice.normal(0, 15, CT[:2])
        volume[..., k] = np.where(body, tissue + noise, -1000 + noise / 3)
    affine = np.diag([-0.7, -0.7, 1.0, 1.0])
    nib.save(nib.Nifti1Image(volume, affine), folder / "ct.nii.gz")
    masks = np.zeros((FINDINGS, *CT), dtype=np.uint8, order="F")
    for finding in masks:
        for label in range(1, 7):
            radius = int(dice.integers(4, 16))
            middle = [int(dice.integers(radius, n - radius)) for n in CT]
            ball = np.indices((2 * radius + 1,) * 3) - radius
            spot = finding[tuple(slice(m - radius, m + radius + 1) for m in middle)]
            spot[(ball**2).sum(axis=0) <= radius**2] = label
    nib.save(nib.Nifti1Image(masks, affine), folder / "masks.nii.gz")
    _make_dicom(folder / "dicom", volume)


def _make_dicom(folder: Path, volume: Any) -> None:
    from pydicom import uid
    from pydicom.dataset import Dataset, FileMetaDataset

    folder.mkdir()
    series, study = uid.generate_uid(), uid.generate_uid()
    for k in range(DICOM_SLICES):
        one = Dataset()
        one.file_meta = FileMetaDataset()
        one.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
        one.SOPClassUID = one.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
        one.SOPInstanceUID = one.file_meta.MediaStorageSOPInstanceUID = uid.generate_uid()
        one.Modality, one.SeriesInstanceUID, one.StudyInstanceUID = "CT", series, study
        one.InstanceNumber, one.ImageType = k + 1, ["ORIGINAL", "PRIMARY", "AXIAL"]
        one.Rows, one.Columns = CT[1], CT[0]
        one.SamplesPerPixel, one.PhotometricInterpretation = 1, "MONOCHROME2"
        one.BitsAllocated = one.BitsStored = 16
        one.HighBit, one.PixelRepresentation = 15, 1
        one.RescaleSlope, one.RescaleIntercept = 1, -1024
        one.PixelSpacing, one.SliceThickness = [0.7, 0.7], 1
        one.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
        one.ImagePositionPatient = [-179, -179, k]
        one.PixelData = (volume[..., k].T + 1024).astype("<i2").tobytes()
        one["PixelData"].VR = "OW"
        one.save_as(folder / f"{k:04d}.dcm", enforce_file_format=True)


# ---- the work, ours and the peers' ---------------------------------------------------------

PEERS = {
    "CT 512×512×300, all voxels": "nibabel",
    "CT, geometry alone": "nibabel",
    "CT, first ten slices": "nibabel",
    "mask of 3 findings, entities counted": "nibabel+np.unique",
    "mask of 3 findings, one channel": "nibabel",
    "DICOM series of 100 slices": "SimpleITK",
}


def count_cases(folder: Path) -> int:
    """Iterate the cases of the train split and keep none."""
    import overread

    return sum(1 for _ in overread.load("medthinkvqa", folder, "train"))


def make_pairs(folder: Path) -> dict[str, tuple[Work, Work]]:
    """For each name in PEERS: the work as overread does it, and as the peer does it."""
    import nibabel as nib
    import numpy as np
    import SimpleITK as sitk  # noqa: N813

    from overread.pixels import masks, nifti
    from overread.pixels.dicom import series

    ct, mask, slices = folder / "ct.nii.gz", folder / "masks.nii.gz", folder / "dicom"

    def voxels(path: Path) -> Any:
        return np.asanyarray(nib.load(path).dataobj)

    def geometry() -> Any:
        image = nib.load(ct)
        return image.shape, nib.aff2axcodes(image.affine)

    def our_geometry() -> Any:
        space = nifti.read_geometry(ct)
        return space.shape, tuple(space.axes)

    def tally() -> Any:
        counted = [np.unique(one, return_counts=True) for one in voxels(mask)]
        return [{int(v): int(n) for v, n in zip(*one, strict=True) if v} for one in counted]

    def stack() -> Any:
        reader = sitk.ImageSeriesReader()
        reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(slices)))
        return sitk.GetArrayFromImage(reader.Execute()).transpose(2, 1, 0)

    works: list[tuple[Work, Work]] = [
        (lambda: nifti.read_volume(ct)[0], lambda: voxels(ct)),
        (our_geometry, geometry),
        (lambda: nifti.read_slices(ct, 0, 9), lambda: np.asarray(nib.load(ct).dataobj[..., :10])),
        (lambda: masks.count_voxels(mask, CT, FINDINGS), tally),
        (lambda: masks.read_channel(mask, 1, CT, FINDINGS), lambda: np.asarray(nib.load(mask).dataobj[1])),
        (lambda: series.read_series(slices).volume, stack),
    ]
    return dict(zip(PEERS, works, strict=True))


# ---- jobs, each in a process of its own ----------------------------------------------------


def time_pair(ours: Work, peer: Work) -> list[float]:
    """Best of five of ours and of the peer, in turns, after they were seen to agree."""
    import numpy as np

    if not _same(ours(), peer(), np.array_equal):
        raise SystemExit("ours and the peer's result differ")
    return best_in_turns(ours, peer)


def _same(one: Any, other: Any, arrays: Callable[[Any, Any], bool]) -> bool:
    return arrays(one, other) if hasattr(one, "dtype") else bool(one == other)


def traced_memory(work: Work) -> float:
    """Megabytes of Python objects alive at once while it works."""
    tracemalloc.start()
    work()
    return tracemalloc.get_traced_memory()[1] / MEGABYTE


def run_job(kind: str, name: str, folder: Path, seed: int) -> Any:
    """One job, in this process."""
    if kind == "make":
        make_rows(folder, seed)
        return make_pixels(folder, seed)
    if kind in ("ours", "peer", "pair"):
        ours, peer = make_pairs(folder)[name]
        return time_pair(ours, peer) if kind == "pair" else memory_growth(ours if kind == "ours" else peer)
    # What the packages themselves take is not what is measured.
    importlib.import_module("overread.benchmarks.medthinkvqa")
    how = {"growth": memory_growth, "traced": traced_memory}.get(name)
    if how is not None:
        return how(lambda: count_cases(folder))
    if count_cases(folder) != ROWS:
        raise SystemExit("not every row became a case")
    return min(time_once(lambda: count_cases(folder)) for _ in range(ROUNDS))


# ---- the table -----------------------------------------------------------------------------


def measure(folder: Path, seed: int) -> Iterator[Line]:
    """All measurements, one by one."""

    def job(kind: str, name: str) -> Any:
        return start_job("loading", "--seed", str(seed), "--job", kind, name, str(folder))

    overread = str(Path(sys.executable).with_name("overread"))
    yield Line("start-up: python -c pass (the floor)", time_process(sys.executable, "-c", "pass"), "s")
    started = time_process(sys.executable, "-c", "import overread")
    yield Line("start-up: import overread", started, "s", limit=0.3)
    yield Line("start-up: overread --help", time_process(overread, "--help"), "s", limit=0.3)
    job("make", "")
    rows = f"{ROWS:,} rows as cases"
    yield Line(rows, job("cases", "time"), "s", limit=3)
    for name, title in (("growth", "peak growth"), ("traced", "Python objects")):
        yield Line(f"{rows}, {title}", job("cases", name), "MB", limit=300)
    words = (overread, "check", "medthinkvqa", str(folder), "--split", "train", "--no-pixels")
    checked = time_process(*words, expected=" 0 error(s), 0 warning(s)")
    yield Line(f"{ROWS:,} rows checked, pictures unopened", checked, "s", limit=6)
    for name, peer_name in PEERS.items():
        best, peer = job("pair", name)
        yield Line(name, best, "s", peer=peer, peer_name=peer_name)
        if name.startswith("mask"):
            best, peer = (job(whose, name) for whose in ("ours", "peer"))
            yield Line(f"{name}, peak", best, "MB", peer=peer, peer_name=peer_name)


def main() -> None:
    """Measure, print, and leave with 1 where a stated limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7, help="of the synthetic data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        kind, name, folder = options.job
        print(json.dumps(run_job(kind, name, Path(folder), options.seed)))
        return
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as made:
        report(measure(Path(made), options.seed), options.json)


if __name__ == "__main__":
    main()
