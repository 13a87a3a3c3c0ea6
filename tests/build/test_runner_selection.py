"""The runner told to do only a part: some steps, a preview, a few items, a dry run; and refusing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from overread.build.item import Item, Keep, StepResult
from overread.build.ledger.store import Ledger
from overread.build.step import ItemStep, StepContext
from overread.errors import UnknownName, UsageError
from tests.build.demo_builds import ROWS, built
from tests.build.demo_recipe import DEMO, STEPS, standing, table, write_reports


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Reports, one empty, one that raises, one id twice, one row without a text."""
    return write_reports(tmp_path / "source", *ROWS)


def test_only_some_steps(source: Path, tmp_path: Path) -> None:
    """Chosen steps are done and what lies behind them is not; nothing is released until all are."""
    out = tmp_path / "out"
    found = built(source, out, steps=("tidy", "sort"))
    assert [step.kept for step in found.steps] == [3, 3, 0, 0, 0]
    assert not found.complete
    assert not (out / "release").exists()
    found = built(source, out, steps=("rank",))
    assert found.steps[3].kept == 0
    found = built(source, out, steps=("audit", "rank", "again"))
    assert found.steps[4].kept == 3
    assert not (out / "release").exists()
    assert built(source, out, steps=("release",)).written


def test_from_a_step_on_everything_is_done_anew(source: Path, tmp_path: Path) -> None:
    """The step that is named and those behind it are done again, those before it are not."""
    out = tmp_path / "out"
    built(source, out)
    found = built(source, out, begin="audit")
    assert [step.known for step in found.steps] == [5, 3, 0, 0, 0]
    assert found.written


def test_a_preview_shows_the_first_items_and_changes_nothing(source: Path, tmp_path: Path) -> None:
    """Its decisions are shown and kept; the build and its release stay as they were."""
    out = tmp_path / "out"
    built(source, out)
    before = standing(out)
    found = built(source, out, preview=2, settings={"tone": "loud"})
    assert [one.source.id for one in found.previews] == ["r1", "r2"]
    assert [entry.step for entry in found.previews[0].entries] == [step.name for step in STEPS]
    assert found.previews[1].entries[0].changes[0].after == "a two"
    assert found.previews[0].entries[3].data == {"rank": 2}
    assert standing(out) == before
    assert found.release is None


def test_a_preview_of_a_new_build_releases_nothing(source: Path, tmp_path: Path) -> None:
    """Before any build there is nothing but what was tried, and a build goes on from it."""
    out = tmp_path / "out"
    built(source, out, preview=2)
    assert not (out / "release").exists()
    found = built(source, out)
    assert [step.known for step in found.steps[:4]] == [2, 2, 2, 0]
    assert len(found.items) == 3


def test_a_limited_build_may_grow(source: Path, tmp_path: Path) -> None:
    """With a limit the first items are built; without it the others follow."""
    out = tmp_path / "out"
    assert len(built(source, out, limit=1).items) == 1
    found = built(source, out)
    assert len(found.items) == 3
    assert found.steps[0].known == 1


def test_items_that_left_the_source_leave_the_build(source: Path, tmp_path: Path) -> None:
    """They are no part of the build any more; their rows stay in the ledger."""
    out = tmp_path / "out"
    built(source, out)
    write_reports(source, *ROWS[:3])
    assert [item.id for item in built(source, out).items] == ["r1", "r2"]
    assert "r7" not in {row[0] for row in standing(out)}
    assert table(out, "SELECT count(*) FROM entries WHERE item = 'r7'") == [(5,)]


def test_a_dry_run_writes_nothing(source: Path, tmp_path: Path) -> None:
    """It tells what would become of the items, and no folder is made."""
    out = tmp_path / "out"
    found = built(source, out, dry_run=True)
    assert found.steps[0].kept == 3
    assert not out.exists()


def test_two_builds_in_one_folder_are_refused(source: Path, tmp_path: Path) -> None:
    """While one builds, another is told to wait; afterwards it may."""
    out = tmp_path / "out"
    with Ledger(out), pytest.raises(UsageError, match="another process is building here"):
        built(source, out)
    assert built(source, out).complete


def test_folders_and_names_that_cannot_be_meant_are_refused(source: Path, tmp_path: Path) -> None:
    """Another recipe's build, a folder with other things, unknown names, a source that is gone."""
    out = tmp_path / "out"
    built(source, out)
    with pytest.raises(UsageError, match="holds a build by the recipe 'demo'"):
        built(source, out, replace(DEMO, name="other"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.doc").touch()
    with pytest.raises(UsageError, match="holds no build"):
        built(source, tmp_path / "full")
    with pytest.raises(UnknownName, match="did you mean 'rank'"):
        built(source, out, steps=("rnak",))
    with pytest.raises(UnknownName, match="did you mean 'tone'"):
        built(source, out, settings={"tune": "x"})
    with pytest.raises(UsageError, match="there is no source"):
        built(tmp_path / "gone", out)
    twice = replace(DEMO, steps=(DEMO.steps[0], DEMO.steps[0]))
    with pytest.raises(UsageError, match="two steps called 'tidy'"):
        built(source, out, twice)


def test_a_step_that_uses_what_it_does_not_declare_ends_the_build(source: Path, tmp_path: Path) -> None:
    """Its key would not tell when the prompt or the model changes."""

    async def sly(item: Item, context: StepContext) -> StepResult:
        return Keep(data={"has": context.has("auditor")})

    recipe = replace(DEMO, steps=(ItemStep("sly", sly),))
    with pytest.raises(UsageError, match="'sly' uses the role 'auditor'"):
        built(source, tmp_path / "out", recipe)


def test_odd_items_are_rows(tmp_path: Path) -> None:
    """Ids without a name or with a NUL are defects; NUL bytes and 2 MB in a text are kept whole."""
    text = "a\0b" + "x" * 2_000_000
    source = write_reports(
        tmp_path / "s",
        {"id": " ", "text": "nobody"},
        {"id": "a\0b", "text": "cut"},
        {"id": "größe", "text": text},
    )
    out = tmp_path / "out"
    found = built(source, out)
    assert [defect.code for defect in found.defects] == ["missing-field", "missing-field"]
    assert [item.data["text"] for item in found.items] == [text]
    assert json.loads((out / "release/items.jsonl").read_text())["id"] == "größe"


def test_a_dry_run_looks_where_people_return_things_and_writes_elsewhere(tmp_path: Path) -> None:
    """It sees the files in the build's folder, and what steps write is thrown away."""

    def state(item: Item, context: StepContext) -> str:
        file = context.folder / f"{item.id}.txt"
        return file.read_text() if file.exists() else ""

    async def hand_out(item: Item, context: StepContext) -> StepResult:
        context.folder.mkdir(exist_ok=True)
        (context.folder / f"task-{item.id}").touch()
        return Keep(data={})

    recipe = replace(DEMO, steps=(ItemStep("tasks", hand_out, external_state=state),))
    source = write_reports(tmp_path / "source", "one")
    out = tmp_path / "out"
    built(source, out, recipe)
    assert built(source, out, recipe, dry_run=True).steps[0].known == 1
    (out / "task-r1").unlink()
    (out / "r1.txt").write_text("back")
    assert built(source, out, recipe, dry_run=True).steps[0].known == 0
    assert not (out / "task-r1").exists()
