"""Where the lungs are: the thoracic cavity less the mediastinum, above the diaphragm.

Everything here is asked for points of the template, whole slabs or a handful alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.habitus import Habitus
from overread.phantom.body.shapes import Floats, ellipsoid_depth, interpolate_profile, oval_depth, union_depth

LOBES = tuple(lobe.code for lobe in lung_names().lobes)
SEGMENTS = tuple(lung_names().segments)

# height: half width, half depth, middle
_CAVITY_OUTLINE = (
    (121, 12, 10, -32),
    (117, 32, 21, -31),
    (110, 50, 32, -28),
    (98, 66, 43, -23),
    (80, 83, 55, -15),
    (55, 101, 67, -8),
    (25, 113, 79, -4),
    (0, 121, 85, -2),
    (-40, 127, 91, 0),
    (-90, 131, 94, 1),
    (-140, 131, 94, 0),
    (-185, 127, 91, -1),
)
# height: middle (x, y), half width, half depth of what lies between the lungs besides the heart
_MEDIASTINUM_OUTLINE = (
    (130, 2, -5, 37, 60),
    (105, 2, -6, 34, 50),
    (80, 1, -4, 32, 48),
    (50, 2, -1, 33, 44),
    (30, 1, -2, 34, 44),
    (5, 0, -6, 34, 42),
    (-20, -1, -8, 34, 40),
    (-50, -5, -26, 27, 28),
    (-90, -8, -36, 22, 22),
    (-150, -6, -36, 22, 22),
)
SPINE_CURVE = ((130, -42), (90, -51), (40, -55), (0, -55), (-60, -53), (-120, -51), (-185, -45))
HEART_CENTRE = (-20.0, 20.0, -72.0)
HEART_AXIS = (-0.72, 0.45, -0.53)

# Where the middle of each segment lies; a point of a lobe belongs to the nearest one.
_SEGMENT_CENTRES: dict[str, tuple[float, float, float]] = {
    "RS1": (50, -18, 78),
    "RS2": (74, -50, 34),
    "RS3": (68, 42, 24),
    "RS4": (92, 30, -58),
    "RS5": (48, 60, -66),
    "RS6": (64, -58, 0),
    "RS7": (34, -18, -108),
    "RS8": (86, 14, -116),
    "RS9": (100, -28, -112),
    "RS10": (58, -64, -106),
    "LS1+2": (-54, -28, 72),
    "LS3": (-62, 44, 38),
    "LS4": (-88, 36, -18),
    "LS5": (-76, 54, -66),
    "LS6": (-66, -58, 2),
    "LS7+8": (-68, 4, -114),
    "LS9": (-102, -26, -112),
    "LS10": (-58, -64, -106),
}


class LungShape:
    """The lungs of one patient as functions of template points."""

    def __init__(self, habitus: Habitus, rng: np.random.Generator) -> None:
        """The rng moves domes, fissures and segments a little."""
        self.habitus = habitus
        b = habitus.breath
        right = (62 + rng.normal(0, 3), 2.0, 74.0, 92.0, -104 - b + rng.normal(0, 3))
        left = (-66 + rng.normal(0, 3), 4.0, 72.0, 90.0, -113 - b + rng.normal(0, 4))
        # The liver holds the right dome up: in hardly anybody is the left one as high.
        self._domes = (right, (*left[:4], min(left[4], right[4] - 4)))
        self._sulcus = 1 + 0.01 * b
        self._major = {
            "right": (36 + rng.normal(0, 5), 56 + rng.normal(0, 5)),
            "left": (43 + rng.normal(0, 5), 58 + rng.normal(0, 5)),
        }
        self._minor = (-26 + rng.normal(0, 5), rng.normal(0, 0.06))
        self._bend = rng.normal(0, 1, 4)
        self._seeds = {
            code: np.asarray(at, np.float32) + rng.normal(0, 5, 3).astype(np.float32)
            for code, at in _SEGMENT_CENTRES.items()
        }

    def cavity_depth(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Depth inside the ribs, and how far round from the spine (0) to the sternum (1)."""
        v = y - interpolate_profile(z, _CAVITY_OUTLINE, 3)
        # Squarer at the back, where the lungs fill the gutters beside the spine.
        square = np.where(v < 0, np.float32(0.115), np.float32(0.055))
        depth = oval_depth(
            x,
            v,
            interpolate_profile(z, _CAVITY_OUTLINE, 1),
            interpolate_profile(z, _CAVITY_OUTLINE, 2),
            square,
        )
        # Above the apex there is no cavity, whatever the last oval says.
        depth = np.minimum(depth, np.float32(121) - z)
        far = np.sqrt(x * x + v * v) + np.float32(1e-3)
        return depth, np.arccos(np.clip(-v / far, -1, 1)) / np.float32(np.pi)

    def diaphragm_height(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Height of the diaphragm over each point, and the cosine of its slope."""
        heights, slopes = [], []
        for cx, cy, a, b, top in self._domes:
            u, v = (x - cx) / a, (y - cy) / b
            drop = np.clip(46 - 0.2 * y, 28, 62) * self._sulcus
            # The recess between diaphragm and ribs ends where they meet.
            rr = np.minimum(u * u + v * v, np.float32(1.05))
            # Flat on top, steep towards the wall: the square would make a cone.
            heights.append((top - drop * rr * (0.45 + 0.55 * rr)).astype(np.float32))
            slopes.append(drop * np.sqrt(rr) * (0.9 + 2.2 * rr) / a)
        left = heights[1] > heights[0]
        height = union_depth(heights[0], heights[1], blend=14)
        steep = np.where(left, slopes[1], slopes[0])
        return height, (1 / np.sqrt(1 + steep * steep)).astype(np.float32)

    def mediastinum_depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Depth in the mediastinum: everything between the lungs."""
        column = oval_depth(
            x - interpolate_profile(z, _MEDIASTINUM_OUTLINE, 1),
            y - interpolate_profile(z, _MEDIASTINUM_OUTLINE, 2),
            interpolate_profile(z, _MEDIASTINUM_OUTLINE, 3),
            interpolate_profile(z, _MEDIASTINUM_OUTLINE, 4),
            0.05,
        )
        depth = union_depth(column, self.heart_depth(x, y, z) + 3, blend=12)
        # The front septum: thin where the lungs meet behind the sternum, wider in fat above and
        # beside the heart.
        width = 1.5 + 6 * np.exp(-(((z - 55) / 28) ** 2)) + 6 * np.exp(-(((z + 95) / 40) ** 2))
        width = width + np.maximum(y - 62, 0) * (0.25 + 0.012 * self.habitus.fat)
        front = np.minimum(width - np.abs(x + 2), y + 10)
        depth = union_depth(depth, front.astype(np.float32), blend=10)
        back = y - interpolate_profile(z, SPINE_CURVE, 1)
        spine = 20 - np.sqrt((x - self.spine_offset(z)) ** 2 + (back * np.float32(1.1)) ** 2)
        # Behind the vertebral bodies the lungs reach further in on both sides than the ribs' oval.
        arch = np.minimum(16 - np.abs(x - self.spine_offset(z)), -back)
        spine = union_depth(spine, arch.astype(np.float32), blend=6)
        depth = union_depth(depth, spine, blend=10)
        # The aortic arch bulges to the left above the hilum, the descending part beside the spine.
        knob = ellipsoid_depth(x, y, z, (-22, -12, 27), (21, 34, 17))
        aorta = (17 * self.habitus.aorta) - np.sqrt((x + 22) ** 2 + (y + 44) ** 2)
        depth = union_depth(depth, np.minimum(aorta, 30 - z), blend=8)
        # The lower cava stands between the heart and the liver, with the lung only at its side.
        cava = 12.5 - np.sqrt((x - 18) ** 2 + (y - 2) ** 2)
        depth = union_depth(depth, np.minimum(cava, -60 - z), blend=12)
        return union_depth(depth, knob, blend=6)

    def heart_depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Depth in the heart with its four chambers."""
        s = self.habitus.heart
        # A large heart grows forward, down and to the left; the bronchi behind it stay.
        x, y, z = x + 15 * (s - 1), y - 18 * (s - 1), z + 34 * (s - 1)
        cx, cy, cz = HEART_CENTRE
        u, v, w = x - cx, y - cy, z - cz
        ax, ay, az = HEART_AXIS
        along = u * ax + v * ay + w * az
        across = np.sqrt(np.maximum(u * u + v * v + w * w - along * along, 0))
        a, b = np.float32(66 * s), np.float32(45 * s)
        # Blunter towards the base than towards the apex.
        b_here = b * (1 - np.float32(0.0022) * along)
        r = np.sqrt((along / a) ** 2 + (across / b_here) ** 2)
        depth = ((1 - r) * b).astype(np.float32)
        right = ellipsoid_depth(x, y, z, (22 * s + 8, 8, -66), (27 * s, 32 * s, 36 * s))
        depth = union_depth(depth, right, blend=10)
        left = ellipsoid_depth(x, y, z, (-4, -16, -54), (31 * s, 17 * s, 22 * s))
        depth = union_depth(depth, left, blend=8)
        outflow = ellipsoid_depth(x, y, z, (-10, 38, -36), (22, 22, 30))
        return union_depth(depth, outflow, blend=10)

    def spine_offset(self, z: Floats) -> Floats:
        """How far the spine lies beside the midline at a height."""
        bent: Floats = np.float32(self.habitus.sway) * np.sin((z + 30) / np.float32(75))
        return bent.astype(np.float32)

    def lung_depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Millimetres from the pleura, inside a lung; negative outside both."""
        cavity, _ = self.cavity_depth(x, y, z)
        height, cosine = self.diaphragm_height(x, y)
        lung = np.minimum(cavity - 1, -self.mediastinum_depth(x, y, z))
        inside: Floats = np.minimum(lung, (z - height) * cosine)
        return inside

    def fissure_distances(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Millimetres in front of the major fissure, and above the minor one (right lung only)."""
        right = x > 0
        top = np.where(right, self._major["right"][0], self._major["left"][0])
        foot = np.where(right, self._major["right"][1], self._major["left"][1])
        b = self._bend
        slope = (top + 122) / (foot + 76)
        wave = 4 * b[0] * np.sin(x / 30 + b[1]) + 3 * b[2] * np.sin(y / 26 + b[3])
        # A propeller: the outer part of the fissure faces more to the front than the inner.
        height = top - (y + 76) * slope + wave - 0.10 * (np.abs(x) - 62) * (y + 10) / 30
        major = (z - height) / np.sqrt(1 + slope * slope)
        middle, tilt = self._minor
        level = middle + tilt * (x - 60) + 2 * b[1] * np.sin(y / 24) - 0.0012 * (x - 55) ** 2
        return major.astype(np.float32), (z - level).astype(np.float32)

    def lobe_number(self, x: Floats, y: Floats, z: Floats) -> NDArray[np.uint8]:
        """Number of the lobe, 1 to 5 as in `LOBES`, of points that lie in a lung."""
        major, minor = self.fissure_distances(x, y, z)
        right = np.where(major < 0, 3, np.where(minor > 0, 1, 2))
        left = np.where(major < 0, 5, 4)
        number: NDArray[np.uint8] = np.where(x > 0, right, left).astype(np.uint8)
        return number

    def segment_number(self, x: Floats, y: Floats, z: Floats, lobe: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Number of the segment, 1 to 18 as in `SEGMENTS`, of points whose lobe is known."""
        best = np.full(lobe.shape, np.inf, np.float32)
        number = np.zeros(lobe.shape, np.uint8)
        for n, code in enumerate(SEGMENTS, 1):
            own = lobe == LOBES.index(lung_names().by_code[code].code) + 1
            if not own.any():
                continue
            sx, sy, sz = self._seeds[code]
            far = np.where(own, (x - sx) ** 2 + (y - sy) ** 2 + 0.7 * (z - sz) ** 2, np.inf)
            closer = far < best
            best[closer] = far[closer]
            number[closer] = n
        return number

    def segment_centre(self, segment: str) -> NDArray[np.float32]:
        """A point in the middle of a segment."""
        return self._seeds[segment]
