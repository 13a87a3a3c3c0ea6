"""A benchmark for somebody else's engine: the same questions and the same numbers as a run."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from overread.bridges.eval_task import Answers, EvalTask, combine_scores, question_key, replay_answers
from overread.core import Case, DrawnMask, ReleaseRef, Reply, Request
from overread.errors import MissingPart, OverreadError, ReaderError, Unavailable, UsageError
from overread.runs.engine import RunPlan, run
from overread.runs.scoring.from_run import score
from overread.runs.settings import session_settings
from overread.session import SessionSettings
from tests.runs.fake_readers import Echo
from tests.runs.medthinkvqa_cases import write_cases

ROOT = Path(__file__).resolve().parents[2]
METRICS = {
    "medthinkvqa": ("accuracy", "answer_rate"),
    "mmrad": ("rougeL", "bleu4", "clinical_score", "clinical_f1"),
    "rexgroundingct": ("mean_global_dice_per_finding", "hit_rate", "overall_instance_f1"),
}


def said(request: Request) -> str:
    """An answer that hangs on the question alone; some need a second try."""
    words = "".join(p for m in request.messages for p in m.parts if isinstance(p, str))
    lot = hashlib.sha256(words.encode()).digest()
    if request.task == "choose":
        if lot[0] % 3 == 0 and len(request.messages) < 3:
            return "I would rather not say."
        return json.dumps({"answer": "ABCDE"[lot[1] % 5], "explanation": "So it looks."})
    if request.task == "report":
        return "Small left pleural effusion. The heart is enlarged. No pneumothorax."
    boxes = [{"first_slice": 2, "last_slice": 30, "left": 0.1, "top": 0.1, "right": 0.9}]
    return json.dumps({"blocks": [box | {"bottom": 0.9} for box in boxes]})


def exam_of(benchmark: str, root: Path, **more: Any) -> EvalTask:
    return EvalTask(ReleaseRef(benchmark, root, "test"), metrics=METRICS[benchmark], **more)


def asked_outside(exam: EvalTask, *, sample: int = 0) -> dict[str, Answers]:
    """Case → what `said` answers, as another engine would keep it."""
    kept: dict[str, Answers] = {}

    async def one(case: Case) -> None:
        answers = kept.setdefault(case.id, [])

        async def ask(request: Request) -> Reply | DrawnMask:
            text = said(request)
            key = question_key(request.messages)
            answers.append({"question": key, "text": text, "finish": "stop"})
            return Reply(text=text)

        await exam.read(case, ask, sample=sample)

    for case in exam.cases.values():
        asyncio.run(one(case))
    return kept


def marked(exam: EvalTask, kept: dict[str, Answers], *, sample: int = 0) -> dict[str, list[Any]]:
    """Case → rows of its marks."""
    rows: dict[str, list[Any]] = {}
    for case in exam.cases.values():
        reading, masks = asyncio.run(exam.read(case, replay_answers(kept[case.id]), sample=sample))
        rows[case.id] = [exam.score_reading(case.id, reading, masks).rows]
    return rows


@pytest.mark.parametrize("benchmark", list(METRICS))
def test_numbers_are_those_of_a_run(benchmark: str, sketch: Path, tmp_path: Path) -> None:
    """The same answers are worth the same as `overread score` says, to the last digit."""
    root = sketch / benchmark
    if benchmark == "medthinkvqa":
        root = write_cases(tmp_path / "release", 25)
    exam = exam_of(benchmark, root)
    told = combine_scores(exam.metrics, marked(exam, asked_outside(exam)))
    run(RunPlan(benchmark=benchmark, root=root, reader=Echo(said, cached=False)), tmp_path / "run")
    card = score(tmp_path / "run", metrics=METRICS[benchmark])
    assert told == {name: score.value for name, score in card.scores.items()}
    assert any(0 < value < 1 for value in told.values())


def test_every_reading_of_a_case_counts(tmp_path: Path) -> None:
    """Two readings of each case are scored as a run with --repeat 2 scores them."""
    root = write_cases(tmp_path / "release", 9)
    exam = exam_of("medthinkvqa", root)
    first = marked(exam, asked_outside(exam))
    again = marked(exam, asked_outside(exam, sample=1), sample=1)
    both = {case: first[case] + again[case] for case in first}
    plan = RunPlan(benchmark="medthinkvqa", root=root, reader=Echo(said, cached=False), repeat=2)
    run(plan, tmp_path / "run")
    card = score(tmp_path / "run", metrics=METRICS["medthinkvqa"])
    assert card.scores["accuracy"].n == 18
    told = combine_scores(exam.metrics, both)
    assert told["accuracy"] == card.scores["accuracy"].value


@pytest.mark.parametrize("benchmark", list(METRICS))
def test_first_question_is_that_of_a_run(benchmark: str, sketch: Path, tmp_path: Path) -> None:
    """Words, pictures and their bytes are what a reader of ours is sent first."""
    reader = Echo(said, cached=False)
    root = sketch / benchmark
    run(RunPlan(benchmark=benchmark, root=root, reader=reader), tmp_path / "run")
    first: dict[str, Request] = {}
    for request in reader.asked:
        first.setdefault(request.case.id, request)
    exam = exam_of(benchmark, root)
    for case in exam.cases.values():
        request = asyncio.run(exam.first_request(case))
        assert request.messages == first[case.id].messages
        assert request.images == first[case.id].images
        assert request.images


class Shut:
    """Pictures that nobody may open."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"somebody asked for {name}")


