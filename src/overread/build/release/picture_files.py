"""Pictures of cases for other programs: neutral names, nothing in them but pixels."""

from __future__ import annotations

from pathlib import Path

from overread.benchmarks.release import OpenPictures
from overread.build.release.job import Job, folder_of
from overread.core import Box, Entry, Image, Picture, Release, Volume, Whole
from overread.pixels.encode import Sent
from overread.pixels.showing import shown_bytes

WINDOWS = ("lung", "mediastinum")
SLICES = 16
MONTAGE = 1024
"""How a CT is shown flat: as a reader of `overread run` sees it unless somebody says otherwise."""
_AS_IT_IS = 1 << 20

_ENDING = {"image/png": "png", "image/jpeg": "jpg"}


def flat_bytes(release: Release, picture: Picture, *, box: Box | None = None) -> Sent:
    """A picture, or what is in a box of it, without the texts of its file; a CT as a montage."""
    return shown_bytes(
        release.pictures,
        picture,
        box or Whole(picture=picture.name),
        longest=MONTAGE if isinstance(picture, Volume) else _AS_IT_IS,
        windows=WINDOWS,
        count=SLICES,
    )


def crop_bytes(release: Release, file: str) -> Sent:
    """The cut-out that a step of a trace showed, by its file."""
    picture = Image(name="crop", file=file)
    pictures = OpenPictures(release.source)
    return shown_bytes(pictures, picture, Whole(picture="crop"), longest=_AS_IT_IS)


def named(entry: Entry, name: str, sent: Sent) -> str:
    """Where a picture of a case goes, relative to the export."""
    return f"images/{folder_of(entry)}/{name}.{_ENDING[sent[1]]}"


def write_all(job: Job, files: dict[str, bytes]) -> None:
    """Write the files of one case: all were read before the first of them is written."""
    for file, data in files.items():
        target: Path = job.out / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
