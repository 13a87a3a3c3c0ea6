"""Name → object: every part that can be picked by name, in literal tables.

A part is one line here, ``"name": "module:object"``, and nothing is imported before it is
asked for; an object may be a table of several parts by name. Other packages add parts through
entry points of the group ``overread.<kind>`` (for example ``overread.benchmarks``); a name of ours
cannot be taken over by them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from overread.errors import UnknownName, UsageError

PartKind = Literal["benchmarks", "readers", "workflows", "judges", "metrics", "recipes", "trackers"]

METRIC_MODULES = (
    *("choice", "option_auroc"),
    *("masks.scores", "masks.surface.scores", "masks.panoptic", "masks.lesion_froc", "masks.centreline"),
    *("words.scores", "clinical.rules", "clinical.model_scores", "judged"),
    *("boxes.scores", "boxes.detection"),
    *("traces.path", "traces.findings", "traces.crops", "traces.words", "traces.consistency"),
    *("traces.chain", "traces.chain_masks"),
)
"""Modules of `metrics/`; what each of them measures stands in its own table `METRICS`."""

TABLES: dict[PartKind, dict[str, str]] = {
    "benchmarks": {
        "medthinkvqa": "overread.benchmarks.medthinkvqa:BENCHMARK",
        "rexgroundingct": "overread.benchmarks.rexgroundingct:BENCHMARK",
        "mmrad": "overread.benchmarks.mmrad:BENCHMARK",
    },
    "readers": {
        "atlas": "overread.readers.atlas:make",
        "openai": "overread.readers.openai.reader:make",
        "hf": "overread.readers.hf.reader:make",
        "command": "overread.readers.command.reader:make",
        "voxtell": "overread.readers.voxtell.reader:make",
        "replay": "overread.readers.replay:make",
        "person": "overread.readers.person:make",
        "oracle": "overread.readers.oracle:make",
        "random": "overread.readers.bounds:make_random",
        "majority": "overread.readers.bounds:make_majority",
        "longest": "overread.readers.bounds:make_longest",
        "nothing": "overread.readers.bounds:make_nothing",
    },
    "workflows": {
        "direct": "overread.workflows.direct:direct",
        "twi": "overread.workflows.twi:twi",
        "ground": "overread.workflows.ground:ground",
        "ground-cot": "overread.workflows.ground_cot:ground_cot",
        "interleaved": "overread.workflows.interleaved:interleaved",
        "explore": "overread.workflows.explore:explore",
    },
    "judges": {
        "steps": "overread.workflows.judges.steps:JUDGE",
        "discussion": "overread.workflows.judges.discussion:JUDGE",
    },
    "recipes": {
        "rexgroundingct": "overread.build.rexgroundingct:RECIPE",
        "medthinkvqa": "overread.build.medthinkvqa:RECIPE",
        "mmrad": "overread.build.mmrad:RECIPE",
    },
    "trackers": {
        "mlflow": "overread.bridges.trackers.mlflow_tracker:make",
        "wandb": "overread.bridges.trackers.wandb_tracker:make",
        "tensorboard": "overread.bridges.trackers.tensorboard_tracker:make",
    },
}


def metric_names(words: Iterable[str]) -> list[str]:
    """Names of metrics; that of a module of `metrics/` stands for all metrics in it.

    >>> metric_names(["accuracy", "traces.words"])
    ['accuracy', 'trace_region_words', 'ceiling_trace_region_words']
    """
    parts = (_metrics_in(word) if word in METRIC_MODULES else (word,) for word in words)
    return [name for part in parts for name in part]


def _metrics_in(module: str) -> Iterable[str]:
    table: dict[str, Any] = import_module(f"overread.metrics.{module}").METRICS
    return table


def names(kind: PartKind) -> list[str]:
    """All names of a kind, ours first, then those that other packages bring."""
    ours = metric_names(METRIC_MODULES) if kind == "metrics" else [*TABLES[kind]]
    theirs = {point.name for point in entry_points(group=f"overread.{kind}")}
    return [*ours, *sorted(theirs.difference(ours))]


def find(kind: PartKind, name: str) -> Any:
    """The object of that name, imported now.

    >>> find("benchmarks", "medthinkvqa").name
    'medthinkvqa'
    >>> find("benchmarks", "medthink")
    Traceback (most recent call last):
        ...
    overread.errors.UnknownName: no benchmark is called 'medthink': did you mean 'medthinkvqa'?
    """
    target = _find_metric(name) if kind == "metrics" else TABLES[kind].get(name)
    if target is None:
        for point in entry_points(group=f"overread.{kind}"):
            if point.name == name:
                return _load_part(kind, name, point.value)
        raise unknown_name(kind.removesuffix("s"), name, names(kind))
    return _load_part(kind, name, target)


def _find_metric(name: str) -> str | None:
    """Where a metric of ours is; modules are imported one by one until one has it."""
    for module in METRIC_MODULES:
        if name in _metrics_in(module):
            return f"overread.metrics.{module}:METRICS"
    return None


def unknown_name(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a name that is not among the known ones, with the nearest of them."""
    choices = list(known)
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    folded = [choice for choice in choices if choice.casefold() == name.casefold()]
    if folded or near:
        remedy = f"did you mean '{(folded or near)[0]}'?"
    elif choices:
        shown = ", ".join(choices[:12]) + (", …" if len(choices) > 12 else "")
        remedy = f"there are {shown}"
    else:
        remedy = "there are none yet"
    return UnknownName(f"no {what} is called '{name}'", remedy=remedy)


def _load_part(kind: PartKind, name: str, target: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        part = getattr(import_module(module), attribute)
        return part[name] if isinstance(part, dict) else part
    except (ImportError, AttributeError, KeyError) as error:
        raise UsageError(
            f"the {kind.removesuffix('s')} '{name}' cannot be loaded from {target} ({error})",
            remedy="reinstall the package that provides it",
        ) from error
