"""CheXbert, SembScore and BERTScore on tiny random models; hostile and foreign weights."""

from __future__ import annotations

import json
import math
import pickle
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from overread.errors import UsageError
from overread.metrics import Sample
from overread.metrics.clinical import model_scores
from overread.metrics.clinical.models import bertscore, chexbert
from tests.metrics.clinical.tiny_models import (
    OTHER,
    REPORT,
    WORDS,
    ids_of,
    made_chexbert,
    made_roberta,
    subject,
)

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("fresh_models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.mark.parametrize("suffix", ["pth", "safetensors"])
def test_chexbert_is_bert_and_fourteen_heads(fresh_models: Path, suffix: str) -> None:
    """Labels and vector are those of the same layers called by hand."""
    import torch

    bert, heads = made_chexbert(fresh_models, suffix=suffix)
    seen = set()
    for text in (REPORT, OTHER, "  Effusion\n\n is   LARGE. "):
        labels, vector = chexbert.load_chexbert().read(text)
        rows = torch.tensor([ids_of(fresh_models / "chexbert", text)])
        with torch.no_grad():
            first = bert(rows).last_hidden_state[0, 0]
            expected = tuple(int(head(first).argmax()) for head in heads)
        assert labels == expected
        assert vector == pytest.approx(first.numpy(), abs=1e-5)
        assert labels[13] in (0, 1)
        seen |= set(labels)
    assert seen == {0, 1, 2, 3}


def test_a_long_report_is_cut_at_512_pieces(fresh_models: Path) -> None:
    """510 words and the two marks; what comes after does not change the vector."""
    made_chexbert(fresh_models)
    model = chexbert.load_chexbert()
    long = " ".join(["effusion"] * 510)
    assert model.read(long + " nodule")[1] == pytest.approx(model.read(long)[1])
    assert model.read(long[:-9])[1] != pytest.approx(model.read(long)[1])


def test_loading_leaves_the_random_state_alone(fresh_models: Path) -> None:
    """Numbers drawn after loading are those that would have been drawn without it."""
    import torch

    made_chexbert(fresh_models)
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    chexbert.load_chexbert()
    assert torch.equal(torch.rand(3), expected)


def test_chexbert_and_sembscore_metrics(fresh_models: Path) -> None:
    """The report itself gets the best, or its ceiling; nothing gets the worst."""
    made_chexbert(fresh_models)
    for metric in (
        model_scores.METRICS["chexbert_f1_14"],
        model_scores.METRICS["chexbert_f1_14_macro"],
        model_scores.METRICS["sembscore"],
    ):
        same = Sample(list(metric.measure(subject(REPORT, REPORT)).values()))
        none = Sample(list(metric.measure(subject(REPORT, None)).values()))
        best = metric.best
        if metric.ceiling:
            best = float(model_scores.METRICS["ceiling_chexbert_f1_14_macro"].combine(same)[0])
            assert 0 < best < 1
        assert metric.combine(same)[0] == pytest.approx(best)
        assert metric.combine(none)[0] == metric.worst
        assert json.loads(json.dumps(list(same.rows))) == list(same.rows)


def test_sembscore_is_a_cosine(fresh_models: Path) -> None:
    """Against the vectors themselves, on random words."""
    made_chexbert(fresh_models)
    dice = random.Random(2)
    for _ in range(5):
        a, b = (" ".join(dice.choice(WORDS[:12]) for _ in range(6)) for _ in range(2))
        x, y = chexbert.read_chexbert(a)[1], chexbert.read_chexbert(b)[1]
        expected = sum(x * y) / (sum(x * x) ** 0.5 * sum(y * y) ** 0.5)
        got = model_scores.METRICS["sembscore"].measure(subject(a, b))[""]["sembscore"]
        assert got == pytest.approx(expected)


def looped_bertscore(model: Any, reference: str, other: str) -> float:
    """Brute force: piece by piece, in plain Python."""
    import torch

    letters = sorted(import_module("tokenizers").pre_tokenizers.ByteLevel.alphabet())

    def pieces(text: str) -> list[list[float]]:
        clean = " " + " ".join(text.split(" ")).strip()
        ids = [0, *(4 + letters.index("Ġ" if c == " " else c) for c in clean), 2]
        with torch.no_grad():
            told = model(torch.tensor([ids]), output_hidden_states=True)
        rows: list[list[float]] = told.hidden_states[5][0].double().tolist()
        return rows

    def cosine(a: list[float], b: list[float]) -> float:
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))

    ours, theirs = pieces(reference), pieces(other)
    p = [max(cosine(a, b) for b in ours) for a in theirs[1:-1]]
    r = [max(cosine(a, b) for a in theirs) for b in ours[1:-1]]
    precision, recall = sum(p) / len(p), sum(r) / len(r)
    f = 2 * precision * recall / (precision + recall)
    return (f - 0.8473319) / (1 - 0.8473319)


