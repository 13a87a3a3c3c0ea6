"""Lungs found without a model: thresholds, connected parts, distances.

Nothing here was learned. The steps are the ones textbooks give, in this order, on a copy with
voxels of about 2 mm:

    air            everything under -400 HU the lungs      parts of air that are large, hold more
    than bare gas, and are not outside airways        a column of bare gas that runs along the body,
    grown until it would leak two sides      parts are sorted; one part that is both lungs is cut
    where it is narrowest vessels        gaps narrower than a large vessel are closed, and holes
    filled

and then the border is drawn again in the volume's own voxels. Consolidations, effusions and
masses that reach the border are denser than -400 HU and stay outside: this is aerated lung.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.pixels.geometry import Array, from_ras, ras_geometry, to_ras, voxel_to_world

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Spacing = tuple[float, float, float]

AIR = -400
"""HU under which a voxel holds more air than tissue."""
GAS = -960
"""HU under which a smoothed voxel holds no tissue at all, as outside the body and in bowel."""
COARSE = 2.0
"""Millimetres of a voxel of the working copy."""
SMALLEST = 5.0
"""Millilitres under which a part of air is no lung."""
PLEURA = -600
"""HU over which a coarse voxel holds a sheet of tissue, as where the lungs touch."""
DEPTHS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0, 25.0, 30.0)
"""Millimetres from the border at which lungs that touch are tried for coming apart."""
MAX_PIECE_GAP = 20.0
"""Millimetres within which a loose piece of lung lies from the rest of it."""
VESSEL = 7.0
"""Millimetres of the widest gap that is closed: the calibre of a segmental artery."""


class LungMasks(NamedTuple):
    """The two lungs as masks in the stored axes of their volume; empty where there is none."""

    right: Bools
    """The patient's right lung."""
    left: Bools
    """The patient's left lung."""

    @property
    def both(self) -> Bools:
        """Either lung."""
        return self.right | self.left


def find_lungs(hu: Array, space: Geometry) -> LungMasks:
    """The aerated lungs of a CT, right and left, without trachea and main bronchi.

    Works on thick slices, on cropped fields of view and where a lung runs out of the picture;
    gives two empty masks where there is no lung.
    """
    ras: NDArray[Any] = to_ras(hu, space)
    placed = ras_geometry(space)
    steps = [max(1, round(COARSE / mm)) for mm in placed.spacing]
    small = _block_means(ras, steps)
    near = (placed.spacing[0] * steps[0], placed.spacing[1] * steps[1], placed.spacing[2] * steps[2])
    air = small < AIR
    parts = _lung_parts(small, air, near)
    if not parts.any():
        return LungMasks(np.zeros(space.shape, bool), np.zeros(space.shape, bool))
    airways = _airways(small, parts, near)
    middle = _midline(small, airways, placed, near)
    right, left = _sides(small, parts & ~airways, near, middle)
    # Closing grows each towards the other, but takes nothing that the other had.
    filled = _close_gaps(right, near) & ~left & ~airways
    left = _close_gaps(left, near) & ~filled & ~airways
    right = filled
    return LungMasks(
        _to_stored_axes(_refine_border(right, left | airways, air, ras, steps), space),
        _to_stored_axes(_refine_border(left, right | airways, air, ras, steps), space),
    )


def _to_stored_axes(mask: Bools, space: Geometry) -> Bools:
    turned: NDArray[Any] = from_ras(mask, space)
    return turned


