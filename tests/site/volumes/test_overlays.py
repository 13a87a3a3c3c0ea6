"""Masks of runs over a scan: held against numpy, the metrics, and what may be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from nibabel.affines import apply_affine
from numpy.typing import NDArray
from scipy import ndimage

from overread.metrics.contract import Subject
from overread.metrics.masks.measure import measure_masks
from overread.runs.reading_files import RunFiles
from overread.runs.store import last_readings
from overread.site.shelf import Shelf
from overread.site.volumes.overlays import ALARM, HIT, MISS
from tests.site.served_site import READERS, Site, serve_site

CASES = {"test_2_a_1": ("0",), "test_7_a_1": ("0", "1")}
SIDES = [(case, query) for case, queries in CASES.items() for query in queries]


def ids(site: Site, reader: str) -> tuple[str, str]:
    """The dataset of CTs, and a run on it."""
    return (site.shelf_id("datasets", "rexgroundingct"), site.shelf_id("runs", f"rexgroundingct/{reader}"))


def channel(file: Path, query: str) -> NDArray[Any]:
    """One channel of a mask file, as nibabel reads it."""
    found: NDArray[Any] = np.asarray(nib.load(file).dataobj)[int(query)]
    return found


def both(shelf: Path, reader: str, case: str, query: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Truth and prediction in the order of the file."""
    truth = channel(shelf / "rexgroundingct" / "segmentations" / f"{case}.nii.gz", query)
    made = channel(shelf / "runs/rexgroundingct" / reader / "arrays" / f"{case}.nii.gz", query)
    return truth, made


def assert_cut_of(data: bytes, whole: NDArray[Any], affine: NDArray[Any]) -> None:
    """A mask that was cut out of a whole one, where its affine says, and nothing was left out."""
    found, image = nib.Nifti1Image.from_bytes(data), nib.Nifti1Image(whole, affine)
    if nib.aff2axcodes(found.affine) != nib.aff2axcodes(affine):
        image = nib.as_closest_canonical(image)
    first = apply_affine(np.linalg.inv(image.affine), found.affine[:3, 3])
    assert np.abs(first - np.rint(first)).max() < 1e-3
    cut = tuple(slice(int(a), int(a) + n) for a, n in zip(np.rint(first), found.shape, strict=True))
    values = np.asarray(found.dataobj)
    assert (values == np.asarray(image.dataobj)[cut]).all()
    assert np.count_nonzero(values) == np.count_nonzero(whole)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("case", "query"), SIDES)
def test_comparisons_are_exact(site: Site, shelf_folder: Path, reader: str, case: str, query: str) -> None:
    """Hits, misses and false alarms are those of numpy, voxel by voxel."""
    dataset, run = ids(site, reader)
    truth, made = both(shelf_folder, reader, case, query)
    affine = nib.load(shelf_folder / "rexgroundingct" / "images" / f"{case}.nii.gz").affine
    base = f"/api/volumes/{dataset}/test/{case}/ct"
    expected = np.zeros(truth.shape, np.uint8)
    expected[(truth > 0) & (made > 0)] = HIT
    expected[(truth > 0) & (made == 0)] = MISS
    expected[(truth == 0) & (made > 0)] = ALARM
    for frame in ("stored", "patient"):
        answer = site.ask(f"{base}/compare/{query}?run={run}&frame={frame}")
        assert_cut_of(answer.body, expected, affine)
        answer = site.ask(f"{base}/prediction/{query}?run={run}&frame={frame}")
        assert_cut_of(answer.body, made.astype(np.uint8), affine)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", CASES)
def test_facts_are_those_of_the_metrics(site: Site, shelf_folder: Path, reader: str, case: str) -> None:
    """Dice, met and missed entities, false alarms and distances as the scores have them."""
    dataset, run = ids(site, reader)
    base = f"/api/volumes/{dataset}/test/{case}/ct"
    shelf = Shelf([shelf_folder])
    split = shelf.dataset(dataset).split("test")
    folder = shelf.run(run).folder
    reading = last_readings(folder)[(case, 0)]
    subject = Subject(split.entry(case), reading, split.release, RunFiles(folder))
    rows = measure_masks(subject, surfaces=True)
    for facts in site.get(f"{base}/findings?run={run}")["findings"]:
        row, met = rows[facts["query"]], facts["met"]
        assert met["dice"] == pytest.approx(row["dice"])
        assert met["dice_whole"] == pytest.approx(row["raw_dice"])
        assert (met["met"], met["missed"], met["surplus"]) == (row["tp"], row["fn"], row["fp"])
        assert met["hit"] == bool(row["hit"])
        truth, made = both(shelf_folder, reader, case, facts["query"])
        assert met["hit_voxels"] == int(((truth > 0) & (made > 0)).sum())
        assert met["missed_voxels"] == int(((truth > 0) & (made == 0)).sum())
        assert met["surplus_voxels"] == int(((truth == 0) & (made > 0)).sum())
        assert sum(spot["met"] for spot in facts["entities"]) == row["tp"]
        assert sum(not spot["met"] for spot in facts["predicted"]["lesions"]) == row["fp"]
        if (made > 0).any():
            away = site.get(f"{base}/distances/{facts['query']}?run={run}")
            for name, key in (("hd95", "hd95"), ("assd", "assd_pooled"), ("nsd_2mm", "nsd_2mm")):
                assert away[name] == pytest.approx(row[key])


