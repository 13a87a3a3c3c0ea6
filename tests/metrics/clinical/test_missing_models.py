"""Model-based clinical scores where a package or weights are absent, and what they declare."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from overread.core import Case, Entry, Reading, Truth
from overread.errors import MissingPart
from overread.metrics import Metric, Sample, Subject
from overread.metrics.clinical import model_scores
from overread.metrics.clinical.model_scores import model_metrics
from overread.metrics.clinical.models import radgraph as radgraph_model
from overread.metrics.clinical.models.bertscore import BASELINE, load_bertscore
from overread.metrics.clinical.models.chexbert import load_chexbert
from overread.metrics.clinical.models.green import load_green
from overread.metrics.clinical.models.radgraph import load_radgraph
from overread.metrics.clinical.models.ratescore import load_ratescore
from overread.metrics.clinical.models.weights import WeightFiles, models_folder
from overread.metrics.clinical.radcliq import V0, V1

METRICS = model_metrics("report")
LOADERS: dict[str, Callable[[], Any]] = {
    "chexbert": load_chexbert,
    "distilroberta-base": load_bertscore,
    "radgraph-xl": load_radgraph,
    "ratescore/ner": load_ratescore,
    "green": load_green,
}
PRETENDED = ("torch", "transformers", "radgraph", "tokenizers")


def subject(written: str | None) -> Subject:
    case = Case(id="c", benchmark="mmrad", split="test")
    reading = None if written is None else Reading(case_id="c", reader="r", report=written)
    return Subject(Entry(case=case, truth=Truth(report="Left effusion.")), reading)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Packages that seem installed, and an empty models' folder."""
    for name in PRETENDED:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("folder", LOADERS)
def test_without_the_package_one_sentence_says_what_to_install(
    folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No torch: MissingPart with the command to type, before weights are looked for."""
    for name in PRETENDED:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path))
    with pytest.raises(MissingPart, match=r"needs the package torch .*: pip install") as told:
        LOADERS[folder]()
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("folder", LOADERS)
def test_without_weights_one_sentence_says_where_and_what(folder: str, nowhere: Path) -> None:
    """The folder that was looked in, the files that are expected, where they come from."""
    with pytest.raises(MissingPart) as told:
        LOADERS[folder]()
    words = str(told.value)
    assert "\n" not in words
    assert str(nowhere / folder) in words
    assert "the hub" in words or "RRG_scorers" in words
    assert "OVERREAD_MODELS" in words
    expected = {"chexbert": "chexbert.pth", "radgraph-xl": "weights.th", "green": "prompt.txt"}
    assert expected.get(folder, "model.safetensors") in words
    assert list(nowhere.iterdir()) == []


@pytest.mark.parametrize(
    "name", [n for n in METRICS if not n.startswith("ceiling_") and n != "green_unparseable"]
)
def test_metrics_raise_it_for_a_report_and_need_no_model_for_none(name: str, nowhere: Path) -> None:
    """A report asks for the model; a missing one is the worst without it, but for CheXbert's."""
    metric = METRICS[name]
    with pytest.raises(MissingPart, match="weights of"):
        metric.measure(subject("Left effusion."))
    if name.startswith("chexbert"):
        return  # the labels of the reference are needed even where nothing was handed in
    for nothing in (None, " \n"):
        rows = list(metric.measure(subject(nothing)).values())
        assert metric.combine(Sample(rows))[0] == pytest.approx(metric.worst, abs=1e-9)


def test_the_folder_given_wins_over_the_variable_and_that_over_the_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In this order; an empty variable is none."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OVERREAD_MODELS", "")
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "c"))
    assert models_folder() == tmp_path / "c" / "models"
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path / "a"))
    assert models_folder() == tmp_path / "a"
    assert models_folder(tmp_path / "b") == tmp_path / "b"


