"""How much of planted identifiers survives de-identification, and what is lost beside them.

    python -m tools.measure.deid.survival [--count 200] [--seed 0] [--real REPORTS.csv COLUMN ...]

Headers, pictures and reports are made up here with names, ids and dates planted in them; half of
the names are in no list of ours. Real reports are cleaned as well, and what their numbers and
findings became is accounted for.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path
from typing import Any

from overread.build.deid.results import Options
from overread.build.deid.text.clean import clean_text
from tools.measure.deid.planted_headers import measure_headers
from tools.measure.deid.planted_pictures import measure_pictures
from tools.measure.deid.planted_reports import SECRET, measure_reports


def measure_real(texts: list[str]) -> dict[str, Any]:
    """What real reports lose: removals by kind, numbers and findings that are gone."""
    from overread.language.numerals import find_numerals
    from overread.language.rewrites.diff import diff_rewrite

    kinds: Counter[str] = Counter()
    numbers = findings = total = 0
    for text in texts:
        made = clean_text(text, SECRET, Options(replace="tags"), patient="p")
        kinds.update(one.kind for one in made.removals)
        total += sum(one.unit not in ("date",) for one in find_numerals(text))
        if made.changed:
            told = diff_rewrite(text, made.text)
            cleaned = [one.before or "" for one in made.removals if one.kind == "date"]
            lost = [
                one
                for one in told.lost
                if one.kind == "number"
                and not any(one.span.extract(text) in c or c in one.span.extract(text) for c in cleaned)
            ]
            numbers += len(lost)
            findings += sum(one.kind == "finding" for one in told.lost)
    return {
        "reports": len(texts),
        "removals": dict(kinds),
        "numbers": total,
        "numbers lost": numbers,
        "findings lost": findings,
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument(
        "--real", nargs="+", metavar="FILE COLUMN", help="a CSV of real reports and its columns"
    )
    given = parser.parse_args()
    reports = measure_reports(given.count, given.seed)
    print(f"reports: {given.count}")
    for group, planted in reports["planted"].items():
        left = reports["left"][group]
        print(f"  {group:18} {planted:5} planted, {left:3} left ({1 - left / planted:.1%} gone)")
    print(f"  measurements and eponyms: {reports['kept']} kept, {reports['lost']} lost")
    headers = measure_headers(given.count, given.seed)
    print(f"headers: {headers['planted']} values planted, {headers['left']} left")
    pictures = measure_pictures(given.count, given.seed)
    print(
        f"pictures: {pictures['covered']} of {pictures['planted']} prints covered whole, "
        f"{pictures['more than half']} by more than half; "
        f"{pictures['beside']:.2%} of the rest covered"
    )
    for line in [
        *reports["shown"][: given.show],
        *headers["shown"][: given.show],
        *pictures["shown"][: given.show],
    ]:
        print("   ", line[:300])
    if given.real:
        with Path(given.real[0]).open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))[: given.count]
        texts = ["\n".join(row[c] or "" for c in given.real[1:]) for row in rows]
        print("real reports:", measure_real(texts))


if __name__ == "__main__":
    main()
