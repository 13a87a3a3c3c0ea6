"""The runner by rules alone: what is kept, dropped, failed, and what is done again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overread.build.item import Drop, Item, Keep, StepResult
from overread.build.step import BatchStep, ItemStep, Recipe, StepContext
from overread.errors import UsageError
from tests.build.demo_builds import ROWS, built
from tests.build.demo_recipe import DEMO, standing, table, with_step, write_reports


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Reports, one empty, one that raises, one id twice, one row without a text."""
    return write_reports(tmp_path / "source", *ROWS)


def test_every_item_ends_in_the_ledger_and_what_is_left_is_released(source: Path, tmp_path: Path) -> None:
    """Kept, dropped with a reason, failed with a bug; defects of the source are rows too."""
    out = tmp_path / "out"
    found = built(source, out)
    steps = {step.name: step for step in found.steps}
    assert (steps["tidy"].came, steps["tidy"].kept) == (5, 3)
    assert steps["tidy"].dropped == {"empty-report": 1}
    assert steps["tidy"].failed == {"bug": 1}
    assert [item.id for item in found.items] == ["r1", "r2", "r7"]
    rows = [json.loads(line) for line in (out / "release/items.jsonl").read_text().splitlines()]
    assert [(row["id"], row["letter"], row["rank"]) for row in rows] == [
        ("r1", "B", 2),
        ("r2", "A", 1),
        ("r7", "C", 3),
    ]
    assert table(out, "SELECT code FROM defects ORDER BY place") == [("duplicate-id",), ("missing-field",)]
    failed = table(out, "SELECT item, reason, why FROM entries WHERE outcome = 'failed'")
    assert failed == [("r4", "bug", "a bug ended this step (ValueError: a planted bug)")]
    assert found.written
    assert found.complete


def test_the_same_again_does_nothing_and_keeps_the_release(source: Path, tmp_path: Path) -> None:
    """A second build decides nothing, and the release is the same file."""
    out = tmp_path / "out"
    built(source, out)
    before = standing(out)
    file = (out / "release/items.jsonl").stat()
    found = built(source, out)
    assert found.tally.read == 0
    assert not found.written
    assert found.release == out / "release"
    assert standing(out) == before
    assert (out / "release/items.jsonl").stat().st_ino == file.st_ino


def test_a_changed_report_is_built_anew_and_the_others_are_not(source: Path, tmp_path: Path) -> None:
    """Only the changed item is decided again, and what takes all items together."""
    out = tmp_path / "out"
    built(source, out)
    write_reports(source, "b one", "d two", *ROWS[2:])
    found = built(source, out)
    steps = {step.name: step for step in found.steps}
    assert (steps["sort"].came, steps["sort"].known) == (3, 2)
    assert steps["rank"].known == 0
    assert found.written
    assert json.loads((out / "release/items.jsonl").read_text().splitlines()[1])["letter"] == "D"


def test_a_field_that_a_step_does_not_read_may_change(tmp_path: Path) -> None:
    """Only steps that read a field are done again where it changes; others are not shown it."""
    seen: list[set[str]] = []

    async def narrow(item: Item, context: StepContext) -> StepResult:
        seen.append(set(item.data))
        return Keep(data={"n": 1})

    def recipe(extra: str) -> Recipe:
        async def wide(item: Item, context: StepContext) -> StepResult:
            return Keep(data={"extra": extra})

        steps = (ItemStep("wide", wide, version=len(extra)), ItemStep("narrow", narrow, reads=("text",)))
        return replace(DEMO, steps=steps)

    source = write_reports(tmp_path / "source", "one")
    built(source, tmp_path / "out", recipe("x"))
    found = built(source, tmp_path / "out", recipe("yy"))
    assert [step.known for step in found.steps] == [0, 1]
    assert seen == [{"text"}]
    assert found.items[0].data["extra"] == "yy"


