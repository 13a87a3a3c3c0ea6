"""The measurements of `make bench`: best of five, on synthetic data, beside a limit or a peer.

Every job runs in a process of its own and this one only collects, so that it stays small: the
peak memory that a process reports counts what its parent held when it was started.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROUNDS = 5
TIE = 1.05
"""Up to this ratio two times are the same: less cannot be told apart on a busy machine."""

ROWS = 7347
CT = (512, 512, 300)
FINDINGS = 3
DICOM_SLICES = 100
MEGABYTE = 1 << 20

WORDS = (
    "axial coronal sagittal image shows a well defined hypodense lesion in the right left upper "
    "lower lobe with peripheral enhancement after contrast and no sign of bone destruction while "
    "adjacent vessels are patent on T2 weighted sequences there is high signal consistent with "
    "oedema the patient presented with abdominal pain fever weight loss for three weeks"
).split()
MODALITIES = (
    ("CT", "Contrast-enhanced CT"),
    ("MRI", "Conventional MRI"),
    ("X-ray", "Chest radiography"),
    ("Ultrasound", "B-mode ultrasound"),
)


@dataclass(frozen=True)
class Line:
    """One measurement."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    """What it must stay under."""
    peer: float | None = None
    """What another program needs for the same."""
    peer_name: str = ""

    @property
    def ratio(self) -> float | None:
        """Times the peer's value; under 1 is better than it."""
        return None if self.peer is None else self.value / self.peer

    @property
    def verdict(self) -> str:
        """'ok' or 'over'; nothing where there is nothing to compare with."""
        if self.limit is not None:
            return "over" if self.value > self.limit else "ok"
        return "" if self.ratio is None else "over" if self.ratio > TIE else "ok"

    def __str__(self) -> str:
        beside = "" if self.limit is None else f"limit {self.limit:g} {self.unit}"
        if self.ratio is not None:
            beside = f"{self.peer_name} {self.peer:.3f} {self.unit}, ratio {self.ratio:.2f}"
        return f"{self.name:<46}{self.value:>9.3f} {self.unit:<3} {beside:<44}{self.verdict}"


# ---- synthetic data ------------------------------------------------------------------------


def make_rows(folder: Path, seed: int) -> None:
    """A MedThinkVQA train split at its published size, with a file for every picture."""
    dice = random.Random(seed)
    empty = {
        f"image_{slot:02d}_{cell}": None
        for slot in range(1, 50)
        for cell in ("id", "path", "caption", "modality", "sub_modality", "timepoint")
    }
    with (folder / "train.jsonl").open("w", encoding="utf-8") as out:
        for number in range(1, ROWS + 1):
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
    return " ".join(dice.choices(WORDS, k=count))


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


def cases(folder: Path) -> int:
    """Iterate the cases of the train split and keep none."""
    import overread

    return sum(1 for _ in overread.load("medthinkvqa", folder, "train"))


def volume_ours(folder: Path) -> Any:
    """The CT's voxels."""
    from overread.pixels.nifti import read_volume

    return read_volume(folder / "ct.nii.gz")[0]


def volume_peer(folder: Path) -> Any:
    """The CT's voxels by nibabel."""
    return _nibabel(folder / "ct.nii.gz")


def geometry_ours(folder: Path) -> Any:
    """Shape and orientation from the header."""
    from overread.pixels.nifti import read_geometry

    return list(read_geometry(folder / "ct.nii.gz").shape)


def geometry_peer(folder: Path) -> Any:
    """Shape and orientation from the header by nibabel."""
    import nibabel as nib

    image = nib.load(folder / "ct.nii.gz")
    nib.aff2axcodes(image.affine)
    return list(image.shape)


def slices_ours(folder: Path) -> Any:
    """The first ten slices."""
    from overread.pixels.nifti import read_slices

    return read_slices(folder / "ct.nii.gz", 0, 9)


def slices_peer(folder: Path) -> Any:
    """The first ten slices by nibabel."""
    import nibabel as nib
    import numpy as np

    return np.asanyarray(nib.load(folder / "ct.nii.gz").dataobj[..., :10])


def tally_ours(folder: Path) -> Any:
    """Voxels of each entity of each finding."""
    from overread.pixels.masks import tally

    return tally(folder / "masks.nii.gz", CT, FINDINGS)


def tally_peer(folder: Path) -> Any:
    """Voxels of each entity of each finding by nibabel and numpy."""
    import numpy as np

    counted = [np.unique(one, return_counts=True) for one in _nibabel(folder / "masks.nii.gz")]
    return [{int(v): int(n) for v, n in zip(*one, strict=True) if v} for one in counted]


def channel_ours(folder: Path) -> Any:
    """The labels of the second finding."""
    from overread.pixels.masks import read_channel

    return read_channel(folder / "masks.nii.gz", 1, CT, FINDINGS)


def channel_peer(folder: Path) -> Any:
    """The labels of the second finding by nibabel, as an array of its own."""
    return _nibabel(folder / "masks.nii.gz")[1].copy(order="F")


def series_ours(folder: Path) -> Any:
    """A folder of DICOM slices as a volume."""
    from overread.pixels.series import read_series

    return read_series(folder / "dicom").volume


def series_peer(folder: Path) -> Any:
    """A folder of DICOM slices as a volume by SimpleITK."""
    import SimpleITK as sitk  # noqa: N813

    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder / "dicom")))
    return sitk.GetArrayFromImage(reader.Execute()).transpose(2, 1, 0)


