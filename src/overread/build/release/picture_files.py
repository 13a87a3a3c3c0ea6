"""Pictures of cases for other programs: neutral names, nothing in them but pixels."""

from __future__ import annotations

from pathlib import Path

from overread.benchmarks.release import ReleasePictures
from overread.build.release.export_job import ExportJob, case_folder
from overread.core import Box, Entry, Image, Picture, Release, Volume, Whole
from overread.pixels.encode import EncodedImage
from overread.pixels.sent_images import encode_region

WINDOWS = ("lung", "mediastinum")
SLICES = 16
MONTAGE = 1024
"""How a CT is shown flat: as a reader of `overread run` sees it unless somebody says otherwise."""
_FULL_SIZE = 1 << 20

_ENDING = {"image/png": "png", "image/jpeg": "jpg"}


def flat_bytes(release: Release, picture: Picture, *, box: Box | None = None) -> EncodedImage:
    """A picture, or what is in a box of it, without the texts of its file; a CT as a montage."""
    return encode_region(
        release.pictures,
        picture,
        box or Whole(picture=picture.name),
        longest=MONTAGE if isinstance(picture, Volume) else _FULL_SIZE,
        windows=WINDOWS,
        count=SLICES,
    )


def crop_bytes(release: Release, file: str) -> EncodedImage:
    """The cut-out that a step of a trace showed, by its file."""
    picture = Image(name="crop", file=file)
    pictures = ReleasePictures(release.source)
    return encode_region(pictures, picture, Whole(picture="crop"), longest=_FULL_SIZE)


def picture_path(entry: Entry, name: str, sent: EncodedImage) -> str:
    """Where a picture of a case goes, relative to the export."""
    return f"images/{case_folder(entry)}/{name}.{_ENDING[sent[1]]}"


def write_files(job: ExportJob, files: dict[str, bytes]) -> None:
    """Write the files of one case: all were read before the first of them is written."""
    for file, data in files.items():
        target: Path = job.out / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
