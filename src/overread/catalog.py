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

PartKind = Literal["benchmarks", "readers", "workflows", "judges", "metrics", "recipes"]

_METRICS = {
    "choice": """
        accuracy answer_accuracy answer_rate position_bias length_bias calibration_error brier
        log_loss
    """,
    "masks.scores": """
        mean_global_dice_per_finding mean_global_dice_per_case hit_rate
        overall_instance_precision overall_instance_recall overall_instance_f1
        mean_matched_dice_per_finding global_only_mean_global_dice_per_finding
        global_only_mean_global_dice_per_case global_only_hit_rate distance_precision
        distance_recall distance_f1 honest_mean_global_dice_per_finding
        honest_mean_global_dice_per_case honest_hit_rate honest_overall_instance_precision
        honest_overall_instance_recall honest_overall_instance_f1
        honest_mean_matched_dice_per_finding honest_global_only_mean_global_dice_per_finding
        honest_global_only_mean_global_dice_per_case honest_global_only_hit_rate
        honest_distance_precision honest_distance_recall honest_distance_f1
        ceiling_mean_global_dice_per_finding ceiling_mean_global_dice_per_case
        ceiling_hit_rate ceiling_overall_instance_precision ceiling_overall_instance_recall
        ceiling_overall_instance_f1 ceiling_mean_matched_dice_per_finding
        ceiling_global_only_mean_global_dice_per_finding
        ceiling_global_only_mean_global_dice_per_case ceiling_global_only_hit_rate
        ceiling_distance_precision ceiling_distance_recall ceiling_distance_f1
    """,
    "masks.surface.scores": """
        nsd_1mm nsd_2mm nsd_5mm hd95 assd_pooled assd_mean_of_means assd_surfels volume_error
        centroid_error
    """,
    "words.scores": """
        rouge1 rouge2 rougeL bleu1 bleu2 bleu3 bleu4 cider ceiling_rouge2 ceiling_cider
        findings_rouge1 findings_rouge2 findings_rougeL findings_bleu1 findings_bleu2
        findings_bleu3 findings_bleu4 findings_cider ceiling_findings_rouge2
        ceiling_findings_cider discussion_rougeL
    """,
    "clinical.rules": """
        clinical_precision clinical_recall clinical_f1 clinical_presence_f1 clinical_side_f1
        clinical_location_f1 clinical_size_f1 chexpert_f1_rules_14 chexpert_f1_rules_14_macro
        chexpert_f1_rules_5 chexpert_f1_rules_5_macro
    """,
    "clinical.model_scores": """
        radgraph_e radgraph_er radgraph_bar_er radcliq_v0 radcliq_v1 chexbert_f1_14
        chexbert_f1_14_macro ceiling_chexbert_f1_14_macro chexbert_f1_5 chexbert_f1_5_macro
        ceiling_chexbert_f1_5_macro bertscore sembscore ratescore green green_unparseable
    """,
    "judged": """
        step_factuality case_all_factual critical_step_ratio step_errors_reasoning
        step_errors_image step_errors_scenario step_errors_knowledge discussion_correctness
        discussion_background discussion_clinical discussion_imaging discussion_significance
        discussion_outcome discussion_take_home education_score education_definition
        education_manifestation education_imaging education_reasoning education_learning
    """,
    "boxes.scores": """
        box_iou box_pointing box_reward map_50 map_75 map_50_95
    """,
    "traces.path": """
        trace_coverage_precision trace_coverage_recall trace_coverage_f1 trace_order
        trace_box_iou
    """,
    "traces.findings": """
        trace_findings_precision trace_findings_recall trace_findings_f1
    """,
    "traces.crops": """
        trace_crop_agreement ceiling_trace_crop_agreement
    """,
    "traces.words": """
        trace_region_words ceiling_trace_region_words
    """,
    "traces.consistency": """
        trace_consistency_precision trace_consistency_recall trace_consistency_f1
        ceiling_trace_consistency_precision ceiling_trace_consistency_recall
        ceiling_trace_consistency_f1
    """,
}
"""Module of `metrics/` → the metrics in its table `METRICS`."""

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
    "metrics": {
        name: f"overread.metrics.{module}:METRICS"
        for module, words in _METRICS.items()
        for name in words.split()
    },
    "recipes": {
        "rexgroundingct": "overread.build.rexgroundingct:RECIPE",
        "medthinkvqa": "overread.build.medthinkvqa:RECIPE",
        "mmrad": "overread.build.mmrad:RECIPE",
    },
}


def metrics_in(*modules: str) -> tuple[str, ...]:
    """The metrics of some modules of `metrics/`, in their order.

    >>> metrics_in("traces.words")
    ('trace_region_words', 'ceiling_trace_region_words')
    """
    return tuple(name for module in modules for name in _METRICS[module].split())


def names(kind: PartKind) -> list[str]:
    """All names of a kind, ours first, then those that other packages bring."""
    ours = TABLES[kind]
    theirs = {point.name for point in entry_points(group=f"overread.{kind}")}
    return [*ours, *sorted(theirs - ours.keys())]


def find(kind: PartKind, name: str) -> Any:
    """The object of that name, imported now.

    >>> find("benchmarks", "medthinkvqa").name
    'medthinkvqa'
    >>> find("benchmarks", "medthink")
    Traceback (most recent call last):
        ...
    overread.errors.UnknownName: no benchmark is called 'medthink': did you mean 'medthinkvqa'?
    """
    target = TABLES[kind].get(name)
    if target is None:
        for point in entry_points(group=f"overread.{kind}"):
            if point.name == name:
                return _load_part(kind, name, point.value)
        raise unknown_name(kind.removesuffix("s"), name, names(kind))
    return _load_part(kind, name, target)


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
