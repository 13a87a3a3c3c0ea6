"""How far the two blinded reads agree: per kind of question, per category, per pair of people.

Only the two reads count. A third was asked because they differ, so its verdicts say nothing about
how often people differ. 'cannot judge' is a verdict like the others. Intervals draw whole items,
since the questions on one item stand and fall together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from overread.build.adjudication.queue import Queue
from overread.build.adjudication.reads import CANNOT_JUDGE, PersonVerdict, person_key
from overread.build.item import Question
from overread.metrics.agreement import (
    COEFFICIENT,
    Agreement,
    agree,
    kappa,
    krippendorff_alpha,
    pair_statistics,
    share_agreed,
)
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.statistics.bootstrap import BootstrapDraws, Interval, intervals
from overread.metrics.statistics.result import Result

CATEGORY_FIELD = "category"
"""The field of what is shown by which questions of a kind are told apart."""

QuestionReads = tuple[Question, PersonVerdict, PersonVerdict]


@dataclass(frozen=True)
class ReadPair(Result):
    """How far two people agree on the questions that both read."""

    first: str
    second: str
    agreement: Agreement


@dataclass(frozen=True)
class GroupAgreement(Result):
    """How far the two reads agree on the questions of a kind, or of a category of it."""

    kind: str
    category: str | None
    """None for the whole kind."""
    questions: int
    """Questions with two reads."""
    differ: int
    """Those of them on which the reads differ."""
    labels: tuple[str, ...]
    """The verdicts that may be given; 'cannot judge' only where somebody did."""
    share: Interval
    """Share of questions with the same verdict."""
    kappa: Interval | None
    """Cohen's; None where more than two people read, whose habits it cannot tell apart."""
    ac1: Interval
    """Gwet's AC1: steadier than kappa where nearly all verdicts are the same."""
    alpha: Interval
    """Krippendorff's alpha, nominal: whoever read."""
    pairs: tuple[ReadPair, ...]
    """Each two people who read the same questions."""


def measure_agreement(
    folder: Path,
    questions: Iterable[Question] | None = None,
    *,
    kind: str | None = None,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> list[GroupAgreement]:
    """How far the reads of a folder agree, kind by kind; a kind's categories come below it.

    A category is what a question shows under 'category'. Kinds are not thrown together: the same
    word means another thing in another kind.
    """
    queue = Queue(folder, questions)
    queue.check_kind(kind)
    by_question: dict[str, list[PersonVerdict]] = {}
    for given in queue.current_verdicts():
        by_question.setdefault(given.question, []).append(given)
    groups: dict[tuple[str, str | None], list[QuestionReads]] = {}
    for id_, question in queue.questions.items():
        reads = by_question.get(id_, [])[:2]
        if len(reads) < 2 or kind not in (None, question.kind):
            continue
        # By name, so that a person's verdicts stand on one side of the table.
        one, other = sorted(reads, key=lambda given: person_key(given.person))
        groups.setdefault((question.kind, None), []).append((question, one, other))
        category = question.shown.get(CATEGORY_FIELD)
        if isinstance(category, (str, int)) and not isinstance(category, bool):
            groups.setdefault((question.kind, str(category)), []).append((question, one, other))
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], group[0][1] or ""))
    measure = partial(_measure_group, draws=draws, seed=seed, level=level)
    return [measure(name, category, pairs) for (name, category), pairs in ordered]


def _measure_group(
    kind: str, category: str | None, pairs: Sequence[QuestionReads], *, draws: int, seed: int, level: float
) -> GroupAgreement:
    said = {given.verdict for _, *both in pairs for given in both}
    may = dict.fromkeys(choice for question, *_ in pairs for choice in question.choices)
    labels = [*may, *({CANNOT_JUDGE} & said - may.keys())]
    if len(labels) < 2:
        labels.append(CANNOT_JUDGE)
    place = {label: n for n, label in enumerate(labels)}
    rows = [
        {
            **pair_statistics(place[one.verdict], place[other.verdict]),
            "ratings": [place[one.verdict], place[other.verdict]],
        }
        for _, one, other in pairs
    ]
    drawn = BootstrapDraws([question.item for question, *_ in pairs], draws=draws, seed=seed)
    found = intervals(
        {
            "share": share_agreed,
            "kappa": kappa,
            "ac1": partial(ac1, labels=len(labels)),
            "alpha": krippendorff_alpha,
        },
        rows,
        drawn,
        level=level,
        bounds=dict.fromkeys(("kappa", "ac1", "alpha"), COEFFICIENT),
    )
    by_people: dict[tuple[str, str], list[QuestionReads]] = {}
    for pair in pairs:
        _, one, other = pair
        names = (person_key(one.person), person_key(other.person))
        by_people.setdefault(names, []).append(pair)
    compared = tuple(
        ReadPair(
            first=own[0][1].person,
            second=own[0][2].person,
            agreement=agree(
                [one.verdict for _, one, _ in own],
                [other.verdict for _, _, other in own],
                labels=labels,
                clusters=[question.item for question, *_ in own],
                draws=draws,
                seed=seed,
                level=level,
            ),
        )
        for _, own in sorted(by_people.items())
    )
    return GroupAgreement(
        kind=kind,
        category=category,
        questions=len(rows),
        differ=sum(not row["same"] for row in rows),
        labels=tuple(labels),
        share=found["share"],
        kappa=found["kappa"] if len(compared) == 1 else None,
        ac1=found["ac1"],
        alpha=found["alpha"],
        pairs=compared,
    )


def ac1(sample: Sample, *, labels: int) -> Numbers:
    """Gwet's AC1 of `pair_statistics` over so many labels, one number a draw.

    Agreement by chance is taken from how evenly the labels are used by both together, so it does
    not collapse, as kappa does, where one label is rare.

    >>> rows = [pair_statistics(0, 0)] * 8 + [pair_statistics(0, 1), pair_statistics(1, 0)]
    >>> ac1(Sample(rows), labels=2).round(3), kappa(Sample(rows)).round(3)
    (array([0.756]), array([-0.111]))
    """
    items = sample.total("items")
    uneven: Numbers = 0 * items
    for label in range(labels):
        used = sum(sample.weights @ (sample.column(side) == label) for side in ("first", "second"))
        share = safe_divide(used, 2 * items)
        uneven = uneven + share * (1 - share)
    chance = uneven / (labels - 1)
    result: Numbers = safe_divide(share_agreed(sample) - chance, 1 - chance)
    return result
