"""A scorecard as a table, and in a notebook."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from overread.core.notice import NOTICE
from overread.runs.scoring.card import Card, DescribedScore

CARD = Card(
    benchmark="medthinkvqa",
    split="test",
    reader="<script>me</script>",
    predictions="mine.jsonl",
    cases=5,
    missing=1,
    failed=2,
    scores={
        "accuracy": DescribedScore(
            value=0.4, low=0.1, high=0.7, n=5, better="higher", about="right", reference="ours"
        ),
        "brier": DescribedScore(value=None, n=0, better="lower", about="a < b & c", reference="Brier 1950"),
    },
    signature={},
    official=("accuracy",),
)


def test_scores_are_a_table() -> None:
    """One row a metric, in order, with types that do not hang on what is undefined."""
    table = CARD.to_arrow()
    assert table.column_names == [
        "metric", "value", "low", "high", "n", "better", "official", "about", "reference",
        "method", "note",
    ]  # fmt: skip
    assert table.to_pylist()[0] == {
        "metric": "accuracy", "value": 0.4, "low": 0.1, "high": 0.7, "n": 5, "better": "higher",
        "official": True, "about": "right", "reference": "ours", "method": "", "note": "",
    }  # fmt: skip
    assert table["value"].to_pylist() == [0.4, None]
    assert table["official"].to_pylist() == [True, False]


def test_the_table_in_pandas() -> None:
    """Undefined numbers are NaN, and columns of numbers are numbers."""
    pytest.importorskip("pandas")
    frame = CARD.to_pandas()
    assert list(frame["metric"]) == ["accuracy", "brier"]
    assert frame["value"].dtype == float
    assert math.isnan(frame["value"][1])


def test_without_pandas_one_sentence_says_so() -> None:
    """In a process of its own: what is imported once stays."""
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from tests.runs.scoring.test_card import CARD\n"
        "try:\n    CARD.to_pandas()\nexcept Exception as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "pandas is not installed: pip install pandas\n"


def test_a_card_shows_itself() -> None:
    """As a table without anything that a page would run, and with the notice once."""
    html = CARD._repr_html_()
    assert "&lt;script&gt;me" in html
    assert "a &lt; b &amp; c" in html
    assert "<script" not in html
    assert html.count(NOTICE) == 1
    assert "<td>accuracy</td><td>0.4</td><td>0.1</td><td>0.7</td><td>5</td>" in html
    assert "5 cases, 1 missing, 2 failed." in html
    few = CARD.scores["accuracy"].model_copy(update={"low": None, "high": None, "note": "only 4 cases: …"})
    html = CARD.model_copy(update={"scores": {"accuracy": few}})._repr_html_()
    assert "<td>accuracy</td><td>0.4</td><td>only 4 cases</td>" in html