def test_bertscore_is_the_plain_loop(fresh_models: Path) -> None:
    """Fifth layer, marks matched but not averaged, rescaled; equal texts get 1, empty the floor."""
    model = made_roberta(fresh_models)
    for a, b in ((REPORT, OTHER), ("effusion", "no effusion, large"), (OTHER, OTHER)):
        assert bertscore.bertscore(a, b) == pytest.approx(looped_bertscore(model, a, b), abs=1e-4)
        assert bertscore.bertscore(b, a) == pytest.approx(bertscore.bertscore(a, b), abs=1e-6)
    assert bertscore.bertscore(OTHER, OTHER) == pytest.approx(1.0, abs=1e-5)
    assert bertscore.bertscore(" Left  lung ", "Left lung") == pytest.approx(1.0, abs=1e-5)
    assert bertscore.bertscore(OTHER, " ") == bertscore.EMPTY
    long = REPORT * 30
    assert bertscore.load_bertscore().vectors(long).shape == (512, 16)


def test_foreign_weights_are_refused_with_one_sentence(fresh_models: Path) -> None:
    """A missing head, another shape, a list instead of a table."""
    import torch

    made_chexbert(fresh_models)
    path = fresh_models / "chexbert" / "chexbert.pth"
    state = torch.load(path, weights_only=True)["model_state_dict"]
    lost = {k: t for k, t in state.items() if "linear_heads.5" not in k}
    cut = {**state, "module.bert.pooler.dense.weight": torch.zeros(3, 3)}
    for broken in (lost, cut, [1, 2]):
        torch.save(broken, path)
        with pytest.raises(UsageError, match="CheXbert") as told:
            chexbert.load_chexbert()
        assert str(path) in str(told.value)
        assert "\n" not in str(told.value)


class Trap:
    """Would write a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.path, "sprung")


def test_weights_that_hold_code_are_not_run(fresh_models: Path) -> None:
    """A pickle that would write a file is refused, in CheXbert's form and in transformers'."""
    made_chexbert(fresh_models)
    made_roberta(fresh_models)
    sign = fresh_models / "sprung"
    (fresh_models / "chexbert" / "chexbert.pth").write_bytes(pickle.dumps({"model_state_dict": Trap(sign)}))
    folder = fresh_models / "distilroberta-base"
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": Trap(sign)}))
    for load in (chexbert.load_chexbert, bertscore.load_bertscore):
        with pytest.raises(UsageError, match="cannot be loaded"):
            load()
    assert not sign.exists()


def test_code_beside_weights_is_not_run(fresh_models: Path) -> None:
    """A config that names a module of the folder does not get it imported."""
    made_roberta(fresh_models)
    folder = fresh_models / "distilroberta-base"
    sign = fresh_models / "sprung"
    (folder / "evil.py").write_text(f"import pathlib\npathlib.Path({str(sign)!r}).write_text('x')\n")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}
    config["model_type"] = "evil"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match="BERTScore cannot be loaded"):
        bertscore.load_bertscore()
    assert not sign.exists()