def test_weights_are_in_the_cache_folder_or_where_they_were_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """OVERREAD_CACHE and XDG_CACHE_HOME count; ~/.cache/overread/models is looked into as well."""
    wanted = WeightFiles("Tiny", "tiny", (("model.bin", "model.safetensors"),), "nowhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("OVERREAD_MODELS", "OVERREAD_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    with pytest.raises(MissingPart, match=str(tmp_path / "xdg" / "overread" / "models" / "tiny")):
        wanted.find()
    old, own = tmp_path / ".cache" / "overread" / "models" / "tiny", tmp_path / "own"
    for folder in (old, own / "models" / "tiny"):
        folder.mkdir(parents=True)
        (folder / "model.bin").touch()
    assert wanted.find() == old
    monkeypatch.setenv("OVERREAD_CACHE", str(own))
    assert wanted.find() == own / "models" / "tiny"
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path / "named"))
    with pytest.raises(MissingPart, match="named"):
        wanted.find()


def test_worst_and_best_of_radcliq() -> None:
    """Best are the published values of all 1; silence is worse than all 0."""
    assert model_scores.METRICS["radcliq_v0"].best == pytest.approx(-0.2421, abs=5e-5)
    assert model_scores.METRICS["radcliq_v1"].best == pytest.approx(-1.4407, abs=5e-5)
    zeros = dict.fromkeys(model_scores.EMPTY_COMPONENTS, 0.0)
    assert model_scores.METRICS["radcliq_v0"].worst > V0.value(zeros)
    assert model_scores.METRICS["radcliq_v1"].worst > V1.value(zeros)
    floor = -BASELINE / (1 - BASELINE)
    assert {
        "radgraph_combined": 0,
        "bertscore": pytest.approx(floor),
        "sembscore": -1,
        "bleu2": 0,
    } == model_scores.EMPTY_COMPONENTS
    assert model_scores.METRICS["radcliq_v1"].worst == pytest.approx(
        2.4501 + 1.650845 * -floor + 0.994771, abs=1e-3
    )
    assert model_scores.METRICS["bertscore"].worst == pytest.approx(-BASELINE / (1 - BASELINE))


@pytest.mark.parametrize("name", METRICS)
def test_what_each_metric_declares(name: str) -> None:
    """A direction that fits best and worst, its part, its reference; it can be pickled."""
    metric = METRICS[name]
    assert model_scores.METRICS[name] is metric
    assert metric.name == name
    assert metric.needs == ("report",)
    assert metric.reference
    assert metric.settings["part"] == "report"
    assert pickle.loads(pickle.dumps(metric)).name == name
    if not math.isnan(metric.worst):
        assert (metric.best > metric.worst) == (metric.better == "higher")
    if metric.ceiling:
        assert metric.ceiling in METRICS
    assert (metric.better == "lower") == name.startswith(("radcliq", "green_unparseable"))


def test_metrics_that_share_a_model_share_a_measure() -> None:
    """The three RadGraph variants, the two RadCliQ versions, all of CheXbert's, both of GREEN's."""

    def same(*names: str) -> bool:
        return len({id(METRICS[name].measure) for name in names}) == 1

    assert same("radgraph_e", "radgraph_er", "radgraph_bar_er")
    assert same("radcliq_v0", "radcliq_v1")
    assert same(*(name for name in METRICS if name.startswith("chexbert")))
    assert same("green", "green_unparseable")
    assert not same("bertscore", "sembscore")


def test_other_parts_have_their_own_names() -> None:
    """The factory makes them for findings too."""
    found: dict[str, Metric] = model_metrics("findings")
    assert found["radgraph_e"].name == "findings_radgraph_e"
    assert found["chexbert_f1_5_macro"].ceiling == "ceiling_findings_chexbert_f1_5_macro"
    assert found["green"].needs == ("findings",)


def test_radgraph_refuses_a_transformers_it_does_not_run_with(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With transformers 5, the sentence says which one to install."""
    folder = nowhere / "radgraph-xl"
    (folder / "encoder").mkdir(parents=True)
    (folder / "vocabulary").mkdir()
    for name in ("config.json", "weights.th", "encoder/config.json", "encoder/vocab.txt"):
        (folder / name).write_text("{}")
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "5.1.0", raising=False)
    radgraph_model._load_cached.cache_clear()
    with pytest.raises(MissingPart, match=r"does not run with transformers 5.1.0: .*transformers<5"):
        load_radgraph()
