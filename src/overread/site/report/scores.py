"""The numbers of a report: who read what and how, scorecard, breakdowns, comparison, audit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overread.errors import OverreadError, UsageError
from overread.metrics.statistics.result import format_p
from overread.runs.scoring.card import Card, Score, short_signature
from overread.runs.scoring.comparison import CardComparison, compare
from overread.runs.spec import RunSpec
from overread.session import SessionSettings
from overread.site.headline import TWIN_PREFIXES, group_label, headline_scores
from overread.site.report.forest_plot import ChartPoint, ChartRow, draw_forest_plot, draw_legend
from overread.site.report.markup import Children, Markup, h, join_markup, table, with_line_breaks
from overread.site.strip_paths import strip_paths_and_urls

_MOST_PROBLEMS = 40


@dataclass(frozen=True)
class ReportRun:
    """One run of a report: its spec and its scorecard."""

    name: str
    """What it is called in the report."""
    folder: Path
    spec: RunSpec
    card: Card


def setup_section(runs: Sequence[ReportRun]) -> Markup:
    """Who read what, and how."""
    facts = [_describe_run(run) for run in runs]
    rows = [[key, *(own[key] for own in facts)] for key in facts[0]]
    return h("section", h("h2", "Setup"), table(["", *(run.name for run in runs)], rows), id="how")


def _describe_run(run: ReportRun) -> dict[str, str]:
    spec, card = run.spec, run.card
    usual = json.loads(json.dumps(SessionSettings().as_settings()))
    own = {k: v for k, v in spec.workflow.settings.items() if v != usual.get(k)}
    identity = {k: v for k, v in spec.reader.identity.items() if k != "reader"}
    lost = [
        f"{count:,} {word}"
        for count, word in (
            (card.missing, "missing"),
            (card.failed, "failed"),
            (card.not_judged, "not judged"),
        )
        if count
    ]
    return {
        "Reader": ", ".join(filter(None, (spec.reader.name, _join_settings(identity)))),
        "Workflow": spec.workflow.name or "none (whole-case reader)",
        "Settings": _join_settings(own) or "defaults",
        "Cases": ", ".join([f"{card.cases:,} of the split {card.split}", *lost]),
        "Readings of each case": f"{spec.repeat}, seed {spec.seed}",
        "Prompts": _join_settings(spec.prompts) or "none",
        "Versions": _join_settings({**spec.versions, **card.signature.get("versions", {})}),
        "Signature of the scores": short_signature(card),
    }


def _join_settings(values: Mapping[str, Any]) -> str:
    """Names and values in one line, without what says where on somebody's machine things lie."""
    parts = []
    for key, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts.append(f"{key} {strip_paths_and_urls(text)}")
    return ", ".join(parts)


# ---- the scorecard ---------------------------------------------------------------------------


def scores_section(runs: Sequence[ReportRun]) -> Markup:
    """All scores with their intervals, as a chart and as a table."""
    every = dict.fromkeys(name for run in runs for name in run.card.scores)
    names = [name for name in every if not name.startswith(TWIN_PREFIXES)]
    names.sort(key=lambda name: all(name not in run.card.official for run in runs))
    charted = [name for name in names if _fits_unit_axis(name, runs)]
    lines = [
        ChartRow(
            _with_arrow(name, runs), tuple(_point(run.card.scores.get(name), n) for n, run in enumerate(runs))
        )
        for name in charted
    ]
    heads: list[str] = ["score", *(run.name for run in runs), "n", "meaning"]
    rows: list[list[Markup | str]] = []
    for name in names:
        first = next(run.card.scores[name] for run in runs if name in run.card.scores)
        values = [_with_twins(run, name) for run in runs]
        rows.append([with_line_breaks(_with_arrow(name, runs)), *values, f"{first.n:,}", first.about])
    absent = _not_scored(runs)
    return h(
        "section",
        h("h2", "Scores"),
        h("p", _describe_intervals(runs[0].card), class_="quiet"),
        draw_legend([run.name for run in runs]) if len(runs) > 1 else None,
        draw_forest_plot(lines, title="Scores between 0 and 1 with their intervals") if lines else None,
        table(heads, rows, numbers=(len(runs) + 1,)),
        absent,
        id="scores",
    )


def _describe_intervals(card: Card) -> str:
    drawing = card.signature.get("intervals") or {}
    if not drawing or not drawing.get("draws"):
        return "Numbers without intervals; ↑ more is better, ↓ less is better."
    level = float(drawing.get("level", 0.95))
    return (
        f"Intervals of {level:.0%} over whole patients ({drawing.get('method', 'draws')}; "
        f"{drawing['draws']} draws, seed {drawing.get('seed', 0)}); ↑ more is better, ↓ less is better."
    )


