"""What a tracker is told of a run, and of a scorecard."""

from __future__ import annotations

from pathlib import Path

from overread.bridges.trackers.tracker import TrackedRun, finite_numbers, flat_settings
from overread.runs.engine import RunOutcome
from overread.runs.scoring.card import Card
from overread.storage.digests import digest


def track_run(outcome: RunOutcome) -> TrackedRun:
    """How a run was made, how far it came and what it took."""
    spec, tally, spent = outcome.spec, outcome.tally, outcome.tally.spent
    told = {
        "benchmark": spec.benchmark,
        "split": spec.split,
        "form": spec.form,
        "reader": spec.reader.name,
        "model": spec.reader.identity.get("model"),
        "endpoint": spec.reader.identity.get("endpoint"),
        "parameters": spec.reader.identity.get("parameters"),
        "workflow": spec.workflow.name,
        "settings": {k: v for k, v in spec.workflow.settings.items() if k != "prompts"},
        "prompts": spec.prompts,
        "limit": spec.limit,
        "repeat": spec.repeat,
        "seed": spec.seed,
        "versions": spec.versions,
    }
    numbers = {
        "readings": tally.done,
        "failed_readings": tally.failed + tally.failed_before,
        "calls": spent.calls,
        "retries": spent.retries,
        "from_cache": spent.cached,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "pictures": spent.pictures,
        "cost": spent.cost,
        "seconds": round(tally.seconds, 3),
    }
    return TrackedRun(
        run_key(outcome.folder),
        outcome.folder.resolve().name,
        flat_settings(told),
        finite_numbers({f"run/{name}": value for name, value in numbers.items()}),
    )


def track_card(card: Card, key: str, name: str) -> TrackedRun:
    """The scores of a card: each with the ends of its interval and how much it rests on."""
    numbers: dict[str, float | int | None] = {
        "cases": card.cases,
        "missing_cases": card.missing,
        "failed_cases": card.failed,
    }
    for metric, score in card.scores.items():
        numbers |= {metric: score.value, f"{metric}_low": score.low, f"{metric}_high": score.high}
        numbers[f"{metric}_n"] = score.n
    for breakdown, groups in card.breakdowns.items():
        for group, found in groups.items():
            numbers |= {f"{breakdown}/{group}/{metric}": one.value for metric, one in found.scores.items()}
    told = {
        "benchmark": card.benchmark,
        "split": card.split,
        "scored_reader": card.reader,
        "intervals": card.signature.get("intervals"),
        "scored_versions": card.signature.get("versions"),
    }
    return TrackedRun(key, name, flat_settings(told), finite_numbers(numbers))


def run_key(path: Path, *more: str) -> str:
    """What identifies the run of a folder, or a submission, without telling where it lies."""
    return digest(str(path.resolve()), *more)[:16]
