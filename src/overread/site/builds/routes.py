"""Builds: what the ledger says of how the cases went; the questions to people are parts of it."""

from __future__ import annotations

from fastapi import APIRouter

from overread.build.ledger.queries import BuildSummary, LedgerSpending, StepFlow, load_summary
from overread.build.ledger.tables import LEDGER_FILE
from overread.core import Record
from overread.site.builds import adjudication, histories, judge_checks, queue_status
from overread.site.builds.dependencies import OneBuild
from overread.site.builds.evidence import routes as evidence_routes
from overread.site.dependencies import ShelfDep
from overread.site.shelf import BuildFolder, Shelf

router = APIRouter(tags=["builds"])
for _part in (adjudication, queue_status, evidence_routes, histories, judge_checks):
    router.include_router(_part.router)


# Fields of the API are called otherwise than the ledger's.
class BuildStep(Record):
    """What became of the cases that came to one step."""

    name: str
    about: str
    together: bool
    """Whether it takes all cases together, as balances and splits do."""
    came: int
    kept: int
    dropped: dict[str, int]
    """Reason → cases."""
    waiting: dict[str, int]
    """Kind of question → cases."""
    failed: dict[str, int]
    """Kind of failure → cases."""
    changes: int
    """Alterations that it made."""
    answers: int
    """Answers of models that its decisions rest on."""
    refused: int
    """Those of them that could not be used."""


class BuildSpending(Record):
    """What the answers of one model came to, over all sittings."""

    reader: str
    answers: int
    input_tokens: int
    output_tokens: int
    pictures: int
    cost: float | None
    currency: str


class BuildLedger(Record):
    """What the ledger of a build says."""

    recipe: str
    items: int
    """Cases of the source."""
    left: int
    """Cases that went through every step."""
    steps: list[BuildStep]
    defects: dict[str, int]
    """Kind of defect → rows of the source."""
    questions: int
    """Questions that wait for people."""
    spending: list[BuildSpending]
    sittings: int
    """How often somebody built here."""
    released: int | None
    """Cases of the release that was written last."""
    released_at: str | None
    release: str | None
    """Id of the dataset on the shelf that is this release."""


class BuildOverview(Record):
    """A build, or a folder of questions alone."""

    id: str
    name: str
    ledger: BuildLedger | None
    """Absent where there are only questions."""
    checks: str | None
    """Id of the run whose judge people check here, where that is what is asked."""


@router.get("/builds/{build}")
def get_build(build: OneBuild, shelf: ShelfDep) -> BuildOverview:
    """How the cases of a build went from step to step, and what it cost."""
    has_ledger = (build.folder / LEDGER_FILE).is_file()
    checked = judge_checks.find_checked_run(build, shelf)
    return BuildOverview(
        id=build.id,
        name=build.name,
        ledger=_ledger(load_summary(build.folder), build, shelf) if has_ledger else None,
        checks=checked.id if checked is not None else None,
    )


def _ledger(found: BuildSummary, build: BuildFolder, shelf: Shelf) -> BuildLedger:
    home = build.folder / "release"
    release = next((one.id for one in shelf.datasets.values() if one.root == home), None)
    return BuildLedger(
        recipe=found.recipe,
        items=found.items,
        left=found.left,
        steps=[_step(step) for step in found.steps],
        defects=dict(found.defects),
        questions=found.questions,
        spending=[_spending(spent) for spent in found.spending],
        sittings=found.sittings,
        released=found.released,
        released_at=found.released_at,
        release=release,
    )


def _step(step: StepFlow) -> BuildStep:
    return BuildStep(
        name=step.name,
        about=step.about,
        together=step.kind == "gather",
        came=step.came,
        kept=step.kept,
        dropped=dict(step.dropped.most_common()),
        waiting=dict(step.waiting.most_common()),
        failed=dict(step.failed.most_common()),
        changes=step.changes,
        answers=step.calls,
        refused=step.refused,
    )


def _spending(spent: LedgerSpending) -> BuildSpending:
    return BuildSpending(
        reader=spent.reader,
        answers=spent.replies,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        pictures=spent.pictures,
        cost=spent.cost,
        currency=spent.currency or "",
    )
