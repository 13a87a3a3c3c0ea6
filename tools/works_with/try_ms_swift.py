"""Tries `overread export chat --style ms-swift` with ms-swift: its own `sft`, two steps.

    python -m tools.works_with.try_ms_swift .venv-ms-swift

A tiny Qwen2-VL with random weights is trained, from another folder than the export's. What its
template made of a row is held against the row: every word, and a picture for each name.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.works_with.trial import Found, Trial, make_release, read_rows, run_overread, run_trial


def _prepare(work: Path) -> None:
    root = make_release(work, patients=5, exams="medthinkvqa")
    run_overread("export", "chat", "medthinkvqa", root, "--style", "ms-swift", "--out", work / "rows")


def _job(work: Path) -> Found:
    from tools.works_with.gpu_builds import allow_gpu_builds
    from tools.works_with.tiny_qwen import make_tiny_qwen

    allow_gpu_builds()
    import swift
    from swift.pipelines import SwiftSft

    rows = read_rows(work / "rows/train.jsonl")
    model = make_tiny_qwen(work / "model", (turn["content"] for row in rows for turn in row["messages"]))
    words = {
        "model": model,
        "model_type": "qwen2_vl",
        "template": "qwen2_vl",
        "dataset": work / "rows/train.jsonl",
        "tuner_type": "full",
        "torch_dtype": "float32",
        "max_steps": 2,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 1,
        "output_dir": work / "out",
        "save_strategy": "no",
        "logging_steps": 1,
        "split_dataset_ratio": 0,
        "report_to": "none",
        "use_hf": "true",
        "use_cpu": "true",
        "dataloader_num_workers": 0,
        "dataset_shuffle": "false",
    }
    job = SwiftSft([part for name, value in words.items() for part in (f"--{name}", str(value))])
    row = rows[0]
    encoded = job.template.encode({"messages": row["messages"], "images": row["images"]})
    text = job.template.tokenizer.decode(encoded["input_ids"])
    assert text.count("<|vision_start|>") == len(row["images"])
    question = row["messages"][1]["content"].removeprefix("<image>" * len(row["images"]))
    assert all(
        words in text for words in (row["messages"][0]["content"], question, row["messages"][2]["content"])
    )
    assert "<image>" not in text
    done = job.main()
    assert done["global_step"] == 2
    return {
        "ms-swift": swift.__version__,
        "rows": len(rows),
        "pictures of the first row": len(row["images"]),
        "steps": done["global_step"],
        "losses": [step["loss"] for step in done["log_history"] if "loss" in step],
    }


TRIAL = Trial(
    module="tools.works_with.try_ms_swift",
    requirements=("torch==2.13.0", "torchvision", "ms-swift==4.6.0", "qwen_vl_utils"),
    prepare=_prepare,
    job=_job,
)

if __name__ == "__main__":
    sys.exit(run_trial(TRIAL, __doc__))
