"""The contract of metrics: the names that scorecards store."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

from overread import catalog
from overread.metrics import Measured, Metric, Subject, measure_key

STORED = {
    "boxes.detection.measure_detections(iou_threshold=0.5, labels='agree')",
    "boxes.scores.measure_boxes",
    "boxes.scores.measure_ranked_boxes",
    "choice.measure_answer",
    "choice.measure_choice",
    "clinical.rules.measure_rules(part='report')",
    "clinical.scoring.measure_chexbert(part='findings')",
    "clinical.scoring.measure_chexbert(part='report')",
    "clinical.scoring.measure_pairs(00eee09c216f)",
    "clinical.scoring.measure_pairs(11ec8607e1ac)",
    "clinical.scoring.measure_pairs(1baec6363ce0)",
    "clinical.scoring.measure_pairs(49cb32bea749)",
    "clinical.scoring.measure_pairs(4b27fa5f5498)",
    "clinical.scoring.measure_pairs(586a7b12faa3)",
    "clinical.scoring.measure_pairs(639b0b4037f7)",
    "clinical.scoring.measure_pairs(9242fa14991d)",
    "clinical.scoring.measure_pairs(9b618bbc66de)",
    "clinical.scoring.measure_pairs(9bbc6992738e)",
    "clinical.scoring.measure_pairs(c52fba9f6241)",
    "clinical.scoring.measure_pairs(d4221d5ffe3e)",
    "judged.measure_discussion",
    "judged.measure_steps",
    "masks.centreline.measure_centrelines",
    "masks.lesion_froc.measure_lesion_froc(connectivity=18, match_threshold=0.2, min_voxels=10)",
    "masks.measure.measure_masks(b38a619035e0)",
    "masks.measure.measure_masks(surfaces=True)",
    "masks.panoptic.measure_panoptic(connectivity=18, iou_threshold=0.5, min_voxels=1)",
    "option_auroc.measure_option_probabilities",
    "traces.chain.measure_chain(same_box=0.5)",
    "traces.chain_masks.measure_chain_masks",
    "traces.consistency.measure_consistency",
    "traces.consistency.measure_reference_consistency",
    "traces.crops.measure_crops",
    "traces.crops.measure_reference_crops",
    "traces.findings.measure_region_findings",
    "traces.path.measure_path",
    "traces.words.measure_reference_region_words",
    "traces.words.measure_region_words",
    "words.counting.measure_words(13e59ff4613e)",
    "words.counting.measure_words(186c362eeb23)",
    "words.counting.measure_words(bcdcf3445c54)",
}
"""Every key that cards of this version hold: cards of before are compared by them."""


def all_metrics() -> list[Metric]:
    """Every metric of the catalog."""
    return [cast(Metric, catalog.find("metrics", name)) for name in catalog.names("metrics")]


def test_the_names_that_cards_store_stay_the_same() -> None:
    """As texts: a key with an address in memory would be another one in every process."""
    assert {measure_key(metric) for metric in all_metrics()} == STORED


def test_each_measure_of_the_house_says_its_own_name() -> None:
    """So that a function can be moved without changing what is stored."""
    for metric in all_metrics():
        measure = metric.measure
        while isinstance(measure, partial):
            measure = measure.func
        assert measure_key(metric).startswith(measure.stored_as), metric.name  # type: ignore[attr-defined]


def test_a_metric_of_another_package_is_named_by_its_module() -> None:
    """It need not say a name of its own; a function among its arguments is named too."""
    own = replace(all_metrics()[0], measure=partial(measure_nothing, score=measure_nothing))
    assert measure_key(own) == f"{__name__}.measure_nothing(score=measure_nothing)"


def measure_nothing(subject: Subject, score: object = None) -> Measured:
    """Stands for somebody's measure."""
    return {}