def _nibabel(path: Path) -> Any:
    import nibabel as nib
    import numpy as np

    return np.asanyarray(nib.load(path).dataobj)


PAIRS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any], str]] = {
    "CT 512×512×300, all voxels": (volume_ours, volume_peer, "nibabel"),
    "CT, geometry alone": (geometry_ours, geometry_peer, "nibabel"),
    "CT, first ten slices": (slices_ours, slices_peer, "nibabel"),
    "mask of 3 findings, entities counted": (tally_ours, tally_peer, "nibabel+numpy"),
    "mask of 3 findings, one channel": (channel_ours, channel_peer, "nibabel"),
    "DICOM series of 100 slices": (series_ours, series_peer, "SimpleITK"),
}
MEMORY: dict[str, Callable[[Path], Any]] = {
    work.__name__: work for work in (cases, tally_ours, tally_peer, channel_ours, channel_peer)
}


# ---- jobs, each in a process of its own ----------------------------------------------------


def timed(work: Callable[[], Any]) -> float:
    """Seconds of one run."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def best_pair(name: str, folder: Path) -> list[float]:
    """Best of five of ours and of the peer, in turns, after they were seen to agree."""
    import numpy as np

    ours, peer, _ = PAIRS[name]
    if not np.array_equal(ours(folder), peer(folder)):
        raise SystemExit(f"{name}: ours and the peer's result differ")
    times = [[timed(lambda: ours(folder)), timed(lambda: peer(folder))] for _ in range(ROUNDS)]
    return [min(column) for column in zip(*times, strict=True)]


def growth(work: Callable[[Path], Any], folder: Path) -> float:
    """Megabytes by which the peak of this process grows while it works."""
    # What the packages themselves take is not what is measured.
    import nibabel
    import overread.benchmarks.medthinkvqa
    import overread.pixels.masks

    assert nibabel
    assert overread
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(folder)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (after - before) / (MEGABYTE if sys.platform == "darwin" else 1024)


def traced(folder: Path) -> float:
    """Megabytes of Python objects alive at once while the cases go by."""
    tracemalloc.start()
    cases(folder)
    return tracemalloc.get_traced_memory()[1] / MEGABYTE


def do(kind: str, name: str, folder: Path, seed: int) -> Any:
    """One job, in this process."""
    if kind == "make":
        make_rows(folder, seed)
        return make_pixels(folder, seed)
    if kind == "cases":
        if cases(folder) != ROWS:
            raise SystemExit("not every row became a case")
        return min(timed(lambda: cases(folder)) for _ in range(ROUNDS))
    if kind == "pair":
        return best_pair(name, folder)
    return growth(MEMORY[name], folder) if kind == "memory" else traced(folder)


def ask(kind: str, folder: Path, seed: int, name: str = "") -> Any:
    """One job, in a process of its own."""
    words = [__file__, "--seed", str(seed), "--job", kind, name, str(folder)]
    done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# ---- the table -----------------------------------------------------------------------------


def fresh(*words: str, expected: str = "") -> float:
    """Best of five seconds of a whole process, which must succeed and say what is expected."""

    def run() -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode or expected not in done.stdout:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")

    return min(timed(run) for _ in range(ROUNDS))


def measure(folder: Path, seed: int) -> Iterator[Line]:
    """All measurements, one by one."""
    overread = str(Path(sys.executable).with_name("overread"))
    yield Line("start-up: python -c pass (the floor)", fresh(sys.executable, "-c", "pass"), "s")
    started = fresh(sys.executable, "-c", "import overread")
    yield Line("start-up: import overread", started, "s", limit=0.3)
    yield Line("start-up: overread --help", fresh(overread, "--help"), "s", limit=0.3)
    ask("make", folder, seed)
    yield Line(f"{ROWS:,} rows as cases", ask("cases", folder, seed), "s", limit=3)
    grown = ask("memory", folder, seed, "cases")
    yield Line(f"{ROWS:,} rows as cases, peak growth", grown, "MB", limit=300)
    held = ask("traced", folder, seed)
    yield Line(f"{ROWS:,} rows as cases, Python objects", held, "MB", limit=300)
    words = (overread, "check", "medthinkvqa", str(folder), "--split", "train", "--no-pixels")
    checked = fresh(*words, expected=" 0 error(s), 0 warning(s)")
    yield Line(f"{ROWS:,} rows checked, pictures unopened", checked, "s", limit=6)
    for name, (ours, peer, peer_name) in PAIRS.items():
        best, beside = ask("pair", folder, seed, name)
        yield Line(name, best, "s", peer=beside, peer_name=peer_name)
        if ours.__name__ in MEMORY:
            best, beside = (ask("memory", folder, seed, work.__name__) for work in (ours, peer))
            yield Line(f"{name}, peak", best, "MB", peer=beside, peer_name=peer_name)


def main() -> None:
    """Measure, print, and leave with 1 where a stated limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7, help="of the synthetic data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        kind, name, folder = options.job
        print(json.dumps(do(kind, name, Path(folder), options.seed)))
        return
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as made:
        for line in measure(Path(made), options.seed):
            lines.append(line)
            print(line, flush=True)
    if options.json:
        table = [asdict(line) | {"ratio": line.ratio, "verdict": line.verdict} for line in lines]
        options.json.write_text(json.dumps(table, ensure_ascii=False, indent=2) + "\n", "utf-8")
    sys.exit(any(line.limit is not None and line.verdict == "over" for line in lines))


if __name__ == "__main__":
    main()