@pytest.mark.parametrize(
    "change",
    [{"settings": {"tone": "loud"}}, {"seed": 7}, {"recipe": with_step("tidy", version=2)}],
    ids=["setting", "seed", "version"],
)
def test_settings_seed_and_version_are_part_of_a_key(
    source: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    """With another setting, seed or version a decision is made anew; the old row stays."""
    out = tmp_path / "out"
    built(source, out)
    rows = len(table(out, "SELECT id FROM entries WHERE step = 'tidy'"))
    found = built(source, out, **change)
    assert found.steps[0].known == 0
    assert len(table(out, "SELECT id FROM entries WHERE step = 'tidy'")) == 2 * rows


def test_a_setting_that_a_step_does_not_look_at_may_change(source: Path, tmp_path: Path) -> None:
    """A step that names its settings is done anew for those alone, and sees no others."""
    recipe = with_step("tidy", settings=())
    built(source, tmp_path / "out", recipe)
    found = built(source, tmp_path / "out", recipe, settings={"tone": "loud"})
    assert [step.known for step in found.steps] == [5, 0, 0, 0, 0]


def test_what_lies_outside_is_part_of_a_key(tmp_path: Path) -> None:
    """A step that looks at a file people return is done again once the file is there."""

    def state(item: Item, context: StepContext) -> bool:
        return (context.folder / "masks" / item.id).exists()

    async def wait(item: Item, context: StepContext) -> StepResult:
        if state(item, context):
            return Keep(data={"mask": True})
        return Drop(reason="no-mask", why="nobody has drawn it")

    recipe = replace(DEMO, steps=(ItemStep("masks", wait, external_state=state),))
    source = write_reports(tmp_path / "source", "one", "two")
    assert built(source, tmp_path / "out", recipe).problem == "no item is left to release"
    (tmp_path / "out" / "masks").mkdir()
    (tmp_path / "out" / "masks" / "r2").touch()
    found = built(source, tmp_path / "out", recipe)
    assert found.steps[0].known == 1
    assert [item.id for item in found.items] == ["r2"]


def test_failed_steps_are_tried_again_when_asked(tmp_path: Path) -> None:
    """A failed row stays one until --retry-failed; then the item goes on."""
    broken = [True]

    async def moody(item: Item, context: StepContext) -> StepResult:
        if broken[0]:
            raise OSError("the disk is asleep")
        return Keep(data={})

    recipe = replace(DEMO, steps=(ItemStep("moody", moody),))
    source = write_reports(tmp_path / "source", "one")
    assert built(source, tmp_path / "out", recipe).failed == 1
    broken[0] = False
    assert built(source, tmp_path / "out", recipe).failed == 1
    assert built(source, tmp_path / "out", recipe, retry_failed=True).failed == 0


@pytest.mark.parametrize(
    ("gives", "why"),
    [
        ("nothing", "it gave a NoneType, not Keep, Drop or Wait"),
        ("infinity", "Input should be a finite number"),
    ],
)
def test_what_is_no_outcome_is_a_failed_row(tmp_path: Path, gives: str, why: str) -> None:
    """A step that gives nothing, or what cannot be stored, fails on its item and on no other."""

    async def odd(item: Item, context: StepContext) -> Any:
        if item.id == "r2":
            return Keep(data={})
        return None if gives == "nothing" else Keep(data={"n": float("inf")})

    recipe = replace(DEMO, steps=(ItemStep("odd", odd),))
    found = built(write_reports(tmp_path / "s", "one", "two"), tmp_path / "out", recipe)
    assert [item.id for item in found.items] == ["r2"]
    assert why in found.tally.reasons[0][1]


def test_a_gathering_step_that_fails_fails_on_every_item(tmp_path: Path) -> None:
    """All its items are failed rows; nothing is released, and nothing crashes."""

    async def wrong(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
        return {"stranger": Keep(data={})}

    recipe = replace(DEMO, steps=(BatchStep("wrong", wrong),))
    found = built(write_reports(tmp_path / "s", "one", "two"), tmp_path / "out", recipe)
    assert found.steps[0].failed == {"bug": 2}
    assert found.release is None
    assert "stranger" in found.tally.reasons[0][1]


def test_items_that_a_gathering_step_leaves_out_go_on(tmp_path: Path) -> None:
    """What it says nothing of is kept as it is."""

    async def first_out(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
        return {items[0].id: Drop(reason="first", why="it came first")}

    recipe = replace(DEMO, steps=(BatchStep("choose", first_out),))
    found = built(write_reports(tmp_path / "s", "one", "two"), tmp_path / "out", recipe)
    assert [item.id for item in found.items] == ["r2"]


def test_a_release_that_fails_leaves_the_old_one(source: Path, tmp_path: Path) -> None:
    """The problem is told, the release of before stays whole, and nothing half is left."""
    out = tmp_path / "out"
    built(source, out)
    before = (out / "release/items.jsonl").read_text()

    def broken(items: Sequence[Item], folder: Path, context: StepContext) -> Sequence[Any]:
        (folder / "items.jsonl").write_text("half")
        raise UsageError("no licence was named")

    found = built(source, out, replace(DEMO, release=broken, version=2))
    assert found.problem == "the release could not be written: no licence was named"
    assert (out / "release/items.jsonl").read_text() == before
    assert not list(out.glob(".release-*"))
