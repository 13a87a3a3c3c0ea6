"""What judges say of a run: `judge_verdicts.jsonl` in its folder, only ever appended to.

The last line of a (kind, case, sample, rule) counts. A line that a kill cut off, or that cannot be
read, is as if it had never been written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from overread.catalog import unknown_name
from overread.core.verdicts import VERDICTS, Verdicts
from overread.errors import UsageError
from overread.runs.store import RunUnwritable
from overread.storage.append_log import AppendLog, iter_lines, log_path
from overread.storage.system_errors import remedy_for

VERDICTS_FILE = "judge_verdicts.jsonl"
OLD_VERDICTS_FILE = "verdicts.jsonl"
"""What it was called before; where it is there, it is the one that is read and written."""


def verdicts_path(folder: Path) -> Path:
    """The file of a run's verdicts."""
    return log_path(folder, VERDICTS_FILE, OLD_VERDICTS_FILE)


def load_verdicts(folder: Path) -> dict[tuple[str, str, int, str], Verdicts]:
    """Every verdict of a run that counts, by kind, case, sample and rule."""
    found: dict[tuple[str, str, int, str], Verdicts] = {}
    for line in iter_lines(verdicts_path(folder), torn=True):
        try:
            told = VERDICTS.validate_json(line)
        except ValidationError:
            continue  # damaged: as if nobody had judged
        found.pop(told.key, None)  # so that the order is that of the last lines
        found[told.key] = told
    return found


def select_verdicts(
    folder: Path, judges: Sequence[str] = ()
) -> tuple[dict[str, tuple[Verdicts, ...]], dict[str, dict[str, Any]], list[str]]:
    """Case → the verdicts that are counted; kind → who gave them; and what to know about it.

    Of each kind the verdicts of one judge count, never a mixture: the one who is named in `judges`
    (its name, or the beginning of its rule), else who judged the most readings, the latest of them.
    """
    rules: dict[str, dict[str, list[Verdicts]]] = {}
    for told in load_verdicts(folder).values():
        by_rule = rules.setdefault(told.kind, {})
        own = by_rule.pop(told.rule, [])  # set again below: the order is that of the last verdicts
        own.append(told)
        by_rule[told.rule] = own
    _check_named(judges, rules)
    cases: dict[str, list[Verdicts]] = {}
    who: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    for kind, by_rule in rules.items():
        named = [r for r, own in by_rule.items() if _is_named(own[0], judges)]
        rule = max(named or by_rule, key=lambda r: (len(by_rule[r]), list(by_rule).index(r)))
        own = by_rule[rule]
        who[kind] = {"judge": own[0].judge, "rule": rule, "prompts": _prompts(own)}
        if len(by_rule) > 1:
            others = ", ".join(f"{by_rule[r][0].judge} ({r[:8]})" for r in by_rule if r != rule)
            notes.append(f"{kind} are judged by {own[0].judge} ({rule[:8]}), not by {others}")
        lost = sum(told.missing for told in own)
        if lost:
            notes.append(f"the judge of {kind} gave {lost} verdicts less than it was asked for")
        for told in own:
            cases.setdefault(told.case_id, []).append(told)
    return {case: tuple(own) for case, own in cases.items()}, who, notes


def _check_named(judges: Sequence[str], rules: Mapping[str, Mapping[str, list[Verdicts]]]) -> None:
    firsts = [own[0] for by_rule in rules.values() for own in by_rule.values()]
    for name in judges:
        if not any(_is_named(told, (name,)) for told in firsts):
            raise unknown_name("judge of this run", name, dict.fromkeys(t.judge for t in firsts))


def _is_named(told: Verdicts, judges: Sequence[str]) -> bool:
    return any(name == told.judge or (name and told.rule.startswith(name)) for name in judges)


def _prompts(verdicts: Iterable[Verdicts]) -> list[str]:
    """The prompts that were used, with their digests."""
    return sorted({exchange.prompt for told in verdicts for exchange in told.exchanges})


class VerdictStore:
    """The verdicts of one run, open for appending by nobody else."""

    def __init__(self, folder: Path) -> None:
        """Open or make the file and lock it."""
        self._path = verdicts_path(folder)
        busy = UsageError(
            "another process is judging this run", where=str(folder), remedy="wait until it is done"
        )
        try:
            # What a kill cut off stays a line of its own, and is not believed.
            self._log = AppendLog(self._path, torn="end", busy=busy, unwritable=self._write_error)
        except OSError as error:
            raise self._write_error(error) from None

    def append(self, verdicts: Verdicts) -> None:
        """Write the verdicts on one reading; from now on a kill does not lose them."""
        try:
            line = verdicts.model_dump_json(exclude_none=True)
        except (PydanticSerializationError, ValueError):
            line = verdicts.model_copy(
                update={
                    "exchanges": (),
                    **{n: () for n in ("steps", "sentences", "education") if hasattr(verdicts, n)},
                    "error": "the verdicts hold text that cannot be stored",
                }
            ).model_dump_json(exclude_none=True)
        self._log.append(line.encode() + b"\n")

    def _write_error(self, error: OSError) -> RunUnwritable:
        return RunUnwritable(
            f"the verdicts cannot be written ({error.strerror})",
            where=str(self._path),
            remedy=remedy_for(error, "fix this and run the same command again; finished work is kept"),
        )

    def close(self) -> None:
        """Have the disk keep everything, and let go of the file."""
        self._log.close(sync=True)

    def __enter__(self) -> VerdictStore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
