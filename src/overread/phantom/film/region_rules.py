"""What the 35 regions of the frontal film are: a sentence, and which voxels of the body.

Heights and places are those of the template, so that they hold for every patient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.body.shapes import Floats, Point
from overread.phantom.body.wall import RIB_GAP, RIB_TOP
from overread.phantom.findings.scan import BoolArray

CARINA_HEIGHT = 4.0
"""Height of the carina in the template, and of the plane through the sternal angle."""
CHEST_TOP = 121.0
"""Height of the top of the chest in the template."""


def rib_end(number: int) -> float:
    """Height in the template at which a rib ends in front; 2 and 4 part the zones of the lung."""
    around = 0.79 - 0.014 * (number - 1)
    return RIB_TOP - 46 * around - (number - 1) * (RIB_GAP + 7.5 * around)


@dataclass(frozen=True)
class BodyPart:
    """A box of the body and its voxels' places in template millimetres."""

    body: Body
    organs: NDArray[np.uint8]
    lobes: NDArray[np.uint8]
    side: int
    """1 on the right, -1 on the left; 1 where a region has no side."""
    x: Floats
    """Away from the midline on the region's own side; to the right where it has none."""
    y: Floats
    z: Floats

    def organ_mask(self, *names: str) -> BoolArray:
        """Voxels of organs."""
        found: BoolArray = self.organs == ORGAN_NUMBERS[names[0]]
        for name in names[1:]:
            found |= self.organs == ORGAN_NUMBERS[name]
        return found

    @property
    def lung_mask(self) -> BoolArray:
        """The lung of this side, with what has taken its place in the pleural space."""
        first, last, name = (1, 3, "right") if self.side > 0 else (4, 5, "left")
        own = (self.lobes >= first) & (self.lobes <= last)
        own |= self.organs == ORGAN_NUMBERS[f"{name} pleural space"]
        return own

    @property
    def height_over_diaphragm(self) -> Floats:
        """Millimetres above the diaphragm."""
        height, _ = self.body.lungs.diaphragm_height(self.x * self.side, self.y)
        return self.z - height

    def filter_mask(self, mask: BoolArray, deep: Callable[[Floats, Floats, Floats], BoolArray]) -> BoolArray:
        """The voxels of a mask whose places in the template pass; only these are asked."""
        points = [np.broadcast_to(axis, mask.shape)[mask] for axis in (self.x, self.y, self.z)]
        kept = mask.copy()
        kept[mask] = deep(points[0] * self.side, points[1], points[2])
        return kept


@dataclass(frozen=True)
class RegionDefinition:
    """What a region is: in words, and which voxels of a box of the template."""

    words: str
    low: Point
    high: Point
    voxels: Callable[[BodyPart], BoolArray]


_CHEST: tuple[Point, Point] = ((-4, -110, -240), (140, 110, 130))
_MIDDLE: tuple[Point, Point] = ((-110, -80, -190), (90, 100, 125))
_MEDIASTINAL_ORGANS = (
    "mediastinum", "heart", "aorta", "pulmonary artery", "superior vena cava",
    "oesophagus", "trachea and bronchi", "thyroid",
)  # fmt: skip


def _zone(low: float, high: float) -> Callable[[BodyPart], BoolArray]:
    return lambda part: part.lung_mask & (part.z > low) & (part.z <= high)


def _apex(part: BodyPart) -> BoolArray:
    # The collar bone rises to the side: what counts is its upper edge over the top of the lung.
    bone = part.organ_mask("clavicles") & (part.x > 30) & (part.x < 66)
    rows = np.flatnonzero(bone.any(axis=(1, 2)))
    edge = float(part.z[rows[-1]].max()) if len(rows) else 86.0
    return part.lung_mask & (part.z > edge)


def _sulcus_height(part: BodyPart) -> float:
    """How deep the lung reaches down at the side of the chest."""
    foot = part.lung_mask & (part.x > 100) & (np.abs(part.y) < 50)
    rows = np.flatnonzero(foot.any(axis=(1, 2)))
    return float(part.z[rows[0]].min()) if len(rows) else -160.0


def _costophrenic(part: BodyPart) -> BoolArray:
    mask = part.lung_mask & (part.x > 100) & (np.abs(part.y) < 50)
    return mask & (part.z < _sulcus_height(part) + 40)


def _hemidiaphragm(part: BodyPart) -> BoolArray:
    above = part.height_over_diaphragm
    sheet = (above <= 0) & (above > -4) & (part.x > 0) & (part.z > _sulcus_height(part))
    return part.filter_mask(sheet, lambda *at: part.body.lungs.cavity_depth(*at)[0] > 0)


def _cardiophrenic(part: BodyPart) -> BoolArray:
    low = part.lung_mask & (part.height_over_diaphragm < 20) & (part.y > 0) & (part.x > 20)
    return part.filter_mask(low, lambda *at: part.body.lungs.heart_depth(*at) > -20)


def _abdomen(part: BodyPart) -> BoolArray:
    return part.organ_mask("liver", "stomach", "spleen")


def _heart_bottom(body: Body) -> float:
    """Height in the template of the heart's lowest point."""
    low = np.arange(-190, -60, 1.0)[:, None, None]
    y, x = np.arange(-10, 80, 4.0)[None, :, None], np.arange(-80, 40, 4.0)[None, None, :]
    inside = (body.lungs.heart_depth(x, y, low) > 0) & (body.lungs.diaphragm_height(x, y)[0] < low)
    return float(low.ravel()[inside.any(axis=(1, 2))].min(initial=-60))


