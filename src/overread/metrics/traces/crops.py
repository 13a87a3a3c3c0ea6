"""Whether the cut-out of a look shows what is in its box.

The film is cut at the box and the cut is held against the crop: same proportions, and pixels that
go together (normalised cross-correlation of both, made equally small). In which frame boxes are
given is not published: the film's own pixels and a film stretched to 336 × 336 are both tried, and
the frame in which more looks of a trace agree is taken for the whole trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Image, Trace
from overread.errors import OverreadError, PictureError
from overread.metrics.contract import Files, Measured, Metric, Subject, by_name, stored_as
from overread.metrics.shares import ceiling_metric, share_metric
from overread.metrics.traces.looks import TraceLook, collect_looks, trace_pair
from overread.pixels.draw import crop
from overread.pixels.image_files import read_image

Frame = Literal["own"] | int
"""The film's own pixels, or the side of the square that it is stretched to."""
Grey = NDArray[np.float32]

FRAMES: tuple[Frame, ...] = ("own", 336)
MIN_CORRELATION = 0.95
"""The least correlation. On 50 real films, made small and stored as JPEG, every true crop had more
(.977 and up), 4 % of boxes with IoU .75 to the true one, and 1 in 1,500 of those with IoU .5."""
MAX_STRETCH = 0.05
"""How far the proportions of a crop may be off, beside one pixel of rounding."""
SIDE = 64
"""The side of the squares that are correlated."""
_FAR = 1e9


@dataclass(frozen=True)
class CropVerdict:
    """What came of one look."""

    agrees: bool
    """Whether the crop shows what is in the box."""
    likeness: float | None = None
    """Correlation of the crop with the film at the box."""
    proportions: bool | None = None
    """Whether the crop has the proportions of the box."""
    same_size: bool | None = None
    """Whether it also has the size of the box, in the film's pixels or in those of the frame."""
    why: str = ""
    """Why nothing could be held against each other."""


def likeness(one: NDArray[Any], two: NDArray[Any]) -> float:
    """Normalised cross-correlation of two pictures, each made 64 × 64; 0 where just one is flat.

    >>> ramp = np.arange(64.0).reshape(8, 8)
    >>> round(likeness(ramp, 200 - 2 * ramp), 6), likeness(ramp, ramp * 0)
    (-1.0, 0.0)
    """
    a, b = _shrink(grey(one)), _shrink(grey(two))
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    if size > 1e-6:
        return float(np.clip((a * b).sum() / size, -1, 1))
    return 1.0 if max(float(np.abs(a).max()), float(np.abs(b).max())) < 1e-3 else 0.0


def grey(picture: NDArray[Any]) -> Grey:
    """A picture as grey numbers."""
    flat = picture.mean(axis=2) if picture.ndim == 3 else picture
    return flat.astype(np.float32)


def _shrink(picture: Grey) -> NDArray[np.float64]:
    from PIL import Image as Pillow

    small = Pillow.fromarray(picture).resize((SIDE, SIDE), Pillow.Resampling.BILINEAR)
    return np.asarray(small, np.float64)


def judge_crop(film: NDArray[Any], box: Box, cutout: NDArray[Any], frame: Frame) -> CropVerdict:
    """Compare a crop with the film cut at the box, where the box is given in a frame.

    >>> film = np.random.default_rng(0).random((40, 40)).cumsum(axis=0)
    >>> box = Box(picture="xray", x1=5, y1=10, x2=25, y2=20)
    >>> judge_crop(film, box, film[10:20, 5:25], "own").agrees
    True
    >>> judge_crop(film, box, film[10:20, 15:35], "own").agrees
    False
    """
    height, width = film.shape[:2]
    across, down = (1.0, 1.0) if frame == "own" else (width / frame, height / frame)
    edges = zip(("x1", "y1", "x2", "y2"), (across, down) * 2, strict=True)
    scaled = {edge: float(np.clip(getattr(box, edge), -_FAR, _FAR)) * by for edge, by in edges}
    try:
        cut = crop(film, box.model_copy(update=scaled))
    except PictureError:
        return CropVerdict(agrees=False, why="the box holds no pixel of the film")
    tall, wide = cutout.shape[:2]
    # The crop may come from the film, or from the film that was stretched to the frame.
    shapes = [(cut.shape[1], cut.shape[0]), (cut.shape[1] / across, cut.shape[0] / down)]
    proportions = any(_same_proportions(wide, tall, w, h) for w, h in shapes)
    alike = likeness(cut, cutout)
    return CropVerdict(
        agrees=proportions and alike >= MIN_CORRELATION,
        likeness=alike,
        proportions=proportions,
        same_size=any(_same_size(wide, w) and _same_size(tall, h) for w, h in shapes),
    )


def _same_proportions(wide: float, tall: float, width: float, height: float) -> bool:
    """Whether two rectangles have the same proportions, within a stretch and a pixel."""
    small = min(wide / width, tall / height)
    large = max(wide / width, tall / height)
    return small * (1 + MAX_STRETCH) * (1 + 1 / min(wide, width) + 1 / min(tall, height)) >= large


