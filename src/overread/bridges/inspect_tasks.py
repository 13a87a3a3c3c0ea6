"""Our benchmarks as tasks of Inspect AI: `inspect eval overread/medthinkvqa -T root=DIR …`.

Inspect finds this module through an entry point. A sample holds the words of the first question
and its target; the pictures are put before the words when the sample begins, so that a split of
thousands of pictures is never held at once. The solver goes through our workflow and asks Inspect's
model; the answers are kept with the sample. The scorer goes through the workflow once more with
the answers alone, so that a log can be scored again without a model.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from overread import __version__, catalog
from overread.bridges.eval_task import Answers, EvalTask, combine_scores, question_key, replay_answers
from overread.core import Case, Message, ReleaseRef, Reply, Request
from overread.errors import MissingPart, OverreadError
from overread.runs.scoring.metric_selection import select_metrics
from overread.runs.settings import session_settings
from overread.session import SessionSettings

try:
    import anyio
    from inspect_ai import Task, task
    from inspect_ai._util.registry import RegistryInfo, registry_add, registry_info
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        ContentImage,
        ContentText,
        ModelOutput,
        get_model,
    )
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ImportError as error:
    raise MissingPart(
        f"Inspect AI is not installed ({error})", remedy="pip install 'overread[inspect]'"
    ) from None

_ANSWERS_KEY = "overread:answers"
_NO_QUESTION = "There is nothing to ask about this case."
_FINISH_REASONS = {"stop": "stop", "max_tokens": "length", "model_length": "length"}
_FINISH_REASONS["content_filter"] = "refused"


# ---- the tasks -----------------------------------------------------------------------------


def _register_task(benchmark: str) -> None:
    """Register the task of a benchmark under its name, that of another package too."""

    @task(name=benchmark)
    def read_benchmark(
        root: str,
        split: str = "test",
        form: str | None = None,
        pictures: str | None = None,
        metrics: str | list[str] = "",
        workflow: str = "direct",
        settings: dict[str, Any] | None = None,
    ) -> Task:
        """The cases of one split; `metrics` are the benchmark's own unless others are named."""
        return _make_task(benchmark, root, split, form, pictures, metrics, workflow, settings)


for _name in catalog.names("benchmarks"):
    _register_task(_name)


def _make_task(
    benchmark: str,
    root: str,
    split: str,
    form: str | None,
    pictures: str | None,
    metrics: str | list[str],
    workflow: str,
    settings: dict[str, Any] | None,
) -> Task:
    told: dict[str, Any] = {
        "benchmark": benchmark,
        "root": str(Path(root).expanduser().resolve()),
        "split": split,
        "form": form,
        "pictures": str(Path(pictures).expanduser().resolve()) if pictures else None,
        "metrics": metrics,
        "workflow": workflow,
        "settings": settings,
    }
    with _as_prerequisite_errors():
        exam = _find_task(**told)
        # Inspect may be inside a loop of its own already.
        with ThreadPoolExecutor(1) as aside:
            samples, prompts = aside.submit(asyncio.run, _make_samples(exam)).result()

    async def cleanup(state: TaskState) -> None:
        exam.drop_session(state.uuid)

    return Task(
        dataset=MemoryDataset(samples, name=f"{benchmark} {split}", location=told["root"]),
        setup=show_question(**told),
        solver=run_workflow(**told),
        scorer=score_answers(**told),
        cleanup=cleanup,
        # What fails counts as the worst, and never drops out of a mean.
        fail_on_error=False,
        score_on_error=True,
        name=benchmark,
        version=__version__,
        metadata={"overread": __version__, "prompts": prompts},
    )


async def _make_samples(exam: EvalTask) -> tuple[list[Sample], dict[str, str]]:
    samples: list[Sample] = []
    prompts: dict[str, str] = {}
    truths = exam.entries
    for case in exam.cases.values():
        messages, used = await exam.first_messages(case)
        prompts |= used
        truth = truths[case.id].truth
        target = (truth.answer or truth.answer_text or truth.report or "") if truth else ""
        samples.append(
            Sample(
                input=[_to_inspect_message(message, {}) for message in messages] or _NO_QUESTION,
                target=target,
                id=case.id,
                metadata={"patient": case.patient} if case.patient else None,
            )
        )
    return samples, prompts


def _find_task(
    benchmark: str,
    root: str,
    split: str = "test",
    form: str | None = None,
    pictures: str | None = None,
    metrics: str | list[str] = "",
    workflow: str = "direct",
    settings: dict[str, Any] | None = None,
) -> EvalTask:
    """The exam of these arguments: the same object for the task, its solver and its scorer."""
    names = metrics.split(",") if isinstance(metrics, str) else metrics
    place = ReleaseRef(benchmark, Path(root), split, form, Path(pictures) if pictures else None)
    own = place.definition.inspect_metrics or place.definition.official
    chosen = tuple(name.strip() for name in names if name.strip()) or own
    return _open_task(place, workflow, session_settings(settings), chosen)


@lru_cache(maxsize=8)
def _open_task(
    place: ReleaseRef, workflow: str, settings: SessionSettings, metrics: tuple[str, ...]
) -> EvalTask:
    return EvalTask(place, workflow=workflow, settings=settings, metrics=metrics)


@contextmanager
def _as_prerequisite_errors() -> Iterator[None]:
    """Raise our errors as Inspect's PrerequisiteError, which it prints without a traceback."""
    from inspect_ai._util.error import PrerequisiteError

    try:
        yield
    except OverreadError as problem:
        raise PrerequisiteError(f"overread: {problem}") from problem


