"""A small recipe for the tests of builds, its prompts, and builds over a scripted model server."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from overread.build.item import Change, Drop, Item, Keep, Question, StepResult, Wait
from overread.build.plan import BuildOutcome, BuildPlan
from overread.build.reader_pool import RoleSpec
from overread.build.runner import build_async
from overread.build.step import BatchStep, ItemStep, Recipe, StepContext
from overread.core import Defect
from overread.prompts.replies import json_parser
from overread.session import SessionSettings
from tests.readers.openai.misbehaving_server import Seen, says, serving
from tests.readers.openai.misbehaving_server import fails as fails_with
from tests.workflows.scripted_model import Asked, Script, opened

PROMPTS = {
    "demo-sort": "What a report is about.\n---\nSort this report: {{report}}",
    "demo-audit": "Whether it was sorted well.\n---\nAudit {{letter}} of: {{report}}",
}


class Sorted(BaseModel):
    """What a model says of a report."""

    answer: str
    explanation: str = ""


def read_reports(source: Path, settings: Mapping[str, str]) -> Iterable[Item | Defect]:
    """The items of `reports.jsonl`; a row without a text makes none."""
    for number, line in enumerate((source / "reports.jsonl").read_text().splitlines(), 1):
        row = json.loads(line)
        if "text" not in row:
            yield Defect(
                code="missing-field", file="reports.jsonl", row=number, field="text",
                expected="a report", found="none",
            )  # fmt: skip
        else:
            yield Item(id=row["id"], patient=row.get("patient"), data={"text": row["text"]})


async def tidy_text(item: Item, context: StepContext) -> StepResult:
    """Spaces out; reports without words are dropped."""
    before = str(item.data["text"])
    after = " ".join(before.split())
    if not after:
        return Drop(reason="empty-report", why="the report has no words")
    if after == "raise":
        raise ValueError("a planted bug")
    changes = (Change(what="text", before=before, after=after),) if after != before else ()
    return Keep(data={"text": after}, changes=changes)


def not_e(found: Sorted) -> str | None:
    """The check of every answer: one letter is refused."""
    return "E is no category" if found.answer == "E" else None


async def sort(item: Item, context: StepContext) -> StepResult:
    """By a model, or by the first letter."""
    text = str(item.data["text"])
    if not context.has():
        return Keep(data={"letter": text[0].upper()})
    found = await context.ask("demo-sort", {"report": text}, json_parser(Sorted), check=not_e)
    change = Change(what="letter", after=found.answer, by=context.name())
    return Keep(data={"letter": found.answer}, changes=(change,))


async def audit(item: Item, context: StepContext) -> StepResult:
    """By another model; where it disagrees, people decide."""
    letter = str(item.data["letter"])
    if not context.has("auditor"):
        return Keep(data={})
    values = {"letter": letter, "report": str(item.data["text"])}
    found = await context.ask("demo-audit", values, json_parser(Sorted), role="auditor")
    if found.answer != "disagree":
        return Keep(data={"audit": found.answer})
    question = f"{item.id}/audit"
    verdict = context.verdict(question)
    if verdict is None:
        asked = Question(id=question, item=item.id, kind="letter", text=f"Is it {letter}?")
        return Wait(questions=(asked,))
    if verdict != "accept":
        return Drop(reason="rejected", why="people rejected the letter", by="people")
    corrected = context.correction(question) or {}
    return Keep(data={"audit": "people", **corrected})


async def rank(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
    """A number to each, in the order of letters."""
    ordered = sorted(items, key=lambda item: (str(item.data["letter"]), item.id))
    return {item.id: Keep(data={"rank": number}) for number, item in enumerate(ordered, 1)}


async def look_again(item: Item, context: StepContext) -> StepResult:
    """A second question about each, once all are ranked."""
    if not context.has():
        return Keep(data={"again": ""})
    text = f"{item.data['rank']} {item.data['text']}"
    found = await context.ask("demo-sort", {"report": text}, json_parser(Sorted))
    return Keep(data={"again": found.answer})


def release(items: Sequence[Item], folder: Path, context: StepContext) -> Sequence[Change]:
    """One line an item."""
    rows = [json.dumps({"id": item.id, **item.data}) for item in items]
    (folder / "items.jsonl").write_text("".join(f"{row}\n" for row in rows))
    return (Change(what="items.jsonl", after=len(rows)),)


STEPS: tuple[ItemStep | BatchStep, ...] = (
    ItemStep("tidy", tidy_text, reads=("text",), roles=()),
    ItemStep("sort", sort, reads=("text",), prompts=("demo-sort",), about="Into letters."),
    ItemStep("audit", audit, prompts=("demo-audit",), roles=("auditor",)),
    BatchStep("rank", rank, roles=()),
    ItemStep("again", look_again, prompts=("demo-sort",)),
)
DEMO = Recipe("demo", "A demonstration.", read_reports, STEPS, release, {"tone": "plain"})


def with_step(name: str, **more: Any) -> Recipe:
    """The recipe with one step changed."""
    steps = tuple(replace(one, **more) if one.name == name else one for one in DEMO.steps)
    return replace(DEMO, steps=steps)


def write_reports(folder: Path, *rows: str | Mapping[str, Any]) -> Path:
    """A source: texts, or whole rows."""
    folder.mkdir(parents=True, exist_ok=True)
    full = [
        {"id": f"r{n}", "text": row} if isinstance(row, str) else dict(row) for n, row in enumerate(rows, 1)
    ]
    (folder / "reports.jsonl").write_text("".join(json.dumps(row) + "\n" for row in full))
    return folder


def write_prompts(folder: Path, **other: str) -> Path:
    """The prompts of the recipe in a folder, some of them in other words."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PROMPTS.items():
        (folder / f"{name}.md").write_text(other.get(name.replace("-", "_"), text))
    return folder


