"""Tasks go out, masks come back: all forms, and everything that can be wrong with them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.build.item import Drop, Item, Keep, StepResult, Wait
from overread.build.rexgroundingct.chain import make_chain
from overread.build.rexgroundingct.chain_step import thought_problems
from overread.build.rexgroundingct.mask_step import collect_masks, files_state, question_id
from overread.build.rexgroundingct.organs import read_organs
from overread.build.rexgroundingct.scan_paths import organ_paths
from overread.build.rexgroundingct.tasks import EXCLUSIONS, write_tasks
from overread.build.step_context import LiveStepContext
from overread.errors import PictureError, UsageError
from overread.pixels.geometry import make_geometry
from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume

SHAPE = (12, 10, 8)
AFFINE = np.diag([-2.0, -2.0, 3.0, 1.0])
NAME = "train_1_a_1.nii.gz"
TARGETS = {
    "0": {"from": "P1", "text": "Two nodules in the right lung", "category": "2d"},
    "1": {"from": "P2", "text": "Right pleural effusion", "category": "2e"},
}


def item(targets: Mapping[str, Any] = TARGETS, **more: Any) -> Item:
    """A scan with two findings that are to be annotated."""
    data = {"name": NAME, "targets": targets, "split": "train", **more}
    return Item.model_validate({"id": "train_1_a_1", "patient": "train_1", "data": data})


def labels(*boxes: tuple[int, int]) -> NDArray[np.uint8]:
    """An array with one entity a pair: where it begins and ends along the first axis."""
    found = np.zeros(SHAPE, np.uint8)
    for number, (start, end) in enumerate(boxes, 1):
        found[start:end, 2:5, 2:5] = number
    return found


NODULES, EFFUSION = labels((1, 2), (3, 5)), labels((2, 6))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A source with one CT; the build's folder is `build` beside it."""
    write_volume(tmp_path / "source" / "images" / NAME, np.zeros(SHAPE, np.int16), AFFINE)
    (tmp_path / "build" / "masks").mkdir(parents=True)
    return tmp_path


def context(
    place: Path, verdicts: Mapping[str, str] | None = None, settings: Mapping[str, str] | None = None
) -> LiveStepContext:
    """A context without models."""
    folder = place / "build"
    return LiveStepContext(place / "source", folder=folder, settings=settings, verdicts=verdicts)


def taken(place: Path, verdicts: Mapping[str, str] | None = None) -> StepResult:
    """What becomes of the scan when its masks are taken back."""
    return asyncio.run(collect_masks(item(), context(place, verdicts)))


def about(key: str) -> str:
    """The id of the question about one finding."""
    return question_id(item(), "masks", key, TARGETS[key]["text"])


def said(outcome: StepResult, verdict: str) -> dict[str, str]:
    """The same verdict on everything that people are asked."""
    assert isinstance(outcome, Wait), outcome
    return {question.id: verdict for question in outcome.questions}


def asked(outcome: StepResult) -> str:
    """What people are asked, in one text."""
    assert isinstance(outcome, Wait), outcome
    return " | ".join(question.text for question in outcome.questions)


def test_tasks_go_out_in_three_forms(place: Path) -> None:
    """RedBrick, Label Studio and a plain folder with a link tell the same findings."""
    asyncio.run(write_tasks([item()], context(place)))
    out = place / "build" / "annotation"
    (task,) = json.loads((out / "redbrick.json").read_text())
    scan = str(place / "source" / "images" / NAME)
    assert task["series"] == [{"name": "train_1_a_1", "items": scan}]
    assert task["metaData"]["finding 0"] == "Two nodules in the right lung"
    (studio,) = json.loads((out / "label-studio.json").read_text())
    assert [f["category"] for f in studio["data"]["findings"]] == ["2d", "2e"]
    assert "not localisable" in (out / "label-studio.xml").read_text()
    plain = json.loads((out / "train_1_a_1" / "task.json").read_text())
    assert plain["findings"]["1"]["category name"] == "pleural effusion or thickening"
    assert (out / "train_1_a_1" / "ct.nii.gz").resolve() == Path(scan).resolve()
    asyncio.run(write_tasks([item()], context(place)))  # again, over what is there


