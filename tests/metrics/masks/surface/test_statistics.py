"""Surfaces, volumes and centres of masks, held to surface-distance, SimpleITK and brute force."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813
from scipy import ndimage
from scipy.spatial.distance import cdist

from overread.errors import UsageError
from overread.metrics.masks.surface import statistics
from overread.metrics.masks.surface.areas import CORNERS, surface_areas
from overread.metrics.masks.surface.statistics import surface_statistics, worst_statistics
from tests.metrics.masks.surface.lesion_masks import EDGES, SPACINGS, TOLERANCES, Array, Spacing, blobs, drawn

# ---- independent implementations -----------------------------------------------------------


def by_surface_distance(truth: Array, predicted: Array, spacing: Spacing) -> dict[str, float]:
    """The numbers of the package surface-distance."""
    with warnings.catch_warnings():
        # It asks scipy for names that scipy no longer likes.
        warnings.simplefilter("ignore")
        import surface_distance as peer

        found = peer.compute_surface_distances(truth, predicted, spacing)
    there, back = peer.compute_average_surface_distance(found)
    numbers = {f"nsd_{t:g}mm": peer.compute_surface_dice_at_tolerance(found, t) for t in TOLERANCES}
    return numbers | {
        "hd95": peer.compute_robust_hausdorff(found, 95),
        # Its Hausdorff at 100 % stops short where the areas add up to a little over their sum.
        "hd": max(found["distances_gt_to_pred"].max(), found["distances_pred_to_gt"].max()),
        "asd_truth_to_predicted": there,
        "asd_predicted_to_truth": back,
        "assd_surfels": (there + back) / 2,
    }


def border(mask: Array) -> Array:
    """Voxels that an erosion by six neighbours takes away; outside the array is background."""
    edge: Array = mask & ~ndimage.binary_erosion(mask)
    return edge


def by_brute_force(truth: Array, predicted: Array, spacing: Spacing) -> dict[str, float]:
    """The numbers between surface voxels, from all pairs of them."""
    pairs = cdist(*(np.argwhere(border(mask)) * spacing for mask in (truth, predicted)))
    there, back = pairs.min(axis=1), pairs.min(axis=0)
    return {
        "assd_pooled": float(np.concatenate((there, back)).mean()),
        "assd_mean_of_means": float((there.mean() + back.mean()) / 2),
        "hd_voxels": float(max(there.max(), back.max())),
    }


def image(mask: Array, spacing: Spacing) -> sitk.Image:
    """The mask with a rim of background, as SimpleITK has it (axes the other way round)."""
    made = sitk.GetImageFromArray(np.pad(mask, 1).astype(np.uint8).transpose(2, 1, 0))
    made.SetSpacing(spacing)
    return made


# ---- surface-distance ----------------------------------------------------------------------


@pytest.mark.parametrize("spacing", SPACINGS)
def test_areas_are_those_of_surface_distance(spacing: Spacing) -> None:
    """Areas of all 256 neighbourhoods, from geometry, equal the table of the package."""
    from surface_distance import lookup_tables

    theirs = lookup_tables.create_table_neighbour_code_to_surface_area(spacing)
    kernel = lookup_tables.ENCODE_NEIGHBOURHOOD_3D_KERNEL
    ours = surface_areas(spacing)
    for code in range(256):
        their_code = sum(int(kernel[c]) for bit, c in enumerate(CORNERS) if code >> bit & 1)
        assert ours[code] == pytest.approx(theirs[their_code], rel=1e-12)
    # The corners may be counted from either end, which the search for surfaces relies on.
    backwards = [int(f"{code:08b}"[::-1], 2) for code in range(256)]
    assert ours[backwards] == pytest.approx(ours, rel=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_random_lesions_equal_surface_distance(seed: int) -> None:
    """NSD, HD95, HD and mean distances by area equal the package on random lesions and spacings."""
    masks, spacing = blobs(seed)
    ours = surface_statistics(*masks, spacing, tolerances=TOLERANCES)
    for name, value in by_surface_distance(*masks, spacing).items():
        assert ours[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("name", EDGES)
def test_edge_shapes_equal_surface_distance(name: str, spacing: Spacing) -> None:
    """One voxel, full blocks, sheets, lines and shells equal the package too."""
    ours = surface_statistics(*EDGES[name], spacing, tolerances=TOLERANCES)
    for key, value in by_surface_distance(*EDGES[name], spacing).items():
        assert ours[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key


def test_a_distance_that_is_the_tolerance_is_within_it() -> None:
    """Three voxels of 0.1 mm are 0.3 mm, although their product is a little more.

    The package compares the rounded product and counts such an element as outside.
    """
    truth, predicted = drawn((1, 4, 4)), drawn((4, 4, 4))
    spacing = (0.1, 0.1, 0.1)
    assert surface_statistics(truth, predicted, spacing, tolerances=[0.3])["nsd_0.3mm"] == 1.0
    assert by_surface_distance(truth, predicted, spacing)["nsd_0.3mm"] < 1.0


def test_known_answers_for_two_slabs() -> None:
    """The published answers for slabs of 50 and 51 planes, which are those of surface-distance."""
    truth, predicted = np.zeros((2, 100, 100, 100), bool)
    truth[:50], predicted[:51] = True, True
    found = surface_statistics(truth, predicted, (2.0, 1.0, 1.0))
    assert found["asd_truth_to_predicted"] == pytest.approx(0.322, abs=5e-4)
    assert found["asd_predicted_to_truth"] == pytest.approx(0.339, abs=5e-4)
    assert found["nsd_1mm"] == pytest.approx(0.836, abs=5e-4)
    assert found["hd95"] == 2.0
    assert found["hd"] == 2.0
    assert found["nsd_2mm"] == 1.0
    assert found["volume_error"] == pytest.approx(0.02)
    assert found["volume_bias_ml"] == pytest.approx(20.0)
    assert found["centroid_error"] == pytest.approx(1.0)


# ---- surface voxels, volumes, centres --------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_random_lesions_equal_brute_force(seed: int) -> None:
    """The distances between surface voxels equal those from all pairs of them."""
    masks, spacing = blobs(seed)
    ours = surface_statistics(*masks, spacing)
    for name, value in by_brute_force(*masks, spacing).items():
        assert ours[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("name", EDGES)
def test_edge_shapes_equal_brute_force(name: str) -> None:
    """So they do for one voxel, full blocks, sheets, lines and shells."""
    ours = surface_statistics(*EDGES[name], (0.7, 0.7, 3.0))
    for key, value in by_brute_force(*EDGES[name], (0.7, 0.7, 3.0)).items():
        assert ours[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_surface_voxels_equal_simpleitk(seed: int) -> None:
    """HD and pooled ASSD equal SimpleITK's contours, Hausdorff filter and distance maps."""
    masks, spacing = blobs(seed)
    ours = surface_statistics(*masks, spacing)
    contours = [sitk.LabelContour(image(mask, spacing), fullyConnected=False) for mask in masks]
    hausdorff = sitk.HausdorffDistanceImageFilter()
    hausdorff.Execute(*contours)
    assert ours["hd_voxels"] == pytest.approx(hausdorff.GetHausdorffDistance(), rel=1e-5)
    # Its average is the larger of the two directed means, so the mean of means cannot be above.
    assert ours["assd_mean_of_means"] <= hausdorff.GetAverageHausdorffDistance() * (1 + 1e-5)
    edges = [sitk.GetArrayFromImage(contour).astype(bool) for contour in contours]
    maps = [
        np.abs(sitk.GetArrayFromImage(_distance_map(contour)))[edge]
        for contour, edge in zip(contours, reversed(edges), strict=True)
    ]
    assert ours["assd_pooled"] == pytest.approx(np.concatenate(maps).mean(), rel=1e-5)


