"""Reads back what `--log-to` wrote, with each program's own reader; prints JSON.

    python tests/works_with/tracker_readback.py mlflow|wandb|tensorboard FOLDER

Runs in the environment that has the trackers, and imports nothing of ours.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_mlflow(folder: Path) -> dict[str, Any]:
    """The runs of the experiment 'overread'."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder.resolve() / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("overread")
    assert experiment is not None
    found = client.search_runs([experiment.experiment_id])
    return {
        "runs": len(found),
        "name": found[0].info.run_name,
        "status": found[0].info.status,
        "settings": dict(found[0].data.params),
        "numbers": dict(found[0].data.metrics),
    }


def read_tensorboard(folder: Path) -> dict[str, Any]:
    """The scalars of all event files of the only run."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    runs = sorted(folder.iterdir())
    events = EventAccumulator(str(runs[0]))
    events.Reload()
    (text,) = events.Tensors("settings")[-1].tensor_proto.string_val
    # Scalars are tensors of one number, marked as the scalar page's own.
    scalars = events.PluginTagToContent("scalars")
    numbers = {tag: _only_number(events.Tensors(tag)[-1].tensor_proto) for tag in scalars}
    assert events.PluginTagToContent("hparams")
    return {"runs": len(runs), "name": runs[0].name, "settings": text.decode(), "numbers": numbers}


def _only_number(tensor: Any) -> float:
    from tensorboard.util.tensor_util import make_ndarray

    return float(make_ndarray(tensor))


def read_wandb(folder: Path) -> dict[str, Any]:
    """Config and history of every offline run, from its records in wandb's own protocol buffers."""
    from wandb.proto.wandb_internal_pb2 import Record

    settings: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    keys: set[str] = set()
    name = ""
    for file in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        for data in _records(file.read_bytes()):
            record = Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                keys.add(record.run.run_id)
                name = record.run.display_name or name
                settings |= {u.key: json.loads(u.value_json) for u in record.run.config.update if u.key}
            elif kind == "history":
                items = {".".join(i.nested_key) or i.key: i.value_json for i in record.history.item}
                numbers |= {key: json.loads(value) for key, value in items.items()}
    return {"runs": len(keys), "name": name, "settings": settings, "numbers": numbers}


def _records(data: bytes) -> Iterator[bytes]:
    """The records of a .wandb file: LevelDB's log format behind seven bytes of its own."""
    block, at, whole = 32768, 7, b""
    while at + 7 <= len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        size, kind = struct.unpack_from("<HB", data, at + 4)
        piece = data[at + 7 : at + 7 + size]
        at += 7 + size
        whole = piece if kind in (1, 2) else whole + piece
        if kind in (1, 4):
            yield whole


READERS = {"mlflow": read_mlflow, "wandb": read_wandb, "tensorboard": read_tensorboard}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(READERS[sys.argv[1]](Path(sys.argv[2]))))
