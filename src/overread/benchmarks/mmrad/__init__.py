"""MMRad-IVL-22K: a chest X-ray → an interleaved trace of looks and words → a report."""

from overread.benchmarks.mmrad.check import check
from overread.benchmarks.mmrad.release import FORMS, SPLITS, THINKVG, MMRadRelease
from overread.benchmarks.mmrad.submission import read_submission
from overread.benchmarks.mmrad.submit import submit
from overread.benchmarks.mmrad.write import write
from overread.core import Benchmark, Hub

METRICS = """
    clinical_f1 clinical_precision clinical_recall clinical_presence_f1 clinical_side_f1
    clinical_location_f1 clinical_size_f1 chexpert_f1_rules_14 chexpert_f1_rules_14_macro
    chexpert_f1_rules_5 chexpert_f1_rules_5_macro rouge1 rouge2 rougeL bleu1 bleu2 bleu3
    bleu4 cider ceiling_rouge2 ceiling_cider answer_accuracy box_iou box_pointing box_reward
    map_50 map_75 map_50_95 trace_coverage_precision trace_coverage_recall trace_coverage_f1
    trace_order trace_box_iou trace_findings_precision trace_findings_recall
    trace_findings_f1 trace_crop_agreement ceiling_trace_crop_agreement trace_region_words
    ceiling_trace_region_words trace_consistency_precision trace_consistency_recall
    trace_consistency_f1 ceiling_trace_consistency_precision
    ceiling_trace_consistency_recall ceiling_trace_consistency_f1
""".split()

BENCHMARK = Benchmark(
    name="mmrad",
    title="MMRad-IVL-22K",
    about="a chest X-ray → an interleaved trace of looks and words over 35 regions → a report",
    splits=SPLITS,
    forms=(*FORMS, *(THINKVG + form for form in FORMS)),
    load=MMRadRelease,
    check=check,
    write=write,
    licence="not published; the radiographs: PhysioNet Credentialed Health Data License",
    terms="the radiographs may only be used by credentialed persons under PhysioNet's agreement, "
    "and may not be handed on or sent to services that keep them",
    cite="Zhao et al., Thinking Like a Radiologist (MMRad-IVL-22K)",
    hub=Hub(
        repo="",
        gated=True,
        note="the authors announce the data at github.com/qiuzyc/thinking_like_a_radiologist; the "
        "question rows it was made from are BoKelvin/GEMeX-ThinkVG on the hub, the radiographs "
        "MIMIC-CXR-JPG on PhysioNet",
    ),
    read_submission=read_submission,
    metrics=tuple(METRICS),
    submit=submit,
)
