"""How much of real reports reads as nothing? Shares of phrases and sentences, on two fixed halves.

    .venv/bin/python -m tools.measure.language.unread_phrases ../shared/data/reports
    .venv/bin/python -m tools.measure.language.unread_phrases ../shared/data/reports --json

A phrase is a finding that somebody wrote into a list of findings, so that each of them names
something; a sentence of a report may also say nothing ("Two views of the chest."), and only the
difference between two versions of the rules tells something. Each text falls into half A or B by its
hash: rules were written by half A, half B was scored only. `--show` prints the texts of half A that
read as nothing (to a terminal, and nowhere else: their licences are narrower than ours).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from overread.errors import OverreadError, UsageError
from overread.language.statements import find_statements
from overread.language.text import split_sentences
from tools.measure.language.label_accuracy import wilson


def half_of(text: str) -> str:
    """The half that a text falls into, by its words alone.

    >>> half_of("Clear lungs.") == half_of("  clear  LUNGS. ")
    True
    """
    plain = " ".join(text.lower().split())
    return "AB"[int(hashlib.sha256(plain.encode()).hexdigest(), 16) % 2]


def read_texts(folder: Path) -> dict[str, list[str]]:
    """The texts of each set, each of them once."""
    found: dict[str, list[str]] = {}
    rex = json.loads((folder / "rexgroundingct_val_findings.json").read_text(encoding="utf-8"))["test"]
    found["ReXGroundingCT findings"] = [text for case in rex for text in case["findings"].values()]
    cases = json.loads((folder / "radpref_half.json").read_text(encoding="utf-8"))["cases"]
    lists = ("ground_truth_findings", "C1_findings", "C2_findings")
    found["RadPref findings"] = [text for case in cases for name in lists for text in case[name]]
    reports = ("ground_truth_report", "C1_report", "C2_report")
    found["RadPref sentences"] = _sentences([case[name] for case in cases for name in reports])
    lines = (folder / "openi_reports.jsonl").read_text(encoding="utf-8").splitlines()
    parts = [json.loads(line).get(name) for line in lines for name in ("findings", "impression")]
    found["Open-i sentences"] = _sentences([part for part in parts if part])
    return {name: sorted(set(texts)) for name, texts in found.items()}


def _sentences(reports: list[str]) -> list[str]:
    return [text[one.start : one.end] for text in reports for one in split_sentences(text)]


def unread_table(folder: Path) -> dict[str, Any]:
    """Set → half → how many texts, how many of them read as nothing, and the share's interval."""
    table: dict[str, Any] = {}
    for name, texts in read_texts(folder).items():
        count: Counter[str] = Counter()
        unread: Counter[str] = Counter()
        for text in texts:
            half = half_of(text)
            count[half] += 1
            unread[half] += not find_statements(text)
        table[name] = {
            half: {
                "texts": count[half],
                "unread": unread[half],
                "share": unread[half] / count[half],
                "interval": wilson(unread[half], count[half]),
            }
            for half in sorted(count)
        }
    return table


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data/reports"))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--show", metavar="SET", help="print the unread texts of half A of a set")
    args = parser.parse_args()
    try:
        if not args.folder.is_dir():
            raise UsageError("there is no such folder of reports", where=str(args.folder))
        if args.show:
            texts = read_texts(args.folder)
            if args.show not in texts:
                raise UsageError(f"no such set; there are {', '.join(texts)}", where=args.show)
            for text in texts[args.show]:
                if half_of(text) == "A" and not find_statements(text):
                    print(" ".join(text.split()))
            return 0
        table = unread_table(args.folder)
    except (OverreadError, FileNotFoundError) as error:
        print(f"unread_phrases: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(table, indent=2))
        return 0
    for name, halves in table.items():
        for half, row in halves.items():
            low, high = row["interval"]
            print(
                f"{name:24s} half {half}  {row['unread']:5d} of {row['texts']:5d}"
                f"  {row['share']:.3f} [{low:.3f}, {high:.3f}]"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