def _distance_map(contour: sitk.Image) -> sitk.Image:
    return sitk.SignedMaurerDistanceMap(contour, squaredDistance=False, useImageSpacing=True)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_volumes_and_centres_equal_simpleitk(seed: int) -> None:
    """Volumes, their difference and the distance of centres equal SimpleITK's."""
    masks, spacing = blobs(seed)
    ours = surface_statistics(*masks, spacing)
    images = [image(mask, spacing) for mask in masks]
    sizes, centres = [], []
    for one in images:
        shape = sitk.LabelShapeStatisticsImageFilter()
        shape.Execute(one)
        sizes.append(shape.GetPhysicalSize(1) / 1000)
        centres.append(np.array(shape.GetCentroid(1)))
    assert ours["volume_truth_ml"] == pytest.approx(sizes[0])
    assert ours["volume_predicted_ml"] == pytest.approx(sizes[1])
    assert ours["volume_bias_ml"] == pytest.approx(sizes[1] - sizes[0], abs=1e-9)
    assert ours["volume_error_ml"] == abs(ours["volume_bias_ml"])
    assert ours["centroid_error"] == pytest.approx(np.linalg.norm(centres[0] - centres[1]))
    overlap = sitk.LabelOverlapMeasuresImageFilter()
    overlap.Execute(*images)
    # Its similarity is the difference by the mean of the volumes; the first image is its source.
    bias = ours["volume_bias"]
    assert -2 * bias / (2 + bias) == pytest.approx(overlap.GetVolumeSimilarity(), abs=1e-9)
    assert ours["volume_error"] == abs(bias)


