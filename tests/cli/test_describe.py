"""`overread describe`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.overread_command import run


def test_json_and_the_table_tell_the_same(sketch: Path) -> None:
    """Totals of the table are those of the JSON; the paper's numbers are printed when asked for."""
    root = sketch / "rexgroundingct"
    code, out, _ = run("describe", "rexgroundingct", root, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["splits"] == ["train", "test", "all"]
    code, out, _ = run("describe", "rexgroundingct", root, "--published", "--headers", "--limit", "3")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    for total in told["totals"]:
        assert [*total["name"].split(), *(str(n) for n in total["values"].values())] in lines
    assert ["findings", "train", "7,687", "3", "ReXGroundingCT,", "abstract", "and", "data"] in lines
    assert "Volume of a finding" in out
    assert "--limit N, or --json for all" in out


def test_one_split_has_no_column_of_all(sketch: Path) -> None:
    """There is nothing to add up."""
    code, out, _ = run("describe", "mmrad", sketch / "mmrad", "--split", "test", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["splits"] == ["test"]
    assert set(told["tables"][0]["rows"][0]["values"]) == {"test"}


def test_values_from_outside_obey_no_markup(copy: Callable[[str], Path]) -> None:
    """A column's words are printed as they are, without control characters."""
    root = copy("medthinkvqa")
    for split in ("train", "test"):
        file = root / f"{split}.jsonl"
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        rows = [row | {"body_region": "[red]chest[/red] \x1b[2J"} for row in rows]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    code, out, _ = run("describe", "medthinkvqa", root)
    assert code == 0
    assert "[red]chest[/red]" in out
    assert "\x1b" not in out


def test_what_cannot_be_described_is_one_sentence(sketch: Path, tmp_path: Path) -> None:
    """A wrong split, and a folder that holds no release."""
    code, _, err = run("describe", "medthinkvqa", sketch / "medthinkvqa", "--split", "dev")
    assert (code, "has no split 'dev'" in err) == (2, True)
    code, _, err = run("describe", "medthinkvqa", tmp_path)
    assert (code, "no split of MedThinkVQA is there" in err) == (1, True)
