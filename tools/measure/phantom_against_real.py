"""How well a plain classifier tells synthetic slices and films from real ones, and by what.

Usage: python -m tools.measure.phantom_against_real DATA [--patients N] [--seed S] [--only ct|film]
           [--skip FEATURE …] [--save FOLDER] [--json]

DATA holds real scans and films: ct/ in ReXGroundingCT layout, cxr/ and cxr_nih/ with images/ and a
table of views. Synthetic patients are drawn here, CT and frontal film of each. Both kinds go through
the same steps: axial slices brought to pixels of 3 mm, films to 256 columns, since voxel size is no
property of a body. From each come named features of grey level, texture, edges and symmetry. A logistic
regression with a ridge is fitted with whole patients left out; printed are the area under its curve
(.5: cannot be told apart), an interval over resampled patients, and each feature's own area, which
says what gives the phantom away. Real CTs with pixels over 3.1 mm are left out: nothing of a texture
is left on them.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from scipy import ndimage, optimize, stats

import overread
from overread.core import Geometry
from overread.errors import OverreadError
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import View
from overread.phantom.patient import PatientSettings, make_patient
from overread.pixels.geometry import ras_geometry, to_ras
from overread.pixels.lungs import find_lungs
from tools.compare.real_cts import find_tissues, find_trunk
from tools.compare.real_films import read_real, shrink_film

Floats = NDArray[np.float64]
Features = dict[str, float]

PIXEL_MM, COARSEST_MM = 3.0, 3.1
SLICES = 12
"""Axial slices of a patient, spread over the levels with lung."""
MIN_PIXELS = 40
"""Pixels of a tissue under which its features are unknown on a slice."""
RIDGE = 3.0
"""Weight of the ridge on standardised features: more than a handful of real patients could fit."""
DRAWS = 1000


@dataclass(frozen=True)
class Specimen:
    """One slice or film: whose it is, whether it is synthetic, and its features."""

    patient: str
    features: Features
    synthetic: bool


def lag_correlation(image: Floats, mask: NDArray[np.bool_], lag: int) -> float:
    """Correlation of pixels of the mask that lie `lag` apart, along both axes."""
    ones, others = [], []
    for axis in (0, 1):
        a, b = [slice(None)] * 2, [slice(None)] * 2
        a[axis], b[axis] = slice(None, -lag), slice(lag, None)
        both = mask[tuple(a)] & mask[tuple(b)]
        ones.append(image[tuple(a)][both])
        others.append(image[tuple(b)][both])
    one, other = np.concatenate(ones), np.concatenate(others)
    if len(one) < MIN_PIXELS or one.std() < 1e-6 or other.std() < 1e-6:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def slice_features(hu: Floats, lungs: NDArray[np.bool_]) -> Features | None:
    """Features of one axial slice of pixels of 3 mm; None where there is no chest on it."""
    body = find_trunk(hu, lungs, PIXEL_MM)
    if lungs.sum() < 5 * MIN_PIXELS or body.sum() < 20 * MIN_PIXELS:
        return None
    tissues = find_tissues(hu, lungs, body, PIXEL_MM)
    around = body & ~ndimage.binary_dilation(lungs, iterations=2)
    skinless = ndimage.binary_erosion(body, iterations=2, border_value=1)
    solid = around & skinless
    parts = {
        "lung": tissues["lung"],
        "fat": solid & (hu > -160) & (hu < -40),
        "soft tissue": solid & (hu > -20) & (hu < 150),
        "bone": tissues["bone"] & solid,
    }
    steps = ndimage.gaussian_gradient_magnitude(hu, 0.7)
    found: Features = {}
    for name, mask in parts.items():
        enough = int(mask.sum()) >= MIN_PIXELS
        values = hu[mask] if enough else np.full(1, np.nan)
        for share in (10, 50, 90):
            found[f"{name}: {share} % of HU under"] = float(np.percentile(values, share))
        for lag in (1, 3):
            key = f"{name}: correlation over {lag * PIXEL_MM:.0f} mm"
            found[key] = lag_correlation(hu, mask, lag) if enough else float("nan")
        found[f"{name}: median gradient"] = float(np.median(steps[mask])) if enough else float("nan")
    # What stands beside what: strands of fat in muscle, muscle in fat.
    inner = solid & (hu > -160) & (hu < 150)
    if inner.sum() >= MIN_PIXELS:
        found["fat: share of fat and soft tissue"] = float(parts["fat"].sum() / inner.sum())
        found["between fat and muscle: share"] = float(((hu > -40) & (hu < -20) & inner).sum() / inner.sum())
        clipped = np.clip(hu, -160, 150)
        found["fat and muscle: correlation over 6 mm"] = lag_correlation(clipped, inner, 2)
        found["fat and muscle: correlation over 15 mm"] = lag_correlation(clipped, inner, 5)
    found["bone: share of what is no lung"] = float(parts["bone"].sum() / solid.sum())
    return found


def scan_slices(stored: NDArray[Any], space: Geometry) -> Iterator[Features]:
    """Features of the slices of one CT, spread over its lungs."""
    lungs = np.asarray(to_ras(find_lungs(stored, space).both, space), np.float64)
    hu = np.clip(np.asarray(to_ras(stored, space), np.float64), -1024, 1500)
    spacing = ras_geometry(space).spacing
    levels = np.flatnonzero(lungs.sum(axis=(0, 1)) * spacing[0] * spacing[1] > 4000)
    if not len(levels):
        return
    chosen = levels[np.linspace(0, len(levels) - 1, min(SLICES, len(levels))).round().astype(int)]
    # As thick as the thick slices of the real CTs.
    half = max(0, round((4.0 / spacing[2] - 1) / 2))
    for level in chosen.tolist():
        slab = slice(max(0, level - half), level + half + 1)
        pair = (hu[:, :, slab].mean(axis=2), lungs[:, :, level])
        coarse, inside = (_to_pixels(plane, (spacing[0], spacing[1])) for plane in pair)
        features = slice_features(coarse, inside > 0.5)
        if features is not None:
            yield features


def _to_pixels(plane: Floats, spacing: tuple[float, float]) -> Floats:
    """A plane brought to pixels of 3 mm, each the mean of what it covers."""
    rows, columns = (max(1, round(n * mm / PIXEL_MM)) for n, mm in zip(plane.shape, spacing, strict=True))
    picture = Pillow.fromarray(np.ascontiguousarray(plane, np.float32), mode="F")
    return np.asarray(picture.resize((columns, rows), Pillow.Resampling.BOX), np.float64)


def film_features(pixels: NDArray[np.uint8]) -> Features:
    """Features of one frontal film of 256 columns; places are shares of the film's sides."""
    grey = np.asarray(shrink_film(pixels), np.float64)
    # The full range of greys is a matter of the printer: from the darkest to the lightest percent.
    low, high = np.percentile(grey, (1, 99))
    grey = np.clip((grey - low) / max(high - low, 1), 0, 1)
    rows, columns = grey.shape

    def box(top: float, foot: float, left: float, right: float) -> Floats:
        part: Floats = grey[int(top * rows) : int(foot * rows), int(left * columns) : int(right * columns)]
        return part

    found: Features = {}
    for share in (10, 25, 50, 75, 90):
        found[f"film: {share} % of greys under"] = float(np.percentile(grey, share))
    places = {
        "side borders": np.concatenate([box(0.2, 0.9, 0, 0.04), box(0.2, 0.9, 0.96, 1)], axis=1),
        "upper border": box(0, 0.04, 0.1, 0.9),
        "lower border": box(0.96, 1, 0.1, 0.9),
        "upper corners": np.concatenate([box(0, 0.12, 0, 0.15), box(0, 0.12, 0.85, 1)], axis=1),
        "lungs' middle": np.concatenate([box(0.35, 0.6, 0.18, 0.36), box(0.35, 0.6, 0.64, 0.82)], axis=1),
        "neck": box(0.02, 0.12, 0.4, 0.6),
        "between the lungs": box(0.3, 0.7, 0.44, 0.58),
        "belly": box(0.88, 0.98, 0.3, 0.7),
    }
    fine = grey - ndimage.gaussian_filter(grey, 6)
    for name, part in places.items():
        found[f"{name}: mean grey"] = float(part.mean())
        found[f"{name}: deviation"] = float(part.std())
    for name, (left, right) in {"lungs": (0.15, 0.38), "spine": (0.42, 0.6)}.items():
        part = fine[int(0.25 * rows) : int(0.75 * rows), int(left * columns) : int(right * columns)]
        across, down = np.diff(part, axis=1).std(), np.diff(part, axis=0).std()
        found[f"{name}: fine structure"] = float(part.std())
        found[f"{name}: edges across over down"] = float(np.log((across + 1e-6) / (down + 1e-6)))
        everywhere = np.ones(part.shape, bool)
        for lag in (1, 4, 12):
            found[f"{name}: correlation over {lag} pixels"] = lag_correlation(part, everywhere, lag)
    steps = ndimage.gaussian_gradient_magnitude(grey, 1.0)
    for share in (50, 90, 99):
        found[f"film: {share} % of gradients under"] = float(np.percentile(steps, share))
    smooth = ndimage.gaussian_filter(grey, 3)
    mirrored = smooth[:, ::-1]
    found["film: symmetry"] = float(np.corrcoef(smooth.ravel(), mirrored.ravel())[0, 1])
    middle = slice(int(0.25 * rows), int(0.75 * rows))
    found["film: symmetry of fine structure"] = float(
        np.corrcoef(fine[middle].ravel(), fine[middle, ::-1].ravel())[0, 1]
    )
    return found


