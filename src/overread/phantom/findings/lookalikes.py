"""Harmless look-alikes: vessels and haze that may be mistaken for findings, never mentioned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from overread.phantom.body.tubes import paint_branches
from overread.phantom.findings.scan import Scan


def draw_lookalikes(scan: Scan, rng: np.random.Generator) -> None:
    """As many as the difficulty has on average: bulging vessels, a haze in the dependent lung."""
    many = int(rng.poisson(scan.difficulty.lookalikes))
    for _ in range(many):
        _draw_bulging_vessel(scan, rng)
    _draw_dependent_haze(scan, rng)


def _draw_bulging_vessel(scan: Scan, rng: np.random.Generator) -> None:
    """A vessel that is wide for its place, or runs through the slice: round in one plane only."""
    arteries = scan.body.trees.arteries
    for _ in range(20):
        branch = arteries[int(rng.integers(0, len(arteries)))]
        if 3 <= branch.leaves <= 14:
            wide = branch.radius * float(rng.uniform(1.6, 2.3))
            swollen = replace(branch, radius=wide)
            paint_branches(scan.canvas, scan.body.habitus, [swollen], 30.0)
            return


def _draw_dependent_haze(scan: Scan, rng: np.random.Generator) -> None:
    """The lung at the back is a little collapsed in whoever lies on it; more where it is hard."""
    strength = float(rng.uniform(0, 18)) * scan.difficulty.lookalikes
    if strength < 15:
        return
    grid = scan.canvas.grid
    dependent = grid.box_between((-999, -999, -999), (999, -35, 20))
    for cut in grid.iterate_slabs(dependent) if dependent is not None else ():
        lung = scan.canvas.lobes[cut] > 0
        if not lung.any():
            continue
        _, y, z = scan.coordinates(cut)
        back = np.clip((-y - 35) / 45, 0, 1) * np.clip((20 - z) / 60, 0, 1)
        depth = np.maximum(scan.lung_depth(cut), 0)
        haze = np.float32(strength) * back * np.exp(-depth / np.float32(9))
        view = scan.canvas.hu[cut]
        view += np.where(lung & (view < -500), haze, 0).astype(np.float32)