def test_only_the_forms_that_are_wanted_go_out(place: Path) -> None:
    """One form, and a form of nobody's is refused."""
    asyncio.run(write_tasks([item()], context(place, None, {"task-formats": "redbrick"})))
    assert [p.name for p in (place / "build" / "annotation").iterdir()] == ["redbrick.json"]
    with pytest.raises(UsageError, match="task-formats names 'excel'"):
        asyncio.run(write_tasks([item()], context(place, None, {"task-formats": "excel"})))


MANY = labels(*((n, n + 1) for n in range(11)))
"""Eleven entities, as one finding of the published train split has."""


@pytest.mark.parametrize(
    ("split", "told", "passes"),
    [("train", "at most three", False), ("val", "every entity", True), ("test", "every entity", True)],
)
def test_the_protocol_follows_the_split(place: Path, split: str, told: str, passes: bool) -> None:
    """Said in every form of task and checked on what comes back; val and test are always marked whole."""
    scan = item(split=split)
    settings = {"protocol": "protocol1"}
    asyncio.run(write_tasks([scan], context(place, None, settings)))
    out = place / "build" / "annotation"
    (redbrick,) = json.loads((out / "redbrick.json").read_text())
    (studio,) = json.loads((out / "label-studio.json").read_text())
    plain = json.loads((out / "train_1_a_1" / "task.json").read_text())
    for rule in (redbrick["metaData"]["mark"], studio["data"]["mark"], plain["mark"]):
        assert told in rule
    write_mask(place / "build" / "masks" / NAME, [MANY, EFFUSION], AFFINE)
    found = asyncio.run(collect_masks(scan, context(place, None, settings)))
    assert isinstance(found, Keep) is passes
    if not passes:
        assert "11 entities are marked, and protocol1 marks at most three" in asked(found)
        again = asyncio.run(collect_masks(scan, context(place, said(found, "accept"), settings)))
        assert isinstance(again, Keep)
        assert [change.why for change in again.changes] == [
            "accepted: 11 entities are marked, and protocol1 marks at most three"
        ]


def test_fewer_entities_than_the_sentence_counts_are_asked_about(place: Path) -> None:
    """ "Two nodules" with one mark is not all of them."""
    write_mask(place / "build" / "masks" / NAME, [labels((1, 2)), EFFUSION], AFFINE)
    assert "the sentence counts 2 and 1 is marked" in asked(taken(place))


def _channels(place: Path) -> None:
    write_mask(place / "build" / "masks" / NAME, [NODULES, EFFUSION], AFFINE)


def _folder(place: Path) -> None:
    for key, mask in (("0", NODULES), ("1", EFFUSION)):
        write_volume(place / "build/masks/train_1_a_1" / f"{key}.nii.gz", mask, AFFINE)


def _values(place: Path) -> None:
    every = NODULES.copy()
    every[6:8, 2:5, 2:5] = 7
    write_volume(place / "build" / "masks" / NAME, every, AFFINE)
    told = {"segments": {"1": "0", "2": "0", "7": "1"}}
    (place / "build" / "masks" / "train_1_a_1.json").write_text(json.dumps(told))


@pytest.mark.parametrize(("write", "voxels"), [(_channels, 36), (_folder, 36), (_values, 18)])
def test_masks_come_back_in_three_forms(place: Path, write: Any, voxels: int) -> None:
    """Channels, one file a finding, or values with a list: entities and voxels are counted."""
    write(place)
    found = taken(place)
    assert isinstance(found, Keep)
    assert found.data["annotated"] == {
        "0": {"text": TARGETS["0"]["text"], "category": "2d", "entities": 2, "voxels": 27},
        "1": {"text": TARGETS["1"]["text"], "category": "2e", "entities": 1, "voxels": voxels},
    }
    assert found.data["shape"] == list(SHAPE)


def test_what_is_missing_waits_and_a_verdict_excludes(place: Path) -> None:
    """No CT, no mask, an empty channel: people are asked; what they exclude goes with its reason."""
    found = taken(place)
    assert isinstance(found, Wait)
    assert [q.id for q in found.questions] == [about("0"), about("1")]
    write_mask(place / "build" / "masks" / NAME, [NODULES, labels()], AFFINE)
    found = taken(place)
    assert isinstance(found, Wait)
    (question,) = found.questions
    assert (question.id, question.choices) == (about("1"), ("drawn", *EXCLUSIONS))
    found = taken(place, {question.id: "too diffuse"})
    assert isinstance(found, Keep)
    assert list(found.data["annotated"]) == ["0"]  # type: ignore[arg-type]
    assert [(c.what, c.by, c.why) for c in found.changes] == [("finding 1", "people", "too diffuse")]
    both = {about(key): "normal" for key in TARGETS}
    found = taken(place, both)
    assert isinstance(found, Drop)
    assert (found.reason, found.by) == ("excluded", "people")
    (place / "source" / "images" / NAME).unlink()
    assert "The CT of this scan is not here" in asked(taken(place))


