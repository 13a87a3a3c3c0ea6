"""Texts, tables and vocabularies to be damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools.mutate.input_file import Input, Words


def texts(folder: Path) -> list[Input]:
    """Write them under `folder`."""
    import overread

    made = folder / "texts"
    made.mkdir()
    report = "There is a 2.5 cm nodule in the right upper lobe. No effusion.\nDr. Ann Miller, 03/04/2021\n"
    (made / "a.txt").write_text(report * 3, "utf-8")
    (made / "b.csv").write_text(
        "id,report,name\n" + "".join(f'{n},"{report.strip()}",Ann\n' for n in range(4)), "utf-8"
    )
    (made / "c.jsonl").write_text(
        "".join(json.dumps({"id": n, "text": report}) + "\n" for n in range(4)), "utf-8"
    )
    (made / "d.json").write_text(
        json.dumps([{"id": n, "text": report, "name": "Ann"} for n in range(4)]), "utf-8"
    )
    package = Path(overread.__file__).parent
    vocabulary = max(
        (package / "language" / "vocabulary").glob("*.toml"), key=lambda path: path.stat().st_size
    )
    shutil.copy(vocabulary, made / "e.toml")
    regions = next((package / "ontology" / "data").glob("*region*.toml"))
    shutil.copy(regions, made / "f.toml")
    found = []
    for file in sorted(made.glob("[a-d].*")):
        cleaned: Words = ("deidentify", str(file), "--out", "OUT", "--secret", str(folder / "secret"))
        found.append(Input(f"text {file.suffix}", file, (cleaned,)))
    labelled = (
        "read-text",
        "--csv",
        str(made / "b.csv"),
        "--column",
        "report",
        "--id",
        "id",
        "--out",
        "OUT.csv",
    )
    found.append(Input("table .csv", made / "b.csv", (labelled,)))
    found.append(Input("text .txt", made / "a.txt", (("read-text", str(made / "a.txt"), "--json"),)))
    with_words = ("read-text", str(made / "a.txt"), "--vocabulary", str(made / "e.toml"))
    found.append(Input("vocabulary .toml", made / "e.toml", (with_words,)))
    with_regions = ("check", "mmrad", str(folder / "mmrad"), "--no-pixels", "--regions", str(made / "f.toml"))
    found.append(Input("regions .toml", made / "f.toml", (with_regions,)))
    return found
