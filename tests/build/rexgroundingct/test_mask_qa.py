"""QA of masks: two readers accept, edit or reject; the edited mask is released, and Dice is told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from overread.build.adjudication import Queue
from overread.build.plan import BuildOutcome
from overread.build.rexgroundingct import RECIPE
from overread.build.rexgroundingct.mask_agreement import measure_mask_agreement
from overread.build.runner import run_build
from overread.cli.main import app
from overread.pixels.masks import read_channel
from overread.pixels.nifti import write_volume

SHAPE = (20, 16, 12)
AFFINE = np.diag([-2.0, -2.0, 3.0, 1.0])
STEM = "val_1_a_1"
REPORT = (
    "VolumeName,Findings_EN,Impressions_EN\n"
    f'{STEM}.nii.gz,"A 6 mm nodule is seen in the right upper lobe. There is consolidation in the left lower '
    'lobe. Ground glass opacity in the right lower lobe.",""\n'
)


def block(start: int, end: int) -> NDArray[np.uint8]:
    """A mask with one entity between two places of the first axis."""
    found = np.zeros(SHAPE, np.uint8)
    found[start:end, 2:8, 2:8] = 1
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A source with a CT, and a build whose masks have come back."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "reports.csv").write_text(REPORT)
    write_volume(tmp_path / "source" / f"{STEM}.nii.gz", np.zeros(SHAPE, np.int16), AFFINE)
    built(tmp_path)
    for key in "012":
        write_volume(tmp_path / "build" / "masks" / STEM / f"{key}.nii.gz", block(2, 12), AFFINE)
    return tmp_path


def built(place: Path) -> BuildOutcome:
    """The build, gone on with."""
    return run_build(RECIPE, place / "source", place / "build", settings={"qa": "yes"})


def say(place: Path, person: str, *verdicts: str) -> None:
    """A person's verdicts on the masks of the findings 0, 1, 2."""
    queue = Queue(place / "build")
    asked = {question.id.split("/")[2]: question for question in queue.open_questions(person, kind="mask-qa")}
    for key, verdict in enumerate(verdicts):
        queue.submit(person, asked[str(key)].id, verdict)


def test_what_two_readers_say_becomes_of_the_masks(place: Path) -> None:
    """Accepted stays, edited takes its place, rejected goes; Dice between the readers is reported."""
    assert built(place).waiting == 1
    task = json.loads((place / "build" / "annotation" / STEM / "qa.json").read_text())
    assert task["verdicts"] == ["accept", "edit", "reject"]
    assert "qa/NAME" in task["edited masks"]
    for reader, end in (("ann", 10), ("ben", 8)):
        write_volume(place / "build" / "qa" / reader / STEM / "1.nii.gz", block(2, end), AFFINE)
        say(place, reader, "accept", "edit", "reject")
    assert built(place).waiting == 1
    queue = Queue(place / "build")
    (question,) = queue.open_questions("ann", kind="mask-choice")
    assert question.choices == ("ann", "ben")
    for reader in ("ann", "ben"):
        queue.submit(reader, question.id, "ben")
    outcome = built(place)
    (item,) = outcome.items
    found = item.data["annotated"]
    assert isinstance(found, dict)
    assert {key: value["voxels"] for key, value in found.items() if isinstance(value, dict)} == {
        "0": 10 * 36, "1": 6 * 36,
    }  # fmt: skip
    assert outcome.release is not None
    mask = outcome.release / "segmentations" / f"{STEM}.nii.gz"
    assert (read_channel(mask, 1, SHAPE, 2, name="mask") == block(2, 8)).all()
    whole, *_ = measure_mask_agreement(place / "build", draws=10)
    assert (whole.findings, whole.edited, whole.rejected) == (2, 1, 1)
    assert whole.edited_dice.value == pytest.approx(2 * 6 / (8 + 6), abs=1e-6)
    assert whole.dice.value == pytest.approx((1 + 12 / 14) / 2, abs=1e-6)
    told = CliRunner().invoke(app, ["adjudicate", str(place / "build"), "--agreement", "--draws", "10"])
    assert told.exit_code == 0, told.output
    assert "mask-qa, masks: 2 findings with two readers, 1 edited, 1 without a mask of both" in told.output
    assert "Dice between readers   0.929" in told.output


def test_an_edit_without_a_mask_waits_and_all_rejected_drops(place: Path) -> None:
    """Who says 'edit' must hand one in that fits the CT; a scan without an accepted mask goes."""
    built(place)
    for reader in ("ann", "ben"):
        say(place, reader, "edit", "accept", "accept")
    write_volume(place / "build" / "qa" / "ann" / STEM / "0.nii.gz", block(2, 9)[:10], AFFINE)
    assert built(place).waiting == 1
    (question,) = Queue(place / "build").open_questions("cem", kind="mask-file")
    assert "qa/NAME/val_1_a_1/0.nii.gz is not there" in question.text
    assert "What ann put there does not fit the CT" in question.text
    write_volume(place / "build" / "qa" / "ann" / STEM / "0.nii.gz", block(2, 9), AFFINE)
    assert len(built(place).items) == 1
    for key in "012":
        write_volume(place / "build" / "masks" / STEM / f"{key}.nii.gz", block(3, 12), AFFINE)
    assert built(place).waiting == 1  # other masks, other questions
    for reader in ("ann", "ben"):
        say(place, reader, "reject", "reject", "reject")
    outcome = built(place)
    assert {why for step in outcome.steps for why in step.dropped} == {"rejected-in-qa"}
