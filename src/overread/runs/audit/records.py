"""The plan and the result of an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overread import catalog
from overread.core import Reader
from overread.errors import UsageError
from overread.runs.audit.arms import ARMS
from overread.runs.audit.shares import RESTS_RULE, AnswerKey, AuditShares
from overread.runs.audit.shifts import AnswerShift
from overread.runs.case_runner import Workflow
from overread.runs.engine import RunOutcome
from overread.runs.requests.prices import Prices
from overread.runs.spec import RunSpec


@dataclass(frozen=True)
class AuditPlan:
    """Everything that an audit is told."""

    run: Path
    arms: Sequence[str] = tuple(ARMS)
    """Which arms; the null is always among them."""
    limit: int | None = None
    """Only the first so many readings that can be audited."""
    seed: int = 0
    """Of the other regions, the donors and the grain of what is hidden."""
    root: Path | None = None
    """Folder of the release, where it has moved."""
    pictures: Path | None = None
    reader: Reader | None = None
    """The reader itself, where it has no name in the catalog."""
    workflow: Workflow | None = None
    """The workflow itself, where it has no name in the catalog."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """More arguments of the reader: permissions, and what does not change its answers."""
    cache: Path | None = None
    use_cache: bool = True
    prices: Callable[[str], Prices] | Prices | None = None
    concurrency: int = 16
    max_retries: int = 5
    max_wait: float | None = 600.0
    give_up: int | None = None
    retry_failed: bool = False
    """Whether readings of the arms that failed are tried again."""
    draws: int = 1000
    level: float = 0.95
    workers: int | None = None
    """Processes that look for regions and compare masks; as many as cores without it."""

    def __post_init__(self) -> None:
        """Refuse arms that there are not."""
        for arm in self.arms:
            if arm not in ARMS:
                raise catalog.unknown_name("arm", arm, ARMS)
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit is {self.limit}", remedy="it is 1 or more")


@dataclass
class Audit:
    """What became of an audit."""

    folder: Path
    spec: RunSpec
    readings: int
    """Readings of the run that were looked at."""
    audited: list[str]
    """Cases that were asked about again."""
    uncited: list[str]
    """Cases among these whose readings cite nothing: all their pictures stand for it."""
    failed: list[str]
    """Cases whose readings had failed, so that there is no answer to audit."""
    refused: dict[str, str]
    """Case → why what it cites cannot be hidden."""
    without: dict[str, dict[str, str]]
    """Arm → case → why the case cannot have it."""
    cited: dict[str, int]
    """Kind of region → how many are cited."""
    rules: list[str]
    """What counts as moved."""
    outcomes: dict[str, RunOutcome] = field(default_factory=dict)
    """Arm → what became of its run."""
    shifts: dict[str, dict[AnswerKey, AnswerShift]] = field(default_factory=dict)
    """Arm → answer → how far it moved."""
    shares: AuditShares | None = None
    """How often and how far answers moved that cite something; absent where none does."""
    shares_uncited: AuditShares | None = None
    """The same for those that cite nothing, with all their pictures hidden."""
    null_equal: int | None = None
    """Null readings that say the same word for word."""
    stopped: int | None = None
    """The signal that stopped it."""

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain JSON, as `audit.json` has it."""
        told = {arm: outcome.tally for arm, outcome in self.outcomes.items()}
        return {
            "kind": "overread audit 1",
            "benchmark": self.spec.benchmark,
            "split": self.spec.split,
            "reader": self.spec.reader.name,
            "readings": self.readings,
            "audited": len(self.audited),
            "cited": self.cited,
            "uncited": self.uncited,
            "failed": self.failed,
            "refused": self.refused,
            "without": self.without,
            "rules": self.rules,
            "rests_is": RESTS_RULE,
            "null_equal": self.null_equal,
            "arms_failed": {arm: t.failed + t.failed_before for arm, t in told.items()},
            "arms_calls": {arm: t.spent.calls for arm, t in told.items()},
            "arms_cost": {arm: t.spent.cost for arm, t in told.items()},
            "shares": self.shares.as_dict() if self.shares else None,
            "shares_uncited": self.shares_uncited.as_dict() if self.shares_uncited else None,
            "answers": [
                {"case": case, "query": query or None, "arm": arm, **move._asdict()}
                for arm, own in self.shifts.items()
                for (case, query), move in sorted(own.items())
            ],
        }
