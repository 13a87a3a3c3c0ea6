"""Holds synthetic chest films to real ones: the same things, measured the same way on both.

Usage: python -m tools.compare.real_films REAL [--patients N] [--seed S] [--save SHEET.png] [--json]

REAL is a folder with images/, metadata.csv (filename, view) and, if it is there, lung_boxes.json
(COCO). One classical procedure, which knows neither of the two, finds the lungs as the large dark
parts beside the middle. Printed are the cardiothoracic ratio, the height of the lungs over the
film's height and over the chest's width, and how much of the grey levels is common: of the whole
film, of the lungs and of what lies between them. The sheet shows films of both kinds in turn.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from scipy import ndimage

from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import View
from overread.phantom.patient import PatientSettings, make_patient

Greys = NDArray[np.float32]
Bools = NDArray[np.bool_]

WIDTH = 256
"""Columns that a film is brought to before anything is measured."""
BINS = np.arange(0, 257, 8)
REGIONS = ("film", "lungs", "between")


@dataclass
class FilmMeasurement:
    """What was measured on one film."""

    name: str
    view: str
    ratio: float
    """Widest extents of the heart to both sides, over the inner width of the chest."""
    tall: float
    """Height of the lungs over the height of the film."""
    slender: float
    """Height of the lungs over the inner width of the chest."""
    boxes: tuple[tuple[int, int, int, int], ...]
    """Box of the lung on the picture's left, then of the other: shares of a film's 256 columns."""
    shares: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)


def shrink_film(pixels: NDArray[np.uint8]) -> Greys:
    """A film of 256 columns, without the empty frame that some have."""
    picture = Pillow.fromarray(pixels)
    rows = round(WIDTH * picture.height / picture.width)
    shrunk = picture.resize((WIDTH, rows), Pillow.Resampling.BOX)
    return np.asarray(shrunk, np.float32)


def find_lungs(grey: Greys) -> tuple[Bools, Bools] | None:
    """The lungs on the picture's left and right; None where they do not stand out."""
    smooth = ndimage.gaussian_filter(grey, 2.5)
    # Each pixel against what is around it, since exposure falls off from one side to the other.
    even = smooth - ndimage.gaussian_filter(grey, WIDTH / 4)
    rows, columns = grey.shape
    inner = even[rows // 10 : -rows // 8, columns // 12 : -columns // 12]
    for level in np.quantile(inner, (0.45, 0.4, 0.35, 0.3)):
        dark = ndimage.binary_opening(even < level, iterations=2)
        # What is darkest of all and reaches the frame is air beside the patient.
        parts, count = ndimage.label(dark)
        if not count:
            continue
        size = np.bincount(parts.ravel())
        rim = np.unique(np.r_[parts[0], parts[-1], parts[:, 0], parts[:, -1]])
        size[rim] = 0
        size[0] = 0
        middles = [(0, 0), *ndimage.center_of_mass(dark, parts, range(1, count + 1))]
        best: list[Bools] = []
        for low, high in ((0.1, 0.46), (0.54, 0.9)):
            own = [
                n for n in range(1, count + 1)
                if low * columns < middles[n][1] < high * columns and size[n]
            ]  # fmt: skip
            if own:
                largest = max(own, key=lambda n: size[n])
                if size[largest] > 0.035 * grey.size:
                    filled = ndimage.binary_closing(parts == largest, iterations=4)
                    best.append(np.asarray(ndimage.binary_fill_holes(filled), bool))
        if len(best) == 2:
            return best[0], best[1]
    return None


def measure(pixels: NDArray[np.uint8], name: str, view: str) -> FilmMeasurement | None:
    """All that is measured on one film; None where no lungs are found on it."""
    grey = shrink_film(pixels)
    lungs = find_lungs(grey)
    if lungs is None:
        return None
    boxes = []
    for lung in lungs:
        rows, columns = np.nonzero(lung)
        boxes.append((int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max())))
    (left, top1, _, foot1), (_, top2, right, foot2) = boxes
    top, foot = min(top1, top2), max(foot1, foot2)
    chest = right - left + 1
    heart = heart_width(lungs, (top1 + top2) / 2, min(foot1, foot2))
    if heart is None:
        return None
    both = lungs[0] | lungs[1]
    between = np.zeros_like(both)
    for row in range(top, foot):
        one, other = np.flatnonzero(lungs[0][row]), np.flatnonzero(lungs[1][row])
        if len(one) and len(other):
            between[row, one.max() + 1 : other.min()] = True
    parts = {"film": np.ones_like(both), "lungs": both, "between": between}
    return FilmMeasurement(
        name=name,
        view=view,
        ratio=heart / chest,
        tall=(foot - top) / grey.shape[0],
        slender=(foot - top) / chest,
        boxes=tuple(boxes),
        shares={key: _grey_histogram(grey[part]) for key, part in parts.items()},
    )


