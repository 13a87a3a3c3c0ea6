"""Making a population: the same bytes by any road, nothing lost on a kill, nothing mixed up."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import overread
from overread.core import Mask, Volume
from overread.errors import UsageError
from overread.phantom.exams import patient_exams
from overread.phantom.exams.ct import list_scan_files, scan_name
from overread.phantom.generator import PopulationResult, make_population
from overread.phantom.patient import Patient, PatientSettings
from overread.phantom.population import split_of
from overread.phantom.statement import FindingStatement
from overread.pixels.masks import read_channel
from overread.pixels.nifti import read_volume
from tests.jsonl_rows import read_rows
from tests.phantom.fake_patients import entity, fake_patient, finding

SEED = 2
PATIENTS = 3
CT = ("rexgroundingct",)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file under a folder and its bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three patients as they are made in two processes; not to be changed."""
    out = tmp_path_factory.mktemp("population") / "out"
    told: list[tuple[int, int | None]] = []
    outcome = make_population(
        out,
        PATIENTS,
        PatientSettings(seed=SEED),
        exams=CT,
        workers=2,
        progress=lambda *both: told.append(both),
    )
    assert (outcome.made, outcome.existing, outcome.failed) == (PATIENTS, 0, {})
    assert told == [(done, PATIENTS) for done in range(PATIENTS + 1)]
    return out


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patients are made in no time, and in this process."""
    monkeypatch.setattr(patient_exams, "make_patient", fake_patient)


def make(out: Path, patients: int, seed: int = 0) -> PopulationResult:
    """Make patients in this process."""
    return make_population(out, patients, PatientSettings(seed=seed), exams=CT, workers=1)


@pytest.mark.slow
def test_any_number_of_workers_and_any_order_give_the_same_bytes(population: Path, tmp_path: Path) -> None:
    """One process, the first patient alone and the others later: the very same tree."""
    make(tmp_path / "a", 1, SEED)
    outcome = make(tmp_path / "a", PATIENTS, SEED)
    assert (outcome.made, outcome.existing) == (PATIENTS - 1, 1)
    assert tree(tmp_path / "a") == tree(population)


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_check_finds_nothing(population: Path, split: str) -> None:
    """No error and no warning in any split; there is a patient in each of the first three."""
    root = population / "rexgroundingct"
    assert list(overread.check("rexgroundingct", root, split)) == []
    assert len(list(overread.load("rexgroundingct", root, split))) == 1


def test_entries_and_masks_agree_with_what_is_known_of_the_patients(population: Path) -> None:
    """Sentences, categories, entities and voxels of phantom.jsonl are those of the masks."""
    root = population / "rexgroundingct"
    lines = {line["name"]: line for line in read_rows(root / "phantom.jsonl")}
    chains = json.loads((root / "anatomical_cot.json").read_text("utf-8"))
    assert list(lines) == [scan_name(number) for number in (1, 2, 3)]
    assert chains.keys() == lines.keys()
    for split in ("train", "val", "test"):
        release = overread.load("rexgroundingct", root, split)
        for entry in release.entries():
            (volume,) = entry.case.pictures
            line = lines[volume.file]
            assert entry.case.split == line["split"] == split_of(line["patient"])
            assert line["settings"] == PatientSettings(seed=SEED).model_dump()
            assert entry.truth is not None
            for found, told in zip(entry.truth.findings, line["findings"], strict=True):
                assert (found.text, found.query) == (told["text"], told["key"])
                assert found.category == told["statement"]["category"]
                assert (found.entities, found.voxels) == (len(told["voxels"]), sum(told["voxels"]))
                assert told["statement"]["count"] == found.entities
                (mask,) = found.regions
                assert isinstance(mask, Mask)
                assert isinstance(volume, Volume)
                assert volume.shape is not None
                source = release.source(mask.file)
                labels = read_channel(source, mask.channel, volume.shape, mask.channels)
                numbers, voxels = np.unique(labels[labels > 0], return_counts=True)
                assert numbers.tolist() == list(range(1, len(told["voxels"]) + 1))
                assert voxels.tolist() == told["voxels"]
                i0, j0, k0, i1, j1, k1 = chains[volume.file][found.query][-1]["box"]
                assert (labels[i0:i1, j0:j1, k0:k1] > 0).sum() == found.voxels


def test_patients_are_told_apart(population: Path) -> None:
    """The loader's handle of a patient, where it knows his split."""
    handles = {
        case.patient
        for split in ("train", "test")
        for case in overread.load("rexgroundingct", population / "rexgroundingct", split)
    }
    assert handles == {"train_1", "test_2"}