def test_channels_may_come_back_for_the_findings_that_were_kept_alone(place: Path) -> None:
    """Whoever leaves an excluded finding out of the file is understood."""
    write_volume(place / "build" / "masks" / NAME, EFFUSION, AFFINE)
    found = taken(place, {about("0"): "not localisable"})
    assert isinstance(found, Keep)
    annotated = found.data["annotated"]
    assert isinstance(annotated, dict)
    assert annotated["1"] == {
        "text": TARGETS["1"]["text"], "category": "2e", "entities": 1, "voxels": 36,
    }  # fmt: skip


def _swapped(place: Path) -> None:
    turned = [np.ascontiguousarray(mask.transpose(1, 0, 2)) for mask in (NODULES, EFFUSION)]
    write_mask(place / "build" / "masks" / NAME, turned, AFFINE)


def _short(place: Path) -> None:
    write_mask(place / "build" / "masks" / NAME, [NODULES], AFFINE)


def _halves(place: Path) -> None:
    both = np.stack([NODULES, EFFUSION]).astype(np.float32) / 2
    write_volume(place / "build" / "masks" / NAME, both, AFFINE)


def _strange(place: Path) -> None:
    _folder(place)
    write_volume(place / "build/masks/train_1_a_1/5.nii.gz", NODULES, AFFINE)


def _elsewhere(place: Path) -> None:
    _folder(place)
    moved = AFFINE.copy()
    moved[0, 3] = 40
    write_volume(place / "build/masks/train_1_a_1/1.nii.gz", EFFUSION, moved)


def _unnamed(place: Path) -> None:
    _values(place)
    told = {"segments": {"1": "0", "7": "4"}}
    (place / "build" / "masks" / "train_1_a_1.json").write_text(json.dumps(told))


def _garbage(place: Path) -> None:
    (place / "build" / "masks" / NAME).write_bytes(b"no mask")


def _many(place: Path) -> None:
    _folder(place)
    big = EFFUSION.astype(np.int16) * 300
    write_volume(place / "build/masks/train_1_a_1/1.nii.gz", big, AFFINE)


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (_swapped, "H and W are swapped"),
        (_short, "1 channel(s), the case 2 finding(s)"),
        (_halves, "holds the value 0.5"),
        (_strange, "5.nii.gz is of no known finding"),
        (_elsewhere, "1.nii.gz lies elsewhere than the CT"),
        (_unnamed, "names the finding 4"),
        (_unnamed, "the values 2 are of no finding"),
        (_garbage, "NIfTI"),
        (_many, "entities are numbered 1 to 255"),
    ],
)
def test_masks_that_do_not_fit_wait_with_the_reason(place: Path, write: Any, told: str) -> None:
    """Each thing that can be wrong is named, and people may drop the scan."""
    write(place)
    waiting = taken(place)
    assert told in asked(waiting)
    found = taken(place, said(waiting, "drop the scan"))
    assert isinstance(found, Drop)
    assert found.reason == "mask-unusable"


def test_a_header_that_says_another_orientation_is_a_question(place: Path) -> None:
    """The official file's header is not trusted, and not passed over in silence either."""
    turned = np.diag([2.0, -2.0, 3.0, 1.0])
    write_mask(place / "build" / "masks" / NAME, [NODULES, EFFUSION], turned)
    waiting = taken(place)
    assert "may be flipped along H" in asked(waiting)
    assert isinstance(taken(place, said(waiting, "accept")), Keep)
    write_mask(place / "build" / "masks" / NAME, [NODULES, NODULES], turned)
    again = taken(place, said(waiting, "accept"))  # of another mask: to be asked again
    assert "may be flipped along H" in asked(again)


def test_new_files_are_noticed(place: Path) -> None:
    """What a step looks at outside changes with the mask, so that it is done again."""
    before = files_state(item(), context(place))
    _channels(place)
    assert files_state(item(), context(place)) != before


