"""Tries `overread export lmms-eval` with lmms-eval: its command, its own model `dummy`, the task's score.

    python -m tools.works_with.try_lmms_eval .venv-lmms-eval

`dummy` answers every question with one letter, so the accuracy must be the share of cases whose answer
that is. The task is found by --include_path, from another folder than the export's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tools.works_with.trial import Found, Trial, make_release, read_rows, run_overread, run_trial

TASK = "overread_medthinkvqa_train"


def _prepare(work: Path) -> None:
    root = make_release(work, patients=8, exams="medthinkvqa")
    run_overread("export", "lmms-eval", "medthinkvqa", root, "--split", "train", "--out", work / "task")


def _job(work: Path) -> Found:
    from importlib.metadata import version

    rows = read_rows(work / "task/train.jsonl")
    letter = rows[0]["answer"]
    start = (
        "import sys; sys.path.insert(0, sys.argv.pop(1));"
        "from tools.works_with.gpu_builds import allow_gpu_builds; allow_gpu_builds();"
        "from lmms_eval.__main__ import cli_evaluate; cli_evaluate()"
    )
    root = Path(__file__).resolve().parents[2]
    words = ["--model", "dummy", "--model_args", f"response={letter}", "--tasks", TASK, "--batch_size", "1"]
    words += ["--include_path", str(work / "task"), "--output_path", str(work / "results"), "--log_samples"]
    done = subprocess.run(
        [sys.executable, "-c", start, str(root), *words], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    (results,) = (work / "results").rglob("*results.json")
    told = json.loads(results.read_text("utf-8"))["results"][TASK]
    accuracy = next(value for name, value in told.items() if name.startswith("accuracy,"))
    share = sum(row["answer"] == letter for row in rows) / len(rows)
    assert abs(accuracy - share) < 1e-9, told
    (samples,) = (work / "results").rglob("*samples*.jsonl")
    asked = {sample["doc_id"]: sample for sample in read_rows(samples)}
    assert len(asked) == len(rows)
    for number, row in enumerate(rows):
        assert asked[number]["input"] == row["question"]
        assert asked[number]["target"] == row["answer"]
    return {
        "lmms-eval": version("lmms-eval"),
        "cases": len(rows),
        "letter": letter,
        "accuracy": accuracy,
        "share of cases with that answer": share,
    }


TRIAL = Trial(
    module="tools.works_with.try_lmms_eval",
    requirements=(
        "torch==2.13.0",
        *"transformers accelerate datasets evaluate loguru pytablewriter sacrebleu pillow pyyaml".split(),
        *"openpyxl tenacity python-dotenv pandas rich openai httpx requests numexpr nltk jsonlines".split(),
        *"scikit-learn tqdm-multiprocess zss sympy einops tiktoken opencv-python-headless".split(),
    ),
    without_dependencies=("torchvision", "lmms-eval==0.7.3"),
    prepare=_prepare,
    job=_job,
)

if __name__ == "__main__":
    sys.exit(run_trial(TRIAL, __doc__))
