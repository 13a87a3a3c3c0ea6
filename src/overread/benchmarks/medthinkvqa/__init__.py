"""MedThinkVQA: several pictures and a history → findings → summary → one of five diagnoses."""

from overread.benchmarks.medthinkvqa.check import check
from overread.benchmarks.medthinkvqa.describe import describe
from overread.benchmarks.medthinkvqa.release import FORMS, SPLITS, MedThinkVQARelease
from overread.benchmarks.medthinkvqa.submission import read_submission
from overread.benchmarks.medthinkvqa.submit import submit
from overread.benchmarks.medthinkvqa.write import write
from overread.core import Benchmark, Hub

METRICS = """
    accuracy answer_rate position_bias length_bias calibration_error
    calibration_error_debiased brier log_loss auroc
    findings_rouge1 findings_rouge2 findings_rougeL rouge1 rouge2 rougeL clinical_score
    clinical_errors clinical_unread_share clinical_precision clinical_recall clinical_f1
    discussion_rougeL step_factuality case_all_factual
    critical_step_ratio step_errors_reasoning step_errors_image step_errors_scenario
    step_errors_knowledge
    critical_step_factuality critical_step_errors_reasoning critical_step_errors_image
    critical_step_errors_scenario critical_step_errors_knowledge
    discussion_correctness education_score education_definition
    education_manifestation education_imaging education_reasoning education_learning
    ceiling_findings_rouge2 ceiling_rouge2
""".split()

BENCHMARK = Benchmark(
    name="medthinkvqa",
    title="MedThinkVQA",
    about="several images and a history → findings per image → one summary → one of five "
    "diagnoses, and a teaching discussion",
    splits=SPLITS,
    forms=(*FORMS, "parquet-embedded"),
    load=MedThinkVQARelease,
    check=check,
    write=write,
    describe=describe,
    licence="CC BY-NC-SA 4.0",
    terms="Eurorad cases, adapted with permission; research and education only, no commercial "
    "use, not for diagnosis, treatment or triage",
    cite="MedThinkVQA, arXiv 2604.16506",
    hub=Hub(repo="bio-nlp-umass/MedThinkVQA"),
    read_submission=read_submission,
    submit=submit,
    metrics=tuple(METRICS),
    official=("accuracy",),
    headline=("accuracy", "accuracy"),
    hub_tasks=("visual-question-answering", "multiple-choice"),
    holds=("diagnoses to choose from",),
)
