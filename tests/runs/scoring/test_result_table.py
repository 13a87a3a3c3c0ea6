"""Results as one long table: rows, types, and the kinds of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from overread.errors import UsageError
from overread.runs.engine import RunPlan, run
from overread.runs.scoring.case_scores import values_by_case
from overread.runs.scoring.from_run import score
from overread.runs.scoring.result_table import check_table_path, read_case_lines, write_table
from tests.cli.overread_command import run as overread
from tests.runs.medthinkvqa_cases import write_cases

TEXTS = "benchmark split reader level breakdown group case patient metric better note".split()


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a scored run."""
    folder = tmp_path_factory.mktemp("table")
    run(RunPlan("medthinkvqa", write_cases(folder / "data", 9), "longest"), folder / "run")
    score(folder / "run")
    return folder


def table_of(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".parquet":
        return list(pq.read_table(file).to_pylist())
    if file.suffix == ".arrow":
        return list(pa.ipc.open_file(file).read_all().to_pylist())
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text().splitlines()]
    options = pyarrow.csv.ConvertOptions(
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types=dict.fromkeys(TEXTS, pa.string()),
    )
    return list(pyarrow.csv.read_csv(file, convert_options=options).to_pylist())


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_every_number_is_a_row_in_every_kind_of_file(scored: Path, tmp_path: Path, ending: str) -> None:
    """The split, its groups and its cases, the same in each kind."""
    card = score(scored / "run")
    file = tmp_path / f"t{ending}"
    count = write_table(card, values_by_case(card), file)
    rows = table_of(file)
    assert len(rows) == count
    assert {row["level"] for row in rows} == {"split", "group", "case"}
    whole = [row for row in rows if row["level"] == "split" and row["metric"] == "accuracy"]
    assert [(row["value"], row["n"], row["better"]) for row in whole] == [
        (card.scores["accuracy"].value, 9, "higher")
    ]
    cases = [row for row in rows if row["level"] == "case" and row["metric"] == "accuracy"]
    assert len({row["case"] for row in cases}) == 9
    assert sum(row["value"] for row in cases) / 9 == pytest.approx(card.scores["accuracy"].value)
    assert all(row["reader"] == "longest" and row["group"] is None for row in cases)


def test_types_do_not_hang_on_what_is_undefined(scored: Path, tmp_path: Path) -> None:
    """Numbers are numbers and texts are texts, also where a column is empty."""
    card = score(scored / "run")
    write_table(card, (), tmp_path / "t.parquet")
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert {schema.field(name).type for name in TEXTS} == {pa.string()}
    assert {schema.field(name).type for name in ("value", "low", "high")} == {pa.float64()}
    assert schema.field("n").type == pa.int64()


def test_the_table_in_pandas(scored: Path, tmp_path: Path) -> None:
    """pandas reads Parquet and CSV with the same numbers and types."""
    pd = pytest.importorskip("pandas")
    card = score(scored / "run")
    for ending in (".parquet", ".csv"):
        write_table(card, read_case_lines(scored / "run/scores.jsonl"), tmp_path / f"t{ending}")
    one, other = pd.read_parquet(tmp_path / "t.parquet"), pd.read_csv(tmp_path / "t.csv")
    for frame in (one, other):
        assert frame["value"].dtype == "float64"
        assert frame["n"].dtype == "int64"
        means = frame[frame.level == "case"].groupby("metric")["value"].mean()
        assert means["accuracy"] == pytest.approx(card.scores["accuracy"].value)
    assert list(one["metric"]) == list(other["metric"])


def test_the_commands_write_it(scored: Path, tmp_path: Path) -> None:
    """`score` and `grade` of the same readings write the same numbers of cases."""
    code, _, problem = overread("score", scored / "run", "--draws", "0", "--table", tmp_path / "s.parquet")
    assert (code, problem) == (0, "")
    assert overread("submit", scored / "run", "--out", tmp_path / "handed.jsonl")[0] == 0
    words = ("grade", "medthinkvqa", scored / "data", tmp_path / "handed.jsonl", "--draws", "0")
    code, _, problem = overread(*words, "--table", tmp_path / "g.parquet")
    assert (code, problem) == (0, "")
    found = []
    for name in ("s.parquet", "g.parquet"):
        rows = pq.read_table(tmp_path / name).to_pylist()
        found.append(
            {
                (r["case"], r["metric"]): r["value"]
                for r in rows
                if r["level"] == "case" and r["metric"] == "accuracy"
            }
        )
    assert found[0] == found[1]
    assert len(found[0]) == 9
    code, _, problem = overread(*words, "--table", tmp_path / "p.parquet", "--no-statistics")
    assert code != 0
    assert "--table tells of single cases, and --no-statistics leaves them out" in problem
    assert not (tmp_path / "p.parquet").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [("table.xlsx", "end its name in one of .parquet, .csv"), ("table", "does not say what it is to be")],
)
def test_a_table_that_cannot_be_is_told_first(tmp_path: Path, name: str, words: str) -> None:
    """Before anything is scored."""
    with pytest.raises(UsageError, match=words):
        check_table_path(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_table_path(tmp_path / "folder.csv")
