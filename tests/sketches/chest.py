"""A crude chest made of ellipsoids: enough to read, far too simple to be mistaken for a patient.

Coordinates are RAS+ millimetres around the middle of the chest. The volume is stored in LPS
order, as scanners do, so that everything that handles it must mind the orientation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.pixels.geometry import from_ras, make_geometry

Floats = NDArray[np.float64]

SHAPE = (96, 72, 64)
SPACING = (3.5, 3.5, 5.25)
XRAY_SIZE = 336


@dataclass(frozen=True)
class Blob:
    """An ellipsoid: centre and radii in millimetres, filled with one HU value."""

    centre: tuple[float, float, float]
    radii: tuple[float, float, float]
    hu: float


@dataclass(frozen=True)
class Lesion:
    """Something to find: its sentence, its category and the blobs that it is made of."""

    text: str
    category: str
    blobs: tuple[Blob, ...]


class Chest:
    """One sketched patient."""

    def __init__(self, seed: int, lesions: tuple[Lesion, ...]) -> None:
        """The seed moves every organ a little; the lesions lie where they say."""
        self._rng = np.random.default_rng(seed)
        self.lesions = lesions
        self._grow = float(self._rng.uniform(0.94, 1.04))
        axes = [
            (np.arange(count) - (count - 1) / 2) * step for count, step in zip(SHAPE, SPACING, strict=True)
        ]
        self._x, self._y, self._z = np.meshgrid(*axes, indexing="ij", sparse=True)
        self._noise = self._rng.normal(0, 12, SHAPE)

    @cached_property
    def space(self) -> Geometry:
        """Geometry of the volume as it is stored: LPS."""
        affine = np.diag([-SPACING[0], -SPACING[1], SPACING[2], 1.0])
        for axis, sign in enumerate((1, 1, -1)):
            affine[axis, 3] = sign * (SHAPE[axis] - 1) / 2 * SPACING[axis]
        return make_geometry(SHAPE, affine, where="the sketch")

    @cached_property
    def organs(self) -> dict[str, Floats]:
        """How much of each voxel is which organ, 0 to 1, in RAS order."""
        g = self._grow
        return {
            "right lung": self._inside((68 * g, 0, 0), (50 * g, 74 * g, 118)),
            "left lung": self._inside((-68 * g, 0, 0), (48 * g, 72 * g, 116)),
            "cardiac silhouette": self._inside((-20, 22, -48), (56 * g, 44, 44)),
            "liver": self._inside((62, 6, -128), (84, 76, 62)),
            "spleen": self._inside((-84, -24, -132), (46, 50, 52)),
        }

    @cached_property
    def lungs(self) -> Floats:
        """The air-filled part of both lungs."""
        both = np.maximum(self.organs["right lung"], self.organs["left lung"])
        for name in ("cardiac silhouette", "liver", "spleen"):
            both = both * (1 - self.organs[name])
        return both * (1 - self._tube(0, -62, 26))

    @cached_property
    def volume(self) -> NDArray[np.int16]:
        """HU in the stored order."""
        skin = self._ellipse(150, 108)
        hu = np.full(SHAPE, -1000.0)
        hu = _mix(hu, skin, -95.0)
        hu = _mix(hu, self._ellipse(136, 94), 45.0)
        hu = _mix(hu, self._ribs(), 420.0)
        hu = _mix(hu, self.lungs, -860.0)
        for name, value in (("cardiac silhouette", 42.0), ("liver", 62.0), ("spleen", 52.0)):
            hu = _mix(hu, self.organs[name], value)
        hu = _mix(hu, self._tube(0, -64, 19), 260.0)
        hu = _mix(hu, self._tube(-24, -44, 11), 44.0)
        hu = _mix(hu, self._tube(0, -8, 8) * (self._z > 18), -1000.0)
        for lesion in self.lesions:
            for blob in lesion.blobs:
                hu = _mix(hu, self._lesion(blob), blob.hu)
        # Noise in the patient, less of it in air, as a reconstruction has.
        hu = hu + self._noise * (0.35 + 0.65 * skin)
        return np.ascontiguousarray(from_ras(np.rint(hu).clip(-1024, 3071), self.space)).astype(np.int16)

    def mask(self, lesion: Lesion) -> NDArray[np.uint8]:
        """Entity labels of one lesion in the stored order: one number a blob."""
        labels = np.zeros(SHAPE, np.uint8)
        for number, blob in enumerate(lesion.blobs, 1):
            labels[self._lesion(blob) >= 0.5] = number
        return np.ascontiguousarray(from_ras(labels, self.space))

    @cached_property
    def radiograph(self) -> NDArray[np.uint8]:
        """A frontal view: attenuation summed from front to back, bright where dense."""
        from PIL import Image as Pillow

        from overread.pixels.geometry import to_ras

        hu = to_ras(self.volume, self.space).astype(np.float64)
        path = np.clip(hu + 1000, 0, None).sum(axis=1) * SPACING[1] / 1000
        film = 1 - np.exp(-path / 190)
        film = (film - film.min()) / (film.max() - film.min())
        grey = (245 * film**1.5)[::-1, ::-1].T
        image = Pillow.fromarray(grey.astype(np.uint8))
        return np.asarray(image.resize((XRAY_SIZE, XRAY_SIZE), Pillow.Resampling.BICUBIC))

    def box(self, *organs: str) -> tuple[int, int, int, int]:
        """The box of organs on the radiograph, in pixels, left, top, right, bottom."""
        shadow = np.zeros((SHAPE[0], SHAPE[2]), bool)
        for name in organs:
            shadow |= (self.organs[name] > 0.5).any(axis=1)
        picture = shadow[::-1, ::-1].T
        rows, columns = np.flatnonzero(picture.any(axis=1)), np.flatnonzero(picture.any(axis=0))
        across, down = XRAY_SIZE / SHAPE[0], XRAY_SIZE / SHAPE[2]
        return (
            int(columns[0] * across),
            int(rows[0] * down),
            int((columns[-1] + 1) * across),
            int((rows[-1] + 1) * down),
        )

    def _lesion(self, blob: Blob) -> Floats:
        return self._inside(blob.centre, blob.radii) * (self.lungs > 0.3)

    def _inside(self, centre: tuple[float, float, float], radii: tuple[float, float, float]) -> Floats:
        """How much of each voxel lies in an ellipsoid: a soft edge one voxel wide."""
        r = np.sqrt(
            ((self._x - centre[0]) / radii[0]) ** 2
            + ((self._y - centre[1]) / radii[1]) ** 2
            + ((self._z - centre[2]) / radii[2]) ** 2
        )
        depth = (1 - r) * min(radii)
        soft: Floats = np.clip(depth / SPACING[0] + 0.5, 0, 1)
        return soft

    def _ellipse(self, rx: float, ry: float) -> Floats:
        r = np.sqrt((self._x / rx) ** 2 + (self._y / ry) ** 2) + 0 * self._z
        soft: Floats = np.clip((1 - r) * ry / SPACING[0] + 0.5, 0, 1)
        return soft

    def _tube(self, x: float, y: float, radius: float) -> Floats:
        r = np.hypot(self._x - x, self._y - y) + 0 * self._z
        soft: Floats = np.clip((radius - r) / SPACING[0] + 0.5, 0, 1)
        return soft

    def _ribs(self) -> Floats:
        shell = self._ellipse(131, 90) - self._ellipse(122, 82)
        level = (self._z + 0.35 * self._y + 400) % 26
        soft: Floats = np.clip(shell, 0, 1) * np.clip((5 - np.abs(level - 13)) / 3, 0, 1)
        return soft


def _mix(hu: Floats, part: Floats, value: float | Floats) -> Floats:
    return hu * (1 - part) + value * part
