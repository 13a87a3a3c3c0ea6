"""Builds with models behind a scripted server: bad answers, repairs, versions, prompts, people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from overread.build.adjudication import Queue
from overread.build.item import Item, Keep, StepResult
from overread.build.ledger.questions import load_ledger_questions
from overread.build.plan import BuildPlan
from overread.build.runner import RoleSpec, run_build
from overread.build.step import BatchStep, ItemStep, StepContext
from overread.core import Request
from overread.errors import BadReply, Unavailable, UnknownName, UsageError
from overread.prompts.replies import ParsedReply, json_parser, text_parser
from overread.runs.requests.prices import Prices
from overread.runs.requests.reply_cache import ReplyKeys
from tests.build.demo_recipe import (
    DEMO,
    PROMPTS,
    Sorted,
    not_e,
    scripted_build,
    standing,
    table,
    write_prompts,
    write_reports,
)
from tests.workflows.scripted_model import Asked, grey, in_turn, js


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two reports."""
    return write_reports(tmp_path / "source", "a nodule", "an effusion")


def letters(asked: Asked) -> str:
    """The same letter to all."""
    return js(answer="B")


def test_a_question_is_hashed_once(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key serves the look into the ledger, the reply's row and the attempt's."""
    hashed: list[bytes] = []
    key = ReplyKeys.key

    def counting(keys: ReplyKeys, request: Request) -> bytes:
        hashed.append(key(keys, request))
        return hashed[-1]

    monkeypatch.setattr(ReplyKeys, "key", counting)
    built = scripted_build(source, tmp_path / "out", letters)
    assert len(hashed) == len(built.asked) == 4
    for rows in ("replies", "attempts"):
        column = "key" if rows == "replies" else "reply"
        assert {bytes(row[0]) for row in table(built.folder, f"SELECT {column} FROM {rows}")} == set(hashed)


def test_what_a_model_says_is_kept_with_who_said_it(source: Path, tmp_path: Path) -> None:
    """The answers are in the release, the change names the model, the raw reply stands apart."""
    built = scripted_build(source, tmp_path / "out", letters, prices=Prices(1.0, 10.0, "EUR"))
    assert [row["letter"] for row in built.rows] == ["B", "B"]
    assert len(built.asked) == 4
    (change,) = json.loads(
        table(built.folder, "SELECT changes FROM entries WHERE step = 'sort' LIMIT 1")[0][0]
    )
    assert (change["after"], change["by"]) == ("B", "openai reader")
    replies = table(built.folder, "SELECT reader, asked, reply, input_tokens, cost, currency FROM replies")
    assert {row[0] for row in replies} == {"openai reader"}
    assert any("Sort this report: a nodule" in row[1] for row in replies)
    assert json.loads(replies[0][2])["text"] == js(answer="B")
    assert replies[0][3] == 120
    assert replies[0][4] == pytest.approx((120 * 1.0 + 7 * 10.0) / 1e6)
    assert replies[0][5] == "EUR"
    assert built.outcome.tally.spent.input_tokens == 480


def test_bad_answers_are_asked_for_again_with_the_reason(tmp_path: Path) -> None:
    """What is no JSON, and what the check refuses, is told; the third answer is taken."""
    source = write_reports(tmp_path / "source", "a nodule")
    script = in_turn("I think it is a B.", js(answer="E"), js(answer="B"))
    built = scripted_build(source, tmp_path / "out", script, recipe=replace(DEMO, steps=DEMO.steps[:2]))
    assert [asked.turns for asked in built.asked] == [1, 3, 5]
    assert "no JSON object" in built.asked[1].last
    assert "E is no category" in built.asked[2].last
    assert built.rows[0]["letter"] == "B"
    problems = table(built.folder, "SELECT number, problem FROM attempts ORDER BY number")
    assert [number for number, _ in problems] == [1, 2, 3]
    assert "no JSON object" in problems[0][1]
    assert problems[1:] == [(2, "E is no category"), (3, None)]


def test_answers_that_stay_bad_end_as_a_failed_row(source: Path, tmp_path: Path) -> None:
    """After all repairs the item has failed, every attempt is kept, and the others go on."""

    def script(asked: Asked) -> str:
        return "no" if "nodule" in asked.words else js(answer="B")

    built = scripted_build(source, tmp_path / "out", script)
    assert [row["id"] for row in built.rows] == ["r2"]
    assert built.outcome.steps[1].failed == {"bad-reply": 1}
    (entry,) = table(built.folder, "SELECT id, why FROM entries WHERE outcome = 'failed'")
    assert "could not be used" in entry[1]
    count = table(built.folder, f"SELECT count(*) FROM attempts WHERE entry = {entry[0]}")
    assert count == [(3,)]


def test_a_failed_item_that_is_tried_again_is_asked_again(source: Path, tmp_path: Path) -> None:
    """Its bad answers are known and of no use: --retry-failed asks for new ones, and them alone."""
    out = tmp_path / "out"

    def first(asked: Asked) -> str:
        return "no" if "nodule" in asked.words else js(answer="B")

    scripted_build(source, out, first)
    again = scripted_build(source, out, letters)
    assert not again.asked
    assert again.outcome.failed == 1
    tried = scripted_build(source, out, letters, retry_failed=True)
    assert [asked.turns for asked in tried.asked] == [1, 1, 1]
    assert sum("Sort this report: a nodule" in asked.words for asked in tried.asked) == 1
    assert [row["letter"] for row in tried.rows] == ["B", "B"]


def test_a_broken_connection_is_a_failed_row(source: Path, tmp_path: Path) -> None:
    """An endpoint that hangs up fails its item, with what it was, and no other."""
    built = scripted_build(source, tmp_path / "out", letters, fails=lambda asked: "nodule" in asked.words)
    assert built.outcome.steps[1].failed == {"endpoint-failed": 1}
    assert [row["id"] for row in built.rows] == ["r2"]


def test_an_endpoint_that_is_down_stops_the_build(source: Path, tmp_path: Path) -> None:
    """No item is written down as failed, and the same build again decides on all of them."""
    out = tmp_path / "out"
    with pytest.raises(
        Unavailable, match=r"stopped early, since the first \d cases all failed at the endpoint"
    ):
        scripted_build(source, out, letters, fails=lambda _: True)
    assert table(out, "SELECT count(*) FROM entries WHERE outcome = 'failed'") == [(0,)]
    again = scripted_build(source, out, letters)
    assert again.outcome.failed == 0
    assert [row["id"] for row in again.rows] == ["r1", "r2"]


def test_the_same_again_asks_nobody(source: Path, tmp_path: Path) -> None:
    """Neither the decisions nor the answers behind them are asked for twice."""
    out = tmp_path / "out"
    first = scripted_build(source, out, letters, roles=("reader", "auditor"))
    before = standing(out)
    again = scripted_build(source, out, letters, roles=("reader", "auditor"))
    assert len(first.asked) == 6
    assert not again.asked
    assert standing(out) == before


def test_a_new_version_makes_sense_of_the_old_answers(source: Path, tmp_path: Path) -> None:
    """A parser is mended and its step's version counted up: decided anew, and nobody asked."""
    out = tmp_path / "out"

    def parse(reply: str) -> ParsedReply[Sorted]:
        if "letter" not in reply:
            raise BadReply("it names no letter")
        return ParsedReply(Sorted(answer=reply[-1]))

    def careless(reply: str) -> ParsedReply[Sorted]:
        raise BadReply("it is in words")

    def reading(how: object, version: int) -> object:
        async def sort(item: Item, context: StepContext) -> StepResult:
            values = {"report": str(item.data["text"])}
            found = await context.ask("demo-sort", values, how, check=not_e)  # type: ignore[arg-type]
            return Keep(data={"letter": found.answer})

        step = ItemStep("sort", sort, version=version, reads=("text",), prompts=("demo-sort",))
        return replace(DEMO, steps=(step,))

    script = in_turn("the letter is B")
    first = scripted_build(source, out, script, recipe=reading(careless, 1), repairs=0)  # type: ignore[arg-type]
    assert first.outcome.failed == 2
    mended = scripted_build(source, out, script, recipe=reading(parse, 2), repairs=0)  # type: ignore[arg-type]
    assert not mended.asked
    assert [row["letter"] for row in mended.rows] == ["B", "B"]
    rows = table(out, "SELECT version, outcome FROM entries WHERE item = 'r1' ORDER BY id")
    assert rows == [(1, "failed"), (2, "kept")]


def test_another_wording_of_a_prompt_asks_again(source: Path, tmp_path: Path) -> None:
    """Those steps alone that ask by it are done again."""
    out = tmp_path / "out"
    prompts = write_prompts(tmp_path / "prompts")
    roles = ("reader", "auditor")
    scripted_build(source, out, letters, roles=roles, prompts=prompts)
    write_prompts(prompts, demo_audit=PROMPTS["demo-audit"] + " Be strict.")
    again = scripted_build(source, out, letters, roles=roles, prompts=prompts)
    assert len(again.asked) == 2
    assert all("Be strict." in asked.words for asked in again.asked)
    assert again.outcome.steps[1].known == 2


def test_another_model_asks_again(source: Path, tmp_path: Path) -> None:
    """Steps that may ask it are done again; steps that ask nobody, or another, are not."""
    out = tmp_path / "out"
    roles = ("reader", "auditor")
    scripted_build(source, out, letters, roles=roles)
    again = scripted_build(source, out, letters, roles=roles, models={"reader": "other"})
    assert [step.known for step in again.outcome.steps] == [2, 0, 2, 2, 0]
    assert len(again.asked) == 4
    back = scripted_build(source, out, letters, roles=roles)
    assert not back.asked
    assert back.outcome.tally.read == 0


def test_from_a_step_on_known_answers_are_not_asked_for(source: Path, tmp_path: Path) -> None:
    """--from decides anew and asks nobody what was answered."""
    out = tmp_path / "out"
    scripted_build(source, out, letters)
    again = scripted_build(source, out, letters, begin="sort")
    assert [step.known for step in again.outcome.steps] == [2, 0, 0, 0, 0]
    assert not again.asked
    assert table(out, "SELECT DISTINCT known FROM attempts ORDER BY known") == [(0,), (1,)]


def test_a_dry_run_counts_the_questions(source: Path, tmp_path: Path) -> None:
    """It says for how many a model would be asked, and asks and writes nothing."""
    out = tmp_path / "out"
    found = scripted_build(source, out, letters, dry_run=True, prices=Prices(1e6, 0.0))
    sort = found.outcome.steps[1]
    assert (sort.asking, sort.calls, sort.undone) == (2, 2, 2)
    assert sort.tokens == found.outcome.cost == 2 * len("Sort this report: a nodule") // 4 + 2
    assert not found.asked
    assert not out.exists()
    scripted_build(source, out, letters, limit=1)
    before = standing(out)
    found = scripted_build(source, out, letters, dry_run=True)
    assert (found.outcome.steps[1].known, found.outcome.steps[1].asking) == (1, 1)
    assert standing(out) == before


def test_people_decide_where_models_differ(source: Path, tmp_path: Path) -> None:
    """An item waits with a question; once two people agree the next build goes on with it."""
    out = tmp_path / "out"
    roles = ("reader", "auditor")

    def script(asked: Asked) -> str:
        return js(answer="disagree" if "Audit" in asked.words else "B")

    first = scripted_build(source, out, script, roles=roles)
    assert first.outcome.waiting == 2
    assert first.outcome.problem is None
    assert first.outcome.release is None
    questions = load_ledger_questions(out, waiting=True)
    assert [question.id for question in questions] == ["r1/audit", "r2/audit"]
    queue = Queue(out)
    for person in ("ann", "bob"):
        queue.submit(person, "r1/audit", "accept", corrected={"letter": "C"})
        queue.submit(person, "r2/audit", "reject")
    again = scripted_build(source, out, script, roles=roles)
    assert [asked for asked in again.asked if "Audit" in asked.words] == []
    (row,) = again.rows
    assert (row["id"], row["audit"], row["letter"]) == ("r1", "people", "C")
    assert again.outcome.steps[2].dropped == {"rejected": 1}
    assert load_ledger_questions(out, waiting=True) == []
    assert [question.id for question in load_ledger_questions(out)] == ["r1/audit", "r2/audit"]
    assert scripted_build(source, out, script, roles=roles).outcome.tally.read == 0


def test_an_endpoint_without_the_model_ends_the_build(source: Path, tmp_path: Path) -> None:
    """What is wrong for every item is one error, and not a failed row for each."""
    with pytest.raises(Unavailable, match="no such model"):
        scripted_build(source, tmp_path / "out", letters, refuses=True)
    assert table(tmp_path / "out", "SELECT outcome FROM entries WHERE step = 'sort'") == []
    built = scripted_build(source, tmp_path / "out", letters)
    assert built.outcome.steps[0].known >= 1
    assert len(built.rows) == 2


@pytest.mark.parametrize("error", [UsageError("colour=7 is no colour"), Unavailable("no credit is left")])
def test_what_is_wrong_for_every_item_ends_the_build(source: Path, tmp_path: Path, error: Exception) -> None:
    """Also out of a task group of a step; a name that a reply made up fails its item only."""

    async def grouped(item: Item, context: StepContext) -> StepResult:
        raise ExceptionGroup("tasks", [error])

    recipe = replace(DEMO, steps=(ItemStep("group", grouped),))
    with pytest.raises(type(error), match=str(error)):
        scripted_build(source, tmp_path / "out", letters, recipe=recipe)
    assert table(tmp_path / "out", "SELECT outcome FROM entries") == []
    error = UnknownName("no organ is called 'lnug'")
    built = scripted_build(source, tmp_path / "out", letters, recipe=recipe)
    assert [reason for _, reason in built.outcome.tally.reasons] == [f"group: {error}"] * 2


def test_pictures_of_the_source_are_shown(tmp_path: Path) -> None:
    """A step may show pictures by their path in the source; a path out of it is refused."""
    import numpy as np
    from PIL import Image

    source = write_reports(tmp_path / "source", "in.png", "../out.png")
    Image.fromarray(np.full((8, 9), 77, np.uint8)).save(source / "in.png")
    Image.fromarray(np.full((8, 9), 78, np.uint8)).save(tmp_path / "out.png")

    async def look(item: Item, context: StepContext) -> StepResult:
        values = {"report": "x"}
        shown = [str(item.data["text"])]
        said = await context.ask("demo-sort", values, text_parser(), pictures=shown)
        return Keep(data={"said": said})

    recipe = replace(DEMO, steps=(ItemStep("look", look, prompts=("demo-sort",)),))
    built = scripted_build(source, tmp_path / "out", in_turn("grey"), recipe=recipe)
    (asked,) = built.asked
    assert grey(asked.pictures[0]).tolist() == np.full((8, 9), 77).tolist()
    assert built.outcome.steps[0].failed == {"refused": 1}
    assert [row["said"] for row in built.rows] == ["grey"]


def test_a_gathering_step_may_ask(source: Path, tmp_path: Path) -> None:
    """Its question is kept once, and asked once."""

    async def together(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
        text = ", ".join(str(item.data["text"]) for item in items)
        found = await context.ask("demo-sort", {"report": text}, json_parser(Sorted))
        return {item.id: Keep(data={"letter": found.answer}) for item in items}

    recipe = replace(DEMO, steps=(BatchStep("all", together, prompts=("demo-sort",)),))
    out = tmp_path / "out"
    built = scripted_build(source, out, letters, recipe=recipe)
    assert "a nodule, an effusion" in built.asked[0].words
    assert len(built.asked) == 1
    assert table(out, "SELECT count(*) FROM attempts") == [(1,)]
    assert not scripted_build(source, out, letters, recipe=recipe).asked
    dry = scripted_build(source, tmp_path / "dry", letters, recipe=recipe, dry_run=True)
    assert (dry.outcome.steps[0].asking, dry.outcome.steps[0].calls) == (2, 1)


def test_the_same_question_of_several_items_is_asked_once(tmp_path: Path) -> None:
    """Items that ask the same at the same time share the answer."""
    source = write_reports(tmp_path / "source", *["the same"] * 5)
    recipe = replace(DEMO, steps=DEMO.steps[:2])
    built = scripted_build(source, tmp_path / "out", letters, recipe=recipe, concurrency=5)
    assert len(built.asked) == 1
    assert len(built.rows) == 5


def test_readers_that_cannot_be_meant_are_refused(source: Path, tmp_path: Path) -> None:
    """A remote endpoint without leave, a reader without words, a key among the arguments."""
    out = tmp_path / "out"
    far = {"model": "m", "base_url": "https://models.example.org/v1"}
    with pytest.raises(UsageError, match="--allow-remote"):
        run_build(DEMO, source, out, readers={"reader": RoleSpec("openai", far)})
    with pytest.raises(UsageError, match=r"does not answer in text, so it cannot take the role .auditor."):
        run_build(DEMO, source, out, readers={"auditor": RoleSpec("nothing")})
    with pytest.raises(UsageError, match="looks like a key"):
        run_build(DEMO, source, out, readers={"reader": RoleSpec("openai", {"api_key": "x"})})
    assert not out.exists()
    assert BuildPlan(DEMO, source).find_recipe() is DEMO
