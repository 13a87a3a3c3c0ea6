"""Who the patient is: sex, size, habitus, breath, posture, and what differs beyond the lung.

All anatomy is written down once, for one body of average size, in *template* millimetres: x to
the patient's right, y to the front, z to the head, with the carina at z = 0. A habitus says how
that template becomes a particular patient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.shapes import Floats


@dataclass(frozen=True)
class Habitus:
    """One patient's build; every length in millimetres."""

    sex: Literal["female", "male"]
    age: int
    wide: float
    """Scale of the template from side to side."""
    deep: float
    """Scale from back to front."""
    tall: float
    """Scale from feet to head."""
    fat: float
    """Thickness of the fat under the skin."""
    muscle: float
    """Scale of muscles' thickness."""
    breath: float
    """How far the diaphragm stands below a mean breath; negative where it stands higher."""
    turn: float
    """Rotation about the long axis, radians."""
    sway: float
    """How far the spine bends to a side."""
    lung: float
    """HU of the lung in the middle of its height."""
    slope: float
    """HU by which the lung is denser for each millimetre to the back."""
    fat_hu: float = -104.0
    """HU of fat under the skin."""
    muscle_hu: float = 50.0
    """HU of muscle."""
    bone: float = 1.0
    """Scale of the density of bone, which falls with age."""
    heart: float = 1.0
    """Scale of the heart."""
    aorta: float = 1.0
    """Scale of the aorta's width."""
    liver: float = 58.0
    """HU of the liver."""

    def to_template(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Points of this patient, in RAS+ millimetres, as points of the template."""
        cos, sin = np.float32(np.cos(self.turn)), np.float32(np.sin(self.turn))
        return (
            (x * cos + y * sin) / np.float32(self.wide),
            (y * cos - x * sin) / np.float32(self.deep),
            z / np.float32(self.tall),
        )

    def to_patient(self, points: Floats) -> NDArray[np.float64]:
        """Points of the template, (…, 3), as points of this patient."""
        scaled = np.asarray(points, np.float64) * (self.wide, self.deep, self.tall)
        cos, sin = np.cos(self.turn), np.sin(self.turn)
        x, y = scaled[..., 0], scaled[..., 1]
        return np.stack([x * cos - y * sin, x * sin + y * cos, scaled[..., 2]], axis=-1)


def draw_habitus(rng: np.random.Generator) -> Habitus:
    """A patient of the kind that comes to a chest CT."""
    female = rng.random() < 0.45
    age = int(np.clip(rng.normal(58, 15), 20, 90))
    size = float(np.clip(rng.normal(0.91 if female else 0.985, 0.035), 0.83, 1.06))
    weight = float(np.clip(rng.gamma(4.0, 3.4), 5.0, 34.0))
    deep = size * float(rng.normal(1.0, 0.035)) * (1 + 0.0012 * (age - 58))
    return Habitus(
        sex="female" if female else "male",
        age=age,
        wide=size * float(rng.normal(1.0, 0.02)),
        deep=deep,
        tall=float(np.clip(size * rng.normal(1.0, 0.03), 0.83, 1.05)),
        fat=weight * (1.15 if female else 0.95),
        muscle=float(rng.normal(0.85 if female else 1.05, 0.1)) * (1.1 if age < 60 else 0.9),
        breath=float(np.clip(rng.normal(0, 7), -15, 12)),
        turn=float(np.clip(rng.normal(0, 0.03), -0.07, 0.07)),
        sway=float(rng.normal(0, 4)),
        lung=float(np.clip(rng.normal(-855, 26) - 0.3 * (age - 58), -925, -800)),
        slope=float(rng.uniform(0.12, 0.42)),
        fat_hu=float(np.clip(rng.normal(-104, 5), -116, -92)),
        muscle_hu=float(np.clip(rng.normal(50, 5), 36, 62)) - 0.1 * (age - 58),
        bone=float(np.clip(rng.normal(0.92, 0.1) - 0.004 * (age - 58), 0.6, 1.2)),
        heart=float(rng.normal(0.94, 0.035)),
        aorta=float(np.clip(rng.normal(1.0, 0.05) + 0.003 * (age - 58), 0.85, 1.15)),
        liver=float(rng.normal(57, 5)),
    )