def _same_size(side: float, expected: float) -> bool:
    return abs(side - expected) <= 1 + MAX_STRETCH * expected


def judge_crops(
    looks: Sequence[TraceLook],
    films: dict[str, NDArray[Any]],
    files: Files | None,
    *,
    frames: Sequence[Frame] = FRAMES,
) -> tuple[Frame, list[CropVerdict]]:
    """Every look that names a crop, in the frame in which most of them agree."""
    named = [(look, _read_crop(look, files)) for look in looks if look.crop]
    best: tuple[Frame, list[CropVerdict]] | None = None
    for frame in frames:
        verdicts = [_judge_look(look, cutout, films, frame) for look, cutout in named]
        if best is None or _rank(verdicts) > _rank(best[1]):
            best = frame, verdicts
    if best is None:
        raise ValueError("no frame to hold boxes in")
    return best


def _rank(verdicts: Sequence[CropVerdict]) -> tuple[int, float]:
    return sum(v.agrees for v in verdicts), sum(v.likeness or 0.0 for v in verdicts)


def _read_crop(look: TraceLook, files: Files | None) -> NDArray[Any] | None:
    """The pixels of a crop; None where they cannot be had, whatever the reason."""
    if files is None or look.crop is None:
        return None
    try:
        return read_image(files.source(look.crop), name=look.crop)
    except OverreadError:
        return None


def _judge_look(
    look: TraceLook, cutout: NDArray[Any] | None, films: dict[str, NDArray[Any]], frame: Frame
) -> CropVerdict:
    if look.box is None:
        return CropVerdict(agrees=False, why="the look has no box")
    if look.box.picture not in films:
        return CropVerdict(agrees=False, why="the box lies in no picture of the case")
    if cutout is None:
        return CropVerdict(agrees=False, why="the crop cannot be read")
    return judge_crop(films[look.box.picture], look.box, cutout, frame)


def _films(subject: Subject, looks: Sequence[TraceLook]) -> dict[str, NDArray[Any]]:
    """The radiographs that looks with a crop lie in."""
    wanted = {look.box.picture for look in looks if look.crop and look.box is not None}
    if wanted and subject.truth_files is None:
        raise ValueError("this subject came without the files of its release")
    return {
        picture.name: subject.truth_files.pictures.pixels(picture)
        for picture in subject.entry.case.pictures
        if picture.name in wanted and isinstance(picture, Image) and subject.truth_files
    }


def _row(
    subject: Subject, trace: Trace | None, files: Files | None, frames: Sequence[Frame]
) -> dict[str, Any]:
    looks = collect_looks(trace)
    row: dict[str, Any] = {"cases": 1, "agree": 0.0, "crops": 0}
    if not any(look.crop for look in looks):
        return row
    frame, verdicts = judge_crops(looks, _films(subject, looks), files, frames=frames)
    return row | {
        "agree": sum(verdict.agrees for verdict in verdicts) / len(verdicts),
        "crops": len(verdicts),
        "frame": str(frame),
        "looks": [asdict(verdict) for verdict in verdicts],
    }


@stored_as("traces.crops.measure_crops")
def measure_crops(subject: Subject, *, frames: tuple[Frame, ...] = FRAMES) -> Measured:
    """One row a case whose reference shows crops; a reading without a crop scores 0."""
    truth, own = trace_pair(subject)
    if not any(look.crop for look in collect_looks(truth)):
        return {}
    return {"": _row(subject, own, subject.reading_files, frames)}


@stored_as("traces.crops.measure_reference_crops")
def measure_reference_crops(subject: Subject, *, frames: tuple[Frame, ...] = FRAMES) -> Measured:
    """The same of the reference's own crops."""
    truth, _ = trace_pair(subject)
    if not any(look.crop for look in collect_looks(truth)):
        return {}
    return {"": _row(subject, truth, subject.truth_files, frames)}


def crop_metrics(frames: tuple[Frame, ...] = FRAMES) -> tuple[Metric, Metric]:
    """The metric and its ceiling, with boxes taken in these frames."""
    own = frames == FRAMES
    metric = share_metric(
        "trace_crop_agreement",
        "share of crops that show what is in the box of their look",
        needs=("crops",),
        measure=measure_crops if own else partial(measure_crops, frames=frames),
        top="agree",
        reference="numpy.corrcoef, and crops cut in the tests",
        settings={
            "frames": [str(frame) for frame in frames],
            "correlation": MIN_CORRELATION,
            "proportions": MAX_STRETCH,
            "side": SIDE,
            "size": "free: a crop may be enlarged",
            "unreadable crop": 0,
            "mean": "cases",
        },
        ceiling="ceiling_trace_crop_agreement",
    )
    return metric, ceiling_metric(
        metric,
        "what the reference traces themselves get for crop agreement",
        measure_reference_crops if own else partial(measure_reference_crops, frames=frames),
    )


TRACE_CROP_AGREEMENT, CEILING_TRACE_CROP_AGREEMENT = crop_metrics()

METRICS = by_name(TRACE_CROP_AGREEMENT, CEILING_TRACE_CROP_AGREEMENT)
