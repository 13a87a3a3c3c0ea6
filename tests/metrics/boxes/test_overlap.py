"""Overlap and pairing of boxes against pycocotools, counted squares and brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pycocotools import mask as coco_mask

from overread.core import Box
from overread.errors import UsageError
from overread.metrics.boxes.matching import best_pairs, greedy_pairs, is_rewarded, mean_overlap
from overread.metrics.boxes.overlap import centres, contains_points, corners, giou, has_area, iou
from overread.metrics.boxes.region_names import canonical_place, expand_regions, find_regions
from overread.ontology import xray_regions

EDGES = st.integers(-4, 8)
ROWS = st.lists(st.tuples(EDGES, EDGES, EDGES, EDGES), max_size=6)


def proper(rng: np.random.Generator, count: int, *, side: float = 100) -> NDArray[np.float64]:
    low = rng.uniform(0, side, (count, 2))
    return np.hstack([low, low + rng.uniform(0.5, side, (count, 2))])


def coco(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Left, top, width, height."""
    return np.hstack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]])


def pixels(box: tuple[int, ...]) -> set[tuple[int, int]]:
    """The unit squares that a box with whole edges is made of."""
    x1, y1, x2, y2 = box
    return {(x, y) for x in range(x1, x2) for y in range(y1, y2)}


@pytest.mark.parametrize("seed", range(5))
def test_iou_is_that_of_pycocotools(seed: int) -> None:
    """Random boxes have the IoUs that pycocotools gives, to 12 digits."""
    rng = np.random.default_rng(seed)
    a, b = proper(rng, 40), proper(rng, 30)
    theirs = coco_mask.iou(coco(a), coco(b), [0] * len(b))
    assert iou(a, b) == pytest.approx(theirs, abs=1e-12)
    assert 0 < theirs.max() < 1


@given(ROWS, ROWS)
def test_iou_counts_squares_whatever_the_corners(a: list[tuple[int, ...]], b: list[tuple[int, ...]]) -> None:
    """Boxes with whole edges, also lines, points and inverted ones: shared squares over all."""
    table = iou(np.array(a).reshape(-1, 4), np.array(b).reshape(-1, 4))
    assert table.shape == (len(a), len(b))
    for i, one in enumerate(a):
        for j, two in enumerate(b):
            both, either = pixels(one) & pixels(two), pixels(one) | pixels(two)
            assert table[i, j] == pytest.approx(len(both) / len(either) if both else 0.0)


def test_boxes_without_area_overlap_nothing_as_in_pycocotools() -> None:
    """Lines, points, inverted and touching boxes have IoU 0, even with themselves."""
    odd = np.array([[5, 5, 5, 9], [5, 5, 5, 5], [9, 9, 1, 1], [10, 0, 20, 10]], np.float64)
    real = np.array([[0, 0, 10, 10]], np.float64)
    assert (iou(odd, real) == 0).all()
    assert (coco_mask.iou(coco(odd), coco(real), [0]) == 0).all()
    assert iou(odd[:3], odd[:3]).max() == 0
    assert has_area(odd).tolist() == [False, False, False, True]
    assert not contains_points(odd[:3], [[5, 5]]).any()


def test_empty_and_absurd_boxes_are_defined() -> None:
    """No boxes give an empty table, endless ones overlap themselves, three numbers are an error."""
    assert iou([], [[0, 0, 1, 1]]).shape == (0, 1)
    assert iou([[-1e300, -1e300, 1e300, 1e300]], [[-1e300, -1e300, 1e300, 1e300]])[0, 0] == 1
    with pytest.raises(UsageError, match="left, top, right, bottom"):
        iou([[0, 0, 1]], [[0, 0, 1, 1]])


@pytest.mark.parametrize("seed", range(3))
def test_giou_is_its_definition_box_by_box(seed: int) -> None:
    """Generalised IoU equals the formula written out for single pairs; -1 without area."""
    rng = np.random.default_rng(seed)
    a, b = proper(rng, 8), proper(rng, 8)
    table = giou(a, b)
    for i, (p, q, r, s) in enumerate(a):
        for j, (t, u, v, w) in enumerate(b):
            shared = max(0.0, min(r, v) - max(p, t)) * max(0.0, min(s, w) - max(q, u))
            union = (r - p) * (s - q) + (v - t) * (w - u) - shared
            hull = (max(r, v) - min(p, t)) * (max(s, w) - min(q, u))
            assert table[i, j] == pytest.approx(shared / union - (hull - union) / hull)
    assert giou([[3, 3, 1, 1]], b).max() == -1


@pytest.mark.parametrize("seed", range(3))
def test_overlap_does_not_mind_flips_or_scale(seed: int) -> None:
    """Mirrored and enlarged pictures give the same IoU."""
    rng = np.random.default_rng(seed)
    a, b = proper(rng, 6), proper(rng, 6)
    mirrored = [np.stack([300 - x[:, 2], x[:, 1], 300 - x[:, 0], x[:, 3]], axis=1) for x in (a, b)]
    assert iou(*mirrored) == pytest.approx(iou(a, b))
    assert iou(a * 7, b * 7) == pytest.approx(iou(a, b))


