"""Micronodules: many tiny round things near each other."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.ct.detectors.search import DetectorResult, Search
from overread.readers.atlas.ct.morphology import blur, label_parts

SPECK = 130.0
"""HU by which a speck is denser than healthy lung, as far as a voxel holds it."""


def mark_micronodules(search: Search) -> DetectorResult:
    """Specks that are joined to no vessel, where they lie much closer together than elsewhere."""
    chest, wanted = search.chest, search.target
    branching = "tree-in-bud" in wanted.kinds or wanted.observation == "tree-in-bud"
    dense = chest.air & (search.depth > 3) & (chest.hu > chest.normal_hu + SPECK)
    labels, sizes = label_parts(dense, touching=2)
    volume = sizes * chest.voxel_ml
    peak = np.full(len(sizes), -2000.0)
    np.maximum.at(peak, labels[dense], chest.hu[dense])
    small = (volume > 0) & (volume <= (0.6 if branching else 0.13)) & (peak > chest.normal_hu + 170)
    small[0] = False
    specks = small[labels]
    crowd = blur(specks, 9.0, chest.mm) / np.maximum(blur(chest.air, 9.0, chest.mm), 0.1)
    usual = float(np.median(crowd[chest.air]))
    inside = crowd[search.focus & chest.air]
    if not inside.size or not specks[search.place].any():
        return search.empty_result(f"No specks are seen in {search.place_name}.")
    level = max(2.0 * usual, 0.4 * float(np.percentile(inside, 99)))
    region = (crowd > level) & search.place
    here = np.bincount(labels[region], minlength=len(sizes))
    keep = small & (here >= 0.5 * np.maximum(sizes, 1))
    mask = keep[labels]
    told = (
        f"Specks of up to {600 if branching else 130} mm³ that are joined to no vessel fill "
        f"{usual:.2%} of the lung, and more than {level:.2%} of parts of {search.place_name}."
    )
    why = f"The {int(keep.sum())} specks of those parts are marked: {chest.volume(mask):.2f} ml."
    return DetectorResult(mask, [told], why)
