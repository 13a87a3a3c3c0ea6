"""MLflow: a run in the experiment 'overread' of a folder, a database or a server.

MLflow no longer writes plain folders of files, so a folder holds a SQLite database: look at it with
`mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db`.
"""

from __future__ import annotations

import logging
import os
import re
import time
from pathlib import Path
from typing import Any

from overread.bridges.trackers.tracker import TrackedRun
from overread.errors import MissingPart

_KEY = "overread.key"
_MOST_AT_ONCE = 100
_LONGEST_NAME = 250
_LONGEST_VALUE = 6000


def make(place: str) -> MlflowTracker:
    """The tracker for a folder (./mlruns where none is named) or an address such as http://…"""
    try:
        import mlflow  # noqa: F401
    except ImportError:
        raise MissingPart("MLflow is not installed", remedy="pip install 'overread[mlflow]'") from None
    return MlflowTracker(place or os.environ.get("MLFLOW_TRACKING_URI") or "./mlruns")


class MlflowTracker:
    """Writes to one tracking store."""

    def __init__(self, place: str) -> None:
        """`place` is a folder, or an address as MLflow itself takes it."""
        self._place = place

    def log(self, run: TrackedRun) -> str:
        """Add to the run of that key, or begin it."""
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells each table that it makes
        logging.getLogger("alembic").setLevel(logging.WARNING)
        address, artifacts = self._store()
        client = MlflowClient(tracking_uri=address)
        title = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "overread"
        experiment = client.get_experiment_by_name(title)
        number = experiment.experiment_id if experiment else client.create_experiment(title, artifacts)
        known = client.search_runs([number], f"tags.`{_KEY}` = '{run.key}'", max_results=1)
        own: Any = known[0] if known else client.create_run(number, run_name=run.name, tags={_KEY: run.key})
        now, before = int(time.time() * 1000), dict(own.data.params)
        params = {_name(name): str(value)[:_LONGEST_VALUE] for name, value in run.settings.items()}
        for name, value in params.items():
            if before.get(name, value) != value:
                client.set_tag(own.info.run_id, name, value)  # what was logged as a parameter stays
        new = [Param(name, value) for name, value in params.items() if name not in before]
        numbers = [Metric(_name(name), value, now, run.step) for name, value in run.numbers.items()]
        for kind, entries in (("params", new), ("metrics", numbers)):
            for start in range(0, len(entries), _MOST_AT_ONCE):
                client.log_batch(own.info.run_id, **{kind: entries[start : start + _MOST_AT_ONCE]})
        client.set_terminated(own.info.run_id)
        return f"experiment '{title}', run '{run.name}' in {self._place}"

    def _store(self) -> tuple[str, str | None]:
        """The address of the store, and where its artifacts go where that is ours to say."""
        if re.match(r"[a-z][a-z0-9+.-]+:", self._place):
            return self._place, None
        folder = Path(self._place).expanduser().resolve()
        if (folder / "0" / "meta.yaml").exists():
            return str(folder), None  # of an older MLflow: it says itself how that goes on
        folder.mkdir(parents=True, exist_ok=True)
        return f"sqlite:///{folder / 'mlflow.db'}", (folder / "artifacts").as_uri()


def _name(name: str) -> str:
    """A name with what MLflow allows in one.

    >>> _name("modality/CT (contrast)/accuracy")
    'modality/CT _contrast_/accuracy'
    """
    return re.sub(r"[^\w\-. :/]", "_", name)[:_LONGEST_NAME]