@pytest.mark.parametrize("benchmark", list(METRICS))
def test_wording_opens_no_picture_and_tells_no_truth(
    benchmark: str, sketch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of a question come without pixels, and hold no id, file name or hidden text."""
    exam = exam_of(benchmark, sketch / benchmark)
    asked = {case: asyncio.run(exam.first_request(exam.cases[case])) for case in exam.cases}
    monkeypatch.setattr(type(exam.release), "pictures", Shut())
    for case in exam.cases.values():
        messages, prompts = asyncio.run(exam.first_messages(case))
        words = [p for m in messages for p in m.parts if isinstance(p, str)]
        real = [p for m in asked[case.id].messages for p in m.parts if isinstance(p, str)]
        assert words == real
        assert prompts
        told = " ".join(words)
        truth = exam.entries[case.id].truth
        assert truth is not None
        hidden = [case.id, case.patient, truth.report, truth.discussion, truth.title]
        hidden += [picture.file for picture in case.pictures]
        hidden += [f.text for f in truth.findings if not case.queries]
        for text in filter(None, hidden):
            assert text not in told


def test_pictures_are_encoded_once_under_a_key(sketch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Question, reading and scoring share what was encoded; a closed key is forgotten."""
    from overread.pixels import sent_images

    count = 0
    real = sent_images.encode_region

    def counting(*words: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        return real(*words, **more)

    monkeypatch.setattr(sent_images, "encode_region", counting)
    exam = exam_of("rexgroundingct", sketch / "rexgroundingct")
    case = next(iter(exam.cases.values()))
    asyncio.run(exam.first_request(case, key="one"))
    reading, _ = asyncio.run(exam.read(case, replay_answers([]), key="one"))
    assert count == 1
    assert reading.error == "there is no answer to this question"
    exam.drop_session("one")
    asyncio.run(exam.first_request(case, key="one"))
    assert count == 2


def test_answers_belong_to_their_questions() -> None:
    """An answer is given to its own question, once, in the order in which it was given."""
    case = Case(id="c", benchmark="b", split="test")
    from overread.core import Message

    def request(words: str) -> Request:
        message = Message(role="user", parts=(words,))
        return Request(task="choose", case=case, pictures=Shut(), messages=(message,))

    keys = {words: question_key(request(words).messages) for words in ("one", "two")}
    ask = replay_answers(
        [
            {"question": keys["two"], "text": "2", "finish": "stop"},
            {"question": keys["one"], "text": "1", "finish": "length"},
            {"question": keys["two"], "text": "3", "finish": "refused"},
        ]
    )

    async def all_of_them() -> Iterator[Any]:
        return iter([await ask(request(words)) for words in ("one", "two", "two")])

    replies = list(asyncio.run(all_of_them()))
    assert [(r.text, r.finish) for r in replies] == [("1", "length"), ("2", "stop"), ("3", "refused")]
    with pytest.raises(ReaderError):
        asyncio.run(ask(request("one")))  # type: ignore[arg-type]


def test_a_failed_case_is_worst_and_what_concerns_all_is_raised(tmp_path: Path) -> None:
    """Nonsense fails its case only; a missing prompt value stops everything."""
    exam = exam_of("medthinkvqa", write_cases(tmp_path / "release", 1))
    case = next(iter(exam.cases.values()))

    async def nonsense(request: Request) -> Reply | DrawnMask:
        return Reply(text="Hm.")

    reading, masks = asyncio.run(exam.read(case, nonsense))
    assert reading.error
    assert exam.score_reading(case.id, reading, masks).values == {"accuracy": 0.0, "answer_rate": 0.0}

    (tmp_path / "choose.md").write_text("Mine.\n---\nChoose from {{options}} and {{colour}}.\n")
    own = exam_of("medthinkvqa", tmp_path / "release", settings=SessionSettings(prompts=str(tmp_path)))
    with pytest.raises(UsageError, match="colour"):
        asyncio.run(own.read(case, nonsense))


def test_a_case_with_nothing_to_ask_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its question has no words, and it is worst; the others are asked about."""
    exam = exam_of("medthinkvqa", write_cases(tmp_path / "release", 2))
    real = exam._workflow

    async def picky(case: Case, session: Any) -> Any:
        if case.id == "case2":
            raise ReaderError("there is nothing to ask")
        return await real(case, session)

    monkeypatch.setattr(exam, "_workflow", picky)
    worded = {case: asyncio.run(exam.first_messages(exam.cases[case]))[0] for case in exam.cases}
    assert worded["case1"]
    assert worded["case2"] == ()
    reading, masks = asyncio.run(exam.read(exam.cases["case2"], replay_answers([])))
    assert exam.score_reading("case2", reading, masks).values["accuracy"] == 0


@pytest.mark.parametrize(
    "error", [Unavailable("no credit is left"), MemoryError("no memory"), MissingPart("no torch")]
)
def test_what_concerns_all_cases_is_raised_out_of_a_task_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """By itself, as a run ends with it; what concerns one case fails that case."""
    exam = exam_of("medthinkvqa", write_cases(tmp_path / "release", 1))
    case = exam.cases["case1"]

    async def grouped(case: Case, session: Any) -> Any:
        raise ExceptionGroup("tasks", [error])

    monkeypatch.setattr(exam, "_workflow", grouped)
    for asked in (exam.read(case, replay_answers([])), exam.first_messages(case)):
        with pytest.raises(type(error), match=str(error)):
            asyncio.run(asked)
    error = ReaderError("it would not")
    reading, _ = asyncio.run(exam.read(case, replay_answers([])))
    assert reading.error == "it would not"
    assert asyncio.run(exam.first_messages(case)) == ((), {})


def test_no_truth_means_no_value(tmp_path: Path) -> None:
    """A case whose truth is withheld has neither rows nor values, and no number is made of it."""
    root = write_cases(tmp_path / "release", 1)
    rows = [json.loads(line) for line in (root / "test.jsonl").read_text().splitlines()]
    for row in rows:
        row["correct_answer"] = row["correct_answer_text"] = None
    (root / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    exam = exam_of("medthinkvqa", root)
    [case] = exam.cases.values()
    reading, masks = asyncio.run(exam.read(case, replay_answers([])))
    marks = exam.score_reading(case.id, reading, masks)
    assert (marks.values, marks.rows) == ({}, {})
    assert combine_scores(exam.metrics, {case.id: [marks.rows]}) == {}
    assert not any(map(math.isnan, marks.values.values()))


def test_settings_are_checked() -> None:
    """Unknown and wrong settings are one sentence; texts become what they stand for."""
    assert session_settings({"windows": "lung,bone", "longest": "512"}) == SessionSettings(
        longest=512, windows=("lung", "bone")
    )
    with pytest.raises(OverreadError, match="did you mean 'longest'"):
        session_settings({"longst": 1})
    with pytest.raises(OverreadError, match="the setting 'longest' has an invalid value"):
        session_settings({"longest": "wide"})


def test_without_inspect_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks need Inspect AI, and say how to get it; the room itself can be entered."""
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.delitem(sys.modules, "overread.bridges.inspect_tasks", raising=False)
    import_module("overread.bridges")
    with pytest.raises(MissingPart, match=r"pip install 'overread\[inspect\]'"):
        import_module("overread.bridges.inspect_tasks")


def test_entry_point_leads_to_the_tasks() -> None:
    """Inspect looks for an entry point of the package's own name; it names the module of tasks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["inspect_ai"] == {"overread": "overread.bridges.inspect_tasks"}
    assert any(need.startswith("inspect_ai") for need in project["optional-dependencies"]["inspect"])
