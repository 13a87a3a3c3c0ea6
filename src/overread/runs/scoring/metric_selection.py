"""Which metrics are scored: those asked for, with their settings, of what readings attempted."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from overread import catalog
from overread.core import Box, Mask, Reading, Whole
from overread.core.verdicts import DiscussionVerdicts, StepVerdicts, Verdicts
from overread.errors import MissingPart, UsageError
from overread.metrics import Metric
from overread.runs.scoring.measurement import ReadingSet


def find_metric(name: str) -> Metric:
    """The metric of that name."""
    return cast(Metric, catalog.find("metrics", name))


def select_metrics(names: Sequence[str], settings: Mapping[str, Any]) -> list[Metric]:
    """The metrics of those names, with the settings that somebody asked for."""
    chosen = [find_metric(name) for name in dict.fromkeys(catalog.metric_names(names))]
    unused = dict(settings)
    families: dict[int, dict[str, Metric]] = {}
    for metric in chosen:
        mine = {key: value for key, value in settings.items() if key in metric.settings}
        if mine and metric.retune is not None and id(metric.measure) not in families:
            family = metric.retune({**metric.settings, **mine})
            families[id(metric.measure)] = {other.name: other for other in family}
            for key in mine:
                unused.pop(key, None)
    if unused:
        raise _no_setting_error(next(iter(unused)), chosen)
    for metric in (m for family in families.values() for m in family.values()):
        for key in settings.keys() & metric.settings.keys():
            if metric.settings[key] != settings[key]:
                raise _no_setting_error(key, chosen)
    # Metrics that were measured together still are, whether or not the setting concerns them.
    return [families.get(id(m.measure), {}).get(m.name, m) for m in chosen]


def _no_setting_error(name: str, metrics: Sequence[Metric]) -> UsageError:
    known = sorted({key for m in metrics if m.retune is not None for key in m.settings})
    if name in known:
        remedy = "choose another metric instead: `overread list metrics`"
        return UsageError(f"'{name}' tells metrics apart and cannot be set", remedy=remedy)
    if known:
        return catalog.unknown_name("setting of these metrics", name, known)
    what = f"these metrics have no setting '{name}', nor any other"
    return UsageError(what, remedy="leave --setting out")


def with_card_settings(metric: Metric, settings: Mapping[str, Any] | None) -> Metric:
    """The metric with the settings of the cards, so that their statistics are found again."""
    if (
        metric.retune is None
        or not settings
        or dict(settings) == json.loads(json.dumps(dict(metric.settings)))
    ):
        return metric
    family = metric.retune({**metric.settings, **settings})
    return next(other for other in family if other.name == metric.name)


def find_missing_parts(metrics: Iterable[Metric]) -> dict[str, MissingPart]:
    """Metric → what it would need that is not here, as far as its files tell."""
    missing: dict[str, MissingPart] = {}
    for metric in metrics:
        for weights in metric.weights:
            try:
                weights.find()
            except MissingPart as part:
                missing.setdefault(metric.name, part)
    return missing


def why_missing(part: MissingPart) -> str:
    """Why a metric was not scored, for a card: without a folder of this machine."""
    remedy = "`overread doctor` says where they are looked for" if part.where else part.remedy
    return f"{part.what}: {remedy}"


@dataclass(frozen=True)
class ReadingSurvey:
    """What there is in many readings, told by going through them once."""

    readings: int
    """How many there are, failed ones among them."""
    failed: int
    """Those that say why they failed."""
    unusable: bool
    """Whether none of them can be used."""
    parts: frozenset[frozenset[str]]
    """The parts that usable readings hold together, each combination once."""
    silent: bool = False
    """Whether there are usable readings, and none of them says anything at all."""


def survey_readings(chosen: Sequence[Metric], attempts: Sequence[ReadingSet]) -> ReadingSurvey:
    """What the readings hold of the parts that metrics need."""
    needs = tuple(dict.fromkeys(need for metric in chosen for need in metric.needs))
    count = failed = 0
    unusable = silent = True
    parts: set[frozenset[str]] = set()
    for attempt in attempts:
        for case, reading in attempt.submission.readings.items():
            count += 1
            failed += reading.error is not None
            if reading.error:
                continue
            unusable = False
            silent = silent and not any(getattr(reading, part) is not None for part in _SAID)
            told = attempt.verdicts.get(case, ())
            parts.add(frozenset(need for need in needs if has_part(reading, need, told)))
    return ReadingSurvey(count, failed, unusable, frozenset(parts), silent and not unusable)


_SAID = ("choice", "probabilities", "rationale", "findings", "report", "discussion", "trace")
"""The parts of a reading in which a reader can say something."""


def attempted_metrics(
    chosen: Sequence[Metric],
    survey: ReadingSurvey,
    official: Collection[str],
    asked_for: Collection[str],
) -> tuple[dict[str, Metric], dict[str, str]]:
    """The metrics to score by name, and why the others are not.

    Parts of a reading that were `asked_for` are scored whether or not any reading has them; what no
    reading holds was not attempted. Who says nothing at all scores worst on everything.
    """
    # Where no reading could be used, it cannot be seen what was attempted: then the
    # benchmark's official metrics count as attempted, and score worst.
    asked = {n for m in chosen if m.name in official for n in m.needs}
    tried = {
        m.name: m
        for m in chosen
        if m.name in official
        or (survey.unusable and asked.issuperset(m.needs))
        or (survey.silent and not any(need.endswith("verdicts") for need in m.needs))
        or set(m.needs) <= set(asked_for)
        or any(parts.issuperset(m.needs) for parts in survey.parts)
    }
    skipped = {m.name: f"no prediction holds {' and '.join(m.needs)}" for m in chosen if m.name not in tried}
    return tried, skipped


def has_part(reading: Reading, need: str, verdicts: Sequence[Verdicts] = ()) -> bool:
    """Whether a reading has the part that a metric needs, or a judge has said something of it."""
    if need == "step verdicts":
        return any(isinstance(verdict, StepVerdicts) for verdict in verdicts)
    if need == "discussion verdicts":
        return any(isinstance(verdict, DiscussionVerdicts) for verdict in verdicts)
    steps = reading.trace.steps if reading.trace else ()
    findings = reading.findings or ()
    regions = [r for f in findings for r in f.regions] + [r for s in steps for r in s.regions]
    if need == "findings":
        return any(isinstance(r, Whole) for finding in findings for r in finding.regions)
    if need == "masks":
        return any(isinstance(region, Mask) for region in regions)
    if need == "boxes":
        return any(isinstance(region, Box) for region in regions)
    if need == "chain":
        return any(step.link is not None for step in steps)
    if need == "crops":
        return any(step.crop for step in steps)
    return getattr(reading, need) is not None
