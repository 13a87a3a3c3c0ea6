"""Tries `overread export nnunet` with nnU-Net v2: plan, preprocess, two epochs, predict, grade.

    python -m tools.works_with.try_nnunet .venv-nnunet

nnU-Net's own commands on synthetic CTs of 2 mm, on a CPU: its 2D configuration, four steps an epoch.
What it predicted is graded as it lies in its folder. It learnt next to nothing, and marks nothing or
nonsense; so its folder is graded once more with the true label maps in it, which must reach what
one label a category can reach.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tools.works_with.trial import Found, Trial, make_release, run_overread, run_trial

NAME = "Dataset501_Phantom"
_TRAINER = """
import torch
from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer


class TwoShortEpochs(nnUNetTrainer):
    def __init__(self, plans, configuration, fold, dataset_json, device=torch.device("cpu")):
        super().__init__(plans, configuration, fold, dataset_json, device)
        self.num_epochs = 2
        self.num_iterations_per_epoch = 4
        self.num_val_iterations_per_epoch = 2

    def perform_actual_validation(self, save_probabilities=False):
        pass  # minutes on a CPU; the test scans are predicted afterwards
"""


def _prepare(work: Path) -> None:
    root = make_release(work, patients=6, exams="rexgroundingct")
    run_overread("export", "nnunet", "rexgroundingct", root, "--out", work / "raw" / NAME)
    for folder in ("preprocessed", "results", "trainers"):
        (work / folder).mkdir(exist_ok=True)
    (work / "trainers/TwoShortEpochs.py").write_text(_TRAINER)


def _job(work: Path) -> Found:
    from importlib.metadata import version

    from tools.works_with.gpu_builds import allow_gpu_builds

    for name in ("raw", "preprocessed", "results"):
        os.environ[f"nnUNet_{name}"] = str(work / name)
    os.environ |= {
        "nnUNet_extTrainer": str(work / "trainers"),
        "nnUNet_compile": "f",
        "nnUNet_n_proc_DA": "1",
    }
    allow_gpu_builds()
    from nnunetv2.experiment_planning.plan_and_preprocess_entrypoints import plan_and_preprocess_entry
    from nnunetv2.inference.predict_from_raw_data import predict_entry_point
    from nnunetv2.run.run_training import run_training_entry

    few = ["-np", "1", "-npfp", "1", "-gpu_memory_target", "0.5"]
    _type(plan_and_preprocess_entry, "-d", "501", "-c", "2d", "--verify_dataset_integrity", *few)
    # Which cases are val's is told by the benchmark, not drawn by nnU-Net.
    shutil.copy(work / "raw" / NAME / "splits_final.json", work / "preprocessed" / NAME)
    os.environ |= {"nnUNet_n_proc_DA": "0"}
    mine = ["-tr", "TwoShortEpochs", "-device", "cpu"]
    _type(run_training_entry, "501", "2d", "0", *mine)
    images, out = work / "raw" / NAME / "imagesTs", work / "predicted"
    words = ["-i", str(images), "-o", str(out), "-d", "501", "-c", "2d", "-f", "0", *mine]
    _type(predict_entry_point, *words, "-npp", "1", "-nps", "1", "--disable_tta")
    logs = list((work / "results").rglob("training_log*.txt"))
    epochs = [line.partition(": ")[2] for line in logs[0].read_text().splitlines() if "Epoch " in line]
    assert len(epochs) == 2, epochs
    return {
        "nnunetv2": version("nnunetv2"),
        "epochs": len(epochs),
        "left": sorted(p.name for p in out.iterdir()),
    }


def _type(command: Callable[[], object], *words: str) -> None:
    """Call the function behind a command as if it had been typed."""
    sys.argv = [command.__name__, *words]
    command()


def _check(work: Path) -> Found:
    root = work / "patients/rexgroundingct"
    found: Found = {}
    truth = work / "truth"
    run_overread("export", "nnunet", "rexgroundingct", root, "--out", truth / NAME, "--with-test-truth")
    perfect = work / "perfect"
    shutil.copytree(work / "predicted", perfect)
    for file in (truth / NAME / "labelsTs").iterdir():
        assert (perfect / file.name).exists(), "nnU-Net names its predictions like the scans"
        shutil.copy(file, perfect / file.name)
    for name, folder in (("as predicted", work / "predicted"), ("the truth in its place", perfect)):
        card = json.loads(run_overread("grade", "rexgroundingct", root, folder, "--json", "--draws", 0))
        assert not card["failed"], card["problems"]
        found[name] = {
            "mean_global_dice_per_finding": card["mean_global_dice_per_finding"],
            "problems": card["problems"],
        }
    return found


TRIAL = Trial(
    module="tools.works_with.try_nnunet",
    requirements=("torch==2.13.0", "nnunetv2==2.8.1"),
    prepare=_prepare,
    job=_job,
    check=_check,
)

if __name__ == "__main__":
    sys.exit(run_trial(TRIAL, __doc__))