def test_anatomy_lies_in_the_space_of_the_ct(population: Path) -> None:
    """Same geometry; every label has a name; lobes and segments fill the same voxels."""
    root = population / "rexgroundingct"
    names = json.loads((root / "anatomy" / "labels.json").read_text("utf-8"))
    assert [len(names[part]) for part in ("lobes", "segments")] == [5, 18]
    assert names["lobes"]["3"] == "right lower lobe"
    _, space = read_volume(root / "images" / scan_name(1))
    parts: dict[str, NDArray[Any]] = {}
    for part, known in names.items():
        parts[part], here = read_volume(root / "anatomy" / part / scan_name(1))
        assert here == space
        assert parts[part].dtype == np.uint8
        assert set(np.unique(parts[part]).tolist()) <= {0, *map(int, known)}
    assert ((parts["lobes"] > 0) == (parts["segments"] > 0)).all()


def test_sources_and_card(population: Path) -> None:
    """The raw reports with CT-RATE's columns, and a card that says what this is."""
    with (population / "sources/rexgroundingct/reports.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = read_rows(population / "rexgroundingct" / "phantom.jsonl")
    assert next(iter(rows[0])) == "VolumeName"
    assert [row["VolumeName"] for row in rows] == [line["name"] for line in lines]
    assert [row["Findings_EN"] for row in rows] == [line["report"]["findings"] for line in lines]
    card = (population / "rexgroundingct" / "README.md").read_text("utf-8")
    for words in ("synthetic", "apache-2.0", "patient\ncare", f"--seed {SEED}", "images`"):
        assert words in card
    assert f"| patients |  | 1 | 1 | 1 | {PATIENTS} |" in card


@pytest.mark.usefixtures("fake")
def test_the_split_hangs_on_the_number_alone(tmp_path: Path) -> None:
    """Of ten, seven train, one val, two test; another seed, another population."""
    outcome = make(tmp_path / "a", 10)
    assert outcome.splits == {"train": 7, "val": 1, "test": 2}
    make(tmp_path / "b", 10, seed=1)
    a, b = tree(tmp_path / "a"), tree(tmp_path / "b")
    assert a.keys() == b.keys()
    assert all(a[file] != b[file] for file in list_scan_files(4)[:2])


@pytest.mark.usefixtures("fake")
def test_made_again_and_made_larger(tmp_path: Path) -> None:
    """All there; some more; a file that was lost is made again; the bytes are as in one go."""
    out = tmp_path / "out"
    make(out, 2)
    before = tree(out)
    again = make(out, 2)
    assert (again.made, again.existing) == (0, 2)
    assert tree(out) == before
    (out / list_scan_files(2)[3]).unlink()
    (out / ".making" / "000001.json").write_text("{")
    for folder in ("rexgroundingct/images", "sources/rexgroundingct"):
        (out / folder / f".{'0' * 32}.part").write_text("half")
    assert make(out, 5).made == 5
    make(tmp_path / "other", 5)
    assert tree(out) == tree(tmp_path / "other")


@pytest.mark.usefixtures("fake")
def test_what_cannot_be_mixed_is_refused(tmp_path: Path) -> None:
    """Other settings, fewer patients, other folders, unknown exams: one sentence, no change."""
    out = tmp_path / "out"
    make(out, 2)
    before = tree(out)
    with pytest.raises(UsageError, match="was made with seed 0, not 7: choose another folder"):
        make(out, 2, seed=7)
    with pytest.raises(UsageError, match="patients up to number 2 already"):
        make(out, 1)
    with pytest.raises(UsageError, match="no exam is called 'ultrasound'"):
        make_population(out, 2, PatientSettings(), exams=["ultrasound"])
    (out / ".making" / "settings.json").write_text("[]")
    with pytest.raises(UsageError, match="damaged"):
        make(out, 2)
    (out / ".making" / "settings.json").write_bytes(before[".making/settings.json"])
    assert tree(out) == before
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="was not made by overread phantom"):
        make(tmp_path, 1)
    with pytest.raises(UsageError, match="is not a folder"):
        make(tmp_path / "thesis.txt", 1)
    assert make(out, 2).existing == 2