def _mediastinum(part: BodyPart) -> BoolArray:
    """What lies between the lungs, above the diaphragm and not lower than the heart."""
    inside: BoolArray = part.organ_mask(*_MEDIASTINAL_ORGANS) & (part.lobes == 0) & (part.z < CHEST_TOP)
    inside &= (part.height_over_diaphragm > 0) & (part.z > _heart_bottom(part.body))
    return inside


PAIRED_REGIONS: Mapping[str, RegionDefinition] = {
    "lung": RegionDefinition(
        "the lung with its pleural space, behind heart and diaphragm too",
        *_CHEST,
        lambda p: p.lung_mask,
    ),
    "apical zone": RegionDefinition(
        "the lung above the upper edge of the collar bone",
        (-4, -80, 60), (90, 90, 130),
        _apex,
    ),
    "upper lung zone": RegionDefinition(
        "the lung above the front end of the second rib, the apical zone with it",
        (-4, -100, rib_end(2) - 4), (130, 90, 130),
        _zone(rib_end(2), 200),
    ),
    "mid lung zone": RegionDefinition(
        "the lung between the front ends of the second and the fourth rib",
        (-4, -100, rib_end(4) - 4), (140, 100, rib_end(2) + 4),
        _zone(rib_end(4), rib_end(2)),
    ),
    "lower lung zone": RegionDefinition(
        "the lung below the front end of the fourth rib",
        (-4, -110, -240), (140, 110, rib_end(4) + 4),
        _zone(-300, rib_end(4)),
    ),
    "costophrenic angle": RegionDefinition(
        "the lowest 4 cm of the lung in its outermost 3 cm",
        (60, -60, -220), (140, 60, -80),
        _costophrenic,
    ),
    "hemidiaphragm": RegionDefinition(
        "the diaphragm, from the dome down to the foot of the costophrenic angle",
        (-4, -110, -230), (140, 110, -60),
        _hemidiaphragm,
    ),
    "hilar structures": RegionDefinition(
        "pulmonary artery and bronchi 2 to 6 cm beside the midline, around the root of the lung",
        (16, -60, -70), (66, 50, 30),
        lambda p: p.organ_mask("pulmonary artery", "trachea and bronchi")
        & (p.x > 20) & (p.x < 60) & (p.z > -62) & (p.z < 20),
    ),
    "cardiac silhouette": RegionDefinition(
        "the heart on this side of the midline",
        (-4, -80, -170), (115, 100, 30),
        lambda p: p.organ_mask("heart") & (p.x > 0),
    ),
    "cardiophrenic angle": RegionDefinition(
        "the lung within 2 cm of both the heart and the diaphragm, beside the front of the heart",
        (16, -4, -200), (130, 100, -60),
        _cardiophrenic,
    ),
    "clavicle": RegionDefinition(
        "the collar bone",
        (0, -30, 40), (170, 90, 140),
        lambda p: p.organ_mask("clavicles") & (p.x > 0),
    ),
    "upper abdomen": RegionDefinition(
        "liver, stomach and spleen on this side of the midline",
        (-4, -110, -300), (140, 110, -60),
        lambda p: _abdomen(p) & (p.x > 0),
    ),
}  # fmt: skip
"""Regions that exist on the right and on the left, as those of the right side."""

SINGLE_REGIONS: Mapping[str, RegionDefinition] = {
    "mediastinum": RegionDefinition(
        "all between the lungs, from the top of the chest to the foot of the heart",
        *_MIDDLE, _mediastinum,
    ),
    "upper mediastinum": RegionDefinition(
        "the mediastinum above the carina",
        (-80, -80, CARINA_HEIGHT - 4), (80, 90, 125),
        lambda p: _mediastinum(p) & (p.z > CARINA_HEIGHT),
    ),
    "aortic arch": RegionDefinition(
        "the aorta above the carina",
        (-60, -80, CARINA_HEIGHT - 4), (50, 60, 70),
        lambda p: p.organ_mask("aorta") & (p.z > CARINA_HEIGHT),
    ),
    "svc": RegionDefinition(
        "the superior vena cava",
        (0, -10, -70), (50, 40, 80),
        lambda p: p.organ_mask("superior vena cava"),
    ),
    "cardiac silhouette": RegionDefinition(
        "the heart", (-115, -80, -170), (90, 100, 30), lambda p: p.organ_mask("heart")
    ),
    "cavoatrial junction": RegionDefinition(
        "the superior vena cava within 14 mm of the roof of the right atrium",
        (0, -20, -54), (60, 50, -10),
        lambda p: p.organ_mask("superior vena cava") & (np.abs(p.z + 32) < 14),
    ),
    "right atrium": RegionDefinition(
        "the heart to the right of the inner wall of the superior vena cava",
        (10, -60, -140), (90, 80, 0),
        lambda p: p.organ_mask("heart") & (p.x > 14),
    ),
    "trachea": RegionDefinition(
        "the windpipe above the carina",
        (-20, -40, CARINA_HEIGHT - 4), (25, 40, 150),
        lambda p: p.organ_mask("trachea and bronchi") & (p.z > CARINA_HEIGHT) & (p.lobes == 0),
    ),
    "carina": RegionDefinition(
        "the airway within 12 mm of its first parting",
        (-12, -32, CARINA_HEIGHT - 16), (22, 4, CARINA_HEIGHT + 16),
        lambda p: p.organ_mask("trachea and bronchi")
        & ((p.x - 4) ** 2 + (p.y + 14) ** 2 + (p.z - CARINA_HEIGHT) ** 2 < 144),
    ),
    "spine": RegionDefinition(
        "the vertebrae", (-52, -125, -300), (52, -10, 180), lambda p: p.organ_mask("vertebrae")
    ),
    "abdomen": RegionDefinition(
        "liver, stomach and spleen", (-140, -110, -300), (140, 110, -60), _abdomen
    ),
}  # fmt: skip
"""Regions that exist once."""