def _block_means(volume: NDArray[Any], steps: list[int]) -> Floats:
    """Block means: one voxel for each `steps` voxels, less at the far edges where they run out."""
    shape = [-(-size // step) for size, step in zip(volume.shape, steps, strict=True)]
    total = np.zeros(shape, np.float32)
    count = np.zeros(shape, np.float32)
    for offset in np.ndindex(*steps):
        part = volume[tuple(slice(at, None, step) for at, step in zip(offset, steps, strict=True))]
        where = tuple(slice(0, size) for size in part.shape)
        # Padding outside the scanner's circle may be -3024, metal 30,000, and floats may be NaN.
        total[where] += np.clip(np.nan_to_num(part, nan=-1024), -1024, 3071)
        count[where] += 1
    mean: Floats = total / count
    return mean


def _labels(mask: Bools) -> tuple[NDArray[np.int32], int]:
    from scipy import ndimage

    labels, count = ndimage.label(mask)
    return labels, int(count)


def _lung_parts(small: Floats, air: Bools, near: Spacing) -> Bools:
    """The parts of air that can be lung."""
    labels, count = _labels(air)
    voxels = np.bincount(labels.ravel(), minlength=count + 1)
    volume = voxels * float(np.prod(near)) / 1000
    gas = np.bincount(labels[small < GAS], minlength=count + 1) / np.maximum(voxels, 1)
    # Lung is tissue with air in it: emphysema thins it out, but not to bare gas. A small part is
    # held to that more strictly, since bowel is full of small parts and stool is not bare gas.
    keep = (volume >= SMALLEST) & (gas < np.where(volume > 500, 0.55, 0.2))
    keep[0] = False
    corners = np.zeros(count + 1, bool)
    corners[np.unique(labels[[0, 0, -1, -1], [0, -1, 0, -1]])] = True
    # A part in a corner of the slices is a mattress or clothes, unless there is nothing else: in
    # a picture cut out of a lung every corner is lung.
    if volume[keep & ~corners].sum() > 100:
        keep &= ~corners
    return keep[labels]


def _airways(small: Floats, parts: Bools, near: Spacing) -> Bools:
    """Trachea and main bronchi: a tall column of gas, narrow in every slice, and what joins it."""
    from scipy import ndimage

    none = np.zeros(parts.shape, bool)
    flat = ndimage.generate_binary_structure(3, 1)
    flat[:, :, (0, 2)] = False
    # Voxels of 3 mm and more see the wall in every voxel of a narrow trachea.
    gas = parts & (small < (-900 if max(near[:2]) < 2.6 else -800))
    labels, count = ndimage.label(gas, flat)
    if not count:
        return none
    area = np.bincount(labels.ravel(), minlength=count + 1) * near[0] * near[1]
    boxes = ndimage.find_objects(labels)
    long_side = np.zeros(count + 1)
    for number, box in enumerate(boxes, 1):
        sides = [(part.stop - part.start) * mm for part, mm in zip(box, near, strict=True)]
        long_side[number] = max(sides[:2])
    narrow = (area >= 60) & (area <= 700) & (long_side <= 40)
    narrow[0] = False
    columns, count = _labels(narrow[labels])
    best, seed = 0.0, none
    for number, box in enumerate(ndimage.find_objects(columns), 1):
        height = (box[2].stop - box[2].start) * near[2]
        # The highest of the tall columns: the others are bronchi and bullae.
        score = height + box[2].stop * near[2]
        if height >= 30 and score > best:
            best, seed = score, columns == number
    if not best:
        return none
    volume = float(np.prod(near)) / 1000
    found = seed
    for limit in (-980, -960, -940, -920, -900):
        grown = ndimage.binary_propagation(seed, mask=(small < limit) | seed)
        # A trachea with its main bronchi holds some 60 ml; more has leaked into lung.
        if grown.sum() * volume > 90:
            break
        found = grown
    return np.asarray(ndimage.binary_dilation(found, iterations=max(1, round(2 / near[0]))) & parts)


def _midline(small: Floats, airways: Bools, placed: Geometry, near: Spacing) -> float:
    """The coarse index along x that parts the right side from the left."""
    if airways.any():
        return float(np.median(np.nonzero(airways)[0]))
    width = small.shape[0] * near[0]
    body = (small > -300).sum(axis=(1, 2))
    if width >= 280 and body.any():
        return float(np.average(np.arange(len(body)), weights=body))
    # Half a chest: the scanner's own middle is the best guess there is.
    start, end = (
        voxel_to_world(placed, (0, 0, 0))[0],
        voxel_to_world(placed, (placed.shape[0] - 1, 0, 0))[0],
    )
    return float(-start / max(end - start, 1e-6) * (small.shape[0] - 1))


def _sides(small: Floats, parts: Bools, near: Spacing, middle: float) -> tuple[Bools, Bools]:
    """The parts sorted into right and left; a part that is both lungs is cut in two."""
    from scipy import ndimage

    voxel = float(np.prod(near)) / 1000
    labels, count = _labels(parts)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    right, left = np.zeros(parts.shape, bool), np.zeros(parts.shape, bool)
    if not count:
        return right, left
    centres = np.array(ndimage.center_of_mass(parts, labels, range(1, count + 1)))[:, 0]
    order = np.argsort(sizes)[::-1]
    first = int(order[0])
    pair = _split_touching(small, labels == first + 1, near, middle)
    if pair is not None:
        right, left = pair
    elif count > 1 and sizes[order[1]] > 0.15 * sizes[first]:
        second = int(order[1])
        a, b = sorted((first, second), key=lambda one: float(centres[one]), reverse=True)
        right, left = labels == a + 1, labels == b + 1
    elif centres[first] > middle:
        right = labels == first + 1
    else:
        left = labels == first + 1
    main = right | left
    taken = np.unique(labels[main])
    large = np.flatnonzero(sizes * voxel >= SMALLEST / 2) + 1
    rest = [number for number in large.tolist() if number not in taken]
    if not rest:
        return right, left
    if right.any() and left.any():
        middle = (_quantile_index(right, 0.05) + _quantile_index(left, 0.95)) / 2
    nearby = np.ones(parts.shape, bool)
    if main.sum() * voxel > 500:
        # Disease cuts pieces off a lung, and they stay beside it; stool looks like lung too.
        nearby = ndimage.distance_transform_edt(~main, sampling=near) < MAX_PIECE_GAP
    for number in rest:
        piece = labels == number
        if nearby[piece].any():
            (right if centres[number - 1] > middle else left)[piece] = True
    return right, left


def _quantile_index(lung: Bools, share: float) -> float:
    """The index along x under which that share of the lung lies."""
    total = np.cumsum(lung.sum(axis=(1, 2)))
    return float(np.searchsorted(total, share * total[-1]))


def _split_touching(small: Floats, part: Bools, near: Spacing, middle: float) -> tuple[Bools, Bools] | None:
    """A part that is two lungs touching, cut along their narrowest touch; None where it is one."""
    from scipy import ndimage

    (box,) = ndimage.find_objects(part.astype(np.uint8))
    inside = part[box]
    # Two lungs are wider than one: nothing under 15 cm is worth the search.
    if inside.shape[0] * near[0] < 150:
        return None
    # The pleura between two lungs is thin, and half lung in a coarse voxel; vessels do not matter.
    lean = np.pad(inside & (small[box] < PLEURA), 1)
    depth = ndimage.distance_transform_edt(lean, sampling=near)[1:-1, 1:-1, 1:-1]
    for tried, least in enumerate(DEPTHS):
        cores, count = _labels(depth > least)
        if count < 2:
            continue
        sizes = np.bincount(cores.ravel())[1:]
        a, b = (np.argsort(sizes)[::-1][:2] + 1).tolist()
        if sizes[b - 1] < 0.2 * sizes[a - 1]:
            continue
        centres = [at[0] * near[0] for at in ndimage.center_of_mass(cores > 0, cores, [a, b])]
        if abs(centres[0] - centres[1]) < 70:
            continue  # two lobes of one lung, not two lungs
        if centres[0] < centres[1]:
            a, b = b, a
        pair = cores == a, cores == b
        # Down the same depths again, so that the two meet where it is narrowest.
        for depth_of_step in DEPTHS[tried::-1]:
            pair = _grow_both(*pair, depth > depth_of_step, steps=4)
        pair = _grow_both(*pair, inside, steps=sum(inside.shape))
        right, left = np.zeros(part.shape, bool), np.zeros(part.shape, bool)
        right[box], left[box] = pair
        return right, left
    beyond = np.arange(part.shape[0])[:, None, None] > middle
    share = (part & beyond).sum() / part.sum()
    # No single lung is so wide: these are two, and nothing is seen between them.
    if inside.shape[0] * near[0] > 220 and 0.25 < share < 0.75:
        return part & beyond, part & ~beyond
    return None


def _grow_both(one: Bools, two: Bools, inside: Bools, *, steps: int) -> tuple[Bools, Bools]:
    """Both grown step by step as far as `inside` goes; neither enters the other."""
    from scipy import ndimage

    free = inside & ~one & ~two
    for _ in range(steps):
        first = ndimage.binary_dilation(one) & free
        free &= ~first
        second = ndimage.binary_dilation(two) & free
        free &= ~second
        if not (first.any() or second.any()):
            break
        one, two = one | first, two | second
    return one, two


def _close_gaps(lung: Bools, near: Spacing) -> Bools:
    """The lung with its vessels: narrow gaps closed, holes of every axial slice filled."""
    from scipy import ndimage

    if not lung.any():
        return lung
    (box,) = ndimage.find_objects(lung.astype(np.uint8))
    reach = VESSEL / 2
    # A margin inside which the closing can swell; the picture's edge repeats, so that a lung
    # that runs out of the picture is not eaten there.
    margin = [int(np.ceil(reach / mm)) + 1 for mm in near]
    padded = np.pad(lung[box], [(m, m) for m in margin])
    for axis, (part, size) in enumerate(zip(box, lung.shape, strict=True)):
        _repeat_edge(padded, axis, margin[axis], low=part.start == 0, high=part.stop == size)
    swollen = ndimage.distance_transform_edt(~padded, sampling=near) <= reach
    closed = ndimage.distance_transform_edt(swollen, sampling=near) > reach
    for axis, width in enumerate(margin):
        closed = closed.take(range(width, closed.shape[axis] - width), axis=axis)
    out = lung.copy()
    out[box] |= closed
    for level in range(box[2].start, box[2].stop):
        out[:, :, level] = ndimage.binary_fill_holes(out[:, :, level])
    return out


def _repeat_edge(padded: Bools, axis: int, width: int, *, low: bool, high: bool) -> None:
    """Repeat the outermost layer into the margin of an axis, where it is the picture's edge."""
    moved = np.moveaxis(padded, axis, 0)
    if low:
        moved[:width] = moved[width]
    if high:
        moved[-width:] = moved[-width - 1]


def _refine_border(lung: Bools, other: Bools, air: Bools, ras: NDArray[Any], steps: list[int]) -> Bools:
    """The coarse mask in fine voxels, its border with tissue drawn by their own HU."""
    from scipy import ndimage

    # Fine arrays are laid out as the volume is, or every comparison would jump through memory.
    order = np.argsort([-abs(stride) for stride in ras.strides])

    def fine(mask: Bools) -> Bools:
        laid = np.ascontiguousarray(mask.transpose(order))
        for axis, stored in enumerate(order):
            laid = np.repeat(laid, steps[stored], axis=axis)
        return laid[tuple(slice(0, ras.shape[stored]) for stored in order)]

    kept = lung
    if max(steps) > 1 and lung.any():
        # The inside, and the vessels that were closed: these are lung whatever their HU.
        kept = ndimage.binary_erosion(lung, border_value=1) | (lung & ~air)
    out = fine(kept)
    if kept is not lung:
        shell = ndimage.binary_dilation(lung) & ~other & ~kept
        out |= fine(shell) & (ras.transpose(order) < AIR)
    return out.transpose(np.argsort(order))
