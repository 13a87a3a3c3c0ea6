"""Radiologist QA of masks: two readers accept, edit or reject the mask of each finding.

Whoever edits puts the mask into the build's folder `qa/NAME/SCAN/KEY.nii.gz` and says 'edit'. What
was decided is taken: a rejected finding goes, an edited mask takes the place of the annotator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from overread.build.adjudication.reads import CANNOT_JUDGE
from overread.build.item import Change, Drop, Item, Keep, Question, StepResult, Wait
from overread.build.rexgroundingct.chain_step import annotated_of
from overread.build.rexgroundingct.mask_step import load_masks, question_id
from overread.build.rexgroundingct.masks import ReturnedMasks, find_mask_file, inspect_masks
from overread.build.rexgroundingct.scan_paths import QA_FOLDER, file_stamp, scan_name, scan_path, scan_stem
from overread.build.rexgroundingct.settings import read_setting
from overread.build.rexgroundingct.tasks import QA_VERDICTS, targets_of
from overread.build.step import StepContext
from overread.errors import PictureError

KIND = "mask-qa"
ACCEPT, EDIT, REJECT = QA_VERDICTS


def reader_folders(item: Item, context: StepContext) -> Iterator[tuple[str, Path]]:
    """Each reader who handed in masks of a scan: name and folder."""
    home = context.folder / QA_FOLDER
    for reader in sorted(home.iterdir()) if home.is_dir() else ():
        folder = reader / scan_stem(scan_name(item))
        if folder.is_dir():
            yield reader.name, folder


def qa_state(item: Item, context: StepContext) -> JsonValue:
    """The state of what readers handed in for a scan."""
    return {name: file_stamp(folder) for name, folder in reader_folders(item, context)}


def find_edits(item: Item, context: StepContext, key: str) -> dict[str, Path]:
    """Reader → the mask file of one finding that this reader handed in."""
    found = {name: find_mask_file(folder, key) for name, folder in reader_folders(item, context)}
    return {name: path for name, path in found.items() if path is not None}


async def check_masks(item: Item, context: StepContext) -> StepResult:
    """Ask two readers about every mask, and take what they decided; without QA all stay."""
    if read_setting(context.settings, "qa") == "no":
        return Keep(data={})
    found = annotated_of(item)
    questions: list[Question] = []
    changes: list[Change] = []
    kept: dict[str, JsonValue] = {}
    edited: dict[str, JsonValue] = {}
    for key, finding in found.items():
        asked = qa_question(item, key)
        verdict = context.verdict(asked.id)
        if verdict is None:
            questions.append(asked)
        elif verdict in (REJECT, CANNOT_JUDGE):
            why = "rejected in QA" if verdict == REJECT else "could not be judged in QA"
            changes.append(Change(what=f"finding {key}", before=finding["text"], by="people", why=why))
        elif verdict == EDIT:
            name = _choose_edit(item, context, key, questions)
            if name is not None:
                edited[key] = name
                kept[key] = finding
        else:
            kept[key] = finding
    if questions:
        return Wait(questions=tuple(questions), changes=tuple(changes))
    if not kept:
        why = "readers rejected the masks of all findings"
        return Drop(reason="rejected-in-qa", why=why, by="people", changes=tuple(changes))
    scan = item.model_copy(update={"data": {**item.data, "edited": edited}})
    masks = load_masks(scan, context, tuple(kept))
    if masks is None:
        raise PictureError("the mask or the CT was taken away", where=scan_name(item))
    counts = masks.count_voxels()
    if masks.problems:
        return Wait(questions=(_mend_question(item, masks),), changes=tuple(changes))
    for key, reader in edited.items():
        before = found[key]["voxels"]
        kept[key] = {**found[key], "entities": len(counts[key]), "voxels": sum(counts[key].values())}
        why = f"edited in QA by {reader}"
        changes.append(
            Change(what=f"mask {key}", before=before, after=sum(counts[key].values()), by="people", why=why)
        )
    data = {"annotated": kept, "edited": edited, "mask": masks.digest()}
    return Keep.model_validate({"data": data, "changes": tuple(changes)})


def qa_question(item: Item, key: str) -> Question:
    """What two readers are asked about the mask of one finding."""
    finding = annotated_of(item)[key]
    place = f"{QA_FOLDER}/YOUR-NAME/{scan_stem(scan_name(item))}/{key}.nii.gz"
    return Question(
        id=question_id(item, "qa", key, f"{item.data.get('mask')} {finding['text']}"),
        item=item.id,
        kind=KIND,
        text=f"Is the mask of finding {key} right? Accept it, edit it (put yours into {place} of the build), "
        "or reject it.",
        shown={
            "scan": scan_name(item),
            "finding": finding["text"],
            "category": finding["category"],
            "entities": finding["entities"],
            "voxels": finding["voxels"],
        },
        choices=QA_VERDICTS,
    )


def _choose_edit(item: Item, context: StepContext, key: str, questions: list[Question]) -> str | None:
    """Whose edited mask is taken; where that is open, or none is there, people are asked."""
    edits = find_edits(item, context, key)
    scan = scan_path(context, scan_name(item))
    usable = [name for name, path in edits.items() if scan is not None and _is_usable(path, scan, item, key)]
    if len(usable) == 1:
        return usable[0]
    text = str(annotated_of(item)[key]["text"])
    shown: dict[str, JsonValue] = {"scan": scan_name(item), "finding": text}
    if not usable:
        place = f"{QA_FOLDER}/NAME/{scan_stem(scan_name(item))}/{key}.nii.gz"
        bad = f" What {', '.join(sorted(edits))} put there does not fit the CT, or is empty." if edits else ""
        questions.append(
            Question(
                id=question_id(item, "qa", f"{key}-edited", f"{qa_state(item, context)} {text}"),
                item=item.id,
                kind="mask-file",
                text=f"The mask of finding {key} is to be edited, and {place} is not there.{bad} Write it.",
                shown=shown,
                choices=("written",),
            )
        )
        return None
    asked = Question(
        id=question_id(item, "qa", f"{key}-whose", f"{','.join(usable)} {item.data.get('mask')} {text}"),
        item=item.id,
        kind="mask-choice",
        text=f"Several readers edited the mask of finding {key}: whose is to be taken?",
        shown=shown,
        choices=tuple(usable),
    )
    verdict = context.verdict(asked.id)
    if verdict in usable:
        return verdict
    questions.append(asked)
    return None


def _is_usable(path: Path, scan: Path, item: Item, key: str) -> bool:
    """Whether an edited mask lies on the CT and has a voxel."""
    masks = inspect_masks(path.parent, scan, tuple(targets_of(item)), (key,))
    if masks.problems:
        return False
    try:
        return bool(np.any(masks.labels(key)))
    except PictureError:
        return False


def _mend_question(item: Item, masks: ReturnedMasks) -> Question:
    told = "; ".join(masks.problems[:6])
    return Question(
        id=question_id(item, "qa", "file", masks.digest()),
        item=item.id,
        kind="mask-file",
        text=f"An edited mask cannot be used: {told}. Write it again.",
        shown={"scan": scan_name(item)},
        choices=("written again",),
    )
