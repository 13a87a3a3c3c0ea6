"""How far a judge and people agree on steps: percent, MCC, kappa, confusion, errors.

Intervals draw whole cases, since the steps of one explanation stand and fall together. A step that
the judge left out counts as its rule says: not factual, not critical, no error named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

from overread.core.verdicts import StepVerdicts
from overread.errors import OverreadError
from overread.metrics.agreement import Agreement, agree
from overread.metrics.human.verdicts import HumanVerdict, same_text
from overread.metrics.sample import Numbers, Sample
from overread.metrics.statistics.bootstrap import BootstrapDraws, Interval, intervals
from overread.metrics.statistics.result import Result
from overread.ontology import step_errors

LABELS = ("no", "yes")
JUDGE = "judge"
StepKey: TypeAlias = tuple[str, int, int]
"""Case, sample, step."""


@dataclass(frozen=True)
class StepRating:
    """What one rater, the judge or a person, said of one step."""

    factual: bool
    critical: bool | None
    errors: tuple[str, ...] | None


@dataclass(frozen=True)
class PairAgreement(Result):
    """How far two raters agree on the steps that both rated."""

    first: str
    second: str
    steps: int
    cases: int
    factual: Agreement
    """Labels 'no' and 'yes'; the confusion has a line for each label of the first rater."""
    critical: Agreement | None
    """None where one of them said nothing about it."""
    critical_ratio: Mapping[str, Interval]
    """Rater → share of critical steps, of those on which both said something."""
    errors: Mapping[str, Mapping[str, int]]
    """Kind of error → how many steps have it by the first, by the second, and by both."""


@dataclass(frozen=True)
class HumanAgreement(Result):
    """The judge against each person, and each person against each other."""

    judge: str
    raters: tuple[str, ...]
    with_judge: tuple[PairAgreement, ...]
    between_humans: tuple[PairAgreement, ...]
    left_out: int
    """Human verdicts on cases that the judge did not judge."""
    not_judged: int
    """Steps among the compared ones on which the judge gave no verdict."""
    notes: tuple[str, ...] = ()


def human_agreement(
    verdicts: Sequence[StepVerdicts],
    human: Sequence[HumanVerdict],
    *,
    where: str = "",
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> HumanAgreement:
    """How far stored verdicts agree with those of people; `where` names their file in messages.

    >>> from overread.core.verdicts import StepVerdict
    >>> steps = (StepVerdict(text="A.", factual=True), StepVerdict(text="B."))
    >>> told = StepVerdicts(case_id="c", judge="j", about="", steps=steps)
    >>> people = [HumanVerdict(2, "c", 0, 1, True), HumanVerdict(3, "c", 0, 2, True)]
    >>> (pair,) = human_agreement([told], people, draws=0).with_judge
    >>> pair.factual.share.value, pair.factual.confusion
    (0.5, ((0, 1), (0, 1)))
    """
    judged = {(told.case_id, told.sample): told for told in verdicts}
    ours: dict[StepKey, StepRating] = {}
    theirs: dict[str, dict[StepKey, StepRating]] = {}
    left_out: dict[str, None] = {}
    lost = 0
    for said in human:
        told = judged.get((said.case_id, said.sample))
        if told is None:
            left_out[said.case_id] = None
            lost += 1
            continue
        _check_rating(said, told, where)
        step = told.steps[said.step - 1]
        key = (said.case_id, said.sample, said.step)
        ours[key] = StepRating(step.judged and step.factual, step.judged and step.critical, step.errors)
        theirs.setdefault(said.rater, {})[key] = StepRating(said.factual, said.critical, said.errors)
    if not theirs:
        raise OverreadError(
            f"no case of the human verdicts was judged in this run ({_format_few(left_out)})",
            where=where,
            remedy="check that the CSV belongs to this run",
        )
    compare = partial(_compare_pair, draws=draws, seed=seed, level=level)
    notes = [f"{lost} verdicts on cases that were not judged: {_format_few(left_out)}"] if lost else []
    missing = sum(not judged[c, s].steps[n - 1].judged for c, s, n in ours)
    if missing:
        notes.append(f"the judge gave no verdict on {missing} of these steps: not factual")
    names = sorted(theirs)
    return HumanAgreement(
        judge=verdicts[0].judge if verdicts else "",
        raters=tuple(names),
        with_judge=tuple(compare(JUDGE, ours, name, theirs[name]) for name in names),
        between_humans=tuple(
            compare(one, theirs[one], other, theirs[other])
            for one, other in combinations(names, 2)
            if theirs[one].keys() & theirs[other].keys()
        ),
        left_out=lost,
        not_judged=missing,
        notes=tuple(notes),
    )


def _check_rating(said: HumanVerdict, told: StepVerdicts, where: str) -> None:
    place = f"{where}, line {said.line}" if where else f"line {said.line}"
    if said.rater == JUDGE:
        raise OverreadError(
            f"a rater is called '{JUDGE}', as the model is", where=place, remedy="rename the rater"
        )
    if said.step > len(told.steps):
        raise OverreadError(
            f"step {said.step} of {said.case_id} was rated, and its explanation has {len(told.steps)} steps",
            where=place,
            remedy="rate the steps of this run; --sheet writes them",
        )
    if said.text and not same_text(said.text, told.steps[said.step - 1].text):
        raise OverreadError(
            f"step {said.step} of {said.case_id} reads differently in this run",
            where=place,
            remedy="rate the steps of this run; --sheet writes them",
        )


def _compare_pair(
    first: str,
    ones: Mapping[StepKey, StepRating],
    second: str,
    others: Mapping[StepKey, StepRating],
    **drawing: Any,
) -> PairAgreement:
    keys = sorted(ones.keys() & others.keys())
    spoken = [k for k in keys if ones[k].critical is not None and others[k].critical is not None]
    named = [k for k in keys if ones[k].errors is not None and others[k].errors is not None]

    def agreement_on(part: str, on: Sequence[StepKey]) -> Agreement:
        said = ([LABELS[bool(getattr(r[k], part))] for k in on] for r in (ones, others))
        return agree(*said, labels=LABELS, clusters=[k[0] for k in on], **drawing)

    return PairAgreement(
        first=first,
        second=second,
        steps=len(keys),
        cases=len({key[0] for key in keys}),
        factual=agreement_on("factual", keys),
        critical=agreement_on("critical", spoken) if spoken else None,
        critical_ratio=_critical_shares(first, ones, second, others, spoken, **drawing),
        errors=_count_errors(ones, others, named) if named else {},
    )


def _critical_shares(
    first: str,
    ones: Mapping[StepKey, StepRating],
    second: str,
    others: Mapping[StepKey, StepRating],
    keys: Sequence[StepKey],
    *,
    draws: int,
    seed: int,
    level: float,
) -> dict[str, Interval]:
    if not keys:
        return {}
    rows = [
        {"steps": 1, "first": int(bool(ones[k].critical)), "second": int(bool(others[k].critical))}
        for k in keys
    ]
    drawn = BootstrapDraws([k[0] for k in keys], draws=draws, seed=seed)
    found = intervals({"first": _first_share, "second": _second_share}, rows, drawn, level=level)
    return {first: found["first"], second: found["second"]}


def _first_share(sample: Sample) -> Numbers:
    return sample.ratio("first", "steps")


def _second_share(sample: Sample) -> Numbers:
    return sample.ratio("second", "steps")


def _count_errors(
    ones: Mapping[StepKey, StepRating], others: Mapping[StepKey, StepRating], keys: Sequence[StepKey]
) -> dict[str, dict[str, int]]:
    found = {}
    for error in step_errors().item:
        one = {k for k in keys if error.code in (ones[k].errors or ())}
        other = {k for k in keys if error.code in (others[k].errors or ())}
        found[error.code] = {"first": len(one), "second": len(other), "both": len(one & other)}
    return found


def _format_few(names: Mapping[str, None]) -> str:
    shown = list(names)[:3]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