def real_slices(root: Path) -> Iterator[Specimen]:
    """Slices of the real CTs."""
    for split in ("train", "val", "test"):
        release = overread.load("rexgroundingct", root, split)
        for entry in release.entries():
            volume = entry.case.pictures[0]
            space = release.pictures.geometry(volume)
            if max(ras_geometry(space).spacing[:2]) > COARSEST_MM:
                continue
            for features in scan_slices(release.pictures.pixels(volume), space):
                yield Specimen(entry.case.id, features, synthetic=False)


def real_films(data: Path) -> Iterator[Specimen]:
    """The real frontal films."""
    if (data / "cxr").is_dir():
        for name, _, pixels in read_real(data / "cxr"):
            yield Specimen(f"cxr {name}", film_features(pixels), synthetic=False)
    table = data / "cxr_nih" / "labels.csv"
    if table.is_file():
        with table.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                with Pillow.open(data / "cxr_nih" / "images" / row["image"]) as picture:
                    pixels = np.asarray(picture.convert("L"))
                yield Specimen(f"nih {row['patient']}", film_features(pixels), synthetic=False)


def synthetic_specimens(
    patients: int, seed: int, kinds: Sequence[str], save: Path | None
) -> dict[str, list[Specimen]]:
    """Slices and films of synthetic patients; two films in five are AP, as among the real ones."""
    out: dict[str, list[Specimen]] = {kind: [] for kind in kinds}
    for number in range(1, patients + 1):
        patient = make_patient(number, PatientSettings(seed=seed))
        name = f"phantom {number}"
        if "ct" in kinds:
            found = scan_slices(patient.hu.transpose(2, 1, 0), patient.geometry)
            out["ct"].extend(Specimen(name, features, synthetic=True) for features in found)
        if "film" in kinds:
            view: View = "AP supine" if number % 5 in (2, 4) else "PA"
            pixels = FilmRenderer(patient.visit).render(view).pixels
            out["film"].append(Specimen(name, film_features(pixels), synthetic=True))
            if save is not None:
                Pillow.fromarray(pixels).save(save / f"film-{seed}-{number}.png")
        if save is not None and "ct" in kinds:
            np.savez_compressed(save / f"ct-{seed}-{number}.npz", hu=patient.hu)
    return out