def heart_width(lungs: tuple[Bools, Bools], top: float, foot: float) -> float | None:
    """Widest extents to both sides of the middle, in the lower part of the lungs."""
    edges = []
    for row in range(int(top + 0.15 * (foot - top)), int(top + 0.88 * (foot - top))):
        one, other = np.flatnonzero(lungs[0][row]), np.flatnonzero(lungs[1][row])
        if len(one) and len(other):
            edges.append((row, one.max(), other.min()))
    if len(edges) < 10:
        return None
    table = np.array(edges, float)
    upper = table[: len(table) // 3]
    middle = float(np.median((upper[:, 1] + upper[:, 2]) / 2))
    lower = table[len(table) * 2 // 5 :]
    # A row or two may be cut short by a vessel: not the very widest.
    rightward = np.quantile(middle - lower[:, 1], 0.92)
    leftward = np.quantile(lower[:, 2] - middle, 0.92)
    return float(rightward + leftward)


def _grey_histogram(values: Greys) -> NDArray[np.float64]:
    counts = np.histogram(values, BINS)[0].astype(float)
    shares: NDArray[np.float64] = counts / max(counts.sum(), 1)
    return shares


def histogram_overlap(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """How much of two histograms is common, 0 to 1."""
    return float(np.minimum(one, other).sum())


def read_real(root: Path) -> list[tuple[str, str, NDArray[np.uint8]]]:
    """Names, views and pixels of the real films."""
    films = []
    with (root / "metadata.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            path = root / "images" / row["filename"]
            if path.exists() and row["view"] in ("PA", "AP"):
                with Pillow.open(path) as picture:
                    films.append((path.name, row["view"], np.asarray(picture.convert("L"))))
    return films


def make_films(count: int, seed: int) -> list[tuple[str, str, NDArray[np.uint8]]]:
    """Frontal films of synthetic patients, one of four of them AP supine."""
    films = []
    for number in range(1, count + 1):
        view: View = "AP supine" if number % 4 == 0 else "PA"
        room = FilmRenderer(make_patient(number, PatientSettings(seed=seed)).visit)
        films.append((f"phantom-{number}", view[:2], room.render(view).pixels))
    return films


def draw_sheet(
    real: list[tuple[str, str, NDArray[np.uint8]]],
    made: list[tuple[str, str, NDArray[np.uint8]]],
    side: int = 300,
) -> Pillow.Image:
    """Films of both kinds in turn: a column of real ones, a column of synthetic ones."""
    pairs = list(zip(real, made, strict=False))[:12]
    across = 3
    down = -(-len(pairs) // across)
    page = Pillow.new("L", (across * 2 * (side + 4), down * (side + 4)))
    for n, pair in enumerate(pairs):
        for k, (_, _, pixels) in enumerate(pair):
            picture = Pillow.fromarray(pixels)
            picture.thumbnail((side, side), Pillow.Resampling.LANCZOS)
            column, row = (n % across) * 2 + k, n // across
            page.paste(picture, (column * (side + 4), row * (side + 4)))
    return page


def box_agreement(root: Path, found: list[FilmMeasurement]) -> list[float]:
    """Overlap over union of the lungs' boxes with those of the data set, where it has them."""
    path = root / "lung_boxes.json"
    if not path.exists():
        return []
    table = json.loads(path.read_text(encoding="utf-8"))
    images = {one["id"]: one for one in table["images"]}
    by_name = {one.name: one for one in found}
    overlaps = []
    for note in table["annotations"]:
        image = images[note["image_id"]]
        one = by_name.get(image["file_name"])
        if one is None:
            continue
        scale = WIDTH / image["width"]
        x, y, w, h = (v * scale for v in note["bbox"])
        best = max(_overlap((x, y, x + w, y + h), box) for box in one.boxes)
        overlaps.append(best)
    return overlaps


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    both = max(wide, 0) * max(high, 0)
    areas = sum((b[2] - b[0]) * (b[3] - b[1]) for b in (one, other))
    return both / max(areas - both, 1)


def comparison_table(
    real: list[FilmMeasurement], made: list[FilmMeasurement]
) -> dict[str, dict[str, object]]:
    """The comparison: quartiles of both kinds, and what their grey levels have in common."""
    rows: dict[str, dict[str, object]] = {}
    for name in ("ratio", "tall", "slender"):
        for view in ("PA", "AP"):
            pair = [[getattr(m, name) for m in kind if m.view == view] for kind in (real, made)]
            if all(pair):
                both = (np.round(np.quantile(v, (0.25, 0.5, 0.75)), 2).tolist() for v in pair)
                rows[f"{name} {view}"] = dict(zip(("real", "phantom"), both, strict=True))
    for region in REGIONS:
        ours = np.mean([m.shares[region] for m in made], axis=0)
        theirs = [m.shares[region] for m in real]
        alone = [
            histogram_overlap(one, np.mean([o for o in theirs if o is not one], axis=0)) for one in theirs
        ]
        singles = [histogram_overlap(m.shares[region], np.mean(theirs, axis=0)) for m in made]
        middles = [
            round(float(np.mean([m.shares[region] @ (BINS[:-1] + 4) for m in kind])), 0)
            for kind in (real, made)
        ]
        rows[f"greys of {region}"] = {
            "common of both": round(histogram_overlap(ours, np.mean(theirs, axis=0)), 2),
            "one real and the others": np.round(np.quantile(alone, (0.1, 0.5, 0.9)), 2).tolist(),
            "one phantom and the real": np.round(np.quantile(singles, (0.1, 0.5, 0.9)), 2).tolist(),
            "mean grey, real and phantom": middles,
        }
    return rows


def main() -> int:
    """Measure both kinds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("real", type=Path)
    parser.add_argument("--patients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="where the contact sheet goes")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    theirs, ours = read_real(given.real), make_films(given.patients, given.seed)
    if given.save:
        draw_sheet(theirs, ours).save(given.save)
    real, made = (
        [m for m in (measure(pixels, name, view) for name, view, pixels in films) if m]
        for films in (theirs, ours)
    )
    if not real or not made:
        print("no lungs were found on the films of one kind", file=sys.stderr)
        return 1
    overlaps = box_agreement(given.real, real)
    found = comparison_table(real, made)
    if given.json:
        each = [{k: v for k, v in asdict(m).items() if k != "shares"} for m in (*real, *made)]
        print(json.dumps({"table": found, "films": each}, indent=1))
        return 0
    print(f"lungs found on {len(real)} of {len(theirs)} real films, {len(made)} of {len(ours)}")
    if overlaps:
        print(f"overlap with {len(overlaps)} given boxes: median {np.median(overlaps):.2f}")
    for name, row in found.items():
        print(f"{name:18}", "  ".join(f"{key}: {value}" for key, value in row.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