def test_lesions_of_a_run_are_components(site: Site, shelf_folder: Path) -> None:
    """Where to look in a prediction: the connected pieces that are large enough."""
    dataset, run = ids(site, "atlas")
    marks = site.get(f"/api/volumes/{dataset}/test/test_7_a_1/ct/marks?run={run}")["marks"]
    for one in marks:
        _, made = both(shelf_folder, "atlas", "test_7_a_1", one["query"])
        pieces, _ = ndimage.label(made > 0, ndimage.generate_binary_structure(3, 2))
        sizes = np.bincount(pieces.ravel())[1:]
        large = sizes[sizes >= 10]
        assert sorted(spot["voxels"] for spot in one["lesions"]) == sorted(large.tolist())
        assert one["dropped"] == int(sizes[sizes < 10].sum())
        assert all(spot["met"] is None for spot in one["lesions"])


def test_a_run_of_another_split_is_refused(site: Site) -> None:
    """A run is laid only over what it read."""
    dataset, run = ids(site, "atlas")
    other = site.shelf_id("runs", "mmrad/atlas")
    base = f"/api/volumes/{dataset}"
    assert site.ask(f"{base}/val/val_3_a_1/ct/marks?run={run}").status == 422
    assert site.ask(f"{base}/test/test_7_a_1/ct/marks?run={other}").status == 422


def test_without_the_truth_only_predictions_are_told(hidden_site: Site) -> None:
    """Where the truth is withheld no route tells it, and what a run marked is still shown."""
    dataset, run = ids(hidden_site, "atlas")
    base = f"/api/volumes/{dataset}/test/test_7_a_1/ct"
    for part in ("findings", "truth/0", f"compare/0?run={run}", f"distances/0?run={run}"):
        assert hidden_site.ask(f"{base}/{part}").status == 403
    for part in ("geometry", f"marks?run={run}", f"prediction/0?run={run}", "slice"):
        assert hidden_site.ask(f"{base}/{part}").status == 200
    told = hidden_site.ask(f"{base}/marks?run={run}").body
    assert b"category" not in told
    assert b"entities" not in told
    assert hidden_site.ask(f"{base}/truth/0", method="HEAD").status == 403


def test_damaged_files_are_told(own_shelf: Path) -> None:
    """A mask that is cut off, a mask that is gone, a scan that is none: one sentence each."""
    mask = own_shelf / "rexgroundingct/segmentations/test_7_a_1.nii.gz"
    good = mask.read_bytes()
    mask.unlink()
    mask.write_bytes(good[:-500])
    (own_shelf / "runs/rexgroundingct/atlas/arrays/test_7_a_1.nii.gz").unlink()
    scan = own_shelf / "rexgroundingct/images/test_2_a_1.nii.gz"
    scan.unlink()
    scan.write_bytes(b"no scan at all")
    # The runs of a copied shelf still name the old place of what they read.
    moved = str(own_shelf / "rexgroundingct")
    with serve_site([own_shelf], "--read-only", "--root", moved) as site:
        dataset, run = ids(site, "atlas")
        base = f"/api/volumes/{dataset}/test"
        facts = site.get(f"{base}/test_7_a_1/ct/findings?run={run}")["findings"]
        assert all("cut off" in one["problem"] for one in facts)
        assert all(one["predicted"]["problem"] == "the mask is missing" for one in facts)
        assert site.ask(f"{base}/test_7_a_1/ct/truth/0").status == 422
        assert site.ask(f"{base}/test_7_a_1/ct/prediction/0?run={run}").status == 422
        for part in ("", "/geometry", "/slice", "/findings"):
            assert site.ask(f"{base}/test_2_a_1/ct{part}").status == 422
