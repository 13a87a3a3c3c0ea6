"""Judging a run: kept line by line, resumed, cached, and counted afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import overread
from overread import catalog
from overread.cli import judge as judge_verb
from overread.core import Entry, Reading
from overread.core.verdicts import DiscussionVerdicts, StepVerdicts
from overread.errors import OverreadError, ReaderError, Unavailable, UnknownName, UsageError
from overread.metrics import Sample, Subject
from overread.metrics.judged import STEP_FACTUALITY
from overread.runs.judging.runner import JudgeOutcome, JudgePlan, judge
from overread.runs.judging.verdict_store import VERDICTS_FILE, VerdictStore, load_verdicts, select_verdicts
from overread.runs.spec import ReaderSpec, RunSpec, WorkflowSpec, write_spec
from overread.runs.store import ReadingStore
from tests.sketches.release import write_sketch
from tests.workflows.scripted_judges import Obliging

WORDS = "The nodule is solid. It is in the left lung. There is no effusion."


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged")
    write_sketch(root, seed=5)
    return root / "medthinkvqa"


@pytest.fixture
def entries(release: Path) -> list[Entry]:
    return list(overread.load("medthinkvqa", release, "test").entries())


@pytest.fixture
def run(tmp_path: Path, release: Path, entries: list[Entry]) -> Path:
    """A run with two samples of each case, all with an explanation and a discussion."""
    folder = tmp_path / "run"
    folder.mkdir()
    write_spec(
        folder,
        RunSpec(
            benchmark="medthinkvqa",
            root=str(release),
            split="test",
            repeat=2,
            reader=ReaderSpec(name="r"),
            workflow=WorkflowSpec(name="direct"),
        ),
    )
    with ReadingStore(folder) as store:
        for entry in reversed(entries):
            for sample in (0, 1):
                store.append(said(entry.case.id, sample=sample))
    return folder


def said(case_id: str, **parts: Any) -> Reading:
    own: dict[str, Any] = {
        "choice": "A",
        "rationale": WORDS,
        "discussion": "Background: It is rare. It is common.",
    }
    return Reading(case_id=case_id, reader="r", **{**own, **parts})


def judged(run: Path, reader: Obliging | None = None, kind: str = "steps", **more: Any) -> JudgeOutcome:
    return judge(JudgePlan(run=run, judge=kind, reader=reader or Obliging(), **more))


def steps_of(run: Path) -> list[StepVerdicts]:
    return [told for told in load_verdicts(run).values() if isinstance(told, StepVerdicts)]


def test_every_reading_is_judged_once(run: Path, entries: list[Entry]) -> None:
    """One record a reading; the second time nobody is asked and nothing is written."""
    reader = Obliging()
    first = judged(run, reader)
    cases = len(entries)
    assert (first.tally.total, first.tally.read, first.tally.failed) == (2 * cases, 2 * cases, 0)
    assert (first.judge, len(first.rule)) == ("obliging canned", 16)
    assert reader.closed
    assert {(told.case_id, told.sample) for told in steps_of(run)} == {
        (e.case.id, s) for e in entries for s in (0, 1)
    }
    for told in steps_of(run):
        assert [step.factual for step in told.steps] == [True, False, True]
        assert (told.judge, told.rule) == (first.judge, first.rule)
    before = (run / VERDICTS_FILE).read_bytes()
    again = Obliging()
    second = judged(run, again)
    assert (again.tasks, second.tally.before, second.tally.read) == ([], 2 * cases, 0)
    assert (run / VERDICTS_FILE).read_bytes() == before


def test_equal_words_are_asked_about_once(run: Path, entries: list[Entry]) -> None:
    """The samples of a case say the same, and the cache answers for the second of them."""
    reader = Obliging()
    found = judged(run, reader)
    # The words are the same for every case, and so is the splitter's question.
    assert reader.tasks.count("split steps") == 1
    assert reader.tasks.count("judge steps") == len(entries)
    assert found.tally.spent.cached == 4 * len(entries) - len(reader.tasks)


def test_a_killed_judging_goes_on(run: Path) -> None:
    """A torn last line is judged again, and the others are not."""
    judged(run)
    lines = (run / VERDICTS_FILE).read_bytes().splitlines(keepends=True)
    (run / VERDICTS_FILE).write_bytes(b"".join(lines[:-2]) + lines[-2][:40])
    reader = Obliging()
    found = judged(run, reader, use_cache=False)
    assert (found.tally.before, found.tally.read) == (len(lines) - 2, 2)
    assert len(steps_of(run)) == len(lines)


def test_other_words_are_judged_again(run: Path, entries: list[Entry]) -> None:
    """A reading that says something else by now gets new verdicts, and only it."""
    judged(run)
    with ReadingStore(run) as store:
        store.append(said(entries[0].case.id, rationale="The nodule is calcified."))
    assert judged(run).tally.read == 1
    changed = [t for t in steps_of(run) if (t.case_id, t.sample) == (entries[0].case.id, 0)]
    assert [step.text for step in changed[-1].steps] == ["The nodule is calcified."]


def test_another_judge_is_another_rule(run: Path, entries: list[Entry]) -> None:
    """Verdicts of two judges stand side by side; the one who judged the most is counted."""
    first = judged(run)
    second = judged(run, Obliging("other"), limit=1)
    assert second.rule != first.rule
    cases, who, notes = select_verdicts(run)
    assert who["steps"]["judge"] == "obliging canned"
    assert sum(len(told) for told in cases.values()) == 2 * len(entries)
    assert notes == [
        f"steps are judged by obliging canned ({first.rule[:8]}), not by obliging other ({second.rule[:8]})"
    ]
    cases, who, _ = select_verdicts(run, ["obliging other"])
    assert (who["steps"]["rule"], sum(map(len, cases.values()))) == (second.rule, 1)
    assert select_verdicts(run, [second.rule[:6]])[1] == who
    with pytest.raises(UnknownName, match="did you mean 'obliging other'"):
        select_verdicts(run, ["obliging othr"])


def test_prompts_are_part_of_the_rule(run: Path, tmp_path: Path) -> None:
    """Another wording of a prompt makes other verdicts."""
    from overread.prompts import find_prompt
    from overread.session import SessionSettings

    own = tmp_path / "prompts"
    own.mkdir()
    prompt = find_prompt("judge-step")
    (own / "judge-step.md").write_text(
        f"Mine.\n---\n# system\n{prompt.system}\n# user\nPlease.\n{prompt.user}"
    )
    first, second = (judged(run, limit=1), judged(run, limit=1, settings=SessionSettings(prompts=str(own))))
    assert first.rule != second.rule
    assert second.tally.read == 1


def test_what_has_nothing_to_judge_is_counted(run: Path, entries: list[Entry]) -> None:
    """Failed readings and those without an explanation are told, and score worst."""
    with ReadingStore(run) as store:
        store.append(said(entries[0].case.id, error="lost"))
        store.append(said(entries[1].case.id, rationale=None))
    found = judged(run)
    assert found.nothing_to_judge == 2
    assert found.tally.total == 2 * len(entries) - 2
    cases, _, _ = select_verdicts(run)
    subject = Subject(
        entries[1], said(entries[1].case.id, rationale=None), verdicts=cases[entries[1].case.id]
    )
    (number,) = STEP_FACTUALITY.combine(Sample(list(STEP_FACTUALITY.measure(subject).values())))
    assert number == 0.0


def test_stored_verdicts_are_counted(run: Path, entries: list[Entry]) -> None:
    """Two of three steps in every case: 2/3, from the file alone."""
    judged(run)
    cases, _, notes = select_verdicts(run)
    rows = [
        row
        for entry in entries
        for row in STEP_FACTUALITY.measure(
            Subject(entry, said(entry.case.id), verdicts=cases[entry.case.id])
        ).values()
    ]
    assert STEP_FACTUALITY.combine(Sample(rows))[0] == pytest.approx(2 / 3)
    assert notes == []


def test_a_judge_that_fails_leaves_records(run: Path, entries: list[Entry]) -> None:
    """Each reading has a record with the reason; --retry-failed judges it, nothing else does."""
    reader = Obliging()
    reader.fail = ReaderError("the endpoint is gone")
    found = judged(run, reader)
    assert found.tally.failed == 2 * len(entries)
    assert all(told.error == "the endpoint is gone" and told.missing == 3 for told in steps_of(run))
    assert found.tally.reasons[0][1] == "the endpoint is gone"
    assert judged(run).tally.failed_before == 2 * len(entries)
    assert judged(run, retry_failed=True).tally.read == 2 * len(entries)
    assert not any(told.error for told in steps_of(run))


def test_a_known_verdict_of_no_use_is_asked_for_again(run: Path) -> None:
    """--retry-failed does not take the useless answer out of the cache once more."""

    class Mumbling(Obliging):
        def answer(self, task: str, asked: str) -> dict[str, Any]:
            return super().answer(task, asked) if task == "split steps" else {"verdicts": "hm"}

    assert judged(run, Mumbling()).tally.failed > 0
    again = Obliging()
    assert judged(run, again, retry_failed=True).tally.failed == 0
    assert "judge steps" in again.tasks
    assert not any(told.error for told in steps_of(run))


def test_a_busy_judge_is_asked_again(run: Path) -> None:
    """What may pass is tried again, and no verdict is lost."""
    reader = Obliging()
    reader.shy = 2
    found = judged(run, reader, concurrency=1)
    assert (found.tally.failed, found.tally.spent.retries) == (0, 2)


def test_a_bug_costs_one_record_and_is_told(run: Path, entries: list[Entry]) -> None:
    """An exception nobody meant becomes a record, and a bug in the outcome."""
    reader = Obliging()
    reader.fail = ZeroDivisionError("oh")
    found = judged(run, reader)
    assert [bug.what for bug in found.tally.bugs.values()] == ["ZeroDivisionError: oh"]
    assert len(steps_of(run)) == 2 * len(entries)


def test_what_is_wrong_for_every_reading_ends_the_judging(run: Path) -> None:
    """Also where a judge asks in a task group; no verdict is written as failed."""
    reader = Obliging()
    reader.fail = ExceptionGroup("tasks", [Unavailable("no credit is left")])
    with pytest.raises(Unavailable, match=r"^no credit is left$"):
        judged(run, reader)
    assert steps_of(run) == []


def test_discussions_are_judged_too(run: Path, entries: list[Entry]) -> None:
    """Both kinds stand in one file."""
    judged(run)
    judged(run, kind="discussion")
    told = [t for t in load_verdicts(run).values() if isinstance(t, DiscussionVerdicts)]
    assert len(told) == 2 * len(entries)
    assert [(s.section, s.correct) for s in told[0].sentences] == [
        ("background", True),
        ("background", False),
    ]
    assert sum(mark.mark for mark in told[0].education) == 5
    assert set(select_verdicts(run)[1]) == {"steps", "discussion"}


def test_the_truth_does_not_stay_in_the_run(run: Path, entries: list[Entry]) -> None:
    """What the judge was shown is not written down, nor is anything of the cache."""
    judged(run)
    judged(run, kind="discussion")
    kept = (run / VERDICTS_FILE).read_text()
    for entry in entries:
        assert entry.truth is not None
        for text in (entry.truth.report, entry.truth.discussion):
            assert text
            assert json.dumps(text)[1:-1] not in kept


def test_a_dry_run_counts_and_asks_nobody(run: Path, entries: list[Entry]) -> None:
    """Readings and questions that are left; no file, no question."""
    reader = Obliging()
    found = judge(JudgePlan(run=run, judge="steps", reader=reader), dry_run=True)
    assert (found.tally.total, found.calls) == (2 * len(entries), 4 * len(entries))
    assert reader.tasks == []
    assert not (run / VERDICTS_FILE).exists()
    judged(run, limit=1)
    assert judge(JudgePlan(run=run, judge="steps", reader=reader), dry_run=True).calls == 4 * len(entries) - 2


def test_the_first_in_the_release_come_first(run: Path, entries: list[Entry]) -> None:
    """A limit takes readings in the order of the release, whatever the order of the file."""
    judged(run, limit=3)
    assert [(t.case_id, t.sample) for t in steps_of(run)] == [
        (entries[0].case.id, 0), (entries[0].case.id, 1), (entries[1].case.id, 0),
    ]  # fmt: skip


def test_what_cannot_be_judged_is_one_sentence(run: Path, tmp_path: Path) -> None:
    """No run, no such judge, a reader without words, no readings, a second process."""
    with pytest.raises(UsageError, match="this folder is not a run"):
        judged(tmp_path)
    with pytest.raises(UnknownName, match="did you mean 'steps'"):
        judged(run, kind="step")
    mute = Obliging()
    mute.skills = frozenset({"masks"})
    with pytest.raises(UsageError, match="does not return text"):
        judged(run, mute)
    with VerdictStore(run), pytest.raises(UsageError, match="another process is judging"):
        judged(run)
    (run / "readings.jsonl").write_bytes(b"")
    with pytest.raises(OverreadError, match="no readings yet"):
        judged(run)


# ---- the verb --------------------------------------------------------------------------------


def typed(*words: str) -> tuple[int, str, BaseException | None]:
    import typer

    app = typer.Typer()
    app.command()(judge_verb.judge)
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout, done.exception


def test_the_verb_judges(run: Path, entries: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run tells what is left, a run judges it, JSON and words say the same."""
    monkeypatch.setitem(catalog.TABLES["readers"], "obliging", "tests.workflows.scripted_judges:make")
    given = (str(run), "--judge", "steps", "--reader", "obliging", "--reader-arg", "model=m")
    n = 2 * len(entries)
    code, told, _ = typed(*given, "--dry-run")
    assert code == 0
    assert f"left            {n}, about {2 * n} calls at least" in told
    code, told, _ = typed(*given, "--limit", "1", "--json", "--allow-remote")
    body = json.loads(told)
    assert (code, body["judge"], body["judged_now"], body["left"]) == (0, "obliging m", 1, 0)
    code, told, error = typed(*given)
    assert (code, error) == (0, None)
    assert f"{n} of {n} judged" in told
    assert len(steps_of(run)) == n


