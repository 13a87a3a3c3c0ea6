"""MLflow, Weights & Biases, TensorBoard, pandas and polars themselves: what is written is read back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from overread.runs.scoring.card import read_card
from tests.runs.medthinkvqa_cases import write_cases
from tests.works_with.foreign_programs import find_program

pytestmark = pytest.mark.slow
READBACK = Path(__file__).parent / "tracker_readback.py"


def in_environment(*words: str | Path) -> str:
    """What a command prints in the environment that has the programs; overread is this checkout's."""
    python = find_program("python", ".venv-trackers", "OVERREAD_TRACKERS_PYTHON")
    own = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB_", "MLFLOW_"))}
    done = subprocess.run([python, *words], capture_output=True, text=True, check=False, env=own)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, begun, continued and scored, each time logged to all three trackers."""
    folder = tmp_path_factory.mktemp("tracked")
    root = write_cases(folder / "data", 25)
    logs = [f"mlflow:{folder / 'ml'}", f"wandb:{folder / 'wb'}", f"tensorboard:{folder / 'tb'}"]
    flags = [word for log in logs for word in ("--log-to", log)]
    words = ("-m", "overread", "run", "medthinkvqa", root, "--reader", "random", "--out", folder / "mine")
    in_environment(*words, "--limit", "5", *flags)
    told = in_environment(*words, *flags)
    for name in ("mlflow", "wandb", "tensorboard"):
        assert f"logged to {name}: " in told
    table = folder / "results.parquet"
    told = in_environment("-m", "overread", "score", folder / "mine", "--json", "--table", table, *flags)
    json.loads(told)  # nothing but JSON on standard output, whatever the trackers like to say
    return folder


@pytest.mark.parametrize(("name", "place"), [("mlflow", "ml"), ("wandb", "wb"), ("tensorboard", "tb")])
def test_each_program_reads_back_what_was_logged(folder: Path, name: str, place: str) -> None:
    """One run of that name, with its settings, its totals and every score of the card."""
    found: dict[str, Any] = json.loads(in_environment(READBACK, name, folder / place))
    card = read_card(folder / "mine")
    assert found["runs"] == 1
    assert found["name"].startswith("mine")
    assert "random" in str(found["settings"])
    numbers = found["numbers"]
    assert numbers["run/readings"] == 25
    for metric, score in card.scores.items():
        for key, value in (
            (metric, score.value),
            (f"{metric}_low", score.low),
            (f"{metric}_high", score.high),
        ):
            if value is None:
                assert key not in numbers
            else:
                # TensorBoard keeps single precision.
                assert numbers[key] == pytest.approx(value, rel=1e-6), key
    assert str(folder) not in json.dumps(found)


TABLES = """
import json, sys
import pandas as pd, polars as pl
from overread.runs.scoring.card import read_card
file = sys.argv[1]
a, b = pd.read_parquet(file), pl.read_parquet(file)
assert [str(a[n].dtype) for n in ("value", "low", "high", "n")] == ["float64"] * 3 + ["int64"], a.dtypes
assert [b.schema[n] for n in ("value", "low", "high", "n")] == [pl.Float64] * 3 + [pl.Int64], b.schema
assert all(b.schema[n] == pl.String for n in ("reader", "level", "case", "group", "metric", "note")), b.schema
assert a["metric"].tolist() == b["metric"].to_list()
pandas = a[a.level == "case"].groupby("metric")["value"].mean()["accuracy"]
polars = b.filter((pl.col("level") == "case") & (pl.col("metric") == "accuracy"))["value"].mean()
card = read_card(__import__("pathlib").Path(sys.argv[2]))
one, other = card.to_pandas(), card.to_polars()
assert one["metric"].tolist() == other["metric"].to_list() == list(card.scores)
assert other.schema["value"] == pl.Float64 and other["value"].to_list() == [s.value for s in card.scores.values()]
json.dump([pandas, polars, card.scores["accuracy"].value], sys.stdout)
"""


def test_pandas_and_polars_read_the_table(folder: Path) -> None:
    """The same numbers and the right types in both, and the mean of the cases is the score."""
    told = in_environment("-c", TABLES, folder / "results.parquet", folder / "mine")
    pandas, polars, expected = json.loads(told)
    assert pandas == pytest.approx(expected)
    assert polars == pytest.approx(expected)


def test_both_read_the_csv_without_being_told_types(folder: Path) -> None:
    """Numbers stay numbers where types are guessed by the first lines."""
    file = folder / "again.csv"
    in_environment("-m", "overread", "score", folder / "mine", "--table", file)
    code = (
        "import sys, pandas as pd, polars as pl\n"
        "a, b = pd.read_csv(sys.argv[1]), pl.read_csv(sys.argv[1])\n"
        "print(a['value'].dtype, a['n'].dtype, b.schema['value'], b.schema['n'], len(a) == len(b))"
    )
    assert in_environment("-c", code, file).split() == ["float64", "int64", "Float64", "Int64", "True"]
