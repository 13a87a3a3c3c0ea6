"""Grain: tiles of correlated noise that repeat without a seam.

A tile costs little to make and is laid over a volume of any size; a whole volume of filtered noise
would cost more than everything else together.
"""

from __future__ import annotations

import numpy as np

from overread.phantom.body.canvas import Cut
from overread.phantom.body.shapes import Floats


class NoiseTile:
    """A tile of noise with mean 0 and deviation 1, as a function of place."""

    def __init__(
        self,
        rng: np.random.Generator,
        size: tuple[int, int, int],
        step: tuple[float, float, float],
        *,
        coarse: float,
        fine: float = 0.0,
    ) -> None:
        """`size` and `step` are (z, y, x); structures `coarse` mm wide, or `fine` to `coarse`."""
        self.size = size
        white = rng.standard_normal(size, np.float32)
        spectrum = np.fft.rfftn(white)
        frequency = np.sqrt(
            sum(
                (np.fft.fftfreq(n, d) if axis < 2 else np.fft.rfftfreq(n, d)).reshape(
                    [-1 if axis == a else 1 for a in range(3)]
                )
                ** 2
                for axis, (n, d) in enumerate(zip(size, step, strict=True))
            )
        )
        # A Gaussian of deviation s in space is one of 1 / (2 pi s) in frequency.
        low = np.exp(-2 * (np.pi * frequency * 0.4 * coarse) ** 2)
        gain = (np.exp(-2 * (np.pi * frequency * 0.4 * fine) ** 2) - low) if fine else low
        tile = np.fft.irfftn(spectrum * gain, size, axes=(0, 1, 2)).astype(np.float32)
        tile -= tile.mean()
        tile /= tile.std() + np.float32(1e-9)
        self._tile: Floats = tile

    def sample(self, cut: Cut, shape: tuple[int, int, int]) -> Floats:
        """The noise over a part of a volume of the given shape."""
        z, y, x = (np.arange(*s.indices(n)) % size for s, n, size in zip(cut, shape, self.size, strict=True))
        # Axis by axis: a third of the time that all three at once take.
        return self._tile[z].take(y, axis=1).take(x, axis=2)


def smooth_field(
    rng: np.random.Generator, x: Floats, y: Floats, z: Floats, scale: float, *, waves: int = 24
) -> Floats:
    """A smooth random field of deviation about 1 whose structures are about `scale` mm wide.

    A sum of plane waves: the same at a point whatever the grid that it is asked on.
    """
    directions = rng.standard_normal((waves, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = scale * rng.uniform(1.2, 3.0, waves)
    phases = rng.uniform(0, 2 * np.pi, waves)
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape, z.shape), np.float32)
    for way, length, phase in zip(directions, lengths, phases, strict=True):
        a, b, c = (np.float32(v * 2 * np.pi / length) for v in way)
        # Each factor is one-dimensional: two small products instead of a sine for every voxel.
        arg_x, arg_y, arg_z = (np.exp(np.complex64(1j) * (n * v)) for n, v in ((a, x), (b, y), (c, z)))
        wave = (arg_x * np.complex64(np.exp(1j * phase))) * arg_y * arg_z
        total += wave.real
    scaled: Floats = total * np.float32(np.sqrt(2 / waves))
    return scaled