@dataclass
class Built:
    """What a build over a scripted server left."""

    outcome: BuildOutcome
    asked: list[Asked]
    folder: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The release."""
        lines = (self.folder / "release" / "items.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


def scripted_build(
    source: Path,
    out: Path,
    script: Script,
    *,
    recipe: Recipe = DEMO,
    roles: Sequence[str] = ("reader",),
    models: Mapping[str, str] | None = None,
    prompts: Path | None = None,
    repairs: int = 2,
    dry_run: bool = False,
    refuses: bool = False,
    fails: Callable[[Asked], bool] = lambda _: False,
    **more: Any,
) -> Built:
    """A build whose models are served by a script; what `fails` names gets a broken connection.

    With `refuses` the server has no such model.
    """
    asked: list[Asked] = []
    wrong: list[BaseException] = []
    own = prompts or write_prompts(out.parent / f"{out.name}-prompts")

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        question = opened(seen.told)
        asked.append(question)
        if refuses:
            await fails_with(404, "no such model", code="model_not_found")(seen, writer)
            return
        try:
            if fails(question):
                writer.close()
                return
            text = script(question)
        except BaseException as error:
            wrong.append(error)
            raise
        await says(text)(seen, writer)

    # A socket of the same name each time: where a model answers is part of who it is.
    mark = hashlib.sha256(str(out).encode()).hexdigest()[:16]
    socket = Path(tempfile.gettempdir(), f"overread-{mark}.sock")

    async def building() -> BuildOutcome:
        async with serving(behave, file=socket) as server:
            hired = {
                role: RoleSpec("openai", {"model": (models or {}).get(role, role), "base_url": server.url})
                for role in roles
            }
            plan = BuildPlan(
                recipe,
                source,
                readers=hired,
                session=SessionSettings(prompts=str(own), repairs=repairs),
                **{"max_retries": 0, "concurrency": 1, **more},
            )
            return await build_async(plan, out, dry_run=dry_run)

    try:
        outcome = asyncio.run(building())
    finally:
        socket.unlink(missing_ok=True)
    if wrong:
        raise wrong[0]
    return Built(outcome, asked, out)


def table(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """What the ledger of a build holds."""
    base = sqlite3.connect(folder / "ledger.sqlite")
    try:
        return base.execute(query).fetchall()
    finally:
        base.close()


def standing(folder: Path) -> list[tuple[Any, ...]]:
    """The build as it stands: every decision in it, less times, numbers and who knew already."""
    return table(
        folder,
        "SELECT e.item, e.step, e.key, e.version, e.outcome, e.reason, e.why, e.by, e.data, "
        "e.changes, e.verdicts, (SELECT group_concat(hex(a.reply) || coalesce(a.problem, '')) "
        "FROM attempts a WHERE a.entry = e.id) FROM flow f JOIN entries e ON e.id = f.entry "
        "ORDER BY e.item, e.step",
    )
