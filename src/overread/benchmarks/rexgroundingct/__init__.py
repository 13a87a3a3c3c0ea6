"""ReXGroundingCT: a sentence of a report → a 3D mask in a chest CT."""

from overread.benchmarks.rexgroundingct.check import check
from overread.benchmarks.rexgroundingct.describe import describe
from overread.benchmarks.rexgroundingct.grand_challenge import submit_grand_challenge
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

BENCHMARK = Benchmark(
    name="rexgroundingct",
    title="ReXGroundingCT",
    about="a sentence from a report → a 3D mask in a chest CT",
    splits=SPLITS,
    forms=tuple(FORMS),
    load=ReXGroundingCTRelease,
    check=check,
    write=write,
    describe=describe,
    licence="CC BY-NC-SA 4.0",
    terms="CT-RATE scans and reports with annotations; research only, no commercial use; the CTs "
    "are CT-RATE's and are fetched there, under its own terms",
    cite="ReXGroundingCT, arXiv 2507.22030",
    hub=Hub(
        repo="rajpurkarlab/ReXGroundingCT",
        note="the CTs come from ibrahimhamamci/CT-RATE, which is gated too; put them under "
        "images/ or name their folder with --pictures",
    ),
    read_submission=read_submission,
    metrics=("masks.scores", "traces.chain", "traces.chain_masks"),
    slower_metrics=("masks.surface.scores", "masks.panoptic", "masks.lesion_froc"),
    submit=submit,
    submit_layouts={"grand-challenge": submit_grand_challenge},
    official=OFFICIAL,
    headline=("honest_global_only_mean_global_dice_per_finding", "mean Dice"),
    demo_audits=2,
    hub_tasks=("image-segmentation",),
    holds=("masks in CTs", "traces of looks", "chains of thought"),
)
