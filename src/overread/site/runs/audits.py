"""What an audit of a run found: how often answers move when something is hidden."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from overread.core import Record
from overread.runs.audit.arms import ARMS
from overread.runs.audit.store import MARK
from overread.site.dependencies import OneRun
from overread.site.runs.stored_json import read_marked_json
from overread.site.shelf import Run
from overread.site.strip_paths import strip_paths

router = APIRouter()


class _StoredModel(BaseModel):
    """A part of `audit.json`; there may be more in it."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class IntervalValue(_StoredModel):
    """A number with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    note: str = ""
    """Why there is no interval, or what to know about it."""


class PairedDifference(_StoredModel):
    """One number minus another on the same answers."""

    first: float | None
    second: float | None
    difference: IntervalValue
    p: float | None = None
    notes: tuple[str, ...] = ()


class ArmResult(_StoredModel):
    """How the answers moved in one arm."""

    moved: IntervalValue
    far: IntervalValue
    words: IntervalValue | None = None
    moved_beyond: PairedDifference | None = None
    far_beyond: PairedDifference | None = None


class AuditShares(_StoredModel):
    """The numbers of an audit."""

    arms: dict[str, ArmResult]
    cited_over_other_moved: PairedDifference | None = None
    cited_over_other_far: PairedDifference | None = None
    rests: IntervalValue | None = None
    rests_on_shown: IntervalValue | None = None


class _StoredAnswer(_StoredModel):
    case: str
    query: str | None = None
    arm: str
    far: float
    moved: bool
    words: float | None = None


class _AuditFile(_StoredModel):
    readings: int
    audited: int
    cited: dict[str, int]
    uncited: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    refused: dict[str, str] = {}
    without: dict[str, dict[str, str]] = {}
    rules: tuple[str, ...] = ()
    rests_is: str = ""
    null_equal: int | None = None
    arms_failed: dict[str, int] = {}
    shares: AuditShares | None = None
    shares_uncited: AuditShares | None = None
    answers: tuple[_StoredAnswer, ...] = ()


class AnswerMove(Record):
    """How far one answer moved in one arm."""

    far: float
    """0 not at all, 1 altogether."""
    moved: bool
    """Whether it is another answer."""
    words: float | None
    """Share of the words that changed, for answers in words."""


class AuditedAnswer(Record):
    """One answer, in each arm."""

    case: str
    query: str | None
    """The sentence that was to be found, where one was."""
    arms: dict[str, AnswerMove]
    cites: bool
    """Whether the reading cites anything; if not, all its pictures were hidden."""


class AuditResult(Record):
    """What an audit found."""

    readings: int
    """Readings of the run that were looked at."""
    audited: int
    cited: dict[str, int]
    """Kind of region → how many are cited."""
    arms: dict[str, str]
    """Arm → what is done in it."""
    uncited: list[str]
    failed: list[str]
    refused: dict[str, str]
    """Case → why what it cites cannot be hidden."""
    without: dict[str, dict[str, str]]
    """Arm → case → why the case cannot have it."""
    rules: list[str]
    """What counts as moved."""
    rests_is: str
    """How the share that rests on the evidence is reckoned."""
    null_equal: int | None
    """Null readings that say the same word for word."""
    arms_failed: dict[str, int]
    shares: AuditShares | None
    shares_uncited: AuditShares | None
    answers: list[AuditedAnswer]


@router.get("/runs/{run}/audit")
def get_audit(run: OneRun) -> AuditResult:
    """The audit of a run, as `overread audit` wrote it; it compares answers with themselves."""
    found = _load_audit(run)
    answers: dict[tuple[str, str | None], dict[str, AnswerMove]] = {}
    arms = {answer.arm: None for answer in found.answers}
    for one in found.answers:
        told = AnswerMove(far=one.far, moved=one.moved, words=one.words)
        answers.setdefault((one.case, one.query), {})[one.arm] = told
    uncited = set(found.uncited)
    return AuditResult(
        readings=found.readings,
        audited=found.audited,
        cited=found.cited,
        arms={arm: ARMS.get(arm, "") for arm in arms},
        uncited=list(found.uncited),
        failed=list(found.failed),
        refused={case: strip_paths(why) for case, why in found.refused.items()},
        without=found.without,
        rules=list(found.rules),
        rests_is=found.rests_is,
        null_equal=found.null_equal,
        arms_failed=found.arms_failed,
        shares=found.shares,
        shares_uncited=found.shares_uncited,
        answers=[
            AuditedAnswer(case=case, query=query, arms=own, cites=case not in uncited)
            for (case, query), own in answers.items()
        ],
    )


def _load_audit(run: Run) -> _AuditFile:
    return read_marked_json(
        run.folder / "audit" / "audit.json", MARK, _AuditFile, what="audit of this run"
    )
