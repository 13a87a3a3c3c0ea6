"""What an audit of a run found: how often answers move when something is hidden."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from overread.core import Record
from overread.runs.audit.arms import ARMS
from overread.runs.audit.store import MARK
from overread.site.dependencies import OneRun
from overread.site.runs.intervals import IntervalValue, PairedDifference, StoredModel
from overread.site.runs.stored_json import read_marked_json
from overread.site.shelf import Run
from overread.site.strip_paths import strip_paths

router = APIRouter()


class ArmResult(StoredModel):
    """How the answers moved in one arm."""

    moved: IntervalValue
    far: IntervalValue
    words: IntervalValue | None = None
    moved_beyond: PairedDifference | None = None
    far_beyond: PairedDifference | None = None


class SharesOfAudit(StoredModel):
    """The numbers of an audit."""

    arms: dict[str, ArmResult]
    cited_over_other_moved: PairedDifference | None = None
    cited_over_other_far: PairedDifference | None = None
    rests: IntervalValue | None = None
    rests_on_shown: IntervalValue | None = None


class AnswerMove(StoredModel):
    """How far one answer moved in one arm."""

    far: float
    """0 not at all, 1 altogether."""
    moved: bool
    """Whether it is another answer."""
    words: float | None = None
    """Share of the words that changed, for answers in words."""


class _StoredAnswer(AnswerMove):
    case: str
    query: str | None = None
    arm: str


class AuditedAnswer(Record):
    """One answer, in each arm."""

    case: str
    query: str | None
    """The sentence that was to be found, where one was."""
    arms: dict[str, AnswerMove]
    cites: bool
    """Whether the reading cites anything; if not, all its pictures were hidden."""


class _AuditNumbers(StoredModel):
    readings: int
    """Readings of the run that were looked at."""
    audited: int
    cited: dict[str, int]
    """Kind of region → how many are cited."""
    uncited: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Cases that could not be audited."""
    refused: dict[str, str] = Field(default={})
    """Case → why what it cites cannot be hidden."""
    without: dict[str, dict[str, str]] = Field(default={})
    """Arm → case → why the case cannot have it."""
    rules: tuple[str, ...] = ()
    """What counts as moved."""
    rests_is: str = ""
    """How the share that rests on the evidence is reckoned."""
    null_equal: int | None = None
    """Null readings that say the same word for word."""
    arms_failed: dict[str, int] = Field(default={})
    shares: SharesOfAudit | None = None
    shares_uncited: SharesOfAudit | None = None


class _AuditFile(_AuditNumbers):
    answers: tuple[_StoredAnswer, ...] = ()


class AuditResult(_AuditNumbers):
    """What an audit found."""

    arms: dict[str, str]
    """Arm → what is done in it."""
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
    own = dict(found)
    own["refused"] = {case: strip_paths(why) for case, why in found.refused.items()}
    own["arms"] = {arm: ARMS.get(arm, "") for arm in arms}
    own["answers"] = [
        AuditedAnswer(case=case, query=query, arms=moves, cites=case not in found.uncited)
        for (case, query), moves in answers.items()
    ]
    return AuditResult(**own)


def _load_audit(run: Run) -> _AuditFile:
    return read_marked_json(run.folder / "audit" / "audit.json", MARK, _AuditFile, what="audit of this run")
