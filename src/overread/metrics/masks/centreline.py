"""clDice: do the centrelines of two masks run inside each other? (Shit et al., CVPR 2021)

For what is long and thin (vessels, airways, septa, fissures) a mask may be right in nearly all voxels and
still be broken. The share of the predicted centreline that lies in the true mask and the share of the true
centreline that lies in the predicted mask are combined as precision and recall are in F1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.masks.measure import crop_masks, read_marked_findings
from overread.metrics.masks.thinning import thin
from overread.metrics.sample import Sample


def centreline_dice(truth: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """clDice of two masks on one grid, and the two shares that it is made of.

    Two empty masks agree; where one is empty, nothing does.

    >>> truth, predicted = np.zeros((2, 5, 12, 5), bool)
    >>> truth[1:4, 1:11, 1:4], predicted[1:4, 1:7, 1:4] = True, True
    >>> {name: round(value, 3) for name, value in centreline_dice(truth, predicted).items()}
    {'cldice': 0.769, 'centreline_precision': 1.0, 'centreline_sensitivity': 0.625}
    """
    masks = [np.asarray(mask, dtype=bool) for mask in (truth, predicted)]
    if not all(mask.any() for mask in masks):
        same = float(not any(mask.any() for mask in masks))
        return {"cldice": same, "centreline_precision": same, "centreline_sensitivity": same}
    lines = [thin(mask) for mask in masks]
    precision = float((lines[1] & masks[0]).sum() / lines[1].sum())
    sensitivity = float((lines[0] & masks[1]).sum() / lines[0].sum())
    both = precision + sensitivity
    return {
        "cldice": 2 * precision * sensitivity / both if both else 0.0,
        "centreline_precision": precision,
        "centreline_sensitivity": sensitivity,
    }


@stored_as("masks.centreline.measure_centrelines")
def measure_centrelines(subject: Subject) -> Measured:
    """clDice of each finding, on the box around both masks; 0 where nothing usable was handed in."""
    rows: dict[str, dict[str, Any]] = {}
    for one in read_marked_findings(subject):
        row: dict[str, Any] = {"findings": 1, "cldice": 0.0}
        if one.predicted is not None:
            row |= centreline_dice(*crop_masks(one.truth, one.predicted))
        if one.problem:
            row["problem"] = one.problem
        rows[one.unit] = row
    return rows


CLDICE = Metric(
    name="cldice",
    about="mean over findings of clDice: how far the centrelines of both masks lie in the other",
    better="higher",
    needs=("masks",),
    measure=measure_centrelines,
    combine=partial(Sample.ratio, top="cldice", bottom="findings"),
    best=1.0,
    worst=0.0,
    reference="scikit-image 0.26 skeletonize (Lee), in the formula of Shit et al. 2021",
    settings={
        "small pieces": "keep a voxel, which scikit-image drops",
        "centreline": "thinning of Lee, Kashyap and Chu on voxels, spacing aside",
        "both_empty": 1.0,
        "one_empty": 0.0,
        "missing": 0.0,
    },
    symmetric=True,
)

METRICS = by_name(CLDICE)
