"""What kind of picture each one is, from its pixels alone.

A CT slice of the chest is a body that stands free in black or even grey and holds large dark lungs.
A radiograph fills its frame, and its greys run into each other. Whatever is neither is said not to
be understood, and nothing is read from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.readers.atlas.slice.body import CtSlice, GreyPicture, segment_slice, to_grey
from overread.readers.atlas.slice.morphology import Bools, Floats
from overread.readers.atlas.slice.signs import Plane

KindName = Literal["ct", "frontal", "lateral", "other"]
Window = Literal["lung", "mediastinum", "bone"]

SIDE = 64
"""Pixels of each side of the small copy in which radiographs are told apart."""
MIN_LUNG_SHARE = {"lung": 0.03, "mediastinum": 0.09, "bone": 0.09}
"""Share of the body that lungs fill at least in a slice of the chest; air that is grey and not
black is so rare elsewhere that little lung is enough beside it."""


@dataclass(frozen=True)
class PictureKind:
    """What a picture is, and why."""

    name: KindName
    words: str
    """As a caption would begin: 'axial CT of the chest, lung window'."""
    why: str
    """The measurement behind it."""
    plane: Plane | None = None
    window: Window | None = None
    grey: GreyPicture | None = None
    cut: CtSlice | None = None

    @property
    def modality(self) -> str | None:
        """How it was taken: 'ct', 'film', or None where that is not known."""
        return {"ct": "ct", "frontal": "film", "lateral": "film"}.get(self.name)


def recognise_kind(pixels: NDArray[Any]) -> PictureKind:
    """The kind of one picture; never raises for a picture that is only strange."""
    if pixels.ndim not in (2, 3) or not pixels.size:
        return PictureKind("other", "a picture that is not understood", "it is not flat")
    grey = to_grey(pixels)
    if grey.colour > 0.03:
        return _unknown_kind(grey, f"{grey.colour:.0%} of its pixels are coloured")
    if min(grey.values.shape) < 64:
        return _unknown_kind(grey, "it is too small")
    cut = segment_slice(grey)
    if cut is not None and (kind := _slice_kind(grey, cut)) is not None:
        return kind
    return _film_kind(grey) or _unknown_kind(
        grey, "it neither holds a body with two dark lungs in empty air nor looks like a radiograph"
    )


def _unknown_kind(grey: GreyPicture, why: str) -> PictureKind:
    return PictureKind("other", "a picture that is not understood", why, grey=grey)


# ---- CT ------------------------------------------------------------------------------------


def even_share(values: Floats) -> float:
    """Share of pixels in even areas: high in CT slices, low in radiographs and photographs."""
    mean = ndimage.uniform_filter(values, 5)
    square = ndimage.uniform_filter(values * values, 5)
    spread = np.sqrt(np.maximum(square - mean * mean, 0))
    return float((spread < 2.5).mean())


def _slice_kind(grey: GreyPicture, cut: CtSlice) -> PictureKind | None:
    area = float(cut.body.sum())
    share = float(cut.lungs.sum()) / area
    window = _find_window(cut)
    if share < MIN_LUNG_SHARE[window]:
        return None
    outside = ~cut.body
    empty = float(outside.mean())
    calm = float(grey.values[outside].std()) if outside.any() else 99.0
    plane = _find_plane(cut)
    if plane is None or empty < 0.04 or calm > 45 or cut.air > 100:
        return None
    if plane != "axial" and _lacks_tissue_peak(grey.values, cut):
        return None
    words = {"lung": "lung window", "mediastinum": "mediastinal window", "bone": "bone window"}[window]
    why = (
        f"a body in empty space, {share:.0%} of it dark lung; air has the grey {cut.air:.0f}, "
        f"lung {cut.lung:.0f}, soft tissue {cut.soft:.0f}"
    )
    return PictureKind("ct", f"{plane} CT of the chest, {words}", why, plane, window, grey, cut)


def _lacks_tissue_peak(values: Floats, cut: CtSlice) -> bool:
    """Whether soft tissue has no grey of its own, as in a radiograph."""
    tissue = values[cut.body & ~cut.lungs]
    counts = np.histogram(tissue, 64, (0, 256))[0]
    best = np.sort(ndimage.uniform_filter1d(counts.astype(float), 3) * 3)[-1]
    return bool(best / max(tissue.size, 1) < 0.30)


def _end_widths(body: Bools) -> tuple[float, float]:
    rows = body.sum(axis=1).astype(float)
    held = np.flatnonzero(rows)
    first, last = held[0], held[-1] + 1
    step = max(2, round(0.02 * (last - first)))
    most = rows.max()
    return float(rows[first : first + step].mean() / most), float(rows[last - step : last].mean() / most)


def _find_plane(cut: CtSlice) -> Plane | None:
    x1, y1, x2, y2 = cut.frame
    width, height = x2 - x1, y2 - y1
    top, bottom = _end_widths(cut.body)
    if bottom < 0.72 and top < 0.72 and width > 0.95 * height:
        return "axial"
    if bottom < 0.5:
        return None
    return "coronal" if _lung_gap(cut) > 0.85 else "sagittal"


def _lung_gap(cut: CtSlice) -> float:
    """Over which share of their height the lungs are parted by one dense column in the middle."""
    x1, _, x2, _ = cut.frame
    rows = cut.lungs.any(axis=1)
    reach = round(0.1 * (x2 - x1))
    middle = round(cut.middle)
    band = cut.lungs[rows][:, max(middle - reach, 0) : middle + reach + 1]
    return float((~band).mean(axis=0).max()) if band.size else 0.0


def _find_window(cut: CtSlice) -> Window:
    if cut.air > 15 and cut.soft > 150:
        return "lung"
    if cut.lung - cut.air > 8 and cut.soft > 170:
        return "lung"
    tissue = cut.values[cut.body & ~cut.lungs]
    fat = float(((tissue > 0.12 * cut.soft) & (tissue < 0.62 * cut.soft)).mean())
    if cut.soft < 100 and fat < 0.12:
        return "bone"
    return "mediastinum"


# ---- radiographs ---------------------------------------------------------------------------


def _film_kind(grey: GreyPicture) -> PictureKind | None:
    values = grey.values
    even = even_share(values)
    empty, step = _measure_surroundings(values)
    if even > 0.72 or empty > 0.35 or (empty > 0.1 and step > 48):
        return None
    height, width = values.shape
    if not 0.55 < width / height < 1.7:
        return None
    zoom = (SIDE / height, SIDE / width)
    small = ndimage.zoom(ndimage.gaussian_filter(values, 5), zoom, order=1)
    abdomen = float(small[-6:, SIDE // 4 : -SIDE // 4].mean())
    chest = float(np.median(small[10:40, 8:-8]))
    if abdomen < max(100.0, chest + 15) or float(values.std()) < 15:
        return None
    alike = _mirror_correlation(small[6:50])
    why = (
        f"greys run into each other, only {even:.0%} of it is even, and it is brighter "
        f"below ({abdomen:.0f}) than in the middle ({chest:.0f})"
    )
    if alike < 0.84 and empty > 0.12:
        why += f"; the halves differ (correlation {alike:.2f})"
        return PictureKind("lateral", "lateral chest radiograph", why, grey=grey)
    why += f"; the halves are alike (correlation {alike:.2f})"
    return PictureKind("frontal", "frontal chest radiograph", why, grey=grey) if alike > 0.3 else None


def _measure_surroundings(values: Floats) -> tuple[float, float]:
    """The share of the picture that is empty, and how steeply the body rises out of it."""
    smooth = ndimage.gaussian_filter(values, 1.2)
    ends = (smooth[:5, :5], smooth[:5, -5:], smooth[-5:, :5], smooth[-5:, -5:])
    low = min(float(np.median(end)) for end in ends)
    labels, _ = ndimage.label(smooth < low + 8)
    rim = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    outside = np.isin(labels, np.unique(rim[rim > 0]))
    outside = ndimage.binary_opening(outside, np.ones((7, 7)))
    near = ndimage.binary_dilation(outside, iterations=4)
    edge = ndimage.binary_dilation(near, iterations=2) & ~near
    step = float(np.median(smooth[edge])) - low if edge.any() else 0.0
    return float(outside.mean()), step


def _mirror_correlation(small: Floats) -> float:
    """How well the picture correlates with its mirror image, at the best axis near the middle."""
    best = -1.0
    width = small.shape[1]
    for shift in range(-8, 9):
        part = small[:, max(0, shift) : width + min(0, shift)]
        best = max(best, float(np.corrcoef(part.ravel(), part[:, ::-1].ravel())[0, 1]))
    return best
