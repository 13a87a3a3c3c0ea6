"""Files that people hand over beside a release: prices, prompts, names, passwords, other programs' exports,
packed lists, replayed submissions, judges' verdicts, sweeps, audits and cached replies.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

from tools.mutate.input_file import Input, Words, give


def given_files(folder: Path) -> list[Input]:
    """Write them under `folder`."""
    made = folder / "given"
    made.mkdir()
    found = [*_lists(folder, made), *_settings(folder, made), *_other_programs(folder, made)]
    return [*found, *_judged(folder), *_repeated(folder)]


def _lists(folder: Path, made: Path) -> list[Input]:
    """Releases in their other forms: packed, as one JSON, with pictures in the table."""
    packed = made / "packed"
    shutil.copytree(folder / "mmrad", packed)
    rows = (packed / "test.jsonl").read_bytes()
    (packed / "test.jsonl").unlink()
    (packed / "test.jsonl.gz").write_bytes(gzip.compress(rows, mtime=0))
    give("write", "mmrad", folder / "mmrad", made / "one", "--to", "json")
    give(
        "export", "parquet", "medthinkvqa", folder / "medthinkvqa", "--with-test-truth", "--out", made / "pq"
    )
    found = []
    for name, root, file in (
        ("mmrad", packed, packed / "test.jsonl.gz"),
        ("mmrad", made / "one", made / "one" / "test.json"),
        ("medthinkvqa", made / "pq", made / "pq" / "data" / "test-00000.parquet"),
    ):
        checked: Words = ("check", name, str(root), "--json")
        shown: Words = ("show", name, str(root), "#1", "--truth")
        kind = "embedded .parquet" if name == "medthinkvqa" else f"mmrad {''.join(file.suffixes)}"
        found.append(Input(kind, file, (checked, shown)))
    return found


def _settings(folder: Path, made: Path) -> list[Input]:
    """Prices, prompts, names, a secret, passwords, a submission that is replayed."""
    import overread

    root = str(folder / "medthinkvqa")
    (made / "prices.toml").write_text("[m]\ninput = 1.5\noutput = 2\n", "utf-8")
    (made / "prices.json").write_text('{"m": {"input": 1.5, "output": 2}}', "utf-8")
    (made / "names.txt").write_text("Ann Miller\nSt. Mary\nDr. Bob\n", "utf-8")
    said = [{"title": f"Case number 0000{n}", "prediction": "A"} for n in (3, 4)]
    (made / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said), "utf-8")
    prompts = made / "prompts"
    prompts.mkdir()
    own = Path(overread.__file__).parent / "prompts" / "choose.md"
    shutil.copy(own, prompts / "choose.md")
    text = str(folder / "texts" / "a.txt")
    give("deidentify", text, "--out", made / "clean", "--secret", made / "secret")
    give("password", made / "passwords", "ann", typed="correct horse battery\n")
    asked: Words = (
        "run",
        "medthinkvqa",
        root,
        "--out",
        "OUT",
        "--dry-run",
        "--reader",
        "openai",
        "--allow-remote",
    )
    asked = (*asked, "--reader-arg", "model=m", "--reader-arg", "base_url=http://127.0.0.1:9/v1")
    found = [
        Input(f"prices {kind}", made / f"prices{kind}", ((*asked, "--prices", str(made / f"prices{kind}")),))
        for kind in (".toml", ".json")
    ]
    cleaned: Words = ("deidentify", text, "--out", "OUT", "--secret")
    replayed: Words = ("run", "medthinkvqa", root, "--out", "OUT", "--reader", "replay", "--reader-arg")
    return [
        *found,
        Input("prompt .md", prompts / "choose.md", ((*asked, "--setting", f"prompts={prompts}"),)),
        Input(
            "names .txt",
            made / "names.txt",
            ((*cleaned, str(made / "secret"), "--names", str(made / "names.txt")),),
        ),
        Input("secret", made / "secret", ((*cleaned, str(made / "secret")),)),
        Input("passwords", made / "passwords", (("password", str(made / "passwords"), "bob"),)),
        Input("replayed .jsonl", made / "said.jsonl", ((*replayed, f"file={made / 'said.jsonl'}"),)),
    ]


def _other_programs(folder: Path, made: Path) -> list[Input]:
    """An export of Label Studio, for choices and for masks; nnU-Net's label maps; a container's folder."""
    found = []
    for name, out in (("medthinkvqa", "OUT.jsonl"), ("rexgroundingct", "OUT.zip")):
        root, tasks = folder / name, made / f"tasks-{name}"
        give("export", "label-studio", name, root, "--split", "train", "--style", "prefilled", "--out", tasks)
        rows = [
            {
                "id": number,
                "data": task["data"],
                "annotations": [
                    {
                        "completed_by": 1,
                        "was_cancelled": False,
                        "updated_at": "2026-01-01T00:00:00Z",
                        "result": task["predictions"][0]["result"],
                    }
                ],
            }
            for number, task in enumerate(json.loads((tasks / "tasks.json").read_text("utf-8")))
        ]
        file = made / f"{name}.json"
        file.write_text(json.dumps(rows), "utf-8")
        taken: Words = (
            "import",
            "label-studio",
            name,
            str(root),
            str(file),
            "--split",
            "train",
            "--out",
            out,
        )
        found.append(Input("Label Studio .json", file, (taken,)))
    root = folder / "rexgroundingct"
    give("run", "rexgroundingct", root, "--reader", "oracle", "--out", made / "oracle")
    give("submit", made / "oracle", "--out", made / "container", "--layout", "grand-challenge")
    graded: Words = (
        "grade",
        "rexgroundingct",
        str(root),
        str(made / "container"),
        "--draws",
        "0",
        "--workers",
        "1",
    )
    files = sorted(path for path in (made / "container").rglob("*") if path.is_file())
    found += [Input(f"container {file.suffix}", file, ((*graded, "--fresh"),)) for file in files]
    return found


def _judged(folder: Path) -> list[Input]:
    """Verdicts of a judge, and the sheet on which a person rated the same steps."""
    from tests.build.adjudication.sample_questions import judged_by_owl

    run = folder / "runs" / "judged"
    give("run", "medthinkvqa", folder / "medthinkvqa", "--reader", "oracle", "--out", run)
    judged_by_owl(run)
    sheet = folder / "given" / "sheet.csv"
    give("judge", run, "--sheet", sheet)
    lines = sheet.read_text("utf-8-sig").splitlines()
    agreed: Words = ("judge", str(run), "--agreement", str(sheet), "--draws", "0")
    sheet.write_text("\n".join(lines), "utf-8")
    commands: tuple[Words, ...] = (
        ("score", str(run), "--draws", "0"),
        agreed,
        ("adjudicate", str(run), "--progress"),
    )
    return [
        Input("judge's verdicts .jsonl", run / "judge_verdicts.jsonl", commands),
        Input("rated steps .csv", sheet, (agreed,)),
    ]


def _repeated(folder: Path) -> list[Input]:
    """A sweep, an audit and a cache of replies: what a command given again reads of its own."""
    sweep, root = folder / "runs" / "sweep", str(folder / "medthinkvqa")
    swept: Words = ("sweep", "medthinkvqa", root, "--reader", "longest", "--vary", "image_ratio=50,100")
    swept = (*swept, "--draws", "0", "--out", str(sweep))
    give(*swept)
    found = [Input("sweep .json", sweep / "sweep.json", (swept,))]
    run = folder / "runs" / "cited"
    give("run", "mmrad", folder / "mmrad", "--reader", "oracle", "--out", run)
    audited: Words = ("audit", str(run), "--arms", "hidden", "--draws", "0")
    cache = folder / "given" / "replies.sqlite"
    asked: Words = (
        "run",
        "medthinkvqa",
        root,
        "--reader",
        "openai",
        "--reader-arg",
        "model=m",
        "--max-retries",
        "0",
    )
    asked = (*asked, "--reader-arg", "base_url=http://127.0.0.1:9/v1", "--cache", str(cache), "--out", "OUT")
    _write_cache(cache)
    found.append(Input("cache .sqlite", cache, (asked,)))
    return [
        *found,
        Input("cited run .jsonl", run / "readings.jsonl", (audited, ("submit", str(run), "--out", "OUT"))),
    ]


def _write_cache(file: Path) -> None:
    """An empty cache of replies, as a run makes it."""
    from overread.runs.requests.reply_cache import ReplyCache

    ReplyCache(file).close()
    with sqlite3.connect(file) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
