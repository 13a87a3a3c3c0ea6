"""MMRad-IVL-22K: a chest X-ray → an interleaved trace of looks and words → a report."""

from overread.benchmarks.mmrad.check import check
from overread.benchmarks.mmrad.describe import describe
from overread.benchmarks.mmrad.release import FORMS, SPLITS, THINKVG, MMRadRelease
from overread.benchmarks.mmrad.submission import read_submission
from overread.benchmarks.mmrad.submit import submit
from overread.benchmarks.mmrad.write import write
from overread.core import Benchmark, Hub

WORD_METRICS = """
    rouge1 rouge2 rougeL bleu1 bleu2 bleu3 bleu4 meteor cider ceiling_rouge2 ceiling_meteor
    ceiling_cider answer_accuracy
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
    describe=describe,
    licence="not published; the radiographs: PhysioNet Credentialed Health Data License",
    terms="the radiographs may only be used by credentialed persons under PhysioNet's agreement, "
    "and may not be handed on or sent to services that keep them",
    cite="Zhao et al., Thinking Like a Radiologist (MMRad-IVL-22K)",
    hub=Hub(
        repo="",
        note="the authors announce the data at github.com/qiuzyc/thinking_like_a_radiologist; the "
        "question rows it was made from are BoKelvin/GEMeX-ThinkVG on the hub, the radiographs "
        "MIMIC-CXR-JPG on PhysioNet",
    ),
    read_submission=read_submission,
    metrics=(
        *("clinical_score", "clinical_errors", "clinical_f1"),
        "clinical.rules",
        *WORD_METRICS,
        *("boxes.scores", "box_precision", "box_recall", "box_f1", "box_froc"),
        *("traces.path", "traces.findings", "traces.crops", "traces.words"),
        "traces.consistency",
    ),
    slower_metrics=("boxes.detection",),
    submit=submit,
    headline=("clinical_score", "clinical score"),
    inspect_metrics=("rougeL", "clinical_score", "clinical_f1"),
    demo_audits=4,
    hub_tasks=("image-to-text", "visual-question-answering"),
    holds=("traces of looks",),
)
