"""Made-up drafts and days of patients, to try the course of an illness and its pictures on."""

from __future__ import annotations

from collections.abc import Sequence

from overread.core import Option
from overread.phantom.body.anatomy import Body
from overread.phantom.case.days import draw_days
from overread.phantom.illness.draft import Draft, PictureSpec, Turn
from overread.phantom.population import FindingPlan, seed_for
from overread.phantom.visit import PatientBody, PatientSettings, Visit

SEED = 3


def draft_of(
    plans: Sequence[FindingPlan],
    turns: Sequence[Turn] = (),
    *,
    beyond: Sequence[str] = (),
    beyond_turns: Sequence[Turn] = (),
    looks: Sequence[PictureSpec] = (),
    number: int = 1,
) -> Draft:
    """A draft whose text does not matter; with turns it has two time points."""
    return Draft(
        patient=number,
        age=60,
        sex="male",
        group="made up",
        history="Cough.",
        options=tuple(Option(letter=letter, text=f"Diagnosis {letter}") for letter in "ABCDE"),
        pictures=tuple(looks),
        interval="six weeks" if turns else None,
        answer="A",
        disease="made up",
        plans=tuple(plans),
        extrapulmonary=tuple(beyond),
        turns=tuple(turns),
        extrapulmonary_turns=tuple(beyond_turns),
        illness_plans=len(plans),
        illness_extrapulmonary=len(beyond),
    )


def person_of(number: int = 1) -> PatientBody:
    """A patient of a population that no other test draws."""
    return PatientBody(number, PatientSettings(seed=SEED), Body(seed_for(SEED, number, "body")), spurs=0)


def days_of(draft: Draft) -> tuple[Visit, ...]:
    """The days of a draft."""
    return draw_days(person_of(draft.patient), draft)
