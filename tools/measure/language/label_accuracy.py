"""How well are real reports read? Labels, categories, tags and speed, in tables.

    .venv/bin/python -m tools.measure.language.label_accuracy ../shared/data/reports
    .venv/bin/python -m tools.measure.language.label_accuracy ../shared/data/reports --json

CT-RATE's labelled reports are parted by the hash of their number: one row in four is held out, was
never read by whoever wrote rules, and is scored here like the others. No sentence is ever printed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from overread.errors import OverreadError, UsageError
from overread.language.labels import CTRATE, ctrate_labels, main_category
from overread.language.statements import THERE, Statement, find_statements
from overread.language.text import split_sentences

HELD_OUT = 4
"""One row in so many is held out."""
RESAMPLES = 2000
SEED = 4
ROUNDS = 5
"""Speed is the best of so many."""
Z95 = 1.959964


@dataclass(frozen=True)
class Tag:
    """A finding of Open-i: its MeSH heading, our observations, and headings of the same thing."""

    heading: str
    observations: tuple[str, ...]
    kin: tuple[str, ...] = ()
    """Headings that indexers gave to the same words."""
    wider: tuple[str, ...] = ()
    """Observations that those headings stand for."""


CALCIFIED = (
    "arterial calcification", "coronary calcification", "valvular calcification",
    "calcified lymph node", "lung calcification", "other calcification",
)  # fmt: skip
TAGS = (
    Tag(
        "Opacity",
        ("lung opacity", "linear opacity"),
        ("Density", "Infiltrate", "Airspace Disease", "Consolidation", "Markings"),
        ("infiltrate", "consolidation", "interstitial disease", "reticulation", "micronodules"),
    ),
    Tag("Cardiomegaly", ("cardiomegaly",), ("Cardiac Shadow",)),
    Tag("Pulmonary Atelectasis", ("atelectasis", "linear atelectasis")),
    Tag(
        "Calcinosis",
        CALCIFIED,
        ("Atherosclerosis", "Calcified Granuloma", "Granuloma", "Granulomatous Disease"),
        ("calcified granuloma", "granulomatous disease"),
    ),
    Tag(
        "Calcified Granuloma",
        ("calcified granuloma",),
        ("Granuloma", "Granulomatous Disease"),
        ("granulomatous disease",),
    ),
    Tag("Lung/hypoinflation", ("low lung volume",)),
    Tag(
        "Pleural Effusion",
        ("pleural effusion",),
        ("Costophrenic Angle", "Hydropneumothorax"),
        ("blunted costophrenic angle",),
    ),
)
"""The six commonest headings that name a finding ('Lung' with its qualifier does), and effusion."""


def f1(counts: np.ndarray) -> np.ndarray:
    """F1 of true positives, false positives and false negatives along the last axis."""
    twice = 2 * counts[..., 0]
    return np.asarray(twice / np.maximum(twice + counts[..., 1] + counts[..., 2], 1))


def ctrate_table(folder: Path) -> dict[str, Any]:
    """Precision, recall and F1 per label; macro and micro F1 with intervals, on three sets."""
    with (folder / "ctrate_labelled_reports.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    said = [ctrate_labels(find_statements(row["report_text"])) for row in rows]
    guess = np.array([[marks[label] for label in CTRATE] for marks in said], dtype=bool)
    truth = np.array([[float(row[label]) > 0 for label in CTRATE] for row in rows], dtype=bool)
    cells = np.stack([guess & truth, guess & ~truth, ~guess & truth], axis=-1).astype(int)
    held = np.array([_held_out(row["AccessionNo"]) for row in rows])
    parts = {"all": held | True, "development": ~held, "held-out": held}
    return {name: _score_rows(cells[chosen]) for name, chosen in parts.items()}


def _held_out(number: str) -> bool:
    return int(hashlib.sha256(number.encode()).hexdigest(), 16) % HELD_OUT == 0


def _score_rows(cells: np.ndarray) -> dict[str, Any]:
    """The table of some rows; their intervals are from drawing rows again."""
    counts = cells.sum(axis=0)
    draws = np.random.default_rng(SEED).integers(len(cells), size=(RESAMPLES, len(cells)))
    weights = np.stack([np.bincount(draw, minlength=len(cells)) for draw in draws])
    again = np.einsum("rn,nlc->rlc", weights, cells)
    spread = np.percentile(f1(again), (2.5, 97.5), axis=0)
    labels = {
        label: {
            "precision": _ratio(counts[n, 0], counts[n, 0] + counts[n, 1]),
            "recall": _ratio(counts[n, 0], counts[n, 0] + counts[n, 2]),
            "f1": float(f1(counts[n])),
            "interval": spread[:, n].tolist(),
            "counts": counts[n].tolist(),
        }
        for n, label in enumerate(CTRATE)
    }
    macro, micro = f1(again).mean(axis=1), f1(again.sum(axis=1))
    return {
        "reports": len(cells),
        "labels": labels,
        "macro": {"f1": float(f1(counts).mean()), "interval": np.percentile(macro, (2.5, 97.5)).tolist()},
        "micro": {
            "f1": float(f1(counts.sum(axis=0))),
            "interval": np.percentile(micro, (2.5, 97.5)).tolist(),
        },
    }


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def rexgroundingct_table(folder: Path) -> dict[str, Any]:
    """How many of the findings get their own category."""
    text = (folder / "rexgroundingct_val_findings.json").read_text(encoding="utf-8")
    right = [
        main_category(find_statements(finding)) == case["categories"][key]
        for case in json.loads(text)["test"]
        for key, finding in case["findings"].items()
    ]
    share = sum(right) / len(right)
    return {
        "findings": len(right),
        "right": sum(right),
        "accuracy": share,
        "interval": wilson(sum(right), len(right)),
    }


def wilson(right: int, count: int) -> list[float]:
    """Wilson's 95 % interval of a share.

    >>> [round(edge, 3) for edge in wilson(81, 263)]
    [0.255, 0.366]
    """
    share, square = right / count, Z95**2 / count
    middle = share + square / 2
    half = Z95 * math.sqrt(share * (1 - share) / count + square / count / 4)
    return [(middle - half) / (1 + square), (middle + half) / (1 + square)]


def openi_table(folder: Path) -> dict[str, Any]:
    """Presence against the MeSH headings: each alone, with its kin, and how they disagree."""
    lines = (folder / "openi_reports.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[tuple[set[str], list[Statement]]] = []
    for report in map(json.loads, lines):
        # 'Lung' names a place, with its first qualifier ('hypoinflation') it names a finding.
        split = [tag.split("/") for tag in report["mesh_major"]]
        headings = {"/".join(parts[:n]) for parts in split for n in (1, 2)}
        parts = [report[part] for part in ("findings", "impression") if report[part]]
        if parts and headings and "No Indexing" not in headings:
            rows.append((headings, find_statements("\n\n".join(parts))))
    return {"reports": len(rows), "findings": {tag.heading: _score_tag(rows, tag) for tag in TAGS}}


def _score_tag(rows: Sequence[tuple[set[str], list[Statement]]], tag: Tag) -> dict[str, Any]:
    alone, kindred = np.zeros(3, dtype=int), np.zeros(3, dtype=int)
    kinds = dict.fromkeys(("kin tag", "uncertain", "no tag", "said absent", "unsaid"), 0)
    for headings, found in rows:
        own = [s for s in found if s.observation in tag.observations]
        there = [s for s in own if s.presence in THERE]
        tagged = tag.heading in headings
        alone += _cell(int(bool(there)), int(tagged))
        wide = there or [s for s in found if s.observation in tag.wider and s.presence in THERE]
        kindred += _cell(int(bool(wide)), int(tagged or bool(headings & set(tag.kin))))
        if there and not tagged:
            sure = any(s.presence == "present" for s in there)
            kin = bool(headings & set(tag.kin))
            kinds["kin tag" if kin else "no tag" if sure else "uncertain"] += 1
        elif tagged and not there:
            kinds["said absent" if own else "unsaid"] += 1
    return {
        "tagged": int(alone[0] + alone[2]),
        "precision": _ratio(alone[0], alone[0] + alone[1]),
        "recall": _ratio(alone[0], alone[0] + alone[2]),
        "f1": float(f1(alone)),
        "f1 with kin": float(f1(kindred)),
        "disagreements": kinds,
    }


def _cell(guess: int, truth: int) -> np.ndarray:
    return np.array([guess & truth, guess & (1 - truth), truth & (1 - guess)], dtype=int)


def phantom_table(_: Path) -> dict[str, Any]:
    """F1 of every attribute of phantom sentences, as the test that demands them measures it."""
    measure = importlib.import_module("tests.language.test_phantom_sentences")
    return {
        f"{style}, {'held out' if held_out else 'common'}": {
            name: score.f1 for name, score in measure.measured(style, held_out=held_out).items()
        }
        for style in measure.STYLES
        for held_out in (False, True)
    }


def speed_table(folder: Path) -> dict[str, Any]:
    """Sentences of CT-RATE's reports per second, on one core."""
    with (folder / "ctrate_labelled_reports.csv").open(newline="", encoding="utf-8") as file:
        texts = [row["report_text"] for row in csv.DictReader(file)]
    count = sum(len(split_sentences(text)) for text in texts)
    best = math.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for text in texts:
            find_statements(text)
        best = min(best, time.perf_counter() - start)
    return {"sentences": count, "per second": round(count / best)}


