"""TensorBoard: event files with scalars, the settings as text and as hyperparameters."""

from __future__ import annotations

from pathlib import Path

from overread.bridges.trackers.tracker import TrackedRun
from overread.errors import MissingPart, UsageError


def make(place: str) -> TensorboardTracker:
    """The tracker for a folder of logs."""
    if not place:
        raise UsageError("'tensorboard' needs a folder", remedy="say --log-to tensorboard:DIR")
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        raise MissingPart(
            "TensorBoard is not installed", remedy="pip install 'overread[tensorboard]'"
        ) from None
    return TensorboardTracker(Path(place))


class TensorboardTracker:
    """Writes one folder of events a run."""

    def __init__(self, folder: Path) -> None:
        """`folder` is what `tensorboard --logdir` is given."""
        self._folder = folder.expanduser()

    def log(self, run: TrackedRun) -> str:
        """Add an event file to the folder of that run."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.plugins.scalar.summary_v2 import scalar_pb
        from tensorboard.plugins.text.summary_v2 import text_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        place = self._folder / f"{run.name}-{run.key[:8]}"
        place.mkdir(parents=True, exist_ok=True)
        rows = "\n".join(f"| {name} | {value} |" for name, value in run.settings.items())
        summaries = [text_pb("settings", f"| setting | value |\n|---|---|\n{rows}")]
        summaries.append(hparams_pb(dict(run.settings), trial_id=run.key))
        summaries += [scalar_pb(name, value) for name, value in run.numbers.items()]
        writer = EventFileWriter(str(place))
        for summary in summaries:
            writer.add_event(Event(step=run.step, summary=summary))
        writer.close()
        return f"{place}"
