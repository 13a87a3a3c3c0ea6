"""Annotation tasks: one a scan, with its findings, in the forms that annotators' tools take.

They lie in the build's folder `annotation/`; masks that come back go into `masks/` beside it.

    annotation/redbrick.json           a list for RedBrick's importer: series and metadata
    annotation/label-studio.json       a list for Label Studio's importer
    annotation/label-studio.xml        its labelling page: a verdict for each finding
    annotation/SCAN/task.json, ct.nii.gz    a plain folder: findings, and a link to the CT
    annotation/redbrick-qa.json, label-studio-qa.json, SCAN/qa.json    for readers who check masks
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from overread.build.item import Item, Keep, StepResult
from overread.build.rexgroundingct.protocols import describe_protocol, protocol_of
from overread.build.rexgroundingct.scan_paths import (
    MASKS_FOLDER,
    QA_FOLDER,
    TASKS_FOLDER,
    mask_path,
    scan_name,
    scan_path,
    scan_stem,
)
from overread.build.rexgroundingct.settings import formats_of, read_setting
from overread.build.step import StepContext
from overread.ontology import finding_tree
from overread.storage.atomic import open_atomic

EXCLUSIONS = ("not localisable", "too diffuse", "normal", "out of scope")
"""Why annotators may leave a finding without a mask."""
QA_VERDICTS = ("accept", "edit", "reject")
"""What readers who check masks may say of each."""

_PAGE = """<View>
  <Header value="$name"/>
  <Text name="protocol" value="$mark"/>
  <HyperText name="scan" value="$link"/>
  <Repeater on="$findings" indexFlag="{{idx}}">
    <Text name="finding-{{idx}}" value="$findings[{{idx}}].text"/>
    <Choices name="verdict-{{idx}}" toName="finding-{{idx}}">
%s
    </Choices>
  </Repeater>
</View>
"""


async def write_tasks(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
    """Write the tasks of all scans that are left, and go on."""
    place = context.folder / TASKS_FOLDER
    forms = formats_of(context.settings)
    scans = [(item, scan_path(context, scan_name(item))) for item in items]
    if "redbrick" in forms:
        _write_json(
            place / "redbrick.json",
            [redbrick_task(item, path, protocol_of(item, context.settings)) for item, path in scans],
        )
    if "label-studio" in forms:
        _write_json(
            place / "label-studio.json",
            [studio_task(item, path, protocol_of(item, context.settings)) for item, path in scans],
        )
        _write_text(place / "label-studio.xml", _studio_page(("drawn", *EXCLUSIONS)))
    if "folder" in forms:
        for item, path in scans:
            folder = place / scan_stem(scan_name(item))
            _write_folder(folder, item, path, protocol_of(item, context.settings))
    return {item.id: Keep(data={}) for item in items}


async def write_qa_tasks(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
    """Write the tasks of the readers who check masks: what to look at, and the three verdicts."""
    kept: Mapping[str, StepResult] = {item.id: Keep(data={}) for item in items}
    if read_setting(context.settings, "qa") == "no":
        return kept
    place = context.folder / TASKS_FOLDER
    forms = formats_of(context.settings)
    told = [(_without_excluded(item), qa_task(item, context)) for item in items]
    redbrick: list[dict[str, Any]] = []
    studio: list[dict[str, Any]] = []
    for item, task in told:
        where = (scan_path(context, scan_name(item)), task["protocol"])
        redbrick.append(redbrick_task(item, *where))
        redbrick[-1]["metaData"] |= {name: str(task[name]) for name in ("mask", "verdicts", "edited masks")}
        studio.append(studio_task(item, *where))
        studio[-1]["data"] |= {"mark": f"Check the mask {task['mask']}. {task['edited masks']}"}
    if "redbrick" in forms:
        _write_json(place / "redbrick-qa.json", redbrick)
    if "label-studio" in forms:
        _write_json(place / "label-studio-qa.json", studio)
        _write_text(place / "label-studio-qa.xml", _studio_page(QA_VERDICTS))
    if "folder" in forms:
        for item, task in told:
            _write_json(place / scan_stem(scan_name(item)) / "qa.json", task)
    return kept


def _without_excluded(item: Item) -> Item:
    """A scan with those of its findings that have a mask."""
    found = item.data["annotated"]
    assert isinstance(found, dict)
    targets = {key: target for key, target in targets_of(item).items() if key in found}
    return item.model_copy(update={"data": {**item.data, "targets": targets}})


def qa_task(item: Item, context: StepContext) -> dict[str, Any]:
    """A task for a reader who checks the masks of a scan, with any tool."""
    protocol = protocol_of(item, context.settings)
    found = item.data["annotated"]
    assert isinstance(found, dict)
    stem = scan_stem(scan_name(item))
    return {
        "scan": scan_name(item),
        "mask": str(mask_path(context, scan_name(item))),
        "findings": found,
        "protocol": protocol,
        "verdicts": list(QA_VERDICTS),
        "edited masks": f"Who edits puts the mask into {QA_FOLDER}/NAME/{stem}/KEY.nii.gz of the build.",
        "hand back": "overread adjudicate BUILD --as NAME, or a sheet with --export and --import",
    }


def scan_state(item: Item, context: StepContext) -> JsonValue:
    """Where a scan is now: tasks are written again when it comes."""
    path = scan_path(context, scan_name(item))
    return None if path is None else str(path)


def targets_of(item: Item) -> dict[str, dict[str, str]]:
    """The findings of an item that are to be annotated: key → text and category."""
    found = item.data["targets"]
    assert isinstance(found, dict)
    return {
        key: {name: str(value) for name, value in target.items()}
        for key, target in found.items()
        if isinstance(target, dict)
    }


def redbrick_task(item: Item, scan: Path | None, protocol: str) -> dict[str, Any]:
    """A task as RedBrick's importer takes it: one series, protocol and findings as metadata."""
    told = targets_of(item)
    return {
        "name": item.id,
        "series": [{"name": item.id, "items": _scan_link(item, scan)}],
        "metaData": {"protocol": protocol, "mark": describe_protocol(protocol)}
        | {f"finding {key}": t["text"] for key, t in told.items()}
        | {f"category {key}": t["category"] for key, t in told.items()},
    }


