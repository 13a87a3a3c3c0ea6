"""Surface metrics beside the package surface-distance, on the same cropped masks: `make bench`.

Both get the same two arrays and give NSD at 1, 2 and 5 mm, HD95 and the mean distances; ours gives
in the same time the distances between surface voxels, the volumes and the centres too. Best of
five, taken in turns, in processor time, since machines are shared and both use one core. The ratio
must reach 5 for lesions as they come; where truth and prediction hardly meet it is only shown.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.metrics.masks.surface.statistics import surface_statistics

ROUNDS = 5
MIN_SPEEDUP = 5.0
"""So many times faster it must be."""
SPACING = (0.7, 0.7, 1.0)
TOLERANCES = (1.0, 2.0, 5.0)

Mask = NDArray[np.bool_]


def make_lesion(size: int, seed: int) -> tuple[Mask, Mask]:
    """A ragged lesion so many voxels across, and a reader's version of it."""
    rng = np.random.default_rng(seed)
    place = np.indices((size, size, size)) - (size - 1) / 2
    distance = np.sqrt((place**2).sum(axis=0)) / (size / 2)
    first, second = (
        ndimage.gaussian_filter(rng.standard_normal(distance.shape), size / 12) for _ in range(2)
    )
    shape = distance + 0.25 * first / first.std()
    return shape < 0.75, shape + 0.1 * second / second.std() < 0.75


def make_shifted_lesion(size: int, shift: int, seed: int) -> tuple[Mask, Mask]:
    """A lesion, and its mirror image so many voxels beside it."""
    truth, _ = make_lesion(size, seed)
    room = ((0, shift), (0, 0), (0, 0))
    return np.pad(truth, room), np.roll(np.pad(truth[::-1], room), shift, axis=0)


def make_diffuse_finding(pieces: int, seed: int) -> tuple[Mask, Mask]:
    """Many specks over 300 × 300 × 200 voxels; some are missed, some invented, none met exactly."""
    rng = np.random.default_rng(seed)
    truth, predicted = np.zeros((2, 300, 300, 200), bool)
    place = np.sqrt(((np.indices((23, 23, 23)) - 11) ** 2).sum(axis=0))
    for _ in range(pieces):
        speck = place + rng.normal(0, 0.5, place.shape) < rng.uniform(3, 9)
        corner = rng.integers(3, np.array(truth.shape) - 26)
        for mask, kept, moved in ((truth, 0.85, 0), (predicted, 0.7, 2)):
            if rng.random() < kept:
                low = corner + rng.integers(-moved, moved + 1, 3)
                mask[tuple(slice(at, at + 23) for at in low)] |= speck
    return truth, predicted


def make_cases(seed: int) -> Iterator[tuple[str, tuple[Mask, Mask], bool]]:
    """What is measured: a name, the masks, and whether the limit holds for them."""
    for size in (20, 40, 80):
        yield f"a lesion {size} voxels across", make_lesion(size, seed), True
    yield "a diffuse finding of 150 pieces", make_diffuse_finding(150, seed), True
    yield "80 voxels across, 10 beside", make_shifted_lesion(80, 10, seed), False
    yield "80 voxels across, 40 beside", make_shifted_lesion(80, 40, seed), False


def peer_scores(truth: Mask, predicted: Mask) -> dict[str, float]:
    """What surface-distance says."""
    import surface_distance as package

    found = package.compute_surface_distances(truth, predicted, SPACING)
    there, back = package.compute_average_surface_distance(found)
    numbers = {"asd_truth_to_predicted": there, "asd_predicted_to_truth": back}
    numbers["hd95"] = package.compute_robust_hausdorff(found, 95)
    for tolerance in TOLERANCES:
        name = f"nsd_{tolerance:g}mm"
        numbers[name] = package.compute_surface_dice_at_tolerance(found, tolerance)
    return numbers


def time_once(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and what came out."""
    begin = time.thread_time()
    made = work()
    return time.thread_time() - begin, made


def main() -> None:
    """Measure, print, and leave with 1 where we are not as fast as we say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7, help="of the masks")
    options = parser.parse_args()
    # The package asks scipy for names that scipy no longer likes.
    warnings.simplefilter("ignore", DeprecationWarning)
    slow = False
    for name, (truth, predicted), held in make_cases(options.seed):
        best = [np.inf, np.inf]
        theirs: dict[str, float] = {}
        for _ in range(ROUNDS if truth.size < 1e7 else 2):
            seconds, ours = time_once(lambda: surface_statistics(truth, predicted, SPACING))  # noqa: B023
            best[0] = min(best[0], seconds)
            seconds, theirs = time_once(lambda: peer_scores(truth, predicted))  # noqa: B023
            best[1] = min(best[1], seconds)
        for key, value in theirs.items():
            if not np.isclose(ours[key], value, rtol=1e-9, atol=1e-12):
                raise SystemExit(f"{name}: {key} is {ours[key]}, surface-distance says {value}")
        ratio = best[1] / best[0]
        verdict = ("ok" if ratio >= MIN_SPEEDUP else "slow") if held else ""
        slow |= verdict == "slow"
        dice = 2 * (truth & predicted).sum() / (truth.sum() + predicted.sum())
        print(
            f"surfaces: {name:<34} Dice {dice:.2f} {best[0] * 1e3:9.2f} ms   "
            f"surface-distance {best[1] * 1e3:9.2f} ms, {ratio:5.1f} times   {verdict}",
            flush=True,
        )
    sys.exit(slow)


if __name__ == "__main__":
    main()