def test_people_agree_or_not(run: Path, tmp_path: Path, entries: list[Entry]) -> None:
    """A sheet is written, filled in, and compared: JSON with the counts, and a table."""
    judged(run)
    sheet = tmp_path / "sheet.csv"
    code, told, _ = typed(str(run), "--sheet", str(sheet))
    assert code == 0
    assert f"{6 * len(entries)} steps of {2 * len(entries)} readings" in told
    code, _, error = typed(str(run), "--sheet", str(sheet))
    assert isinstance(error, UsageError)
    filled = sheet.read_text("utf-8-sig").replace(",,,,", ",yes,no,,ann")
    sheet.write_text(filled, "utf-8")
    code, told, _ = typed(str(run), "--agreement", str(sheet), "--json", "--draws", "20")
    (pair,) = json.loads(told)["with_judge"]
    n = 2 * len(entries)
    assert pair["factual"]["confusion"] == [[0, n], [0, 2 * n]]
    assert pair["factual"]["share"]["value"] == pytest.approx(2 / 3)
    assert pair["steps"] == 3 * n
    code, told, _ = typed(str(run), "--agreement", str(sheet))
    assert code == 0
    assert "judge and ann" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "there is nothing to do"),
        (("--judge", "steps", "--sheet", "x"), "were both given"),
        (("--judge", "steps"), "no judge was given"),
        (("--agreement", "nowhere.csv"), "cannot be read"),
        (("--sheet", "x.csv"), "no steps of this run were judged yet"),
        (("--judge", "steps", "--reader", "openai", "--reader-arg", "sk-1"), "lacks its '='"),
    ],
)
def test_the_verb_says_what_is_wrong(run: Path, words: tuple[str, ...], told: str) -> None:
    """One sentence for each way to ask for nothing, and no key is repeated."""
    _, _, error = typed(str(run), *words)
    assert isinstance(error, OverreadError)
    assert told in str(error)
    assert "sk-1" not in str(error)