def area_under_curve(scores: Floats, synthetic: NDArray[np.bool_]) -> float:
    """Chance that a synthetic specimen scores higher than a real one."""
    many = int(synthetic.sum())
    ranks = stats.rankdata(scores)
    above = ranks[synthetic].sum() - many * (many + 1) / 2
    return float(above / (many * (len(scores) - many)))


def fit_logistic(table: Floats, synthetic: NDArray[np.bool_], weight: Floats) -> Floats:
    """Weights of the features and, last, the constant."""
    signs = np.where(synthetic, 1.0, -1.0)
    full = np.column_stack([table, np.ones(len(table))])

    def loss(beta: Floats) -> tuple[float, Floats]:
        margin = signs * (full @ beta)
        slope = -signs * weight / (1 + np.exp(np.clip(margin, -60, 60)))
        value = float((weight * np.logaddexp(0, -margin)).sum() + RIDGE / 2 * (beta[:-1] ** 2).sum())
        return value, full.T @ slope + np.append(RIDGE * beta[:-1], 0)

    return np.asarray(optimize.minimize(loss, np.zeros(full.shape[1]), jac=True, method="L-BFGS-B").x)


def cross_validated_scores(
    table: Floats, synthetic: NDArray[np.bool_], patients: NDArray[np.str_], folds: int
) -> Floats:
    """A score for each specimen, from a fit that has seen nothing of its patient."""
    scores = np.zeros(len(table))
    fold_of: dict[str, int] = {}
    for kind in (True, False):
        names = np.unique(patients[synthetic == kind])
        order = np.random.default_rng(0).permutation(len(names))
        fold_of.update({str(names[n]): k % folds for k, n in enumerate(order)})
    fold = np.array([fold_of[str(name)] for name in patients])
    for k in range(folds):
        own, rest = fold == k, fold != k
        middle = np.nanmedian(table[rest], axis=0)
        filled = np.where(np.isnan(table), middle, table)
        mean, spread = filled[rest].mean(axis=0), filled[rest].std(axis=0) + 1e-9
        even = np.clip((filled - mean) / spread, -4, 4)
        weight = np.where(synthetic[rest], 1 / synthetic[rest].sum(), 1 / (~synthetic[rest]).sum())
        beta = fit_logistic(even[rest], synthetic[rest], weight * rest.sum() / 2)
        scores[own] = even[own] @ beta[:-1] + beta[-1]
    return scores


