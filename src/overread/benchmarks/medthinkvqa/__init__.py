"""MedThinkVQA: several pictures and a history → findings → summary → one of five diagnoses."""

from overread.benchmarks.medthinkvqa.check import check
from overread.benchmarks.medthinkvqa.release import FORMS, SPLITS, MedThinkVQARelease
from overread.benchmarks.medthinkvqa.write import write
from overread.core import Benchmark, Hub

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
    licence="CC BY-NC-SA 4.0",
    terms="Eurorad cases, adapted with permission; research and education only, no commercial "
    "use, not for diagnosis, treatment or triage",
    cite="MedThinkVQA, arXiv 2604.16506",
    hub=Hub(repo="bio-nlp-umass/MedThinkVQA", gated=False),
)
