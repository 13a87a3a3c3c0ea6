"""Intact inputs of every kind that overread reads, and the commands that read each."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from pathlib import Path

from tests.sketches.release import write_sketch
from tools.mutate.given_files import given_files
from tools.mutate.input_file import Input, Words, give
from tools.mutate.pictures import pictures
from tools.mutate.texts import texts


def make_inputs(folder: Path) -> list[Input]:
    """Write everything under `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_sketch(folder)
    found = [*_releases(folder), *_submissions(folder), *_runs(folder), *_builds(folder)]
    return [*found, *pictures(folder), *texts(folder), *given_files(folder)]


def _releases(folder: Path) -> list[Input]:
    import pyarrow as pa
    from pyarrow import parquet

    found = []
    for name, lists in (
        ("medthinkvqa", ["test.jsonl", "train.jsonl"]),
        ("mmrad", ["test.jsonl"]),
        ("rexgroundingct", ["dataset.json", "images/test_3_a_1.nii.gz", "segmentations/test_3_a_1.nii.gz"]),
    ):
        root = folder / name
        checked: Words = ("check", name, str(root), "--json")
        for file in lists:
            split = "train" if "train" in file else "test"
            more = () if file.endswith(".gz") else ("--no-pixels",)
            shown: Words = ("show", name, str(root), "#1", "--truth", "--split", split)
            written: Words = ("write", name, str(root), "OUT", "--split", split)
            commands = ((*checked, "--split", split, *more), shown, written)
            found.append(Input(f"{name} {Path(file).suffix}", root / file, commands))
        pictures = sorted(root.rglob("*.jpg"))[6:8]
        found += [Input(f"{name} picture", picture, (checked,)) for picture in pictures]
    for name, picture in (("medthinkvqa", "images"), ("mmrad", "IVLImage")):
        table = folder / f"{name}-parquet"
        table.mkdir()
        shutil.copytree(folder / name / picture, table / picture)
        rows = [json.loads(line) for line in (folder / name / "test.jsonl").read_text("utf-8").splitlines()]
        parquet.write_table(pa.Table.from_pylist(rows), table / "test.parquet")
        checked = ("check", name, str(table), "--no-pixels", "--json")
        found.append(Input(f"{name} .parquet", table / "test.parquet", (checked,)))
    return found


def _submissions(folder: Path) -> list[Input]:
    made = folder / "submissions"
    made.mkdir()
    rows = [json.loads(line) for line in (folder / "medthinkvqa/test.jsonl").read_text("utf-8").splitlines()]
    rows = [row | {"prediction": row["correct_answer"]} for row in rows]
    few = [{"title": row["title"], "prediction": row["prediction"]} for row in rows if "title" in row] or rows
    table = io.StringIO()
    writer = csv.DictWriter(table, list(few[0]))
    writer.writeheader()
    writer.writerows(few)
    import pyarrow as pa
    from pyarrow import parquet

    (made / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (made / "a.json").write_text(json.dumps(rows), "utf-8")
    (made / "a.csv").write_text(table.getvalue(), "utf-8")
    (made / "a.tsv").write_text(table.getvalue().replace(",", "\t"), "utf-8")
    parquet.write_table(pa.Table.from_pylist(rows), made / "a.parquet")
    masks = folder / "rexgroundingct" / "segmentations"
    with zipfile.ZipFile(made / "masks.zip", "w") as archive:
        for file in sorted(masks.glob("test_*.nii.gz")):
            archive.write(file, file.name)
    root = str(folder / "medthinkvqa")
    found = [
        Input(
            f"submission {file.suffix}",
            file,
            (("grade", "medthinkvqa", root, str(file), "--draws", "0", "--json"),),
        )
        for file in sorted(made.glob("a.*"))
    ]
    masks_words: Words = ("grade", "rexgroundingct", str(folder / "rexgroundingct"), str(made / "masks.zip"))
    words = (*masks_words, "--draws", "0", "--workers", "1", "--fresh")
    return [*found, Input("submission .zip", made / "masks.zip", (words,))]


def _runs(folder: Path) -> list[Input]:
    found = []
    for reader in ("random", "majority"):
        give(
            "run",
            "medthinkvqa",
            folder / "medthinkvqa",
            "--reader",
            reader,
            "--out",
            folder / "runs" / reader,
        )
        give("score", folder / "runs" / reader)
    run, other = folder / "runs" / "random", folder / "runs" / "majority"
    scored: tuple[Words, ...] = (
        ("score", str(run), "--draws", "0"),
        ("submit", str(run), "--out", "OUT"),
        ("show", "medthinkvqa", str(folder / "medthinkvqa"), "#1", "--run", str(run)),
        ("run", "medthinkvqa", str(folder / "medthinkvqa"), "--reader", "random", "--out", str(run)),
    )
    compared: tuple[Words, ...] = (
        ("compare", str(run), str(other), "--draws", "0"),
        ("power", str(run), str(other), "--difference", "0.1"),
        ("mrmc", f"a={run}", f"b={other}"),
        ("report", str(run), "--out", "OUT.html"),
    )
    for file in sorted(path for path in run.rglob("*") if path.is_file()):
        commands = compared if file.name == "card.json" else scored
        found.append(Input(f"run {file.name}", file, commands))
    return found


def _builds(folder: Path) -> list[Input]:
    sources = _build_sources(folder)
    found = []
    for name, settings in (("rexgroundingct", ("--setting", "others=keep")), ("medthinkvqa", ())):
        source, out = sources / name, folder / "builds" / name
        give("build", name, source, "--out", out, *settings)
        again: Words = ("build", name, str(source), "--out", str(out), *settings)
        commands: tuple[Words, ...] = (
            ("ledger", str(out)),
            ("ledger", str(out), "--export", "OUT.parquet"),
            ("ledger", str(out), "#1"),
            ("adjudicate", str(out), "--progress"),
            ("adjudicate", str(out), "--verify"),
            ("adjudicate", str(out), "--agreement", "--draws", "0"),
            again,
        )
        if name == "rexgroundingct":
            found += _verdicts(folder, out, commands)
        files = [
            path
            for path in out.iterdir()
            if path.is_file() and path.stat().st_size and "-shm" not in path.name
        ]
        found += [Input(f"build {path.name}", path, commands) for path in sorted(files)]
        if (out / "release").is_dir():
            for path in sorted(path for path in (out / "release").iterdir() if path.is_file()):
                read = (("check", name, str(out / "release"), "--split", "all", "--json"), again)
                found.append(Input(f"built release {path.name}", path, read))
        for path in sorted(path for path in source.iterdir() if path.is_file()):
            previewed = (("build", name, str(source), "--out", "OUT", "--preview", "2"),)
            found.append(Input(f"source {path.suffix}", path, previewed))
    return found


def _build_sources(folder: Path) -> Path:
    """Reports of CTs as a table, and cases as lines."""
    sources = folder / "sources"
    (sources / "rexgroundingct").mkdir(parents=True)
    said = (
        "A nodule of 8 mm is observed in the upper lobe of the right lung. Bilateral pleural effusion.",
        "Ground glass opacities are observed in the lower lobe of the left lung. No effusion.",
        "Consolidation in the middle lobe of the right lung. Emphysema in both lungs.",
    )
    heads = "VolumeName,ClinicalInformation_EN,Technique_EN,Findings_EN,Impressions_EN\n"
    rows = "".join(
        f'train_{n}_a_1.nii.gz,A man.,Axial.,"{text}",As said.\n' for n, text in enumerate(said, 1)
    )
    (sources / "rexgroundingct" / "reports.csv").write_text(heads + rows, "utf-8")
    shutil.copytree(folder / "medthinkvqa" / "images", sources / "medthinkvqa" / "images")
    lines = "".join((folder / f"medthinkvqa/{split}.jsonl").read_text("utf-8") for split in ("train", "test"))
    cases = []
    for number, row in enumerate(map(json.loads, lines.splitlines()), 1):
        images = [row[f"image_{n:02}_path"] for n in range(1, row["image_count"] + 1)]
        told = {"history": row["CLINICAL_HISTORY"], "differential": list(row["options"].values())}
        told |= {"final_diagnosis": row["correct_answer_text"], "discussion": row["discussion"]}
        cases.append({"id": f"c{number}", **told, "images": images})
    made = "".join(json.dumps(case) + "\n" for case in cases)
    (sources / "medthinkvqa" / "cases.jsonl").write_text(made, "utf-8")
    return sources


def _verdicts(folder: Path, build: Path, commands: tuple[Words, ...]) -> list[Input]:
    """Verdicts of two people in the log of a build, and the sheet of one."""
    for person in ("ann", "bob"):
        give("adjudicate", build, "--as", person, typed="d\n" * 9)
    sheets = folder / "sheets"
    sheets.mkdir()
    for kind in ("csv", "jsonl"):
        give("adjudicate", build, "--export", sheets / f"ann.{kind}", "--as", "ann")
    taken: tuple[Words, ...] = (("adjudicate", str(build), "--import", "FILE", "--as", "cid"),)
    found = []
    for file in sorted(sheets.iterdir()):
        words = tuple(tuple(str(file) if word == "FILE" else word for word in one) for one in taken)
        found.append(Input(f"verdicts {file.suffix}", file, words))
    return found