def _organs(folder: Path, *, single: bool = False) -> None:
    """Lobes: the right upper one in the first half along the first axis, the left upper behind."""
    lobes = np.zeros(SHAPE, np.uint8)
    lobes[:6], lobes[6:] = 1, 4
    if single:
        for part, number in (("lung_upper_lobe_right", 1), ("lung_upper_lobe_left", 4)):
            mask = (lobes == number).astype(np.uint8)
            write_volume(folder / "train_1_a_1" / f"{part}.nii.gz", mask, AFFINE)
        return
    write_volume(folder / "lobes" / NAME, lobes, AFFINE)
    names = {"lobes": {"1": "right upper lobe", "4": "left upper lobe"}}
    (folder / "labels.json").write_text(json.dumps(names))


@pytest.mark.parametrize("single", [False, True])
def test_the_chain_goes_from_the_scan_to_the_lesion(place: Path, single: bool) -> None:
    """Boxes lie in each other, from labelled volumes as from one file a structure."""
    folder = place / "source" / "organs"
    _organs(folder, single=single)
    space = make_geometry(SHAPE, AFFINE, where="test")
    paths = organ_paths(context(place, None, {"organs": "organs"}), NAME)
    steps, doubt = make_chain("Nodules on the right", "2d", NODULES, read_organs(paths, folder, space))
    assert [step.structure for step in steps] == [
        "whole scan", "right lung", "right upper lobe", "lesion",
    ]  # fmt: skip
    assert [step.within for step in steps] == [(), (0,), (1,), (2,)]
    assert steps[2].box == (0, 0, 0, 6, 10, 8)
    assert steps[3].entities == ((1, 2, 2, 2, 5, 5), (3, 2, 2, 5, 5, 5))
    assert doubt is None


def test_voxels_on_the_other_side_than_the_sentence_are_doubted(place: Path) -> None:
    """A finding said to be left whose voxels are right is noticed."""
    folder = place / "source" / "organs"
    _organs(folder)
    organs = read_organs(
        organ_paths(context(place, None, {"organs": "organs"}), NAME),
        folder,
        make_geometry(SHAPE, AFFINE, where="test"),
    )
    _, doubt = make_chain("Nodules in the left lung", "2d", NODULES, organs)
    assert doubt == "the sentence says left, and 100% of the voxels are in the right lung"


def test_without_organ_masks_the_sentence_gives_the_places_and_no_boxes(place: Path) -> None:
    """Structures are named, the scan and the lesion alone have boxes."""
    organs = read_organs({}, None, make_geometry(SHAPE, AFFINE, where="test"))
    text = "Nodule in the apical segment of the right upper lobe"
    steps, _ = make_chain(text, "2d", NODULES, organs)
    assert [(step.level, step.box is not None) for step in steps] == [
        ("scan", True), ("lung", False), ("lobe", False), ("segment", False), ("lesion", True),
    ]  # fmt: skip
    steps, _ = make_chain("Bilateral pleural effusion", "2e", EFFUSION, organs)
    assert [step.structure for step in steps[1:-1]] == [
        "right pleural space", "left pleural space",
    ]  # fmt: skip


def test_organ_masks_of_another_scan_are_refused(place: Path) -> None:
    """Another shape, or numbers without names, is one clear error."""
    folder = place / "source" / "organs"
    _organs(folder)
    paths = organ_paths(context(place, None, {"organs": "organs"}), NAME)
    with pytest.raises(PictureError, match="does not lie in the space of its CT"):
        read_organs(paths, folder, make_geometry((5, 5, 5), AFFINE, where="test"))
    (folder / "labels.json").unlink()
    with pytest.raises(UsageError, match="have no names"):
        read_organs(paths, folder, make_geometry(SHAPE, AFFINE, where="test"))


def test_a_models_words_for_a_chain_are_checked(place: Path) -> None:
    """A step left out, a structure not named, a size made up: each is told."""
    organs = read_organs({}, None, make_geometry(SHAPE, AFFINE, where="test"))
    steps, _ = make_chain("Nodule in the right upper lobe", "2d", NODULES, organs)
    good = [f"Now the {step.structure}." for step in steps]
    assert thought_problems("Nodule", steps, good) == []
    assert thought_problems("Nodule", steps, good[1:]) == ["there are 4 steps, and 3 sentences"]
    worse = [*good[:2], "Look at the left upper lobe.", "A 9 mm nodule."]
    assert thought_problems("Nodule", steps, worse) == [
        "step 2 does not name the right upper lobe",
        "step 3 tells 9 mm, which the finding does not",
    ]
