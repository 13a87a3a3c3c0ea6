"""Tries `overread export vlmevalkit` with VLMEvalKit: its dataset class, its prompts, its scoring.

    python -m tools.works_with.try_vlmevalkit .venv-vlmevalkit

VLMEvalKit itself is not on PyPI; ms-vlmeval, its copy for EvalScope, is, with the same package
`vlmeval` in it. No model is asked: replies of a known share of right letters are scored.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.works_with.trial import Found, Trial, make_release, run_overread, run_trial

DATASET = "overread_medthinkvqa_train"


def _prepare(work: Path) -> None:
    root = make_release(work, patients=8, exams="medthinkvqa")
    words = ("--split", "train", "--out", work / "tables")
    run_overread("export", "vlmevalkit", "medthinkvqa", root, *words)
    run_overread("export", "chat", "medthinkvqa", root, "--style", "qwen", "--out", work / "rows")


def _job(work: Path) -> Found:
    from importlib.metadata import version

    from tools.works_with.gpu_builds import allow_gpu_builds
    from tools.works_with.trial import read_rows

    os.environ |= {"LMUData": str(work / "tables")}
    allow_gpu_builds()
    from PIL import Image
    from vlmeval.dataset import build_dataset

    dataset = build_dataset(DATASET)
    rows = read_rows(work / "rows/train.jsonl")
    assert len(dataset) == len(rows)
    shown = []
    for number, row in enumerate(rows):
        prompt = dataset.build_prompt(number)
        pictures = [part["value"] for part in prompt if part["type"] == "image"]
        for made, file in zip(pictures, row["images"], strict=True):
            with Image.open(made) as image, Image.open(work / "rows" / file) as original:
                assert image.size == original.size
        words = prompt[-1]["value"]
        assert all(f"{letter}. {dataset[number][letter]}" in words for letter in "ABCDE")
        assert "Clinical history: " in words
        shown.append(len(pictures))
    replies = dataset.data.drop(columns="image").copy()
    said = [f"The answer is {letter}." for letter in replies["answer"]]
    wrong = {"A": "B", "B": "C", "C": "D", "D": "E", "E": "A"}
    said[0] = wrong[replies["answer"].iloc[0]]
    replies["prediction"] = said
    replies.to_excel(work / f"nobody_{DATASET}.xlsx", index=False)
    scores = dataset.evaluate(str(work / f"nobody_{DATASET}.xlsx"), model="exact_matching", nproc=1)
    accuracy = float(scores["Overall"].iloc[0])
    assert abs(accuracy - (len(rows) - 1) / len(rows)) < 1e-6, accuracy
    return {
        "ms-vlmeval": version("ms-vlmeval"),
        "class": type(dataset).__name__,
        "cases": len(dataset),
        "pictures": shown,
        "accuracy with one wrong": accuracy,
    }


TRIAL = Trial(
    module="tools.works_with.try_vlmevalkit",
    # What its datasets import when they are loaded, all of them at once.
    requirements=(
        "torch==2.13.0",
        *"transformers accelerate datasets evaluate pandas openpyxl xlsxwriter pillow tabulate rich".split(),
        *"portalocker openai httpx requests matplotlib validators json_repair termcolor sty tiktoken".split(),
        *"einops nltk scikit-learn sacrebleu opencv-python-headless sympy math-verify python-dotenv".split(),
        *"latex2sympy2-extended timeout-decorator levenshtein apted beautifulsoup4 pylatexenc==2.10".split(),
        *"ipdb decord scikit-image jieba rapidfuzz geopy squarify colormath imageio matplotlib-venn".split(),
        *"torchmetrics rouge fuzzysearch rouge-score nest-asyncio pronouncing unidecode num2words".split(),
        *"ftfy cairosvg distance editdistance setuptools<81 playwright pycocoevalcap".split(),
    ),
    without_dependencies=(
        *"torchvision lpips timm openai-clip cd-fvd qwen_vl_utils ms-vlmeval==0.0.20".split(),
    ),
    prepare=_prepare,
    job=_job,
)

if __name__ == "__main__":
    sys.exit(run_trial(TRIAL, __doc__))