@pytest.mark.usefixtures("fake")
def test_two_at_once_are_refused(tmp_path: Path) -> None:
    """Only one process makes patients in a folder."""

    def meanwhile(done: int, total: int | None) -> None:
        with pytest.raises(UsageError, match="another overread is making patients"):
            make(tmp_path / "out", 1)

    make_population(tmp_path / "out", 1, PatientSettings(), exams=CT, workers=1, progress=meanwhile)


def test_a_patient_who_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are listed, he is named; when he can be made all is as if nothing had been."""
    lost = FindingStatement(category="2d", kind="solid", side="right", lobes=("RLL",))
    twin = entity((5, 8), (11, 14), (5, 8))

    def mostly(number: int, settings: PatientSettings) -> Patient:
        if number == 2:
            raise ZeroDivisionError("float division by zero")
        broken = (finding(lost, twin, twin),) if number == 4 else ()
        return fake_patient(number, settings, *broken)

    monkeypatch.setattr(patient_exams, "make_patient", mostly)
    outcome = make(tmp_path / "a", 4)
    told = {number: str(error) for number, error in outcome.failed.items()}
    assert told[2] == "patient 2 could not be made: ZeroDivisionError: float division by zero"
    assert told[4].startswith("patient 4 could not be made: finding 0 has an entity without")
    assert outcome.splits == {"train": 1, "val": 1}
    assert list(overread.check("rexgroundingct", tmp_path / "a" / "rexgroundingct", "train")) == []
    monkeypatch.setattr(patient_exams, "make_patient", fake_patient)
    assert make(tmp_path / "a", 4).made == 2
    make(tmp_path / "b", 4)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")

    def full(number: int, settings: PatientSettings) -> Patient:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(patient_exams, "make_patient", full)
    with pytest.raises(OSError, match="No space"):
        make(tmp_path / "a", 9)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that is making patients in two processes and has finished the first one."""
    words = ["phantom", "out", "--patients", str(PATIENTS), "--seed", str(SEED), "--workers", "2"]
    words += ["--exams", *CT]
    with subprocess.Popen(
        [sys.executable, "-m", "overread", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that Ctrl-C can be sent to it and its workers, as a shell does
    ) as process:
        deadline = time.monotonic() + 600
        while not list(tmp_path.glob("out/.making/0*.json")) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.02)
        yield process
        process.kill()


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Process numbers of its workers."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    lines = {int(child): Path(f"/proc/{child}/cmdline").read_text() for child in children}
    return [child for child, line in lines.items() if "spawn_main" in line]


def are_gone(workers: list[int]) -> bool:
    """Whether they end, soon or late."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "ctrl-c", "term"])
def test_stopped_in_the_middle_and_taken_up_again(
    how: str, running: subprocess.Popen[str], population: Path, tmp_path: Path
) -> None:
    """No worker stays behind, nothing is half written, and the end is as in one go."""
    workers = workers_of(running)
    assert len(workers) == 2
    if how == "kill":
        running.kill()
    elif how == "ctrl-c":
        os.killpg(running.pid, signal.SIGINT)
    else:
        running.terminate()
    out, err = running.communicate(timeout=600)
    expected = {"kill": -9, "ctrl-c": 130, "term": 143}
    assert (running.returncode, out) == (expected[how], "")
    assert "Traceback" not in err
    assert how != "ctrl-c" or "stopped; resume with the same command" in err
    assert are_gone(workers)
    assert not (tmp_path / "out/rexgroundingct/dataset.json").exists()
    outcome = make(tmp_path / "out", PATIENTS, SEED)
    assert outcome.existing >= 1
    assert tree(tmp_path / "out") == tree(population)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(
    running: subprocess.Popen[str], population: Path, tmp_path: Path
) -> None:
    """A worker that is killed costs nothing but time: its patient is made by another."""
    workers = workers_of(running)
    os.kill(workers[0], signal.SIGKILL)
    _, err = running.communicate(timeout=600)
    assert running.returncode == 0, err
    assert are_gone(workers)
    assert tree(tmp_path / "out") == tree(population)


@pytest.mark.slow
def test_full_size(tmp_path: Path) -> None:
    """One patient of 512 × 512 × 300 voxels; nothing is wrong with him."""
    make_population(tmp_path / "out", 1, PatientSettings(size="full"), exams=CT, workers=1)
    root = tmp_path / "out" / "rexgroundingct"
    assert list(overread.check("rexgroundingct", root, "train")) == []
    (case,) = overread.load("rexgroundingct", root, "train")
    assert case.pictures[0].shape == (512, 512, 300)  # type: ignore[union-attr]
