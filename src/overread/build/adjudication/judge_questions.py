"""Checking a judge: the sentences that a model judged in a run, as questions to people.

People are asked what the judge was asked and are not told what it said: whoever sees a verdict
first tends to agree with it. How far they agree is counted afterwards, person by person and for
what they decided together.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from overread.build.adjudication.question_file import has_questions, load_questions, write_questions
from overread.build.adjudication.queue import Queue
from overread.build.adjudication.reads import CANNOT_JUDGE, person_key
from overread.build.adjudication.reasons import REASONS_FILE
from overread.build.item import Data, Question
from overread.core import Entry
from overread.core.verdicts import StepVerdicts, Verdicts
from overread.errors import OverreadError, UsageError
from overread.metrics.agreement import Agreement, agree
from overread.metrics.statistics.result import Result
from overread.ontology import step_errors
from overread.runs.judging.verdict_store import select_verdicts
from overread.storage.atomic import open_atomic, remove_leftovers
from overread.storage.system_errors import remedy_for

FOLDER_SUFFIX = "-judge-checked"
"""What is added to a run's name to name the folder of its questions, which lies beside it."""
RUN_FILE = "judged.json"
"""Says which run's judge is checked in a folder."""
STEP, SENTENCE = "judged-step", "judged-sentence"
CHOICES = {STEP: ("factual", "not factual"), SENTENCE: ("correct", "not correct")}
CONSENSUS = "decided together"
"""Stands for what people decided, beside their names."""


@dataclass(frozen=True)
class JudgeAgreement(Result):
    """How far one person, or what people decided, agrees with the judge."""

    kind: str
    who: str
    judge: str
    agreement: Agreement
    cannot_judge: int
    """Verdicts 'cannot judge', which are not compared."""


def questions_folder(run: Path) -> Path:
    """Where the questions about the judge of a run lie."""
    run = run.resolve()
    return run.with_name(run.name + FOLDER_SUFFIX)


def describe_cases(entries: Iterable[Entry]) -> dict[str, Data]:
    """Case → what to show of it beside the sentence: what the judge was told of it, too.

    Of two cases with one name the first counts.
    """
    found: dict[str, Data] = {}
    for entry in entries:
        found.setdefault(entry.case.id, _describe_case(entry))
    return found


def make_judge_questions(run: Path, about: Mapping[str, Data] | None = None) -> list[Question]:
    """A question for each sentence that was judged; `about` has what to show of each case."""
    return [question for question, _, _ in _judged_sentences(run, about or {})]


def write_judge_questions(run: Path, folder: Path, about: Mapping[str, Data] | None = None) -> list[Question]:
    """Write the questions into a folder of their own, which is made; again, in place of the old.

    Verdicts on questions that are the same as before go on to count. Where nothing is known of the
    cases (`about` is None), questions that were asked before stay as they were: what was shown
    belongs to a question, so that without it the verdicts given would no longer count.
    """
    questions = make_judge_questions(run, about)
    if about is None and (folder / RUN_FILE).is_file() and has_questions(folder):
        asked = {question.id: question for question in load_questions(folder)}
        questions = [asked.get(question.id, question) for question in questions]
    if not questions:
        raise UsageError(
            "nothing of this run was judged yet",
            where=str(run),
            remedy="judge it first: overread judge RUN --judge steps --reader …",
        )
    remove_leftovers(folder)
    if folder.is_dir() and not (folder / RUN_FILE).is_file() and any(folder.iterdir()):
        raise UsageError(
            f"the folder {folder.name} holds something else", where=str(folder), remedy="move it away"
        )
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OverreadError(
            f"the folder of questions cannot be made ({error.strerror})",
            where=str(folder),
            remedy=remedy_for(error, "see who may write there"),
        ) from None
    with open_atomic(folder / RUN_FILE) as out:  # first: by this the folder is known for ours after a kill
        out.write(json.dumps({"run": os.path.relpath(run, folder)}).encode())
    with open_atomic(folder / REASONS_FILE) as out:
        out.write(_reasons_toml().encode())
    write_questions(folder, questions)
    return questions


