"""RadGraph's entities and relations of a report, by the package radgraph and local weights."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from overread.errors import MissingPart, OverreadError
from overread.metrics.clinical.models.weights import WeightFiles, import_package, load_or_refuse
from overread.metrics.clinical.radgraph import Entities, entities_of
from overread.storage.system import write_text

NAME = "RadGraph"
INSTALL = "pip install radgraph 'transformers<5'"
Model: TypeAlias = Literal["radgraph-xl", "radgraph"]
"""The newer model, which RadGraph F1 uses; the first one, which RadCliQ was fitted with."""


def weight_files(model: Model) -> WeightFiles:
    """The files of a model: its archive unpacked, and the encoder that its config names."""
    return WeightFiles(
        f"{NAME} ({model})",
        model,
        (("config.json",), ("weights.th",), ("vocabulary",), ("encoder/config.json",),
         ("encoder/tokenizer.json", "encoder/vocab.txt")),
        f"{model}.tar.gz of StanfordAIMI/RRG_scorers and, as 'encoder', the config and tokenizer "
        "of the transformer that its config.json names",
    )  # fmt: skip


class RadGraph:
    """The loaded model. It runs on the CPU: there the package opens weights as tensors only."""

    def __init__(self, folder: Path, model: Model) -> None:
        """`folder` holds the unpacked archive and the encoder."""
        theirs, transformers = _packages()
        if int(transformers.__version__.partition(".")[0]) >= 5:
            raise MissingPart(
                f"radgraph does not run with transformers {transformers.__version__}", remedy=INSTALL
            )
        self._model = load_or_refuse(lambda: _make_model(theirs, folder, model), folder, NAME)

    def read(self, text: str) -> Entities:
        """The entities of a text by their number; none where it is empty."""
        if not text.strip():
            return {}
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = self._model([text])
        if "0" not in told:
            raise OverreadError("RadGraph could not read a report", where=f"'{text[:60]}'")
        return entities_of(told["0"])


def load_radgraph(model: Model = "radgraph-xl", models: Path | None = None) -> RadGraph:
    """A RadGraph model from the models' folder; the same object for the same folder."""
    _packages()
    return _load_cached(weight_files(model).find(models), model)


@lru_cache(maxsize=2)
def _load_cached(folder: Path, model: Model) -> RadGraph:
    return RadGraph(folder, model)


def read_radgraph(text: str, model: Model = "radgraph-xl") -> Entities:
    """Entities of a report by the model of the models' folder, remembered."""
    _packages()
    return _read_cached(text, model, weight_files(model).find())


@lru_cache(maxsize=4096)
def _read_cached(text: str, model: Model, folder: Path) -> Entities:
    return load_radgraph(model, folder.parent).read(text)


def _packages() -> tuple[Any, Any]:
    """radgraph and transformers; importing the first would change what Python warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_package("torch", NAME, INSTALL)
        return import_package("radgraph", NAME, INSTALL), import_package("transformers", NAME, INSTALL)


def _make_model(theirs: Any, folder: Path, model: Model) -> Any:
    """The package's model, from a copy of its folder whose config names the encoder on disk.

    The package would fetch the encoder's config by the name of its hub; a path is a name too.
    """
    config = json.loads((folder / "config.json").read_text("utf-8"))
    encoder = str((folder / "encoder").resolve())
    config["dataset_reader"]["token_indexers"]["bert"]["model_name"] = encoder
    config["model"]["embedder"]["token_embedders"]["bert"]["model_name"] = encoder
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy = Path(place) / model
        copy.mkdir()
        write_text(copy / "config.json", json.dumps(config))
        for name in ("weights.th", "vocabulary"):
            (copy / name).symlink_to((folder / name).resolve())
        with contextlib.redirect_stdout(io.StringIO()):
            return theirs.RadGraph(model_type=model, model_cache_dir=place, cuda=-1)