def resampled_interval(
    scores: Floats, synthetic: NDArray[np.bool_], patients: NDArray[np.str_]
) -> tuple[float, float]:
    """95 % of the areas when whole patients of each kind are drawn anew."""
    rng = np.random.default_rng(0)
    rows = {name: np.flatnonzero(patients == name) for name in np.unique(patients)}
    kinds = [np.unique(patients[synthetic == kind]) for kind in (True, False)]
    areas = []
    for _ in range(DRAWS):
        drawn = np.concatenate([rows[name] for names in kinds for name in rng.choice(names, len(names))])
        areas.append(area_under_curve(scores[drawn], synthetic[drawn]))
    low, high = np.percentile(areas, (2.5, 97.5))
    return float(low), float(high)


def compare(specimens: Sequence[Specimen], skip: Sequence[str] = ()) -> dict[str, Any]:
    """The area under the curve of the classifier, and of each feature alone."""
    names = [n for n in specimens[0].features if not any(word in n for word in skip)]
    table = np.array([[s.features.get(n, np.nan) for n in names] for s in specimens])
    synthetic = np.array([s.synthetic for s in specimens])
    patients = np.array([s.patient for s in specimens])
    folds = min(10, *(len(np.unique(patients[synthetic == kind])) for kind in (True, False)))
    scores = cross_validated_scores(table, synthetic, patients, folds)
    alone: dict[str, dict[str, float]] = {}
    for n, name in enumerate(names):
        known = ~np.isnan(table[:, n])
        if known[synthetic].any() and known[~synthetic].any():
            alone[name] = {
                "area": round(area_under_curve(table[known, n], synthetic[known]), 3),
                "real": float(np.median(table[known & ~synthetic, n])),
                "phantom": float(np.median(table[known & synthetic, n])),
            }
    groups: dict[str, float] = {}
    for group in sorted({name.split(":")[0] for name in names}):
        own = [n for n, name in enumerate(names) if name.startswith(group + ":")]
        part = cross_validated_scores(table[:, own], synthetic, patients, folds)
        groups[group] = round(area_under_curve(part, synthetic), 3)
    counts = {
        kind: [int((synthetic == of).sum()), len(np.unique(patients[synthetic == of]))]
        for kind, of in (("phantom", True), ("real", False))
    }
    return {
        "area": round(area_under_curve(scores, synthetic), 3),
        "interval": [round(end, 3) for end in resampled_interval(scores, synthetic, patients)],
        "pictures and patients": counts,
        "by group": groups,
        "by feature": dict(sorted(alone.items(), key=lambda one: -abs(one[1]["area"] - 0.5))),
    }


def print_comparison(kind: str, found: dict[str, Any]) -> None:
    """The comparison for a person."""
    counts = found["pictures and patients"]
    low, high = found["interval"]
    words = ", ".join(f"{many} {which} of {people} patients" for which, (many, people) in counts.items())
    print(f"{kind}: area under the curve {found['area']:.3f} ({low:.3f} – {high:.3f}); {words}")
    for group, area in sorted(found["by group"].items(), key=lambda one: -one[1]):
        print(f"  by {group} alone: {area:.3f}")
    print("  each feature alone (over .5: larger on the phantom), and medians of real and phantom")
    for name, line in found["by feature"].items():
        print(f"  {line['area']:.3f}  {name:48} {line['real']:9.3f} {line['phantom']:9.3f}")


def main() -> int:
    """Measure both kinds, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="real data: ct/, cxr/, cxr_nih/")
    parser.add_argument("--patients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--only", choices=("ct", "film"))
    parser.add_argument("--skip", action="append", default=[], help="leave out features with this word")
    parser.add_argument("--save", type=Path, help="folder for the synthetic pictures")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    kinds = [given.only] if given.only else ["ct", "film"]
    if given.save is not None:
        given.save.mkdir(parents=True, exist_ok=True)
    try:
        real = {
            "ct": list(real_slices(given.data / "ct")) if "ct" in kinds else [],
            "film": list(real_films(given.data)) if "film" in kinds else [],
        }
        for kind in kinds:
            if len({one.patient for one in real[kind]}) < 2:
                print(f"phantom_against_real: fewer than two real patients for {kind}", file=sys.stderr)
                return 1
        made = synthetic_specimens(given.patients, given.seed, kinds, given.save)
    except OverreadError as error:
        print(f"phantom_against_real: {error}", file=sys.stderr)
        return 1
    found = {kind: compare([*made[kind], *real[kind]], given.skip) for kind in kinds}
    if given.json:
        print(json.dumps(found, indent=1))
        return 0
    for kind in kinds:
        print_comparison(kind, found[kind])
    return 0


if __name__ == "__main__":
    sys.exit(main())
