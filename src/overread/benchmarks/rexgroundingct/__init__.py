"""ReXGroundingCT: a sentence of a report → a 3D mask in a chest CT."""

from overread.benchmarks.rexgroundingct.check import check
from overread.benchmarks.rexgroundingct.release import FORMS, SPLITS, ReXGroundingCTRelease
from overread.benchmarks.rexgroundingct.submission import read_submission
from overread.benchmarks.rexgroundingct.submit import submit
from overread.benchmarks.rexgroundingct.write import write
from overread.core import Benchmark, Hub

OFFICIAL = (
    "mean_global_dice_per_finding",
    "mean_global_dice_per_case",
    "hit_rate",
    "overall_instance_precision",
    "overall_instance_recall",
    "overall_instance_f1",
)

METRICS = """
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
    ceiling_mean_global_dice_per_finding ceiling_mean_global_dice_per_case ceiling_hit_rate
    ceiling_overall_instance_precision ceiling_overall_instance_recall
    ceiling_overall_instance_f1 ceiling_mean_matched_dice_per_finding
    ceiling_global_only_mean_global_dice_per_finding
    ceiling_global_only_mean_global_dice_per_case ceiling_global_only_hit_rate
    ceiling_distance_precision ceiling_distance_recall ceiling_distance_f1
""".split()

SLOWER = """
    nsd_1mm nsd_2mm nsd_5mm hd95 assd_pooled assd_mean_of_means assd_surfels volume_error
    centroid_error
""".split()

BENCHMARK = Benchmark(
    name="rexgroundingct",
    title="ReXGroundingCT",
    about="a sentence from a report → a 3D mask in a chest CT",
    splits=SPLITS,
    forms=tuple(FORMS),
    load=ReXGroundingCTRelease,
    check=check,
    write=write,
    licence="CC BY-NC-SA 4.0",
    terms="CT-RATE scans and reports with annotations; research only, no commercial use; the CTs "
    "are CT-RATE's and are fetched there, under its own terms",
    cite="ReXGroundingCT, arXiv 2507.22030",
    hub=Hub(
        repo="rajpurkarlab/ReXGroundingCT",
        gated=True,
        note="the CTs come from ibrahimhamamci/CT-RATE, which is gated too; put them under "
        "images/ or name their folder with --pictures",
    ),
    read_submission=read_submission,
    metrics=tuple(METRICS),
    slower_metrics=tuple(SLOWER),
    submit=submit,
    official=OFFICIAL,
)
