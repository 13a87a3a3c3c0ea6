"""The metrics of surfaces, volumes and centres: means over findings of `surface_statistics`.

None of them is a number of the ReXGroundingCT board. They are honest ones: a finding for which
nothing usable was handed in has the worst value, which for a distance is the diagonal of the scan.
A scan without a CT has no millimetres, so its findings are left out here; their statistics say so
(`no_spacing`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from overread.metrics.contract import Measured, Metric, Subject, by_name
from overread.metrics.masks.measure import measure_masks
from overread.metrics.masks.surface.statistics import TOLERANCES, nsd_name
from overread.metrics.sample import Numbers, Sample

AssdVariant = Literal["pooled", "mean_of_means", "surfels"]

VARIANTS: dict[AssdVariant, str] = {
    "pooled": "over the surface voxels of both masks at once",
    "mean_of_means": "the mean of the two directed means over surface voxels",
    "surfels": "the mean of the two directed means over surface area",
}
"""The first is that of medpy, MONAI and MetricsReloaded, the second that of panoptica (MASD in
MetricsReloaded), the third takes the two numbers of surface-distance."""

HD95_VARIANTS = {
    "monai": ("the larger of the two directed ones", "MONAI 1.6 compute_hausdorff_distance"),
    "medpy": ("of both directions at once", "medpy 0.5 hd95"),
}
"""Whose rule → how the two directions become one number, and what it is held to."""

_OUTSIDE = {"outside_the_scan": "background"}
_ELEMENTS = {"surface": "elements on grid points, by area", **_OUTSIDE}
_VOXELS = {"surface": "voxels with one of six neighbours outside", **_OUTSIDE}
_DISTANCE: dict[str, Any] = {
    "both_empty": 0.0,
    "one_empty": "diagonal of the scan",
    "missing": "diagonal of the scan",
}
_SHARE: dict[str, Any] = {"both_empty": 1.0, "one_empty": 0.0, "missing": 0.0}
_MEAN = "mean over findings"
_ASSD_REFERENCE: dict[AssdVariant, str] = {
    "pooled": "brute force (scipy cdist)",
    "mean_of_means": "brute force (scipy cdist)",
    "surfels": "surface-distance 0.1",
}


def surface_metrics(measure: Callable[[Subject], Measured]) -> tuple[Metric, ...]:
    """The surface metrics on a measure whose rows hold `surface_statistics`."""

    def metric(name: str, key: str, **rest: Any) -> Metric:
        return Metric(
            name=name, needs=("masks",), measure=measure, combine=partial(mean_over_findings, key), **rest
        )

    return (
        *(
            metric(
                nsd_name(tolerance),
                nsd_name(tolerance),
                about=f"{_MEAN} of the share of both surfaces within {tolerance:g} mm of the other",
                better="higher",
                best=1.0,
                worst=0.0,
                reference="surface-distance 0.1",
                settings={"tolerance_mm": tolerance, **_ELEMENTS, **_SHARE},
                symmetric=True,
            )
            for tolerance in TOLERANCES
        ),
        metric(
            "hd95",
            "hd95",
            about=f"{_MEAN} of the distance in mm that 95 % of either surface keeps to the other",
            better="lower",
            best=0.0,
            worst=float("nan"),
            reference="surface-distance 0.1",
            settings={"share": 0.95, "of_two": "larger", **_ELEMENTS, **_DISTANCE},
            symmetric=True,
        ),
        *(
            metric(
                f"hd95_{peer}",
                f"hd95_{peer}",
                about=f"{_MEAN} of the 95th percentile of distances in mm between surface voxels: {told}",
                better="lower",
                best=0.0,
                worst=float("nan"),
                reference=reference,
                settings={"variant": peer, "percentile": 95, **_VOXELS, **_DISTANCE},
                symmetric=True,
            )
            for peer, (told, reference) in HD95_VARIANTS.items()
        ),
        *(
            metric(
                f"assd_{variant}",
                f"assd_{variant}",
                about=f"{_MEAN} of the mean distance in mm between surfaces: {told}",
                better="lower",
                best=0.0,
                worst=float("nan"),
                reference=_ASSD_REFERENCE[variant],
                settings={"variant": variant, **_OUTSIDE, **_DISTANCE},
                symmetric=True,
            )
            for variant, told in VARIANTS.items()
        ),
        metric(
            "volume_error",
            "volume_error",
            about=f"{_MEAN} of the difference of volumes, as a share of the true volume",
            better="lower",
            best=0.0,
            worst=1.0,
            reference="SimpleITK 2.5 LabelShapeStatistics",
            settings={
                "relative_to": "truth",
                "sign": "dropped",
                "both_empty": 0.0,
                "one_empty": 1.0,
                "missing": 1.0,
            },
        ),
        metric(
            "centroid_error",
            "centroid_error",
            about=f"{_MEAN} of the distance in mm between the centres of mass of the two masks",
            better="lower",
            best=0.0,
            worst=float("nan"),
            reference="SimpleITK 2.5 LabelShapeStatistics",
            settings={"centre": "of mass", **_DISTANCE},
            symmetric=True,
        ),
    )


def mean_over_findings(name: str, sample: Sample) -> Numbers:
    """The mean of one statistic over the findings that have surfaces measured.

    >>> rows = [{"hd95": 2.0, "surface_count": 1}, {"hd95": 4.0, "surface_count": 1}, {}]
    >>> mean_over_findings("hd95", Sample(rows)).tolist()
    [3.0]
    """
    return sample.ratio(name, "surface_count")


METRICS = by_name(*surface_metrics(partial(measure_masks, surfaces=True)))
"""All of them, by name. Their measure is their own, since surfaces take many times as long as the
official numbers."""
