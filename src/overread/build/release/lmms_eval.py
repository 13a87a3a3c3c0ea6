"""A task for lmms-eval: its page, its functions, the questions and their pictures in one folder.

`lmms_eval --include_path DIR --tasks overread_BENCHMARK_SPLIT` finds it. lmms-eval scores what a model
says itself, so the answers are in the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from overread.benchmarks.output import write_jsonl
from overread.build.release import lmms_eval_task
from overread.build.release.chat_styles import join_root
from overread.build.release.export_job import CannotExport, ExportJob
from overread.build.release.picture_files import flat_bytes, picture_path, write_files
from overread.build.release.vlmevalkit import find_answer
from overread.core import Release
from overread.prompts.templates import find_prompt
from overread.storage.system import write_text

FUNCTIONS = "overread_choices"
"""What the file of functions is called beside the page that names them."""

_PAGE = """task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    {split}: {file}
test_split: {split}
output_type: generate_until
doc_to_visual: !function {functions}.doc_to_visual
doc_to_text: !function {functions}.doc_to_text
doc_to_target: answer
process_results: !function {functions}.process_results
generation_kwargs:
  max_new_tokens: 1024
  temperature: 0
  do_sample: false
metric_list:
- metric: accuracy
  aggregation: mean
  higher_is_better: true
metadata:
- version: 1
"""


def write_lmms_eval(job: ExportJob) -> None:
    """A page and a JSONL file a split, the functions once, the pictures in `images/`."""
    root = job.image_root if job.image_root is not None else job.final_folder
    job.image_root = root
    for release in job.load_splits():
        split = release.split
        write_jsonl(job.out / f"{split}.jsonl", _rows(job, release))
        task = f"overread_{job.benchmark}_{split}"
        page = _PAGE.format(
            task=task,
            split=split,
            file=json.dumps(join_root(root, f"{split}.jsonl"), ensure_ascii=False),
            functions=FUNCTIONS,
        )
        write_text(job.out / f"{task}.yaml", page)
    functions = Path(lmms_eval_task.__file__).read_text("utf-8")
    write_text(job.out / f"{FUNCTIONS}.py", functions)


def _rows(job: ExportJob, release: Release) -> Iterator[dict[str, Any]]:
    for entry in job.entries(release):
        row: dict[str, Any] | None = None
        with job.track_case(entry):
            answer = find_answer(entry)
            files: dict[str, bytes] = {}
            for picture in entry.case.pictures:
                sent = flat_bytes(release, picture)
                files[picture_path(entry, picture.name, sent)] = sent[0]
            if not files:
                raise CannotExport("it has no picture")
            options = "\n".join(f"{option.letter}. {option.text}" for option in entry.case.options)
            history = (entry.case.history or "").strip() or "not given"
            system, question = find_prompt("choose").render({"history": history, "options": options})
            row = {
                "id": entry.case.id,
                "images": list(files),
                "question": f"{system}\n\n{question}",
                "letters": [option.letter for option in entry.case.options],
                "answer": answer,
            }
            write_files(job, files)
        if row is not None:
            yield row
