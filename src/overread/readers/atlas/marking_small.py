"""Micronodules: many tiny round things near each other."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.anatomy import blurred
from overread.readers.atlas.marking import Marked, Search
from overread.readers.atlas.textures import labelled

SPECK = 130.0
"""HU by which a speck is denser than healthy lung, as far as a voxel holds it."""


def mark_micronodules(search: Search) -> Marked:
    """Specks that are joined to no vessel, where they lie much closer together than elsewhere."""
    chest, wanted = search.chest, search.wanted
    branching = "tree-in-bud" in wanted.kinds or wanted.observation == "tree-in-bud"
    dense = chest.air & (search.depth > 3) & (chest.hu > chest.normal + SPECK)
    labels, sizes = labelled(dense, touching=2)
    volume = sizes * chest.voxel_ml
    peak = np.full(len(sizes), -2000.0)
    np.maximum.at(peak, labels[dense], chest.hu[dense])
    small = (volume > 0) & (volume <= (0.6 if branching else 0.13)) & (peak > chest.normal + 170)
    small[0] = False
    specks = small[labels]
    crowd = blurred(specks, 9.0, chest.mm) / np.maximum(blurred(chest.air, 9.0, chest.mm), 0.1)
    usual = float(np.median(crowd[chest.air]))
    inside = crowd[search.core & chest.air]
    if not inside.size or not specks[search.place].any():
        return search.nothing(f"No specks are seen in {search.where}.")
    level = max(2.0 * usual, 0.4 * float(np.percentile(inside, 99)))
    region = (crowd > level) & search.place
    here = np.bincount(labels[region], minlength=len(sizes))
    keep = small & (here >= 0.5 * np.maximum(sizes, 1))
    mask = keep[labels]
    told = (
        f"Specks of up to {600 if branching else 130} mm³ that are joined to no vessel fill "
        f"{usual:.2%} of the lung, and more than {level:.2%} of parts of {search.where}."
    )
    why = f"The {int(keep.sum())} specks of those parts are marked: {chest.volume(mask):.2f} ml."
    return Marked(mask, [told], why)
