"""Drawing a case as text: who comes with what, five diagnoses, pictures; then the true one.

Everything that a reader sees besides pixels is drawn from one stream; the true diagnosis, what it
brings and what becomes of it are drawn afterwards from another. So nothing visible depends on the
key, by construction rather than by tuning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from overread.core import Option
from overread.ontology import lungs as lung_names
from overread.phantom.body.habitus import Habitus, draw_habitus
from overread.phantom.illness.course import turn_out
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.history import pick, write_history
from overread.phantom.illness.looks import draw_looks
from overread.phantom.illness.model import (
    Disease,
    Presentation,
    Sign,
    Span,
    diseases,
    presentations,
    read_tables,
    too_alike,
)
from overread.phantom.population import Plan, draw_beyond, draw_films, stream
from overread.phantom.visit import Settings

OPTIONS = 5
LETTERS = "ABCDE"

BAND = Plan("2a", "band", ("lobe", "segment"), ("RLL", "LLL"))
"""What anybody may have, and nobody takes for anything."""

CHANCE_FINDINGS: tuple[tuple[Plan, float, int], ...] = (
    (BAND, 0.12, 20),
    (Plan("2a", "scar", ("segment",), ("RUL", "LUL"), scale=0.8), 0.06, 45),
    (Plan("2d", "calcified", ("segment",), count=(1, 1)), 0.07, 40),
    (Plan("1c", "centrilobular", ("upper",), scale=0.5), 0.12, 60),
)
"""Harmless findings by chance: the finding, how often, and the age from which on."""


def person(number: int, seed: int) -> Habitus:
    """The build of a patient, without making the rest of the body."""
    # The first child of the body's seed is that of the habitus: see `Body`.
    first = stream(seed, number, "body").spawn(1)[0]
    return draw_habitus(np.random.default_rng(first))


def draw_draft(number: int, settings: Settings) -> Draft:
    """Draw the case of patient `number`: text, pictures to be shown, and what is to be drawn."""
    seed = settings.seed
    who = person(number, seed)
    rng = np.random.default_rng(stream(seed, number, "case"))
    presentation, fitting = _presentation(rng, who.age, who.sex)
    longitudinal = rng.random() < read_share()
    span: Span = "weeks" if rng.random() < 0.5 else "months"
    interval = pick(rng, getattr(presentation, span)) if longitudinal else None
    history = write_history(presentation, who.age, who.sex, interval, rng)
    chosen = draw_five(rng, fitting)
    options = tuple(
        Option(letter=letter, text=pick(rng, disease.options))
        for letter, disease in zip(LETTERS, chosen, strict=True)
    )
    windows = {window for disease in chosen for window in disease.windows}
    looks = draw_looks(
        rng, draw_films(seed, number), windows, times=2 if interval is not None else 1
    )
    # From here on nothing is visible but in the pictures, and no draw goes back before this line.
    truth = np.random.default_rng(stream(seed, number, "case", "truth"))
    right = int(truth.integers(OPTIONS))
    disease = chosen[right]
    plans, courses = _findings(truth, disease)
    outside = [one for one in disease.beyond if truth.random() < one.chance or one.needed]
    extra = _by_chance(truth, chosen, who.age, {plan.category for plan in plans})
    own = _own(number, seed, who.age, chosen)
    out = turn_out(
        truth,
        [*plans, *extra],
        [*courses, *("lasts" for _ in extra)],
        [one.mark for one in outside] + own,
        [one.course for one in outside] + ["lasts" for _ in own],
        span if interval is not None else None,
        filler=BAND,
    )
    return Draft(
        patient=number,
        age=who.age,
        sex=who.sex,
        group=presentation.code,
        history=history,
        options=options,
        looks=looks,
        interval=interval,
        answer=LETTERS[right],
        disease=disease.code,
        plans=out.plans,
        beyond=out.beyond,
        turns=out.turns,
        beyond_turns=out.beyond_turns,
        illness_plans=len(plans),
        illness_beyond=len(outside),
    )


@cache
def read_share() -> float:
    """How many cases have two time points."""
    return float(read_tables("presentations.toml")["longitudinal"]["share"])


def plausible(presentation: Presentation, age: int, sex: str) -> list[Disease]:
    """The diagnoses that are plausible for somebody of that age and sex who presents so."""
    found = (diseases()[code] for code in presentation.diseases)
    return [disease for disease in found if disease.befalls(age, sex)]


def _presentation(
    rng: np.random.Generator, age: int, sex: str
) -> tuple[Presentation, list[Disease]]:
    """What the patient comes with: any presentation that leaves something to choose from."""
    fitting = [(one, plausible(one, age, sex)) for one in presentations().values()]
    able = [pair for pair in fitting if most_together(tuple(d.code for d in pair[1])) >= OPTIONS]
    return able[int(rng.random() * len(able))]


@cache
def most_together(codes: tuple[str, ...]) -> int:
    """How many of these diagnoses can be offered together at most."""
    if not codes:
        return 0
    rest = tuple(code for code in codes[1:] if frozenset((codes[0], code)) not in too_alike())
    return max(1 + most_together(rest), most_together(codes[1:]))


def draw_five(rng: np.random.Generator, fitting: Sequence[Disease]) -> list[Disease]:
    """Five diagnoses of those, in the order of their letters, no two of them too alike."""
    while True:
        order = sorted(range(len(fitting)), key=lambda _: rng.random())
        chosen: list[Disease] = []
        for n in order:
            if len(chosen) < OPTIONS and not any(
                frozenset((one.code, fitting[n].code)) in too_alike() for one in chosen
            ):
                chosen.append(fitting[n])
        if len(chosen) == OPTIONS:
            return chosen


def _findings(rng: np.random.Generator, disease: Disease) -> tuple[list[Plan], list[str]]:
    """What a patient with the disease has in lung and pleura, and the course of each."""
    focus = pick(rng, disease.focus) if disease.focus else None
    plans, courses = [], []
    for sign in disease.signs:
        if not sign.needed and rng.random() >= sign.chance:
            continue
        plans.append(_plan(rng, sign, focus if sign.focus else None))
        courses.append(sign.course or disease.course)
    return plans, courses


def _plan(rng: np.random.Generator, sign: Sign, focus: str | None) -> Plan:
    category, _, kind = pick(rng, sign.marks).partition(" ")
    places = (pick(rng, sign.places),)
    lobes = sign.lobes
    if focus is not None:
        lobes = _side(focus) if places == ("lung",) else (focus,)
    return Plan(
        category,
        kind,
        places,
        lobes,
        scale=round(float(rng.uniform(*sign.scale)), 2),
        count=sign.count,
        needed=sign.needed,
    )


@cache
def _side(lobe: str) -> tuple[str, ...]:
    """All lobes of the lung that a lobe belongs to."""
    side = lung_names().by_code[lobe].side
    return tuple(one.code for one in lung_names().lobes if one.side == side)


def _by_chance(
    rng: np.random.Generator, chosen: Sequence[Disease], age: int, held: set[str]
) -> list[Plan]:
    """What the patient has besides, whatever the illness: never the mark of another option."""
    taken = {mark for disease in chosen for marks in disease.needed for mark in marks}
    taken |= {mark for disease in chosen for mark in disease.confused}
    found: list[Plan] = []
    for plan, chance, youngest in CHANCE_FINDINGS:
        if rng.random() >= chance or age < youngest or plan.category in held:
            continue
        if f"{plan.category} {plan.kind}" not in taken:
            found.append(plan)
            held = held | {plan.category}
    return found


def _own(number: int, seed: int, age: int, chosen: Sequence[Disease]) -> list[str]:
    """What the person has beyond the lung in any case, unless an option would explain it."""
    names = draw_beyond(np.random.default_rng(stream(seed, number, "beyond")), age)
    taken = {one.mark for disease in chosen for one in disease.beyond}
    return [name for name in names if name not in taken]
