"""Rows of .jsonl files, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a jsonl file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_rows(path: Path, rows: list[Any]) -> None:
    """Rows as a jsonl file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
