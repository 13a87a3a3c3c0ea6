"""Reports with labels, categories or headings (`reports/`), read by the language part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tools.measure.language.label_accuracy import ctrate_table, openi_table, rexgroundingct_table
from tools.measure.real_data.table import Row

FOLDER = "reports"


def labels(root: Path, most: int) -> Iterator[Row]:
    """F1 over CT-RATE's 18 labels; one row in four was never read by whoever wrote rules."""
    for name, part in ctrate_table(root / FOLDER).items():
        for mean in ("macro", "micro"):
            low, high = part[mean]["interval"]
            what = f"CT-RATE's labels, {name}, {mean} F1"
            yield Row("reports", what, part["reports"], part[mean]["f1"], low, high)


def categories(root: Path, most: int) -> Iterator[Row]:
    """How many findings get ReXGroundingCT's category."""
    found = rexgroundingct_table(root / FOLDER)
    low, high = found["interval"]
    yield Row("reports", "ReXGroundingCT's categories", found["findings"], found["accuracy"], low, high)


def headings(root: Path, most: int) -> Iterator[Row]:
    """F1 of Open-i's headings, with those that were given to the same words."""
    for heading, row in openi_table(root / FOLDER)["findings"].items():
        yield Row("reports", f"Open-i, {heading}, F1 with kin", row["tagged"], row["f1 with kin"])


FILES: dict[str, Callable[[Path, int], Iterator[Row]]] = {
    "ctrate_labelled_reports.csv": labels,
    "rexgroundingct_val_findings.json": categories,
    "openi_reports.jsonl": headings,
}
"""File → what is measured in it."""
