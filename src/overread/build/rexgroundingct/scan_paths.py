"""Where the scans, masks and organ masks of a report lie, and whether they have changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from overread.benchmarks.rexgroundingct.release import MASKS
from overread.build.item import Item
from overread.build.rexgroundingct.settings import setting_folder, source_folder
from overread.build.step import StepContext
from overread.errors import NotThere, Refused
from overread.storage.fence import Fence

TASKS_FOLDER, MASKS_FOLDER = "annotation", "masks"
"""Folders of a build: tasks for annotators go out in one, their masks come back in the other."""
QA_FOLDER = "qa"
"""Folder of a build: masks that readers of the QA edited, NAME/SCAN/KEY.nii.gz."""
LOBE_FILES = {
    "lung_upper_lobe_right": "right upper lobe",
    "lung_middle_lobe_right": "right middle lobe",
    "lung_lower_lobe_right": "right lower lobe",
    "lung_upper_lobe_left": "left upper lobe",
    "lung_lower_lobe_left": "left lower lobe",
}
"""Files of a segmentation that writes one mask a structure, as TotalSegmentator calls them."""
LABELLED_PARTS = ("organs", "lobes", "segments")
"""Folders of organ masks that hold one labelled volume a scan, beside labels.json."""

_FLAT = ("images", "", "ct", "cts", "volumes")


def scan_stem(name: str) -> str:
    """The name of a scan without what says that it is NIfTI.

    >>> scan_stem("train_1_a_1.nii.gz"), scan_stem("train_1_a_1")
    ('train_1_a_1', 'train_1_a_1')
    """
    return re.sub(r"\.nii(\.gz)?$", "", name)


def patient_of(name: str) -> str | None:
    """Whose scan it is, as CT-RATE names its patients; None where the name does not say.

    >>> patient_of("valid_12_a_2.nii.gz"), patient_of("P7-CHEST")
    ('valid_12', None)
    """
    found = re.match(r"([A-Za-z]+_\d+)_", name)
    return found[1] if found else None


def scan_name(item: Item) -> str:
    """The file name of an item's scan."""
    return str(item.data["name"])


def scan_path(context: StepContext, name: str) -> Path | None:
    """The CT of that name: in the folder that is set, else beside the reports; None if nowhere."""
    folder = setting_folder(context.settings, "cts", context.source) or source_folder(context.source)
    return _find_file(folder, _candidate_paths(name))


def mask_path(context: StepContext, name: str) -> Path | None:
    """What came back for a scan: a file of its name, or a folder with one file a finding."""
    folder = setting_folder(context.settings, "masks", context.source) or context.folder / MASKS_FOLDER
    own = folder / scan_stem(name)
    return _find_file(folder, (name, f"{MASKS}/{name}")) or (own if own.is_dir() else None)


def organ_folder(context: StepContext) -> Path | None:
    """The folder of organ masks, where one is set."""
    return setting_folder(context.settings, "organs", context.source)


def organ_paths(context: StepContext, name: str) -> dict[str, Path]:
    """The organ masks of a scan: 'lobes', 'segments', 'organs', or one file a structure."""
    folder = organ_folder(context)
    if folder is None:
        return {}
    found = {part: _find_file(folder, (f"{part}/{name}",)) for part in LABELLED_PARTS}
    if not any(found.values()):
        places = {part: f"{scan_stem(name)}/{part}.nii.gz" for part in LOBE_FILES}
        found = {part: _find_file(folder, (place,)) for part, place in places.items()}
    return {part: path for part, path in found.items() if path is not None}


def file_stamp(path: Path | None) -> str | None:
    """Size and time of a file, or of all files of a folder: another stamp, other content."""
    if path is None:
        return None
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = ((file.name, file.stat()) for file in files)
    return ";".join(f"{name}:{told.st_size}-{told.st_mtime_ns}" for name, told in stats)


def _find_file(folder: Path, places: Iterable[str]) -> Path | None:
    """The first of some places where there is a file; a link out of the folder is followed."""
    if not folder.is_dir():
        return None
    fence = Fence(folder)
    for place in places:
        try:
            return fence.path(place)
        except NotThere:
            continue
        except Refused:
            # The folder is the user's own, and so are its links: CTs are often linked, not copied.
            if (folder / place).is_file():
                return (folder / place).resolve()
    return None


def _candidate_paths(name: str) -> Iterator[str]:
    """Flat folders first, then CT-RATE's own tree, its corrected volumes before the others."""
    for folder in _FLAT:
        yield f"{folder}/{name}" if folder else name
    parts = name.split("_")
    if len(parts) < 4:
        return
    patient, study = "_".join(parts[:2]), "_".join(parts[:3])
    for tree in ("dataset/", ""):
        for part in (f"{parts[0]}_fixed", parts[0]):
            yield f"{tree}{part}/{patient}/{study}/{name}"
