"""One table of what the embedded reader, the language part and de-identification reach on real data.

    python -m tools.measure.real_data ROOT [--only PART] [--phantom FOLDER] [--json FILE] [--markdown FILE]

ROOT holds any of: `ct/` (ReXGroundingCT's layout), `cxr_nih/` (labels.csv, images/), `cxr/`
(lung_boxes.json, images/), `cases/` (MedThinkVQA's rows), `reports/` (CT-RATE's, ReXGroundingCT's and
Open-i's files). What is not there is named in a sentence. `--phantom` measures a second folder of the
same shapes beside it: `phantom_twin.py` makes one. No rule is set by what is measured here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from overread.errors import OverreadError, UsageError
from tools.measure.real_data import cases, cts, deidentification, films, reports
from tools.measure.real_data.table import Measured, Row, format_markdown, to_json

Measure = Callable[[Path, int], Iterator[Row]]

PARTS: dict[str, dict[str, Measure]] = {
    "ct": {"ct/dataset.json": cts.measure},
    "films": {"cxr_nih/labels.csv": films.measure, "cxr/lung_boxes.json": films.measure_boxes},
    "cases": {"cases": cases.measure},
    "reports": {f"{reports.FOLDER}/{name}": measure for name, measure in reports.FILES.items()},
    "deid": {
        deidentification.REPORTS: deidentification.measure_reports,
        f"{deidentification.FILMS}/images": deidentification.measure_films,
    },
}
"""Part → the file or folder that it needs, and what measures it."""
ALL = 1_000_000


def measure_folder(root: Path, parts: list[str], most: int = ALL) -> list[Measured]:
    """Measure the parts that a folder has; of each at most so many scans, films, cases or reports."""
    if not root.is_dir():
        raise UsageError("there is no such folder of real data", where=str(root))
    return [_measure_part(root, part, most) for part in parts]


def _measure_part(root: Path, part: str, most: int) -> Measured:
    rows: list[Row] = []
    missing: list[str] = []
    start = time.perf_counter()
    for needed, measure in PARTS[part].items():
        if not (root / needed).exists():
            missing.append(f"nothing is measured of {needed}, which is not in this folder.")
            continue
        print(f"measuring {needed}", file=sys.stderr)
        try:
            rows += measure(root, most)
        except OverreadError as error:
            missing.append(f"{needed} cannot be measured: {error}")
        except (KeyError, ValueError, OSError) as error:
            missing.append(
                f"{needed} is not in the shape that was expected ({type(error).__name__}: {error})."
            )
    return Measured(part, tuple(rows), tuple(missing), time.perf_counter() - start)


def main() -> int:
    """Measure, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--only", action="append", choices=tuple(PARTS), help="one part; may be repeated")
    parser.add_argument("--phantom", type=Path, help="a folder of the same shapes, measured beside it")
    parser.add_argument("--most", type=int, default=ALL, help="scans, films, cases or reports of a part")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    given = parser.parse_args()
    parts = given.only or list(PARTS)
    try:
        real = measure_folder(given.root, parts, given.most)
        phantom = measure_folder(given.phantom, parts, given.most) if given.phantom else []
    except OverreadError as error:
        print(f"real_data: {error}", file=sys.stderr)
        return 1
    table = format_markdown(real, phantom)
    print(table)
    if given.markdown:
        given.markdown.write_text(f"{table}\n", encoding="utf-8")
    if given.json:
        told = {"real": to_json(real), "phantom": to_json(phantom)}
        given.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