def test_points_on_the_edge_are_inside() -> None:
    """Edges belong to a box, a margin widens it, and a centre is the mean of the corners."""
    box = corners([Box(picture="xray", x1=0, y1=0, x2=4, y2=2)])
    assert centres(box).tolist() == [[2, 1]]
    points = [[4.0, 2.0], [4.5, 1.0], [0.0, 0.0], [2.0, 2.1]]
    assert contains_points(box, points).tolist() == [[True, False, True, False]]
    assert contains_points(box, points, margin=0.5).all()


TABLES = st.integers(0, 4).flatmap(
    lambda n: st.integers(0, 4).flatmap(
        lambda m: st.lists(
            st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 1.0]), min_size=m, max_size=m),
            min_size=n,
            max_size=n,
        ).map(lambda rows: np.array(rows, np.float64).reshape(n, m))
    )
)


def tried_out(table: NDArray[np.float64]) -> float:
    """The largest sum of any pairing, by trying all."""
    if table.shape[0] > table.shape[1]:
        table = table.T
    rows = range(table.shape[0])
    ways = permutations(range(table.shape[1]), table.shape[0])
    return max((sum(table[r, c] for r, c in zip(rows, way, strict=True)) for way in ways), default=0)


@given(TABLES)
def test_best_pairs_add_up_to_most(table: NDArray[np.float64]) -> None:
    """The optimal pairing reaches the best of all pairings, uses each box once, and no zeros."""
    pairs = best_pairs(table)
    assert sum(table[pair] for pair in pairs) == pytest.approx(tried_out(table))
    assert len({r for r, _ in pairs}) == len({c for _, c in pairs}) == len(pairs)
    assert all(table[pair] > 0 for pair in pairs)
    most = max(table.shape)
    assert mean_overlap(table) == pytest.approx(tried_out(table) / most if most else 1.0)


@given(TABLES)
def test_greedy_pairs_take_the_best_that_is_left(table: NDArray[np.float64]) -> None:
    """The greedy pairing is that of a plain loop over what is left."""
    left = table.copy()
    expected = []
    while left.size and left.max() > 0:
        row, column = divmod(int(left.argmax()), left.shape[1])
        expected.append((row, column))
        left[row, :] = left[:, column] = 0
    assert greedy_pairs(table) == sorted(expected)


@given(TABLES)
def test_reward_needs_the_number_and_the_overlap(table: NDArray[np.float64]) -> None:
    """Rewarded only with as many boxes as asked, and a mean of the best pairing above .75."""
    rows, columns = table.shape
    expected = rows == columns and rows > 0 and tried_out(table) / rows > 0.75
    assert is_rewarded(table) == expected


def test_reward_is_strict_at_its_bar() -> None:
    """A mean of .75 is not above .75; another bar can be set."""
    assert not is_rewarded([[0.75]])
    assert is_rewarded([[0.75]], above=0.5)
    assert is_rewarded([[1.0, 0.0], [0.0, 0.52]])
    for one_more in (np.eye(5, 4), np.eye(4, 5)):
        assert mean_overlap(one_more) == 0.8
        assert not is_rewarded(one_more)


@pytest.mark.parametrize(
    ("label", "place"),
    [
        ("Lung Region", "lung region"),
        ("the lungs", "lung region"),
        ("bilateral lungs", "lung region"),
        ("heart", "cardiac silhouette"),
        ("heart region", "heart and the mediastinal region"),
        ("left hilum", "left hilar structures"),
        ("hila", "bilateral hilar structures"),
        ("right hilum and left hilum", "bilateral hilar structures"),
        ("spine, left clavicle", "left clavicle + spine"),
        ("left clavicle; spine", "left clavicle + spine"),
        ("The left kidney!", "left kidney"),
        ("spine and gizzard", "spine and gizzard"),
        ("  ", ""),
        (None, ""),
    ],
)
def test_labels_come_to_one_wording(label: str | None, place: str) -> None:
    """Aliases, sides, pairs and lists are brought to the wording of the regions."""
    assert canonical_place(label) == place


def test_every_region_keeps_its_name() -> None:
    """All 35 names and all major regions are their own wording, and hold themselves."""
    known = xray_regions()
    for name in (*known.names, *(group.name for group in known.groups)):
        assert canonical_place(name) == name
        assert set(find_regions(name)) <= expand_regions(find_regions(name))


def test_what_lies_within_a_region_is_a_region() -> None:
    """Nothing lies within a region that the ontology does not have, and no two hold each other."""
    known = set(xray_regions().names)
    for name in known:
        inner = expand_regions([name])
        assert inner <= known
        assert not [other for other in inner - {name} if name in expand_regions([other])]
