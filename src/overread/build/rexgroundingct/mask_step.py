"""The step that takes masks back: what is missing or wrong waits for people, the rest goes on."""

from __future__ import annotations

import hashlib

from pydantic import JsonValue

from overread.build.item import Change, Drop, Item, Keep, Question, StepResult, Wait
from overread.build.rexgroundingct.masks import ReturnedMasks, find_mask_file, inspect_masks
from overread.build.rexgroundingct.protocols import entity_problem, protocol_of
from overread.build.rexgroundingct.scan_paths import (
    QA_FOLDER,
    file_stamp,
    mask_path,
    scan_name,
    scan_path,
    scan_stem,
)
from overread.build.rexgroundingct.tasks import EXCLUSIONS, targets_of
from overread.build.step import StepContext


def files_state(item: Item, context: StepContext) -> JsonValue:
    """The state of the scan and of what came back for it."""
    name = scan_name(item)
    return {"ct": file_stamp(scan_path(context, name)), "mask": file_stamp(mask_path(context, name))}


async def collect_masks(item: Item, context: StepContext) -> StepResult:
    """Check the masks of a scan against its CT and count their entities."""
    targets = targets_of(item)
    verdicts = {
        key: context.verdict(question_id(item, "masks", key, targets[key]["text"])) for key in targets
    }
    kept = tuple(key for key in targets if verdicts[key] not in EXCLUSIONS)
    changes = [
        Change(what=f"finding {key}", before=targets[key]["text"], by="people", why=str(why))
        for key, why in verdicts.items()
        if why in EXCLUSIONS
    ]
    if not kept:
        told = ", ".join(sorted({str(why) for why in verdicts.values()}))
        why = f"annotators excluded every finding: {told}"
        return Drop(reason="excluded", why=why, by="people", changes=tuple(changes))
    scan = scan_path(context, scan_name(item))
    if scan is None:
        asked = _file_question(
            item,
            "ct",
            "The CT of this scan is not here; put it beside the reports, or "
            "name its folder with the setting cts.",
            ("here now", "drop the scan"),
        )
        return _wait_or_drop(item, context, asked, "no-ct", "the CT is not there", changes)
    path = mask_path(context, scan_name(item))
    if path is None:
        questions = tuple(_finding_question(item, key, targets[key]) for key in kept)
        return Wait(questions=questions, changes=tuple(changes))
    found = inspect_masks(path, scan, tuple(targets), kept)
    counts = found.count_voxels() if not found.problems else {}
    if found.problems:
        told = "; ".join(found.problems[:6])
        asked = _file_question(
            item,
            "file",
            f"The mask cannot be used: {told}. Write it again.",
            ("written again", "drop the scan"),
            found.digest(),
        )
        return _wait_or_drop(item, context, asked, "mask-unusable", told, changes)
    if found.doubts:
        told = "; ".join(found.doubts)
        asked = _file_question(
            item,
            "orientation",
            f"Does the mask lie where it should? {told}.",
            ("accept", "drop the scan"),
            found.digest(),
        )
        if context.verdict(asked.id) != "accept":
            return _wait_or_drop(item, context, asked, "mask-turned", told, changes)
    empty = [key for key in kept if not counts[key]]
    if empty:
        questions = tuple(_finding_question(item, key, targets[key]) for key in empty)
        return Wait(questions=questions, changes=tuple(changes))
    protocol = protocol_of(item, context.settings)
    odd = [
        (key, problem)
        for key in kept
        if (problem := entity_problem(targets[key]["text"], len(counts[key]), protocol)) is not None
    ]
    if odd:
        told = "; ".join(f"finding {key}: {problem}" for key, problem in odd)
        asked = _file_question(
            item,
            "protocol",
            f"Is the mask as the protocol asks? {told[:1].upper()}{told[1:]}. "
            "Write it again, or accept it as it is.",
            ("written again", "accept", "drop the scan"),
            f"{protocol} {found.digest()}",
        )
        if context.verdict(asked.id) != "accept":
            return _wait_or_drop(item, context, asked, "against-protocol", told, changes)
        changes += [Change(what=f"finding {key}", by="people", why=f"accepted: {why}") for key, why in odd]
    annotated: dict[str, JsonValue] = {
        key: {
            "text": targets[key]["text"],
            "category": targets[key]["category"],
            "entities": len(counts[key]),
            "voxels": sum(counts[key].values()),
        }
        for key in kept
    }
    data = {"annotated": annotated, "shape": list(found.space.shape), "mask": found.digest()}
    return Keep.model_validate({"data": data, "changes": tuple(changes)})


def load_masks(item: Item, context: StepContext, keys: tuple[str, ...]) -> ReturnedMasks | None:
    """The masks of a scan as the step above took them, for the steps behind it."""
    path, scan = mask_path(context, scan_name(item)), scan_path(context, scan_name(item))
    if path is None or scan is None:
        return None
    found = inspect_masks(path, scan, tuple(targets_of(item)), keys)
    edited = item.data.get("edited")
    for key, reader in edited.items() if isinstance(edited, dict) else ():
        file = find_mask_file(context.folder / QA_FOLDER / str(reader) / scan_stem(scan_name(item)), key)
        if file is None:
            return None
        found.edited[key] = file
    return found


def question_id(item: Item, step: str, what: str, about: str = "") -> str:
    """The id of a question, with a digest of what it is about.

    So a verdict on an earlier mask or sentence does not decide on a later one.

    >>> question_id(Item(id="train_1_a_1"), "masks", "0", "A nodule.")
    'train_1_a_1/masks/0/7f7725be'
    """
    digest = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{item.id}/{step}/{what}/{digest}"


def _finding_question(item: Item, key: str, target: dict[str, str]) -> Question:
    return Question(
        id=question_id(item, "masks", key, target["text"]),
        item=item.id,
        kind="mask",
        text=f"There is no mask yet for finding {key}: draw it, or say why it has none.",
        shown={"scan": scan_name(item), "finding": target["text"], "category": target["category"]},
        choices=("drawn", *EXCLUSIONS),
    )


def _file_question(item: Item, what: str, text: str, choices: tuple[str, ...], about: str = "") -> Question:
    return Question(
        id=question_id(item, "masks", what, about),
        item=item.id,
        kind="mask-file",
        text=text,
        shown={"scan": scan_name(item)},
        choices=choices,
    )


def _wait_or_drop(
    item: Item, context: StepContext, asked: Question, reason: str, why: str, changes: list[Change]
) -> StepResult:
    """Wait for people, unless they said that the scan is to go."""
    if context.verdict(asked.id) == "drop the scan":
        return Drop(reason=reason, why=why, by="people", changes=tuple(changes))
    return Wait(questions=(asked,), changes=tuple(changes))