def _with_arrow(name: str, runs: Sequence[ReportRun]) -> str:
    score = next(run.card.scores[name] for run in runs if name in run.card.scores)
    return f"{name} {'↑' if score.better == 'higher' else '↓'}"


def _with_twins(run: ReportRun, name: str) -> Markup:
    """A score and its interval; what it is with the missing as worst, and the most it could be."""
    score = run.card.scores.get(name)
    value, between = format_score_parts(score)
    more = [between] if between else []
    honest, most = (run.card.scores.get(twin + name) for twin in TWIN_PREFIXES)
    if honest is not None and score is not None and honest.value != score.value:
        more.append(f"missing as worst {format_number(honest.value)}")
    if most is not None and most.value is not None and abs(most.value - 1) > 1e-9:
        more.append(f"at most {format_number(most.value)}")
    return join_markup(value, [join_markup(h("br"), h("small", told)) for told in more])


def _not_scored(runs: Sequence[ReportRun]) -> Markup | None:
    alike: dict[str, list[str]] = {}
    for run in runs:
        for name, why in run.card.not_attempted.items():
            if not name.startswith(TWIN_PREFIXES) and name not in alike.setdefault(why, []):
                alike[why].append(name)
    if not alike:
        return None
    told = [h("li", f"{why}: {', '.join(names)}") for why, names in alike.items()]
    return h("details", h("summary", "What was not scored, and why"), h("ul", told))


def _fits_unit_axis(name: str, runs: Sequence[ReportRun]) -> bool:
    """Whether all its numbers lie between 0 and 1, so that one axis fits."""
    scores = [run.card.scores[name] for run in runs if name in run.card.scores]
    values = [v for s in scores for v in (s.value, s.low, s.high) if v is not None]
    return bool(values) and all(-1e-9 <= v <= 1 + 1e-9 for v in values)


def _point(score: Score | None, series: int) -> ChartPoint:
    if score is None:
        return ChartPoint(None, series=series)
    return ChartPoint(score.value, score.low, score.high, series)


def format_number(value: float | None) -> str:
    """A number to three places, large ones to fewer."""
    if value is None:
        return "–"
    return f"{value:.{3 if abs(value) < 10 else 2 if abs(value) < 100 else 1}f}"


def format_score_parts(score: Score | None) -> tuple[str, str]:
    """A score and its interval as text."""
    if score is None or score.value is None:
        return "–", ""
    if score.low is None or score.high is None:
        return format_number(score.value), score.note.partition(":")[0]
    return format_number(score.value), f"{format_number(score.low)} – {format_number(score.high)}"


def format_score(score: Score | None) -> str:
    """A score and its interval in one line."""
    value, between = format_score_parts(score)
    return f"{value} ({between})" if between else value


# ---- breakdowns ------------------------------------------------------------------------------


def breakdowns_section(runs: Sequence[ReportRun]) -> Markup | None:
    """The scores of groups of cases, for the few scores that stand for a card."""
    names = list(dict.fromkeys(name for run in runs for name in run.card.breakdowns))
    parts: list[Markup] = []
    for name in names:
        groups = list(dict.fromkeys(g for r in runs for g in r.card.breakdowns.get(name, {})))
        if len(groups) < 2:
            continue
        shown = [
            metric
            for metric in headline_scores(runs[0].card.scores, runs[0].card.official)[:12]
            if not metric.endswith("_per_case") and _has_groups(runs, name, metric)
        ][: 3 if len(runs) == 1 else 1]
        if not shown:
            continue
        heads = [name, "n"] + [f"{m}, {r.name}" if len(runs) > 1 else m for m in shown for r in runs]
        rows = []
        for group in groups:
            found = [r.card.breakdowns.get(name, {}).get(group) for r in runs]
            scores = [[g.scores.get(m) if g else None for g in found] for m in shown]
            size = next((s.n for s in scores[0] if s is not None), 0)
            rows.append(
                [group_label(name, group), f"{size:,}", *(format_score(s) for own in scores for s in own)]
            )
        parts += [h("h3", f"By {name}"), table(heads, rows, numbers=(1,))]
    return h("section", h("h2", "Groups of cases"), parts, id="groups") if parts else None


def _has_groups(runs: Sequence[ReportRun], breakdown: str, metric: str) -> bool:
    return any(metric in g.scores for r in runs for g in r.card.breakdowns.get(breakdown, {}).values())


# ---- comparison ------------------------------------------------------------------------------


