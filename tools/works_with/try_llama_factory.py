"""Tries `overread export chat --style llama-factory` with LLaMA-Factory: its registry, two steps.

    python -m tools.works_with.try_llama_factory .venv-llama-factory

Its own `get_dataset` finds the rows by the registry; what it made of one is held against the row.
Then a tiny Qwen2-VL with random weights is trained, from another folder than the export's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tools.works_with.trial import Found, Trial, make_release, read_rows, run_overread, run_trial


def _prepare(work: Path) -> None:
    root = make_release(work, patients=5, exams="medthinkvqa")
    run_overread("export", "chat", "medthinkvqa", root, "--style", "llama-factory", "--out", work / "rows")


def _job(work: Path) -> Found:
    from tools.works_with.gpu_builds import allow_gpu_builds
    from tools.works_with.tiny_qwen import make_tiny_qwen

    allow_gpu_builds()
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.extras.env import VERSION
    from llamafactory.hparams import get_train_args
    from llamafactory.model import load_tokenizer
    from llamafactory.train.tuner import run_exp

    rows = read_rows(work / "rows/train.jsonl")
    model = make_tiny_qwen(work / "model", (turn["content"] for row in rows for turn in row["messages"]))
    words = {
        "model_name_or_path": str(model),
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "full",
        "dataset_dir": str(work / "rows"),
        "dataset": "medthinkvqa_train",
        "template": "qwen2_vl",
        "cutoff_len": 8192,
        "output_dir": str(work / "out"),
        "max_steps": 2,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 1,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
    }
    model_args, data_args, training_args, _, _ = get_train_args(dict(words))
    loaded = load_tokenizer(model_args)
    template = get_template_and_fix_tokenizer(loaded["tokenizer"], data_args)
    found = get_dataset(template, model_args, data_args, training_args, stage="sft", **loaded)[
        "train_dataset"
    ]
    assert len(found) == len(rows)
    for made, row in zip(found, rows, strict=True):
        text = loaded["tokenizer"].decode(made["input_ids"])
        assert text.count("<|vision_start|>") == len(row["images"]) == len(made["images"])
        assert all(Path(file).is_file() for file in made["images"])
        taught = loaded["tokenizer"].decode([token for token in made["labels"] if token >= 0])
        assert taught.startswith(row["messages"][2]["content"])  # the answer alone is learnt
        assert row["messages"][0]["content"] in text
    run_exp(dict(words))
    told = json.loads((work / "out/trainer_state.json").read_text())
    assert told["global_step"] == 2
    return {
        "llamafactory": VERSION,
        "rows": len(rows),
        "pictures of the first row": len(rows[0]["images"]),
        "steps": told["global_step"],
        "losses": [step["loss"] for step in told["log_history"] if "loss" in step],
    }


TRIAL = Trial(
    module="tools.works_with.try_llama_factory",
    requirements=("torch==2.13.0", "torchvision", "llamafactory==0.9.5"),
    prepare=_prepare,
    job=_job,
)

if __name__ == "__main__":
    sys.exit(run_trial(TRIAL, __doc__))
