"""Writes the results of a sweep: JSON, CSV, and charts as SVG and PNG."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from overread.runs.store import RunUnwritable
from overread.runs.sweep.chart import Chart, Curve, Dot, WordTick, draw_chart
from overread.runs.sweep.runner import MARK, PointResult, SweepResult
from overread.storage.atomic import open_atomic
from overread.storage.system_errors import remedy_for

RESEARCH_ONLY = "For research and education; not for patient care."


def sweep_to_json(sweep: SweepResult) -> dict[str, Any]:
    """Everything that a sweep found, as plain JSON."""
    first = sweep.points[0].card if sweep.points else None
    return {
        "kind": MARK,
        "benchmark": first.benchmark if first else None,
        "split": first.split if first else None,
        "reader": first.reader if first else None,
        "axes": {axis.name: list(axis.values) for axis in sweep.axes},
        "metrics": list(sweep.metrics),
        "complete": sweep.stopped is None and len(sweep.points) == sweep.total,
        "total": sweep.total,
        "first": sweep.points[0].point.name if sweep.points else None,
        "points": [_point_to_json(sweep, swept) for swept in sweep.points],
        "not_compared": dict(sweep.not_compared),
        "intervals": sweep.bootstrap.as_settings(),
        "signature": first.signature if first else None,
        "note": RESEARCH_ONLY,
    }


def _point_to_json(sweep: SweepResult, swept: PointResult) -> dict[str, Any]:
    card, tally = swept.card, swept.outcome.tally
    return {
        "name": swept.point.name,
        "run": swept.point.folder,
        "values": dict(swept.point.values),
        "cases": card.cases,
        "readings": tally.done,
        "failed": swept.failed_readings,
        "scores": {name: card.scores[name].model_dump() for name in sweep.metrics if name in card.scores},
        "not_scored": {
            name: card.not_attempted.get(name, "nothing to score")
            for name in sweep.metrics
            if name not in card.scores
        },
        "agreement": swept.agreement.as_dict() if swept.agreement else None,
        "differences": {name: found.as_dict() for name, found in swept.differences.items()},
        "settings": card.signature["run"]["workflow"]["settings"],
    }


def sweep_to_csv(sweep: SweepResult) -> str:
    """One line for each point and metric, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        [
            *(axis.name for axis in sweep.axes),
            *"metric value low high n difference difference_low difference_high p".split(),
            *"agreement agreement_low agreement_high readings failed run".split(),
        ]
    )
    for swept in sweep.points:
        values = [swept.point.values[axis.name] for axis in sweep.axes]
        same = swept.agreement
        tail: list[Any] = [same.value, same.low, same.high] if same else [None] * 3
        tail += [swept.outcome.tally.done, swept.failed_readings, swept.point.folder]
        for metric in sweep.metrics:
            score = sweep.score(swept, metric)
            told = [score.value, score.low, score.high, score.n] if score else [None] * 4
            apart = swept.differences.get(metric)
            span = apart.difference if apart else None
            between = [span.value, span.low, span.high] if span else [None] * 3
            p = apart.p if apart else None
            rows.writerow([*values, metric, *told, *between, p, *tail])
    return text.getvalue()


def write_sweep(sweep: SweepResult) -> list[Path]:
    """Write `sweep.json`, `sweep.csv`, and the curves of each metric as PNG and SVG."""
    files: dict[str, bytes] = {
        "sweep.json": (json.dumps(sweep_to_json(sweep), ensure_ascii=False, indent=2) + "\n").encode(),
        "sweep.csv": sweep_to_csv(sweep).encode(),
    }
    for metric in sweep.metrics:
        chart = make_chart(sweep, metric)
        if chart is not None:
            stem = "sweep" if metric == sweep.metrics[0] else f"sweep-{_safe_file_name(metric)}"
            files[f"{stem}.svg"], files[f"{stem}.png"] = draw_chart(chart)
    try:
        for name, data in files.items():
            with open_atomic(sweep.folder / name, compress=False) as out:
                out.write(data)
    except OSError as error:
        raise RunUnwritable(
            f"the sweep cannot be written ({error.strerror})",
            where=str(sweep.folder),
            remedy=remedy_for(error, "make room and run the same command again: what is done is kept"),
        ) from None
    return [sweep.folder / name for name in files]


def _safe_file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)


# ---- the chart -----------------------------------------------------------------------------


def make_chart(sweep: SweepResult, metric: str) -> Chart | None:
    """The curves of one metric: along the first axis of numbers, one for each other combination.

    Without an axis of numbers the values of the first axis stand side by side.
    """
    scored = [(one, score) for one in sweep.points if (score := sweep.score(one, metric))]
    scored = [(one, score) for one, score in scored if score.value is not None]
    if not scored:
        return None
    along = next((a for a in sweep.axes if a.numbers and len(a.values) > 1), sweep.axes[0])
    others = [axis for axis in sweep.axes if axis is not along]
    numbers = along.numbers if len(along.values) > 1 else None
    places = dict(zip(along.values, numbers or range(len(along.values)), strict=True))
    curves: dict[str, list[Dot]] = {}
    for one, score in scored:
        values = one.point.values
        name = ", ".join(f"{axis.name} {values[axis.name]}" for axis in others)
        dot = Dot(float(places[values[along.name]]), score.value or 0.0, score.low, score.high)
        curves.setdefault(name, []).append(dot)
    first = sweep.points[0].card
    model = first.signature["run"]["reader"]["identity"].get("model")
    who = f"{first.reader} ({model})" if model and model != first.reader else first.reader
    level = f"{100 * sweep.bootstrap.level:g} % intervals" if sweep.bootstrap.draws else "no intervals"
    _, score = scored[0]
    return Chart(
        title=f"{metric} by {along.name}",
        subtitle=f"{first.benchmark} {first.split}, {who}, {first.cases:,} cases, {level}",
        x_label=along.name + (" (% of each case's pictures)" if along.name == "image_ratio" else ""),
        y_label=f"{metric} ({score.better} is better)",
        footer=RESEARCH_ONLY,
        curves=tuple(
            Curve(name, tuple(sorted(dots, key=lambda dot: dot.x))) for name, dots in curves.items()
        ),
        ticks=None if numbers else tuple(WordTick(float(places[v]), v) for v in along.values),
    )
