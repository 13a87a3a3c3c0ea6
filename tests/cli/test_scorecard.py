"""Scorecards and comparisons as they look in a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from overread.cli.scorecard import (
    Column,
    fold_name,
    format_score,
    format_scores,
    print_columns,
    print_reasons,
)
from overread.runs.scoring.card import Score


def printed(width: int, columns: list[Column]) -> list[str]:
    """The lines of a table in a terminal so wide."""
    out = io.StringIO()
    print_columns(Console(file=out, width=width), columns)
    return [line.rstrip() for line in out.getvalue().rstrip().split("\n")]


def test_names_are_broken_at_underscores() -> None:
    """A heading is folded between its words; a word is cut only where it does not fit at all."""
    assert fold_name("mean_global_dice_per_finding", 20).split("\n") == ["mean_global_dice_", "per_finding"]
    assert fold_name("hit_rate", 5) == "hit_\nrate"
    assert fold_name("accuracy", 5) == "accur\nacy"
    assert fold_name("__a_", 8) == "__a_"
    assert fold_name("", 8) == ""


def test_a_number_and_its_interval_have_the_same_places() -> None:
    """Millimetres are not told to a thousandth at one end and a tenth at the other."""
    score = Score(value=132.4, low=67.305, high=179.31, n=1)
    assert format_score(score) == ["132.4", "67.3 – 179.3"]
    assert format_score(Score(value=10.0, low=9.5, high=10.0, n=1)) == ["10.00", "9.50 – 10.00"]
    assert format_score(Score(value=0.5, n=1)) == ["0.500", ""]
    few = Score(value=0.5, n=4, method="none", note="only 4 patients: no interval under 5")
    assert format_score(few) == ["0.500", "only 4 patients"]
    assert format_score(Score(value=None, n=0)) == format_score(None) == ["–", ""]
    lines = format_scores([score, Score(value=7.0, low=1.0, high=8.0, n=1), None])
    assert lines == ["132.4  67.3 – 179.3", "7.000  1.000 – 8.000", "    –"]


def test_a_narrow_terminal_costs_columns_not_names() -> None:
    """What can be spared goes first, the highest number before the others."""
    columns = [
        Column("score", ["mean_global_dice_per_finding"]),
        Column("official", ["0.500"], "right"),
        Column("interval", ["0.400 – 0.600"], spare=1),
        Column("missing = worst", ["0.250"], "right"),
        Column("interval", ["0.100 – 0.400"], spare=2),
    ]
    wide = printed(120, columns)
    assert wide[0].count("interval") == 2
    assert "mean_global_dice_per_finding" in wide[1]
    narrow = printed(68, columns)
    assert narrow[0].count("interval") == 1
    assert "0.400 – 0.600" in narrow[1]
    assert [line[:24].strip() for line in narrow[1:]] == ["mean_global_dice_per_", "finding"]
    assert "interval" not in "".join(printed(50, columns))


def test_a_group_of_names_has_one_reason() -> None:
    """What is not there for the same reason is one entry; twins are not told apart."""
    out = io.StringIO()
    why = "no prediction holds report"
    reasons = {"rouge1": why, "rouge2": why, "ceiling_rouge2": why, "brier": "no probabilities"}
    print_reasons(Console(file=out, width=80), "not scored", reasons)
    assert out.getvalue().split("\n")[:4] == [
        f"not scored, {why}:",
        "  rouge1, rouge2",
        "not scored, no probabilities:",
        "  brier",
    ]


@pytest.mark.parametrize("text", ["[bold]x[/]", "читатель 🩻", "x" * 200])
def test_any_name_can_be_printed(text: str) -> None:
    """Markup, other scripts and long names of readers are printed as they are."""
    lines = printed(60, [Column("score", ["accuracy"]), Column(text, ["0.500"])])
    assert any("accuracy" in line for line in lines)
    assert "0.500" in "".join(lines)
