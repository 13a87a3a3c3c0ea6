"""Chat-style JSONL: the questions that `overread run` asks, and the answers that the truth gives.

One line is one question: a diagnosis to choose, a sentence to be found, a question to answer, a
report to write. Questions are worded by the prompts of the house, so that a model trained on these
lines is asked the same way later. Where the truth is hidden a line ends with the question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from overread.benchmarks.output import write_jsonl
from overread.build.release.ct_volumes import mask_blocks, read_labels
from overread.build.release.export_job import CannotExport, ExportJob
from overread.build.release.picture_files import WINDOWS, flat_bytes, picture_path, write_files
from overread.core import Entry, Finding, Release, Truth
from overread.prompts.interleaved import IMAGE
from overread.prompts.templates import find_prompt

_MAX_BLOCKS = 50


@dataclass(frozen=True)
class ChatTurn:
    """One question and its answer, None where it is hidden."""

    id: str
    system: str
    question: str
    answer: str | None


def write_chat(job: ExportJob) -> None:
    """One JSONL file a split, the pictures in `images/`."""
    row_of = _ROWS[job.style]

    def rows(release: Release) -> Iterator[dict[str, Any]]:
        for entry in job.entries(release):
            made: list[dict[str, Any]] = []
            with job.track_case(entry):
                files: dict[str, bytes] = {}
                for picture in entry.case.pictures:
                    sent = flat_bytes(release, picture)
                    files[picture_path(entry, picture.name, sent)] = sent[0]
                made = [row_of(turn, list(files)) for turn in _make_turns(job, release, entry)]
                if not made:
                    raise CannotExport("there is nothing to ask of it, or no answer to it")
                write_files(job, files)
            yield from made

    for release in job.load_splits():
        write_jsonl(job.out / f"{release.split}.jsonl", rows(release))


def _qwen_row(turn: ChatTurn, files: list[str]) -> dict[str, Any]:
    """Messages of typed parts, as Qwen-VL's processor and many trainers take them."""
    shown = [{"type": "image", "image": file} for file in files]
    messages = [
        {"role": "system", "content": [_text_part(turn.system)]},
        {"role": "user", "content": [*shown, _text_part(turn.question)]},
    ]
    if turn.answer is not None:
        messages.append({"role": "assistant", "content": [_text_part(turn.answer)]})
    return {"id": turn.id, "images": files, "messages": messages}


def _text_part(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def _llava_row(turn: ChatTurn, files: list[str]) -> dict[str, Any]:
    """Conversations with a mark for each picture; the template of LLaVA brings its own system."""
    for words in (turn.question, turn.answer or ""):
        if IMAGE in words:
            raise CannotExport(f"its text holds '{IMAGE}', which means a picture in this style")
    marks = f"{IMAGE}\n" * len(files)
    conversation = [{"from": "human", "value": f"{marks}{turn.question}"}]
    if turn.answer is not None:
        conversation.append({"from": "gpt", "value": turn.answer})
    return {"id": turn.id, "image": files[0] if len(files) == 1 else files, "conversations": conversation}


_ROWS = {"qwen": _qwen_row, "llava": _llava_row}


def _make_turns(job: ExportJob, release: Release, entry: Entry) -> Iterator[ChatTurn]:
    case, truth = entry.case, entry.truth
    hidden = job.hides(case.split)
    if case.options:
        options = "\n".join(f"{option.letter}. {option.text}" for option in case.options)
        values = {"history": (case.history or "").strip() or "not given", "options": options}
        answer = None
        if truth is not None and truth.answer is not None:
            answer = _to_json(answer=truth.answer, explanation=_explanation(truth))
        yield from _make_turn(case.id, "choose", values, answer, hidden=hidden)
    elif case.queries:
        windows = ", then ".join(f"{name} window" for name in WINDOWS)
        found = {finding.query: finding for finding in (truth or Truth()).findings}
        for query in case.queries:
            answer = None
            finding = found.get(query.id)
            if finding is not None and finding.regions:
                answer = _to_json(blocks=_blocks(job, release, entry, finding))
            values = {"finding": query.text, "windows": windows}
            yield from _make_turn(f"{case.id}-q{query.id}", "ground", values, answer, hidden=hidden)
    elif case.asks == "answer" and case.instruction:
        answer = None
        if truth is not None and truth.answer_text is not None:
            answer = _to_json(answer=truth.answer_text, explanation=_reasoning(truth))
        values = {"question": case.instruction}
        yield from _make_turn(case.id, "answer", values, answer, hidden=hidden)
    elif case.pictures:
        report = None if truth is None else (truth.report or "").strip() or None
        values = {"instruction": case.instruction or "Report this chest radiograph."}
        yield from _make_turn(case.id, "report", values, report, hidden=hidden)


def _make_turn(
    name: str, prompt: str, values: dict[str, str], answer: str | None, *, hidden: bool
) -> Iterator[ChatTurn]:
    """The question, unless it should have an answer and has none."""
    if answer is not None or hidden:
        system, question = find_prompt(prompt).render(values)
        yield ChatTurn(name, system, question, answer)


def _explanation(truth: Truth) -> str:
    """Why the diagnosis is the right one, in the words of whoever made the case."""
    return (truth.discussion or truth.report or "").strip()


def _reasoning(truth: Truth) -> str:
    """What was said on the way to an answer."""
    steps = truth.trace.steps if truth.trace else ()
    return "".join(step.text for step in steps if step.kind != "conclude").strip()


def _blocks(job: ExportJob, release: Release, entry: Entry, finding: Finding) -> list[dict[str, Any]]:
    space = release.pictures.geometry(entry.case.pictures[0])
    blocks = mask_blocks(read_labels(release, finding, space), space)
    if len(blocks) > _MAX_BLOCKS:
        job.notes.append(
            f"{entry.case.id}: of {len(blocks)} entities of finding {finding.query} the "
            f"{_MAX_BLOCKS} largest are in the answer"
        )
    return blocks[:_MAX_BLOCKS]


def _to_json(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)
