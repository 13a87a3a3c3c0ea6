"""De-identification of real reports and films: what is planted must go, what was measured must stay."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from overread.build.deid.picture import clean_picture
from overread.build.deid.results import Options
from overread.build.deid.text.clean import clean_text
from tools.measure.deid.planted_reports import SECRET, make_report, survives
from tools.measure.deid.survival import measure_real
from tools.measure.real_data.table import Row, share_row

REPORTS = "reports/ctrate_validation_reports.csv"
FILMS = "cxr_nih"
MOST_REPORTS = 200
MOST_FILMS = 40
SEED = 5


def measure_reports(root: Path, most: int) -> Iterator[Row]:
    """Lines with made-up names, numbers and dates planted in real reports; what the reports lose."""
    with (root / REPORTS).open(newline="", encoding="utf-8") as file:
        columns = ("Findings_EN", "Impressions_EN")
        rows = list(csv.DictReader(file))[: min(most, MOST_REPORTS)]
    texts = ["\n".join(row[name] or "" for name in columns) for row in rows]
    rng = random.Random(SEED)
    gone: dict[str, list[float]] = {"names": [], "numbers": [], "dates": []}
    owners: dict[str, list[str]] = {name: [] for name in gone}
    for number, text in enumerate(texts):
        made = make_report(rng)
        cleaned = clean_text(f"{made.text}\n{text}", SECRET, Options(replace="tags"), patient="p").text
        # A planted word that the report has of its own cannot be told from what was planted.
        planted = {"names": made.names, "numbers": made.ids, "dates": made.dates}
        for name, values in planted.items():
            for value in (value for value in values if not survives(value, text)):
                gone[name].append(float(not survives(value, cleaned)))
                owners[name].append(str(number))
    for name, shares in gone.items():
        yield share_row("deid", f"planted {name} gone from reports", shares, owners[name])
    told = measure_real(texts)
    kept = Counter({1.0: told["numbers"] - told["numbers lost"], 0.0: told["numbers lost"]})
    yield share_row("deid", "measurements kept in reports", sorted(kept.elements()))
    lost = told["findings lost"] / max(len(texts), 1)
    yield Row("deid", "findings lost for each report", len(texts), lost)


def measure_films(root: Path, most: int) -> Iterator[Row]:
    """How much of a real film is covered: besides its side marker there is nothing to cover."""
    files = sorted((root / FILMS / "images").iterdir())[: min(most, MOST_FILMS)]
    shares = []
    for file in files:
        with Pillow.open(file) as picture:
            pixels = np.asarray(picture.convert("L"))
        covered = np.zeros(pixels.shape, bool)
        for box in clean_picture(pixels).boxes:
            covered[box.top : box.bottom, box.left : box.right] = True
        shares.append(float(covered.mean()))
    yield share_row("deid", "share of a film that is covered", shares)