def studio_task(item: Item, scan: Path | None, protocol: str) -> dict[str, Any]:
    """A task as Label Studio's importer takes it; it shows no volumes, so the scan is a link."""
    rows = [{"key": key, **_target_row(target)} for key, target in targets_of(item).items()]
    data = {"name": item.id, "link": _scan_link(item, scan), "findings": rows}
    return {"data": data | {"protocol": protocol, "mark": f"Mark {describe_protocol(protocol)}."}}


def plain_task(item: Item, protocol: str) -> dict[str, Any]:
    """A task for people with any tool: what to mark, and how to hand it back."""
    told = {key: _target_row(target) for key, target in targets_of(item).items()}
    return {
        "scan": scan_name(item),
        "findings": told,
        "protocol": protocol,
        "mark": describe_protocol(protocol),
        "hand back": f"{MASKS_FOLDER}/{item.id}/KEY.nii.gz, one file for each finding",
        "or": f"{MASKS_FOLDER}/{scan_name(item)}, one (findings, H, W, D) file",
        "leave out": list(EXCLUSIONS),
    }


def _target_row(target: Mapping[str, str]) -> dict[str, str]:
    name = finding_tree().categories[target["category"]].name
    return {"text": target["text"], "category": target["category"], "category name": name}


def _studio_page(verdicts: Sequence[str]) -> str:
    """Label Studio's labelling page: one of these verdicts for each finding."""
    return _PAGE % "\n".join(f'      <Choice value="{verdict}"/>' for verdict in verdicts)


def _scan_link(item: Item, scan: Path | None) -> str:
    """Where the scan is; its bare name where it is not here, to be found by the importer."""
    return str(scan) if scan is not None else scan_name(item)


def _write_folder(place: Path, item: Item, scan: Path | None, protocol: str) -> None:
    _write_json(place / "task.json", plain_task(item, protocol))
    if scan is None:
        return
    link = place / ("ct.nii" + (".gz" if scan.name.endswith(".gz") else ""))
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        link.symlink_to(scan.resolve())


def _write_json(path: Path, value: object) -> None:
    _write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _write_text(path: Path, text: str) -> None:
    with open_atomic(path) as stream:
        stream.write(text.encode("utf-8"))
