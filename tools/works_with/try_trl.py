"""Tries `overread export chat --style trl` with TRL: SFTTrainer, its own collator, two steps.

    python -m tools.works_with.try_trl .venv-trl

A tiny Qwen2-VL with random weights is trained, from another folder than the export's. What the
collator made of a row is held against the row: every word, and a picture for each name.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.works_with.trial import Found, Trial, make_release, read_rows, run_overread, run_trial


def _prepare(work: Path) -> None:
    root = make_release(work, patients=5, exams="medthinkvqa")
    run_overread("export", "chat", "medthinkvqa", root, "--style", "trl", "--out", work / "rows")


def _job(work: Path) -> Found:
    from tools.works_with.gpu_builds import allow_gpu_builds
    from tools.works_with.tiny_qwen import make_tiny_qwen

    allow_gpu_builds()
    import datasets
    import transformers
    import trl

    rows = read_rows(work / "rows/train.jsonl")
    model = make_tiny_qwen(work / "model", (turn["content"] for row in rows for turn in row["messages"]))
    loaded = datasets.load_dataset(str(work / "rows"), split="train", cache_dir=str(work / "cache"))
    assert loaded["id"][:] == [row["id"] for row in rows]
    settings = trl.SFTConfig(
        output_dir=str(work / "out"),
        max_steps=2,
        per_device_train_batch_size=2,
        max_length=None,  # else the marks of pictures are cut off
        bf16=False,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
    )
    trainer = trl.SFTTrainer(model=str(model), args=settings, train_dataset=loaded)
    batch = trainer.data_collator([loaded[0], loaded[1]])
    shown = [len(row["images"]) for row in rows[:2]]
    assert len(batch["image_grid_thw"]) == sum(shown), batch["image_grid_thw"]
    for seen, row, many in zip(batch["input_ids"], rows, shown, strict=False):
        text = trainer.processing_class.tokenizer.decode(seen)
        assert text.count("<|vision_start|>") == many
        assert all(turn["content"] in text for turn in row["messages"])
        assert text.index("<|vision_end|>") < text.index(row["messages"][1]["content"])
    done = trainer.train()
    assert done.global_step == 2
    return {
        "trl": trl.__version__,
        "transformers": transformers.__version__,
        "collator": type(trainer.data_collator).__name__,
        "rows": len(rows),
        "pictures of the first two rows": shown,
        "steps": done.global_step,
        "losses": [step["loss"] for step in trainer.state.log_history if "loss" in step],
    }


TRIAL = Trial(
    module="tools.works_with.try_trl",
    requirements=("torch==2.13.0", "torchvision", "trl==1.16.0", "transformers==5.22.2", "pillow"),
    prepare=_prepare,
    job=_job,
)

if __name__ == "__main__":
    sys.exit(run_trial(TRIAL, __doc__))
