"""From a clean drawing to a scan: the noise of a reconstruction, then whole HU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.canvas import Canvas
from overread.phantom.body.habitus import Habitus
from overread.phantom.body.noise import NoiseTile

MIN_HU, MAX_HU = -1024, 3071


def add_noise(
    canvas: Canvas, habitus: Habitus, deviation: float, seed: np.random.SeedSequence
) -> NDArray[np.int16]:
    """The canvas with noise that is strongest where most of the body lies in the beam's way."""
    grid = canvas.grid
    rng = np.random.default_rng(seed)
    steps = (grid.step[2], grid.step[1], grid.step[0])
    fine = grid.step[0] < 1.5
    size = (61, 250, 250) if fine else (53, 120, 120)
    # A sharp kernel leaves little of the slowest waves: noise on CT is grainy, not cloudy.
    grain = NoiseTile(rng, size, steps, coarse=5.0 * grid.step[0], fine=1.1 * grid.step[0])
    streaks = NoiseTile(rng, (size[0], size[1], 16), (steps[0], steps[1], 40.0), coarse=4 * steps[1])
    out = np.empty(grid.shape, np.int16)
    large = deviation * (0.75 + 0.012 * habitus.fat)
    for cut in grid.iterate_slabs():
        x, y, z = grid.coordinates(cut)
        middle = np.maximum(0, 1 - (x / 165) ** 2 - (y / 115) ** 2)
        level = np.float32(large) * (0.55 + 0.65 * middle)
        # The shoulders swallow most of the beam along the long way through them.
        shoulders = np.clip((z - 62 * habitus.tall) / 30, 0, 1)
        hu = canvas.hu[cut] + level * (1 + 0.5 * shoulders) * grain.sample(cut, grid.shape)
        wide = (slice(*cut[0].indices(grid.shape[0])), cut[1], slice(0, 1))
        hu += shoulders * np.float32(0.6 * large) * streaks.sample(wide, grid.shape)
        out[cut] = np.rint(np.clip(hu, MIN_HU, MAX_HU)).astype(np.int16)
    return out
