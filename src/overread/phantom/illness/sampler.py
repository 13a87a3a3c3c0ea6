"""Draws a case as text: presentation, five diagnoses, pictures; then the true diagnosis.

Everything that a reader sees besides pixels is drawn from one random stream; the true diagnosis,
its findings and their course are drawn afterwards from another. So nothing visible depends on the
key.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from overread.core import Option
from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.habitus import Habitus, draw_habitus
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.history import pick, write_history
from overread.phantom.illness.model import (
    Disease,
    DiseaseSign,
    IntervalUnit,
    Presentation,
    load_confusable_pairs,
    load_diseases,
    load_presentations,
    read_tables,
)
from overread.phantom.illness.pictures import draw_pictures
from overread.phantom.illness.progression import draw_course
from overread.phantom.population import FindingPlan, draw_extrapulmonary_names, draw_views, seed_for
from overread.phantom.visit import PatientSettings

OPTION_COUNT = 5
LETTERS = "ABCDE"

HARMLESS_BAND = FindingPlan("2a", "band", ("lobe", "segment"), ("RLL", "LLL"))
"""A harmless finding that anybody may have and that points to no diagnosis."""

INCIDENTAL_FINDINGS: tuple[tuple[FindingPlan, float, int], ...] = (
    (HARMLESS_BAND, 0.12, 20),
    (FindingPlan("2a", "scar", ("segment",), ("RUL", "LUL"), scale=0.8), 0.06, 45),
    (FindingPlan("2d", "calcified", ("segment",), count=(1, 1)), 0.07, 40),
    (FindingPlan("1c", "centrilobular", ("upper",), scale=0.5), 0.12, 60),
)
"""Harmless findings by chance: the finding, how often, and the age from which on."""


def draw_patient_habitus(number: int, seed: int) -> Habitus:
    """The build of a patient, without making the rest of the body."""
    # The first child of the body's seed is that of the habitus: see `Body`.
    first = seed_for(seed, number, "body").spawn(1)[0]
    return draw_habitus(np.random.default_rng(first))


def draw_draft(number: int, settings: PatientSettings) -> Draft:
    """Draw the case of patient `number`: text, pictures to be shown, and what is to be drawn."""
    seed = settings.seed
    who = draw_patient_habitus(number, seed)
    rng = np.random.default_rng(seed_for(seed, number, "case"))
    presentation, fitting = _draw_presentation(rng, who.age, who.sex)
    longitudinal = rng.random() < load_longitudinal_share()
    span: IntervalUnit = "weeks" if rng.random() < 0.5 else "months"
    interval = pick(rng, getattr(presentation, span)) if longitudinal else None
    history = write_history(presentation, who.age, who.sex, interval, rng)
    chosen = draw_options(rng, fitting)
    options = tuple(
        Option(letter=letter, text=pick(rng, disease.options))
        for letter, disease in zip(LETTERS, chosen, strict=True)
    )
    windows = {window for disease in chosen for window in disease.windows}
    looks = draw_pictures(rng, draw_views(seed, number), windows, times=2 if interval is not None else 1)
    # From here on nothing is visible but in the pictures, and no draw goes back before this line.
    truth = np.random.default_rng(seed_for(seed, number, "case", "truth"))
    right = int(truth.integers(OPTION_COUNT))
    disease = chosen[right]
    plans, courses = _draw_findings(truth, disease)
    outside = [one for one in disease.beyond if truth.random() < one.chance or one.needed]
    extra = _draw_incidentals(truth, chosen, who.age, {plan.category for plan in plans})
    own = _draw_preexisting(number, seed, who.age, chosen)
    out = draw_course(
        truth,
        [*plans, *extra],
        [*courses, *("lasts" for _ in extra)],
        [one.mark for one in outside] + own,
        [one.course for one in outside] + ["lasts" for _ in own],
        span if interval is not None else None,
        filler=HARMLESS_BAND,
    )
    return Draft(
        patient=number,
        age=who.age,
        sex=who.sex,
        group=presentation.code,
        history=history,
        options=options,
        pictures=looks,
        interval=interval,
        answer=LETTERS[right],
        disease=disease.code,
        plans=out.plans,
        extrapulmonary=out.extrapulmonary,
        turns=out.turns,
        extrapulmonary_turns=out.extrapulmonary_turns,
        illness_plans=len(plans),
        illness_extrapulmonary=len(outside),
    )


@cache
def load_longitudinal_share() -> float:
    """How many cases have two time points."""
    return float(read_tables("presentations.toml")["longitudinal"]["share"])


def plausible_diseases(presentation: Presentation, age: int, sex: str) -> list[Disease]:
    """The diagnoses that are plausible for somebody of that age and sex who presents so."""
    found = (load_diseases()[code] for code in presentation.diseases)
    return [disease for disease in found if disease.may_affect(age, sex)]


def _draw_presentation(rng: np.random.Generator, age: int, sex: str) -> tuple[Presentation, list[Disease]]:
    """What the patient comes with: any presentation that leaves something to choose from."""
    fitting = [(one, plausible_diseases(one, age, sex)) for one in load_presentations().values()]
    able = [pair for pair in fitting if max_offered_together(tuple(d.code for d in pair[1])) >= OPTION_COUNT]
    return able[int(rng.random() * len(able))]


@cache
def max_offered_together(codes: tuple[str, ...]) -> int:
    """How many of these diagnoses can be offered together at most."""
    if not codes:
        return 0
    rest = tuple(code for code in codes[1:] if frozenset((codes[0], code)) not in load_confusable_pairs())
    return max(1 + max_offered_together(rest), max_offered_together(codes[1:]))


def draw_options(rng: np.random.Generator, fitting: Sequence[Disease]) -> list[Disease]:
    """Five diagnoses of those, in the order of their letters, no two of them too alike."""
    while True:
        order = sorted(range(len(fitting)), key=lambda _: rng.random())
        chosen: list[Disease] = []
        for n in order:
            if len(chosen) < OPTION_COUNT and not any(
                frozenset((one.code, fitting[n].code)) in load_confusable_pairs() for one in chosen
            ):
                chosen.append(fitting[n])
        if len(chosen) == OPTION_COUNT:
            return chosen


def _draw_findings(rng: np.random.Generator, disease: Disease) -> tuple[list[FindingPlan], list[str]]:
    """What a patient with the disease has in lung and pleura, and the course of each."""
    focus = pick(rng, disease.focus) if disease.focus else None
    plans, courses = [], []
    for sign in disease.signs:
        if not sign.needed and rng.random() >= sign.chance:
            continue
        plans.append(_draw_plan(rng, sign, focus if sign.focus else None))
        courses.append(sign.course or disease.course)
    return plans, courses


def _draw_plan(rng: np.random.Generator, sign: DiseaseSign, focus: str | None) -> FindingPlan:
    category, _, kind = pick(rng, sign.marks).partition(" ")
    places = (pick(rng, sign.places),)
    lobes = sign.lobes
    if focus is not None:
        lobes = _lobes_of_side(focus) if places == ("lung",) else (focus,)
    return FindingPlan(
        category,
        kind,
        places,
        lobes,
        scale=round(float(rng.uniform(*sign.scale)), 2),
        count=sign.count,
        needed=sign.needed,
    )


@cache
def _lobes_of_side(lobe: str) -> tuple[str, ...]:
    """All lobes of the lung that a lobe belongs to."""
    side = lung_names().by_code[lobe].side
    return tuple(one.code for one in lung_names().lobes if one.side == side)


def _draw_incidentals(
    rng: np.random.Generator, chosen: Sequence[Disease], age: int, held: set[str]
) -> list[FindingPlan]:
    """Incidental findings: never one that another option needs or is confused with."""
    taken = {mark for disease in chosen for marks in disease.needed for mark in marks}
    taken |= {mark for disease in chosen for mark in disease.confused}
    found: list[FindingPlan] = []
    for plan, chance, youngest in INCIDENTAL_FINDINGS:
        if rng.random() >= chance or age < youngest or plan.category in held:
            continue
        if f"{plan.category} {plan.kind}" not in taken:
            found.append(plan)
            held = held | {plan.category}
    return found


def _draw_preexisting(number: int, seed: int, age: int, chosen: Sequence[Disease]) -> list[str]:
    """Extrapulmonary findings of the patient that no option would explain."""
    names = draw_extrapulmonary_names(np.random.default_rng(seed_for(seed, number, "beyond")), age)
    taken = {one.mark for disease in chosen for one in disease.beyond}
    return [name for name in names if name not in taken]