# ---- empty masks, bad arguments --------------------------------------------------------------


def test_two_empty_masks_agree() -> None:
    """Declared, where surface-distance gives NaN: distances 0, NSD 1, volume error 0."""
    empty = np.zeros((4, 5, 6), bool)
    found = surface_statistics(empty, empty, (1.0, 1.0, 2.0), diagonal=300.0)
    assert {name: value for name, value in found.items() if value} == {
        "surface_count": 1,
        "nsd_1mm": 1.0,
        "nsd_2mm": 1.0,
        "nsd_5mm": 1.0,
    }
    assert set(found) == set(surface_statistics(~empty, ~empty, (1.0, 1.0, 2.0)))


@pytest.mark.parametrize("empty", ["truth", "predicted"])
def test_one_empty_mask_is_worst(empty: str) -> None:
    """Every distance is the diagonal, NSD is 0 and the volume error 1, whichever is empty."""
    some, none = drawn((slice(2, 4), 1, 1)), drawn()
    masks = (none, some) if empty == "truth" else (some, none)
    found = surface_statistics(*masks, (1.0, 1.0, 2.0), diagonal=300.0)
    assert {found[name] for name in statistics.DISTANCES} == {300.0}
    assert found["nsd_5mm"] == 0.0
    assert found["volume_error"] == 1.0
    assert found["volume_bias"] == (1.0 if empty == "truth" else -1.0)
    assert found["volume_error_ml"] == pytest.approx(0.004)
    own = surface_statistics(*masks, (1.0, 1.0, 2.0))
    assert own["hd95"] == pytest.approx((9**2 + 8**2 + 14**2) ** 0.5)


def test_a_missing_prediction_is_an_empty_one() -> None:
    """What is written for a missing prediction is what an empty one gets."""
    some, none = drawn((slice(2, 4), 1, 1)), drawn()
    handed_in = surface_statistics(some, none, (1.0, 1.0, 2.0), diagonal=300.0)
    assert worst_statistics(300.0, truth_ml=0.004) == handed_in
    assert list(worst_statistics(300.0, truth_ml=0.004)) == [
        name for name in handed_in if name in worst_statistics(300.0)
    ]


def test_a_missing_prediction_is_worst_even_of_nothing() -> None:
    """Nothing handed in is worst where the truth is empty too, unlike an empty mask handed in."""
    worst = worst_statistics(300.0)
    assert (worst["volume_error"], worst["nsd_1mm"], worst["hd95"]) == (1.0, 0.0, 300.0)


def test_statistics_are_plain_and_finite() -> None:
    """Statistics can be stored: floats and one int, no NaN and no numpy numbers."""
    masks, spacing = blobs(3)
    for found in (surface_statistics(*masks, np.array(spacing).tolist()), worst_statistics(9.0)):
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert {type(value) for value in found.values()} == {int, float}


@pytest.mark.parametrize(
    ("truth", "predicted", "spacing", "tolerances"),
    [
        (drawn(), drawn(shape=(9, 8, 6)), (1, 1, 1), (1,)),
        (drawn()[0], drawn()[0], (1, 1), (1,)),
        (drawn(), drawn(), (1, 1), (1,)),
        (drawn(), drawn(), (1, 1, 0), (1,)),
        (drawn(), drawn(), (1, 1, float("nan")), (1,)),
        (drawn(), drawn(), (1, 1, 1), (-1,)),
    ],
)
def test_what_does_not_fit_is_refused(truth: Array, predicted: Array, spacing: Any, tolerances: Any) -> None:
    """Other shapes, other dimensions, a spacing or tolerance that is no length: one sentence."""
    with pytest.raises(UsageError, match="give"):
        surface_statistics(truth, predicted, spacing, tolerances=tolerances)