def comparison_section(runs: Sequence[ReportRun]) -> Markup | None:
    """Paired differences from the first run."""
    if len(runs) < 2:
        return None
    title = h("h2", "Differences, paired case by case")
    names = [run.name for run in runs]
    shown = headline_scores(runs[0].card.scores, runs[0].card.official)[:8]
    common = [m for m in shown if all(m in r.card.scores for r in runs)]
    note = ""
    cards = [run.card for run in runs]
    try:
        found = compare(cards, names=names, metrics=common)
    except UsageError as error:
        note = f"On the cases that all of them have: {strip_paths_and_urls(error.what)}."
        try:
            found = compare(cards, names=names, metrics=common, units="common")
        except OverreadError as worse:
            told = h("p", f"The runs cannot be compared: {strip_paths_and_urls(worse.what)}.")
            return h("section", title, told, id="differences")
    except OverreadError as error:
        told = h("p", f"The runs cannot be compared: {strip_paths_and_urls(error.what)}.")
        return h("section", title, told, id="differences")
    lines, rows = _differences(found)
    return h(
        "section",
        title,
        h(
            "p",
            f"Each minus {names[0]}, over whole patients; p is of readers swapped within them. {note}",
            class_="quiet",
        ),
        draw_forest_plot(lines, title=f"Differences from {names[0]} with their intervals", around_zero=True),
        table(["reader", "score", "difference", "interval", "p", "McNemar’s p"], rows, numbers=(2,)),
        id="differences",
    )


def _differences(found: CardComparison) -> tuple[list[ChartRow], list[list[str]]]:
    lines, rows = [], []
    others = [name for name in found.cards if name != found.baseline]
    for metric, compared in found.metrics.items():
        points = []
        for n, reader in enumerate(others, 1):
            apart = compared.differences.get(reader)
            if apart is None:
                continue
            span = apart.difference
            points.append(ChartPoint(span.value, span.low, span.high, n))
            test = compared.mcnemar.get(reader)
            between = span.note.partition(":")[0]
            if span.low is not None:
                between = f"{span.low:+.3f} to {span.high:+.3f}"
            rows.append(
                [
                    reader,
                    metric,
                    "–" if span.value is None else f"{span.value:+.3f}",
                    between,
                    _format_p(apart.p),
                    _format_p(test.exact_p) if test else "",
                ]
            )
        lines.append(ChartRow(metric, tuple(points)))
    return lines, rows


def _format_p(value: float | None) -> str:
    return "–" if value is None else format_p(value).removeprefix("p ").removeprefix("= ")


# ---- audit and problems ----------------------------------------------------------------------


def audit_section(runs: Sequence[ReportRun]) -> Markup | None:
    """How far the answers rest on what they cite, of runs that were audited."""
    parts = [part for run in runs for part in [_audit(run)] if part is not None]
    if not parts:
        return None
    told = "Each answer was asked for again with something changed in the pictures."
    return h("section", h("h2", "Do the answers rest on what they cite?"), h("p", told), parts, id="audit")


def _audit(run: ReportRun) -> Markup | None:
    try:
        data = json.loads((run.folder / "audit" / "audit.json").read_text("utf-8"))
        shares = data["shares"]
        rows = [
            [
                arm,
                _format_count(own, "moved", "n"),
                _format_interval(own["moved"]),
                _format_interval(own["far"]),
            ]
            for arm, own in shares["arms"].items()
        ]
        rests = [
            (words, shares[key])
            for key, words in (
                ("rests", "Answers that rest on the cited evidence"),
                ("rests_on_shown", "Answers that hiding it moves, beyond the null"),
            )
            if shares.get(key)
        ]
        body: list[Children] = [
            h("h3", run.name),
            table(["arm", "answers", "moved", "how far"], rows, numbers=(1,)),
            h("ul", [h("li", f"{words}: {_format_interval(own)} of {own['n']:,}") for words, own in rests]),
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return join_markup(*body)


def _format_count(own: Mapping[str, Any], *keys: str) -> str:
    found: Any = own
    for key in keys:
        found = found[key]
    return f"{found:,}"


def _format_interval(own: Mapping[str, Any]) -> str:
    if own["value"] is None:
        return "undefined"
    between = "" if own.get("low") is None else f" ({own['low']:.3f} – {own['high']:.3f})"
    return f"{own['value']:.3f}{between}"


def problems_section(runs: Sequence[ReportRun]) -> Markup | None:
    """What was wrong with the readings."""
    parts: list[Markup] = []
    for run in runs:
        problems = run.card.problems
        if problems:
            shown = [h("li", strip_paths_and_urls(told)) for told in problems[:_MOST_PROBLEMS]]
            more = len(problems) - len(shown)
            parts += [h("h3", run.name), h("ul", shown)]
            parts += [h("p", f"… and {more:,} more.")] if more > 0 else []
    return h("section", h("h2", "Problems with the readings"), parts, id="problems") if parts else None