# ---- asking --------------------------------------------------------------------------------


@solver(name="shown")  # names in logs stay, so that old logs can be scored again
def show_question(**exam: Any) -> Solver:
    """Put the first question, with its pictures, into the messages; any solver can follow."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        exam_task = _find_task(**exam)
        case = exam_task.cases[str(state.sample_id)]
        request = await exam_task.first_request(case, sample=state.epoch - 1, key=state.uuid)
        state.messages = _to_inspect_messages(request)
        return state

    return solve


@solver(name="read")
def run_workflow(**exam: Any) -> Solver:
    """Goes through the workflow, asks the model, and keeps the answers."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        exam_task = _find_task(**exam)
        answers: Answers = []
        state.store.set(_ANSWERS_KEY, answers)

        async def ask(request: Request) -> Reply:
            messages = _to_inspect_messages(request)
            output = await get_model().generate(messages)
            reply = _to_reply(output)
            answers.append(
                {"question": question_key(request.messages), "text": reply.text, "finish": reply.finish}
            )
            state.store.set(_ANSWERS_KEY, answers)
            state.messages = [*messages, output.message]
            state.output = output
            return reply

        case = exam_task.cases[str(state.sample_id)]
        await exam_task.read(case, ask, sample=state.epoch - 1, key=state.uuid)
        return state

    return solve


def _to_inspect_messages(request: Request) -> list[ChatMessage]:
    return [_to_inspect_message(message, request.images) for message in request.messages]


def _to_inspect_message(message: Message, images: Mapping[str, bytes]) -> ChatMessage:
    """One of our messages as Inspect has them; pictures without bytes are left out."""
    words = "".join(part for part in message.parts if isinstance(part, str))
    if message.role == "system":
        return ChatMessageSystem(content=words)
    if message.role == "assistant":
        return ChatMessageAssistant(content=words)
    parts = [
        ContentText(text=part)
        if isinstance(part, str)
        else ContentImage(image=_data_uri(part.media, images[part.sha256]))
        for part in message.parts
        if isinstance(part, str) or part.sha256 in images
    ]
    alone = len(parts) == 1 and isinstance(parts[0], ContentText)
    return ChatMessageUser(content=words if alone else parts)


def _data_uri(media: str, data: bytes) -> str:
    return f"data:{media};base64,{b64encode(data).decode()}"


def _to_reply(output: ModelOutput) -> Reply:
    finish: Any = _FINISH_REASONS.get(output.stop_reason, "other")
    return Reply(text=output.completion, finish=finish, model=output.model)


# ---- scoring -------------------------------------------------------------------------------


@metric(name="combined", scores="unreduced")
def combine_metrics() -> Metric:
    """All metrics over all samples, every epoch counted: what `overread score` gives."""

    def combine(scores: list[SampleScore]) -> dict[str, float]:
        rows: dict[str, list[Any]] = {}
        names: dict[str, None] = {}
        for one in scores:
            kept = one.score.metadata or {}
            rows.setdefault(str(one.sample_id), []).append(kept.get("rows", {}))
            names |= dict.fromkeys(kept.get("metrics", ()))
        return combine_scores(select_metrics(list(names), {}), rows)

    return combine


# A log keeps a scorer's name without its package, and `inspect score LOG` looks for just that name. So
# ours has the package twice: 'overread/measured' is what the log keeps.
@scorer(metrics=[combine_metrics()], name="overread/measured")
def score_answers(**exam: Any) -> Scorer:
    """What the answers are worth, by our own workflow, parsers and metrics."""

    async def score(state: TaskState, target: Target) -> Score:
        exam_task = _find_task(**exam)
        case = exam_task.cases[str(state.sample_id)]
        answers: Answers | None = state.store.get(_ANSWERS_KEY)
        if answers is None:  # somebody else's solver: its last answer answers the first question
            answers = await _last_answer(exam_task, case, state)
        reading, masks = await exam_task.read(
            case, replay_answers(answers), sample=state.epoch - 1, key=state.uuid
        )
        exam_task.drop_session(state.uuid)
        judge = partial(exam_task.score_reading, case.id, reading, masks)
        try:
            marks = await anyio.to_thread.run_sync(judge)
        except MissingPart:
            raise
        except OverreadError as problem:
            return Score.unscored(explanation=f"it is in no score: {problem}")
        if not marks.values:
            return Score.unscored(explanation="the release has no truth for it")
        return Score(
            value=dict(marks.values),
            answer=reading.choice or reading.report or state.output.completion or None,
            explanation=reading.error or reading.rationale,
            metadata={"metrics": list(marks.values), "rows": marks.rows},
        )

    return score


def _register_scorer_name(name: str) -> None:
    """Have the scorer found under that name too; what it makes still goes by its own."""
    own = registry_info(score_answers)
    registry_add(score_answers, RegistryInfo(type="scorer", name=name, metadata=own.metadata))
    registry_add(score_answers, own)


_register_scorer_name("overread/measured")


async def _last_answer(exam: EvalTask, case: Case, state: TaskState) -> Answers:
    if not state.output.choices:
        return []
    messages, _ = await exam.first_messages(case)
    reply = _to_reply(state.output)
    return [{"question": question_key(messages), "text": reply.text, "finish": reply.finish}]
