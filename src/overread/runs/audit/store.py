"""The folder of an audit; the edits are written before anybody is asked.

`RUN/audit/edits.jsonl` has the cited regions of each case and the edits of each arm;
`RUN/audit/<arm>/` are ordinary runs; `RUN/audit/audit.json` is the result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from overread.core import Region
from overread.core.record import WITH_HANDLES
from overread.errors import OverreadError, UsageError
from overread.runs.audit.arms import CasePlan
from overread.runs.store import RunUnwritable
from overread.storage.atomic import open_atomic
from overread.storage.system_errors import remedy_for

MARK = "overread audit 1"


def read_plans(folder: Path, seed: int) -> dict[str, CasePlan]:
    """Case → what is done with it, of an audit that was begun; refused if by another seed."""
    file = folder / "edits.jsonl"
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OverreadError(f"it cannot be read ({error.strerror})", where=str(file)) from None
    try:
        head = json.loads(lines[0]) if lines else {}
        plans = [CasePlan.model_validate_json(line) for line in lines[1:]]
    except (ValueError, ValidationError):
        head, plans = {}, []
    if not isinstance(head, dict) or head.get("kind") != MARK:
        raise OverreadError(
            "the plan of this audit is damaged",
            where=str(file),
            remedy=f"delete {folder} and audit again; cached answers are reused",
        )
    if head.get("seed") != seed:
        raise UsageError(
            f"this audit was begun with --seed {head.get('seed')}",
            where=str(folder),
            remedy="give that seed, or remove the folder",
        )
    return {plan.case: plan for plan in plans}


def write_plans(folder: Path, seed: int, plans: Iterable[CasePlan]) -> None:
    """Write what is done with each case, all of it or nothing."""
    body = [json.dumps({"kind": MARK, "seed": seed})]
    body += [plan.model_dump_json(exclude_none=True, context=WITH_HANDLES) for plan in plans]
    write_text(folder / "edits.jsonl", "\n".join(body) + "\n")


def write_result(folder: Path, found: Mapping[str, Any]) -> None:
    """Write `audit.json`."""
    write_text(folder / "audit.json", json.dumps(found, ensure_ascii=False, indent=2) + "\n")


def write_text(file: Path, text: str) -> None:
    """A file of the audit, whole or not at all."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open_atomic(file, compress=False) as out:
            out.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise RunUnwritable(
            f"the audit cannot be written ({error.strerror})",
            where=str(file),
            remedy=remedy_for(error, "fix this and run the same command again; finished work is kept"),
        ) from None


def refuse_changed_citations(plan: CasePlan, levels: Sequence[tuple[Region, ...]], folder: Path) -> None:
    """What a reading cites must be what it cited when its audit began."""
    now = {region for regions in levels for region in regions}
    if plan.refused is None and not plan.uncited and not set(plan.cited) <= now:
        raise UsageError(
            f"the reading of {plan.case} cites something else than when its audit was begun",
            where=str(folder),
            remedy="remove the folder and audit again",
        )
