"""A tiny release of each of the three layouts, made from sketched patients in a second.

They show next to nothing: the patients of `overread phantom` are the ones to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks import write
from overread.benchmarks.memory_release import MemoryRelease
from overread.core import (
    Box,
    Case,
    ChainLink,
    Entry,
    Finding,
    Image,
    Mask,
    Option,
    PictureNote,
    Query,
    Step,
    Trace,
    Truth,
    Volume,
    VoxelBox,
    Whole,
)
from overread.pixels.draw import crop
from overread.pixels.encode import encode
from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume
from overread.pixels.planes import extract_slice, resample_square
from overread.pixels.windows import apply_window
from tests.sketches.chest import Blob, Chest, Lesion

Files = dict[str, bytes | Path]

_SPLITS = {"train": 2, "test": 2}

_LESIONS = (
    Lesion(
        "Solid nodule of about 25 mm in the right upper lobe", "2d", (Blob((72, 8, 52), (13, 13, 13), 35),)
    ),
    Lesion(
        "Two solid nodules in the left lung, the larger one in the lower lobe",
        "2d",
        (Blob((-76, -14, -36), (14, 14, 14), 40), Blob((-70, 18, 40), (10, 10, 10), 35)),
    ),
    Lesion("Pleural effusion at the base of the right lung", "2e", (Blob((74, -46, -62), (48, 34, 40), 10),)),
    Lesion("Consolidation in the left upper lobe", "2b", (Blob((-70, 16, 44), (26, 24, 24), 20),)),
)
_DIAGNOSES = (
    "Primary lung cancer",
    "Pulmonary metastases",
    "Parapneumonic effusion",
    "Lobar pneumonia",
    "Sarcoidosis",
)


def write_sketch(
    out: Path, *, seed: int = 0, exams: Sequence[str] = ("medthinkvqa", "rexgroundingct", "mmrad")
) -> None:
    """Write the exams under `out`, each as a release with two cases a split."""
    number = 0
    with TemporaryDirectory() as scratch:
        for split, count in _SPLITS.items():
            made: dict[str, tuple[list[Entry], Files]] = {name: ([], {}) for name in exams}
            for _ in range(count):
                lesions = (_LESIONS[number % 4], _LESIONS[(number + 2) % 4])
                chest = Chest(seed * 1000 + number, lesions if number % 2 else lesions[:1])
                patient = f"{number + 1:05d}"
                for name in exams:
                    entry, files = _CASES[name](chest, patient, split, number, Path(scratch))
                    made[name][0].append(entry)
                    made[name][1].update(files)
                number += 1
            for name, (entries, files) in made.items():
                release = MemoryRelease(name, split, entries, files.__getitem__, count=len(entries))
                write(release, out / name)


def _diagnosis_case(
    chest: Chest, patient: str, split: str, number: int, scratch: Path
) -> tuple[Entry, Files]:
    """Two windows of the slice with the lesion, and the radiograph; five diagnoses."""
    height = _middle(chest)
    folder = f"images/case{patient}"
    shots = [
        ("lung", "CT", f"Axial CT, lung window: {_lower(chest.lesions[0].text)}."),
        ("mediastinum", "CT", "Axial CT, mediastinal window at the same level."),
        ("film", "X-ray", "Frontal radiograph of the same patient."),
    ]
    files: Files = {}
    images, findings, notes = [], [], []
    for order, (kind, modality, caption) in enumerate(shots, 1):
        if kind == "film":
            pixels: NDArray[Any] = chest.radiograph
        else:
            grey = apply_window(extract_slice(chest.volume, chest.space, "axial", height), kind)
            pixels = resample_square(grey, chest.space, "axial", longest=384, smooth=True)
        name, file = f"image-{order}", f"{folder}/sk{patient}{order}.jpg"
        files[file] = encode(pixels, kind="jpeg")
        images.append(Image(name=name, file=file))
        findings.append(Finding(text=caption, regions=(Whole(picture=name),)))
        sub = "Conventional CT" if modality == "CT" else "Chest radiography"
        notes.append(PictureNote(picture=name, id=Path(file).stem, modality=modality, sub_modality=sub))
    right = {"2d": 0 if len(chest.lesions[0].blobs) == 1 else 1, "2e": 2, "2b": 3}
    answer = right[chest.lesions[0].category]
    letters = np.random.default_rng(number).permutation(5)
    options = tuple(
        Option(letter="ABCDE"[place], text=_DIAGNOSES[which]) for place, which in enumerate(letters)
    )
    letter = next(option.letter for option in options if option.text == _DIAGNOSES[answer])
    case = Case(
        id=f"case{patient}",
        benchmark="medthinkvqa",
        split=split,
        patient=f"case{patient}",
        pictures=tuple(images),
        history="A 58-year-old patient with a cough of six weeks. No fever at presentation.",
        options=options,
    )
    truth = Truth(
        title=f"Case number {patient}",
        answer=letter,
        answer_text=_DIAGNOSES[answer],
        findings=tuple(findings),
        report=" ".join(f"{lesion.text}." for lesion in chest.lesions),
        discussion=f"Background. {_DIAGNOSES[answer]} is told from its differentials by its "
        "appearance on CT. This patient is synthetic.",
        notes=tuple(notes),
        longitudinal=False,
        timepoints=1,
        image_count=len(images),
        icd_chapter="Chapter X - Diseases of the respiratory system",
        icd_block="J95-J99 - Other diseases of the respiratory system",
        icd_category="J98 - Other respiratory disorders",
    )
    return Entry(case=case, truth=truth), files


def _grounding_case(
    chest: Chest, patient: str, split: str, number: int, scratch: Path
) -> tuple[Entry, Files]:
    """The CT and one mask channel a lesion."""
    name = f"{split}_{number + 1}_a_1.nii.gz"
    scan, mask = scratch / name, scratch / f"mask_{name}"
    affine = np.asarray(chest.space.affine)
    write_volume(scan, chest.volume, affine)
    labels = [chest.mask(lesion) for lesion in chest.lesions]
    write_mask(mask, labels, affine)
    file = f"segmentations/{name}"
    findings = tuple(
        Finding(
            text=lesion.text,
            query=str(channel),
            category=lesion.category,
            entities=len(np.unique(label[label > 0])),
            voxels=int((label > 0).sum()),
            regions=(Mask(picture="ct", file=file, channel=channel, channels=len(labels)),),
        )
        for channel, (lesion, label) in enumerate(zip(chest.lesions, labels, strict=True))
    )
    case = Case(
        id=name.removesuffix(".nii.gz"),
        benchmark="rexgroundingct",
        split=split,
        patient=f"{split}_{number + 1}",
        pictures=(Volume(name="ct", file=name, shape=chest.space.shape),),
        queries=tuple(Query(id=str(n), text=f.text) for n, f in enumerate(findings)),
    )
    trace = _chains(chest, labels)
    entry = Entry(case=case, truth=Truth(findings=findings, trace=trace, protocol="protocol1"))
    return entry, {name: scan, file: mask}


def _chains(chest: Chest, labels: Sequence[NDArray[Any]]) -> Trace:
    """Whole scan, lung, lobe, segment and lesion of each: sides are those of its voxels, the rest made up."""
    steps: list[Step] = []
    for channel, label in enumerate(labels):
        corners = np.argwhere(label > 0)
        low, high = corners.min(axis=0), corners.max(axis=0) + 1
        shape = np.array(chest.space.shape)
        side = "right" if low[0] + high[0] < shape[0] else "left"
        lobe = f"{side} lower lobe"
        rims = {
            "whole scan": 99,
            f"{side} lung": 9,
            lobe: 6,
            f"superior segment of the {lobe}": 3,
            "lesion": 0,
        }
        for number, (level, (name, rim)) in enumerate(
            zip(("scan", "lung", "lobe", "segment", "lesion"), rims.items(), strict=True)
        ):
            box = VoxelBox(
                picture="ct",
                low=tuple(np.maximum(low - rim, 0).tolist()),
                high=tuple(np.minimum(high + rim, shape).tolist()),
                label=name,
            )
            before = (number - 1,) if number else ()
            link = ChainLink(query=str(channel), level=level, structures=(name,), within=before)
            steps.append(Step(kind="look", text=f"Now the {name}.", regions=(box,), link=link))
    return Trace(steps=tuple(steps))


def _trace_case(chest: Chest, patient: str, split: str, number: int, scratch: Path) -> tuple[Entry, Files]:
    """The radiograph, a look at the heart and one at the lungs, and the report."""
    folder = f"IVLImage/sketch{patient}"
    film = f"{folder}/problem_image_1.jpg"
    files: Files = {film: encode(chest.radiograph, kind="jpeg")}
    lungs = " ".join(f"{lesion.text}." for lesion in chest.lesions)
    heart = "Normal heart size."
    looks = (
        ("First", "heart and the mediastinal region", ("cardiac silhouette",), heart),
        ("Second", "lung region", ("right lung", "left lung"), lungs),
    )
    steps: list[Step] = []
    findings: list[Finding] = []
    for order, (ordinal, region, organs, words) in enumerate(looks, 1):
        x1, y1, x2, y2 = chest.box(*organs)
        box = Box(picture="xray", x1=x1, y1=y1, x2=x2, y2=y2, label=region)
        file = f"{folder}/reasoning_image_{order}.jpg"
        files[file] = encode(crop(chest.radiograph, box), kind="jpeg")
        announced = f"{ordinal}, I need to analyze the {region}. "
        announced += f"I will highlight the {region} of this X-ray. "
        said = f" The bounding box of this area is [{x1}, {y1}, {x2}, {y2}] . {words}\n\n "
        steps.append(Step(kind="say", text=announced))
        steps.append(Step(kind="look", text="<image>", regions=(box,), crop=file))
        steps.append(Step(kind="say", text=said, regions=(box,)))
        findings.append(Finding(text=words, regions=(box,)))
    cue = "Summarizing the previous analysis, I will generate the following report: "
    steps.append(Step(kind="conclude", text=cue))
    case = Case(
        id=f"sketch{patient}",
        benchmark="mmrad",
        split=split,
        pictures=(Image(name="xray", file=film),),
        instruction="Write the report of this chest X-ray, with its significant findings.",
    )
    truth = Truth(findings=tuple(findings), trace=Trace(steps=tuple(steps)), report=f"{heart} {lungs}")
    return Entry(case=case, truth=truth), files


_CASES = {"medthinkvqa": _diagnosis_case, "rexgroundingct": _grounding_case, "mmrad": _trace_case}


def _middle(chest: Chest) -> int:
    """The axial slice through the middle of the first lesion."""
    labels = chest.mask(chest.lesions[0])
    return int(np.flatnonzero((labels == 1).any(axis=(0, 1))).mean())


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
