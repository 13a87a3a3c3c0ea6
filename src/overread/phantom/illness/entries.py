"""A draft as a MedThinkVQA entry: the case that a reader sees, and its truth.

`make_case` and `make_truth` are the same whether the pictures are drawn or not. `make_text_entry`
makes the whole entry without a pixel: captions and findings are then those that are planned, with
places only where the plan leaves no choice, and without sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from overread.core import Case, Entry, Finding, Image, PictureNote, Truth, Whole
from overread.ontology import lung_anatomy as lung_names
from overread.phantom.illness.discussion import case_title, write_discussion
from overread.phantom.illness.draft import Draft, PictureSpec, Turn
from overread.phantom.illness.finding_phrases import describe_findings, finding_noun, findings_sentence
from overread.phantom.illness.model import find_icd, load_diseases
from overread.phantom.population import FindingPlan, seed_for, split_of
from overread.phantom.statement import EXTRAPULMONARY, PLEURAL, FindingStatement, Side
from overread.phantom.visit import PatientSettings
from overread.phantom.words.text_forms import lower_first

_MEDIASTINAL_CATEGORIES = ("2b", "2e", "2f", "2g", "2h")
"""Categories that a mediastinal window shows besides what lies beyond the lung."""
_CERTAIN_ON_FILM = ("2b consolidation", "2b atelectasis", "2e effusion", "2g pneumothorax", "2d mass")
"""What a film shows without doubt; of the rest nothing is said before it is drawn."""
_TURN_PHRASES: dict[Turn, tuple[str, str]] = {
    "gone": ("is no longer seen", "are no longer seen"),
    "smaller": ("is smaller", "are smaller"),
    "larger": ("is larger", "are larger"),
    "new": ("is new", "are new"),
}
_BONE_KINDS = ("rib fracture", "osteophytes")


def case_split(number: int) -> str:
    """The split of a patient's case: there is no val, whose patients are counted to train.

    >>> [case_split(number) for number in (1, 2, 3)]
    ['train', 'test', 'train']
    """
    return "test" if split_of(number) == "test" else "train"


def picture_file(draft: Draft, look: PictureSpec) -> str:
    """The file of a picture, relative to the release."""
    return f"images/case{draft.patient:05d}/{look.id}.jpg"


def make_case(draft: Draft, split: str) -> Case:
    """What a reader sees of a draft."""
    name = f"case{draft.patient:05d}"
    return Case(
        id=name,
        benchmark="medthinkvqa",
        split=split,
        patient=name,
        pictures=tuple(
            Image(
                name=f"image-{order}",
                file=picture_file(draft, look),
                timepoint=look.time + 1 if draft.longitudinal else None,
            )
            for order, look in enumerate(draft.pictures, 1)
        ),
        history=draft.history,
        options=draft.options,
    )


def make_truth(draft: Draft, captions: Sequence[str], report: str, discussed: str) -> Truth:
    """What is true of a draft; `captions` in the order of its looks."""
    code = find_icd(load_diseases()[draft.disease].icd)
    text = next(option.text for option in draft.options if option.letter == draft.answer)
    names = [f"image-{order}" for order in range(1, len(draft.pictures) + 1)]
    return Truth(
        title=case_title(draft),
        answer=draft.answer,
        answer_text=text,
        findings=tuple(
            Finding(text=caption, regions=(Whole(picture=name),))
            for name, caption in zip(names, captions, strict=True)
        ),
        report=report,
        discussion=discussed,
        notes=tuple(
            PictureNote(
                picture=name,
                id=look.id,
                modality="X-ray" if look.view else "CT",
                sub_modality=sub_modality(look),
            )
            for name, look in zip(names, draft.pictures, strict=True)
        ),
        longitudinal=draft.longitudinal,
        timepoints=2 if draft.longitudinal else 1,
        interval=draft.interval,
        image_count=len(draft.pictures),
        icd_chapter=code.chapter,
        icd_block=code.block,
        icd_category=code.category,
    )


def sub_modality(look: PictureSpec) -> str:
    """The level-2 modality of a picture; nobody here was given contrast medium."""
    if look.view is not None:
        return "Chest radiography"
    return "HRCT / Thin-slice CT" if look.window == "lung" else "Non-contrast CT"


def make_text_entry(draft: Draft, settings: PatientSettings) -> Entry:
    """The whole entry of a draft, without a pixel."""
    rng = np.random.default_rng(seed_for(settings.seed, draft.patient, "case", "discussion"))
    days = [list_planned(draft, time) for time in range(2 if draft.longitudinal else 1)]
    captions = [_write_caption(look, days[look.time]) for look in draft.pictures]
    changes = describe_planned_changes(draft)
    report = f"CT of the chest: {lower_first(findings_sentence(days[0]))}"
    if changes is not None:
        report += f" {changes}"
    discussed = write_discussion(draft, list_planned_ever(draft), changes, rng)
    truth = make_truth(draft, captions, report, discussed)
    return Entry(case=make_case(draft, case_split(draft.patient)), truth=truth)


def list_planned(draft: Draft, time: int = 0) -> list[FindingStatement]:
    """What is planned for a time point, as statements that say no more than is certain."""
    absent = "gone" if time else "new"
    inside = zip(draft.plans, draft.turns or ("same",) * len(draft.plans), strict=True)
    outside = zip(
        draft.extrapulmonary, draft.extrapulmonary_turns or ("same",) * len(draft.extrapulmonary), strict=True
    )
    found = [make_statement(plan) for plan, turn in inside if turn != absent]
    found += [
        FindingStatement(category=EXTRAPULMONARY[name], kind=name) for name, turn in outside if turn != absent
    ]
    return found


def list_planned_ever(draft: Draft) -> list[FindingStatement]:
    """What is planned for any of the days, each finding once."""
    found = [make_statement(plan) for plan in draft.plans]
    return found + [
        FindingStatement(category=EXTRAPULMONARY[name], kind=name) for name in draft.extrapulmonary
    ]


def make_statement(plan: FindingPlan) -> FindingStatement:
    """A plan as a statement: its place where there is only one, several where there are several."""
    lobes, side = _certain_place(plan)
    several = plan.count is not None and plan.count[0] > 1
    pleural = plan.category in PLEURAL
    return FindingStatement(
        category=plan.category,
        kind=plan.kind,
        side=side,
        lobes=() if pleural else lobes,
        count=plan.count[0] if plan.count is not None and several else 1,
        countable=plan.count is not None,
    )


def describe_planned_changes(draft: Draft) -> str | None:
    """What is to change between the two time points, in words; None with one time point."""
    if draft.interval is None:
        return None
    statements = list_planned_ever(draft)
    turns = (*draft.turns, *draft.extrapulmonary_turns)
    said = []
    for turn, (one, many) in _TURN_PHRASES.items():
        here = [s for s, became in zip(statements, turns, strict=True) if became == turn]
        if here:
            verb = many if len(here) > 1 or finding_noun(here[0])[1] else one
            said.append(f"{_to_definite(describe_findings(here))} {verb}")
    return f"After {draft.interval} {'; '.join(said)}."


def _to_definite(text: str) -> str:
    """A known thing: 'the cavity', where it was 'a cavity' at first."""
    return re.sub(r"^(?:an?|the) |(?<=, )an? |(?<=and )an? ", "the ", text)


def _certain_place(plan: FindingPlan) -> tuple[tuple[str, ...], Side | None]:
    """The lobes and the side of a plan, where these are certain."""
    every = lung_names().lobes
    if len(plan.places) != 1:
        return (), None
    place = plan.places[0]
    if place in ("lobe", "segment") and len(plan.lobes) == 1:
        return plan.lobes, lung_names().by_code[plan.lobes[0]].side
    if place == "lung" and plan.lobes:
        return (), lung_names().by_code[plan.lobes[0]].side
    fixed = {"upper": ("RUL", "LUL"), "lower": ("RLL", "LLL")}
    if place in fixed:
        return fixed[place], "both"
    if place == "both":
        return tuple(lobe.code for lobe in every), "both"
    return (), None


def _write_caption(look: PictureSpec, day: Sequence[FindingStatement]) -> str:
    """What one picture is, and what is planned to be seen on it."""
    marks = [f"{one.category} {one.kind}" for one in day]
    if look.view is not None:
        head = {"PA": "PA chest radiograph", "AP supine": "Supine AP chest radiograph"}.get(
            look.view, "Lateral chest radiograph"
        )
        shown = [one for one, mark in zip(day, marks, strict=True) if mark in _CERTAIN_ON_FILM]
    else:
        window = {"mediastinum": "mediastinal"}.get(look.window or "", look.window)
        head = f"{(look.plane or '').capitalize()} CT in the {window} window"
        if look.window == "bone":
            shown = [one for one in day if one.kind in _BONE_KINDS]
        elif look.window == "lung":
            shown = [one for one in day if one.kind not in EXTRAPULMONARY]
        else:
            shown = [
                one
                for one in day
                if (one.kind in EXTRAPULMONARY and one.kind not in _BONE_KINDS)
                or one.category in _MEDIASTINAL_CATEGORIES
            ]
    said = findings_sentence(shown)
    return f"{head}: {lower_first(said)}" if said else f"{head}."
