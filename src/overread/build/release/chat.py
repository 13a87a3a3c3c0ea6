"""Chat-style JSONL: the questions that `overread run` asks, and the answers that the truth gives.

One line is one question: a diagnosis to choose, a sentence to be found, a question to answer, a
report to write. Questions are worded by the prompts of the house, so that a model trained on these
lines is asked the same way later: by the workflow `direct`, or by `ground-cot`, whose answers are the
links of the anatomical chain of thought. Where the truth is hidden a line ends with the question. How a
line is laid out for which program stands in `chat_styles`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from overread.benchmarks.output import write_jsonl
from overread.build.release.chain_looks import chain_links, chain_looks, show_place
from overread.build.release.chat_styles import STYLES, ChatTurn, join_root
from overread.build.release.ct_volumes import mask_blocks, read_labels
from overread.build.release.export_job import CannotExport, ExportJob
from overread.build.release.picture_files import WINDOWS, flat_bytes, picture_path, write_files
from overread.core import Entry, Finding, Release, Truth
from overread.core.box_convention import CONVENTIONS
from overread.prompts.box_words import box_words
from overread.prompts.templates import find_prompt
from overread.workflows.ground_cot import LEVELS, structure_names

_MAX_BLOCKS = 50
CHAIN_WORKFLOW = "ground-cot"
"""The workflow whose questions follow the anatomical chain of thought."""


def write_chat(job: ExportJob) -> None:
    """One JSONL file a split, the pictures in `images/`; a registry where the program wants one."""
    style = STYLES[job.style]
    image_root = job.image_root
    if image_root is None:
        image_root = job.final_folder if style.whole_paths else ""
    job.image_root = image_root

    def rows(release: Release) -> Iterator[dict[str, Any]]:
        for entry in job.entries(release):
            made: list[dict[str, Any]] = []
            with job.track_case(entry):
                files: dict[str, bytes] = {}
                for turn, shown in _make_turns(job, release, entry):
                    files |= shown
                    named = [join_root(image_root, file) for file in shown]
                    made.append(style.make_row(turn, named))
                if not made:
                    raise CannotExport("there is nothing to ask of it, or no answer to it")
                write_files(job, files)
            yield from made

    for release in job.load_splits():
        write_jsonl(job.out / f"{release.split}.jsonl", rows(release))
    if style.write_description is not None:
        style.write_description(job)


Files = dict[str, bytes]
"""The pictures that a question shows, by their place in the export, in their order."""


def _make_turns(job: ExportJob, release: Release, entry: Entry) -> Iterator[tuple[ChatTurn, Files]]:
    """The questions of a case, each with what it shows."""
    if job.workflow == CHAIN_WORKFLOW:
        yield from _chain_turns(job, release, entry)
        return
    files: Files = {}
    for picture in entry.case.pictures:
        sent = flat_bytes(release, picture)
        files[picture_path(entry, picture.name, sent)] = sent[0]
    for turn in _direct_turns(job, release, entry):
        yield turn, files


def _chain_turns(job: ExportJob, release: Release, entry: Entry) -> Iterator[tuple[ChatTurn, Files]]:
    """The questions of `ground-cot`, level by level, and the answers that the chain gives.

    Where the truth is hidden only the first one is asked: what the others show would tell it.
    """
    windows = _format_windows()
    for query in entry.case.queries:
        name = f"{entry.case.id}-q{query.id}"
        first = {"finding": query.text, "windows": windows, "path": "nothing yet"}
        if job.hides(entry.case.split):
            sent = show_place(release, entry, None, None)
            names = structure_names(LEVELS[0], ())
            asked = {**first, "level": LEVELS[0], "names": names}
            for turn in _make_turn(f"{name}-{LEVELS[0]}", "cot-place", asked, None, hidden=True):
                yield turn, {picture_path(entry, entry.case.pictures[0].name, sent): sent[0]}
            continue
        if not chain_links(entry, query):
            job.notes.append(f"{entry.case.id}: finding {query.id} has no chain of thought")
            continue
        try:
            looks = list(chain_looks(release, entry, query))
        except CannotExport as error:
            job.notes.append(f"{entry.case.id}: finding {query.id} is left out: {error.what}")
            continue
        for number, look in enumerate(looks):
            values = first | ({"path": "\n".join(look.before)} if look.before else {})
            blocks = [{"structure": structure, **block.model_dump()} for structure, block in look.places]
            if look.level == "lesion":
                bare = [{key: value for key, value in one.items() if key != "structure"} for one in blocks]
                prompt, answer = "cot-lesion", _to_json(thought=look.thought, blocks=bare)
            else:
                names = structure_names(look.level, look.structures)
                values |= {"level": look.level, "names": names}
                prompt, answer = "cot-place", _to_json(thought=look.thought, places=blocks)
            picture = entry.case.pictures[0].name
            shown_as = picture if not number else f"{picture}-q{query.id}-{look.level}"
            files = {picture_path(entry, shown_as, look.shown): look.shown[0]}
            for turn in _make_turn(f"{name}-{look.level}", prompt, values, answer, hidden=False):
                yield turn, files


def _format_windows() -> str:
    return ", then ".join(f"{name} window" for name in WINDOWS)


def _direct_turns(job: ExportJob, release: Release, entry: Entry) -> Iterator[ChatTurn]:
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
        windows = _format_windows()
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
        wording = find_prompt(prompt)
        words = box_words(CONVENTIONS["shares"], None)
        asked = {word: words[word] for word in wording.placeholders & words.keys()}
        system, question = wording.render({**asked, **values})
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
