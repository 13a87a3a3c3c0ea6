"""Every command that writes, and the material that they work on.

Not here: `get`, which leaves fetching to huggingface_hub; `view`, which serves until it is stopped; and
`demo`, which is several of these in a row and makes an earlier demo anew.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.sketches.release import write_sketch


@dataclass(frozen=True)
class Command:
    """One command that writes: its words, and what lies in its place before."""

    words: str
    before: str = ""
    """A folder or file of the material that is copied to {place}/out first."""
    typed: str = ""
    """What a person types."""


_MODEL = "--reader openai --reader-arg base_url={server} --reader-arg model=m --concurrency 4"

COMMANDS = {
    "run": Command("run medthinkvqa {texts} --reader longest --repeat 10 --out {place}/out"),
    "run-model": Command(f"run medthinkvqa {{texts}} {_MODEL} --limit 60 --out {{place}}/out"),
    "run-masks": Command("run rexgroundingct {rex} --reader oracle --out {place}/out"),
    "run-atlas": Command("run mmrad {mm} --reader atlas --out {place}/out"),
    "score": Command("score {place}/out --draws 50 --table {place}/out.parquet", before="run"),
    "score-masks": Command("score {place}/out --draws 50 --workers 2", before="masks"),
    "sweep": Command(
        "sweep medthinkvqa {texts} --reader longest --vary image_ratio=50,100 --draws 20 --out {place}/out"
    ),
    "audit": Command("audit {place}/out --draws 20 --arms hidden,other", before="cited"),
    "judge": Command(f"judge {{place}}/out --judge steps {_MODEL}", before="explained"),
    "judge-sheet": Command("judge {judged} --sheet {place}/sheet.csv"),
    "adjudicate": Command("adjudicate {place}/out --as ann", before="judged", typed="f\n" * 200),
    "adjudicate-import": Command("adjudicate {place}/out --import {sheet}", before="asked"),
    "adjudicate-export": Command("adjudicate {asked} --export {place}/out.csv --as ann"),
    "submit": Command("submit {run} --out {place}/out.jsonl --name a --link http://a.b"),
    "submit-zip": Command("submit {masks} --out {place}/out.zip"),
    "submit-folder": Command("submit {masks} --out {place}/out"),
    "submit-layout": Command("submit {masks} --out {place}/out --layout grand-challenge"),
    "report": Command("report {scored} --out {place}/out.html"),
    "write-mmrad": Command("write mmrad {mm} {place}/out --split all"),
    "write-medthinkvqa": Command("write medthinkvqa {med} {place}/out --split all"),
    "write-rexgroundingct": Command("write rexgroundingct {rex} {place}/out --split all"),
    "publish": Command("publish mmrad {place}/out", before="mm"),
    "publish-out": Command("publish mmrad {mm} --out {place}/out --private {place}/private"),
    "export-parquet": Command("export parquet mmrad {mm} --out {place}/out"),
    "export-chat": Command("export chat mmrad {mm} --style llama-factory --out {place}/out"),
    "export-anole": Command("export anole mmrad {mm} --out {place}/out"),
    "export-vlmevalkit": Command("export vlmevalkit medthinkvqa {med} --with-test-truth --out {place}/out"),
    "export-lmms-eval": Command("export lmms-eval medthinkvqa {med} --with-test-truth --out {place}/out"),
    "export-nnunet": Command("export nnunet rexgroundingct {rex} --out {place}/out"),
    "export-nifti": Command("export nifti rexgroundingct {rex} --out {place}/out"),
    "export-dicom-seg": Command("export dicom-seg rexgroundingct {rex} --out {place}/out"),
    "export-grand-challenge": Command("export grand-challenge rexgroundingct {rex} --out {place}/out"),
    "export-label-studio": Command("export label-studio mmrad {mm} --style prefilled --out {place}/out"),
    "import-rows": Command(
        "import label-studio medthinkvqa {med} {chosen} --split train --out {place}/out.jsonl"
    ),
    "import-masks": Command(
        "import label-studio rexgroundingct {rex} {brushed} --split train --out {place}/out.zip"
    ),
    "deidentify": Command(
        "deidentify {sources} --out {place}/out --keep-map {place}/map.json --secret {secret}"
    ),
    "deidentify-dicom": Command("deidentify {dicoms} --out {place}/out --secret {secret}"),
    "deidentify-secret": Command("deidentify {table} --tags --out {place}/out --secret {place}/secret"),
    "build-mmrad": Command("build mmrad {sources} --out {place}/out"),
    "build-rexgroundingct": Command("build rexgroundingct {reports} --out {place}/out --setting others=keep"),
    "quality": Command("quality {place}/out --draw 3 --seed 1", before="rex-build"),
    "ledger": Command("ledger {build} --export {place}/out.parquet"),
    "phantom-texts": Command("phantom {place}/out --patients 200 --text-only"),
    "phantom-films": Command("phantom {place}/out --patients 1 --exams mmrad --workers 1"),
    "phantom-cts": Command("phantom {place}/out --patients 1 --exams rexgroundingct --workers 1"),
    "read-text": Command("read-text --csv {table} --column report --id id --out {place}/out.csv"),
    "grade": Command(
        "grade medthinkvqa {texts} {predictions} --draws 50 --out {place}/card.json --table {place}/t.csv"
    ),
    "grade-masks": Command("grade rexgroundingct {rex} {zip} --draws 50 --workers 2 --out {place}/card.json"),
    "look": Command("look {ct} --save {place}/out.png"),
    "show": Command("show rexgroundingct {rex} #1 --truth --save {place}/out"),
    "password": Command("password {place}/passwords ann", typed="correct horse battery\n"),
}  # fmt: skip


def make_material(home: Path, server: str, run: Callable[[str, str], object]) -> dict[str, str]:
    """Releases, runs, builds and tables under `home`, by the names that the commands call them by.

    `run(words, typed)` gives an `overread` command.
    """
    home.mkdir()
    write_sketch(home / "sketch")
    found = {
        "server": server,
        "texts": str(home / "texts" / "medthinkvqa"),
        **{short: str(home / "sketch" / name) for short, name in _SKETCHES.items()},
        "ct": str(next((home / "sketch" / "rexgroundingct" / "images").iterdir())),
    }
    found |= {"table": _write_table(home), "sources": _write_films(home), "reports": _write_reports(home)}
    for words, typed in _STEPS:
        run(words.format(home=home, model=_MODEL.format(server=server), **found), typed)
    shutil.copytree(home / "judged", home / "asked-run")
    for name in _MADE:
        found[name] = str(home / name)
    found |= {"chosen": _annotate(home / "tasks-choices"), "brushed": _annotate(home / "tasks-masks")}
    found |= {"predictions": str(home / "predictions.jsonl"), "zip": str(home / "masks.zip")}
    run(f"adjudicate {home}/asked-run --as bob", "f\n" * 200)
    found["asked"] = str(home / "asked-run-judge-checked")
    run(f"adjudicate {found['asked']} --export {home}/sheet.csv --as bob", "")
    found["sheet"] = str(home / "sheet.csv")
    return found


_SKETCHES = {"med": "medthinkvqa", "rex": "rexgroundingct", "mm": "mmrad"}
_BOXES = {
    "right lung": [5, 5, 45, 90],
    "left lung": [50, 5, 90, 90],
    "right costophrenic angle": [5, 70, 25, 90],
    "right lower lung zone": [5, 60, 45, 90],
    "cardiac silhouette": [35, 45, 75, 90],
}
_MADE = "run scored masks explained judged cited build rex-build dicoms secret".split()
_STEPS = (
    ("phantom {home}/texts --patients 150 --text-only", ""),
    ("run medthinkvqa {texts} --reader longest --out {home}/run", ""),
    ("run medthinkvqa {texts} --reader longest --out {home}/scored", ""),
    ("score {home}/scored --draws 50", ""),
    ("submit {home}/run --out {home}/predictions.jsonl", ""),
    ("run medthinkvqa {texts} --reader oracle --limit 20 --out {home}/explained", ""),
    ("run medthinkvqa {texts} --reader oracle --limit 20 --out {home}/judged", ""),
    ("judge {home}/judged --judge steps {model}", ""),
    ("run rexgroundingct {rex} --reader oracle --out {home}/masks", ""),
    ("submit {home}/masks --out {home}/masks.zip", ""),
    ("run mmrad {mm} --reader atlas --out {home}/cited", ""),
    ("build mmrad {sources} --out {home}/build", ""),
    ("build rexgroundingct {reports} --out {home}/rex-build --setting others=keep", ""),
    ("export dicom-seg rexgroundingct {rex} --split train --out {home}/dicoms", ""),
    ("export label-studio medthinkvqa {med} --split train --style prefilled --out {home}/tasks-choices", ""),
    ("export label-studio rexgroundingct {rex} --split train --style prefilled --out {home}/tasks-masks", ""),
    ("deidentify {table} --out {home}/clean --secret {home}/secret", ""),
)


def _write_table(home: Path) -> str:
    rows = [
        (n, f"A nodule of {n % 9 + 1} mm in the left upper lobe. Dr. Ann Miller, 03/04/2021")
        for n in range(300)
    ]
    with (home / "reports.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "report"), *rows])
    return str(home / "reports.csv")


def _write_films(home: Path) -> str:
    """A source of radiographs: those of the sketch, with reports."""
    source = home / "sources" / "mmrad"
    (source / "images").mkdir(parents=True)
    rows = []
    for number, film in enumerate(sorted((home / "sketch" / "mmrad").rglob("problem_image_1.jpg"))):
        shutil.copy(film, source / "images" / f"f{number}.jpg")
        said = "FINDINGS: There is a pleural effusion on the right. The heart is of normal size."
        row = {"id": f"f{number}", "patient": f"p{number}", "image": f"images/f{number}.jpg", "report": said}
        rows.append(row | {"regions": [{"name": name, "box": box} for name, box in _BOXES.items()]})
    (source / "reports.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(source)


def _write_reports(home: Path) -> str:
    """A source of CT reports."""
    folder = home / "ct-reports"
    folder.mkdir()
    head = ("VolumeName", "ClinicalInformation_EN", "Technique_EN", "Findings_EN", "Impressions_EN")
    said = "A nodule of 8 mm is observed in the upper lobe of the right lung. Bilateral pleural effusion."
    rows = [(f"train_{n}_a_1.nii.gz", "A man.", "Axial.", said, "As said.") for n in range(1, 40)]
    with (folder / "reports.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return str(folder)


def _annotate(tasks: Path) -> str:
    """Tasks of Label Studio as it exports them, each annotated as it was filled in before."""
    rows = []
    for number, task in enumerate(json.loads((tasks / "tasks.json").read_text("utf-8"))):
        done = {"completed_by": 1, "was_cancelled": False, "updated_at": "2026-01-01T00:00:00Z"}
        given = [done | {"result": task["predictions"][0]["result"]}]
        rows.append({"id": number, "data": task["data"], "annotations": given})
    (tasks / "export.json").with_name("annotated.json").write_text(json.dumps(rows), "utf-8")
    return str(tasks / "annotated.json")