def find_judged_run(folder: Path) -> Path | None:
    """The run whose judge is checked in a folder; None where it holds other questions."""
    try:
        told = json.loads((folder / RUN_FILE).read_text("utf-8"))["run"]
        return (folder / told).resolve() if isinstance(told, str) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def measure_judge_agreement(
    queue: Queue, run: Path, *, draws: int = 1000, seed: int = 0, level: float = 0.95
) -> list[JudgeAgreement]:
    """Each person against the judge, and what they decided; cases are drawn as a whole."""
    judged = {question.id: (said, who) for question, said, who in _judged_sentences(run, {})}
    said: dict[tuple[str, str], list[tuple[str, str]]] = {}
    names: dict[str, str] = {}
    for given in queue.current_verdicts():
        name = names.setdefault(person_key(given.person), given.person)
        said.setdefault((given.kind, name), []).append((given.question, given.verdict))
    for id_, decision in queue.decisions().items():
        said.setdefault((decision.kind, CONSENSUS), []).append((id_, decision.verdict))
    found = []
    for (kind, who), own in sorted(said.items(), key=lambda one: (one[0][0], _sort_key(one[0][1]))):
        if kind not in CHOICES:
            continue
        both = [(id_, v, *judged[id_]) for id_, v in own if id_ in judged and v != CANNOT_JUDGE]
        if not both:
            continue
        found.append(
            JudgeAgreement(
                kind=kind,
                who=who,
                judge=both[0][3],
                agreement=agree(
                    [theirs for _, theirs, _, _ in both],
                    [ours for _, _, ours, _ in both],
                    labels=CHOICES[kind],
                    clusters=[queue.questions[id_].item for id_, *_ in both],
                    draws=draws,
                    seed=seed,
                    level=level,
                ),
                cannot_judge=sum(verdict == CANNOT_JUDGE for _, verdict in own),
            )
        )
    return found


def _sort_key(who: str) -> tuple[bool, str]:
    return who == CONSENSUS, who.casefold()


def _judged_sentences(run: Path, about: Mapping[str, Data]) -> Iterator[tuple[Question, str, str]]:
    """Each question with what the judge said, and who the judge is."""
    cases, _, _ = select_verdicts(run)
    for case, own in sorted(cases.items()):
        for told in sorted(own, key=lambda one: (one.kind, one.sample)):
            for number, (text, section, holds) in enumerate(_list_sentences(told), 1):
                yield (_make_question(told, number, text, section, about.get(case, {})), holds, told.judge)


def _list_sentences(told: Verdicts) -> list[tuple[str, str, str]]:
    """(words, section, what the judge said) of everything it was to judge."""
    if isinstance(told, StepVerdicts):
        good, bad = CHOICES[STEP]
        return [(one.text, "", good if one.judged and one.factual else bad) for one in told.steps]
    good, bad = CHOICES[SENTENCE]
    return [(one.text, one.section, good if one.judged and one.correct else bad) for one in told.sentences]


def _make_question(told: Verdicts, number: int, text: str, section: str, about: Data) -> Question:
    kind = STEP if isinstance(told, StepVerdicts) else SENTENCE
    every = told.steps if isinstance(told, StepVerdicts) else told.sentences
    words = "step of the explanation" if kind == STEP else "sentence of the discussion"
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    shown: Data = {"sentence": text}
    if section:
        shown["section"] = section
    shown |= about
    shown["all of it"] = [one.text for one in every]
    return Question(
        id=f"{told.case_id}/{told.sample}/{told.kind}/{number}/{digest}",
        item=told.case_id,
        kind=kind,
        text=f"Does this {words} hold?",
        shown=shown,
        choices=CHOICES[kind],
    )


def _describe_case(entry: Entry) -> Data:
    case, truth = entry.case, entry.truth
    shown: Data = {}
    if case.history:
        shown["history"] = case.history
    if case.options:
        shown["options"] = {option.letter: option.text for option in case.options}
    if truth is not None and (truth.answer or truth.answer_text):
        right = (truth.answer, truth.answer_text)
        shown["right answer"] = ": ".join(part for part in right if part)
    if truth is not None and truth.report:
        shown["report"] = truth.report
    return shown


def _reasons_toml() -> str:
    """The kinds of error as reason codes, in the form of `reasons.toml`."""
    codes = "".join(f"{error.code} = {json.dumps(error.about)}\n" for error in step_errors().item)
    return f"[{STEP}]\n{codes}\n[{SENTENCE}]\n{codes}"