TABLES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "ctrate": ctrate_table,
    "rexgroundingct": rexgroundingct_table,
    "openi": openi_table,
    "phantom": phantom_table,
    "speed": speed_table,
}


def print_tables(found: dict[str, Any]) -> None:
    """Print the tables."""
    for name, part in found["ctrate"].items():
        print(f"CT-RATE, {name}: {part['reports']} reports")
        for label, row in part["labels"].items():
            low, high = row["interval"]
            print(
                f"  {label:36s} P {row['precision']:.3f}  R {row['recall']:.3f}"
                f"  F1 {row['f1']:.3f} [{low:.3f}, {high:.3f}]"
            )
        for name_ in ("macro", "micro"):
            low, high = part[name_]["interval"]
            print(f"  {name_} F1 {part[name_]['f1']:.3f} [{low:.3f}, {high:.3f}]")
    rex = found["rexgroundingct"]
    low, high = rex["interval"]
    print(f"ReXGroundingCT: {rex['right']} of {rex['findings']} findings in their category,")
    print(f"  accuracy {rex['accuracy']:.3f} [{low:.3f}, {high:.3f}]")
    print(f"Open-i: {found['openi']['reports']} reports with headings")
    for heading, row in found["openi"]["findings"].items():
        kinds = ", ".join(f"{kind} {count}" for kind, count in row["disagreements"].items())
        print(
            f"  {heading:22s} n {row['tagged']:3d}  P {row['precision']:.3f}"
            f"  R {row['recall']:.3f}  F1 {row['f1']:.3f}  with kin {row['f1 with kin']:.3f}"
            f"  ({kinds})"
        )
    print("Phantom sentences: F1 of each attribute")
    for name, scores in found["phantom"].items():
        told = "  ".join(f"{attribute} {value:.3f}" for attribute, value in scores.items())
        print(f"  {name:24s} {told}")
    speed = found["speed"]
    print(f"speed: {speed['per second']} sentences a second ({speed['sentences']} sentences)")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data/reports"))
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args()
    try:
        if not args.folder.is_dir():
            raise UsageError("there is no such folder of reports", where=str(args.folder))
        found = {name: table(args.folder) for name, table in TABLES.items()}
    except (OverreadError, FileNotFoundError) as error:
        print(f"measure_language: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        print_tables(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
