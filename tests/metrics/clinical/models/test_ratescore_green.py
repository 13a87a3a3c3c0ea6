"""RaTEScore's two models and GREEN's judge, tiny and random."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.errors import OverreadError, UsageError
from overread.metrics import Sample
from overread.metrics.clinical import model_scores
from overread.metrics.clinical.models import green, ratescore
from overread.metrics.clinical.ratescore import ratescore as plain_ratescore
from tests.metrics.clinical.tiny_models import OTHER, REPORT, ids_of, made_green, made_ratescore, subject

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("fresh_models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def test_ratescore_names_entities_and_compares_their_vectors(fresh_models: Path) -> None:
    """Entities are the labelled runs of each sentence; the score is the arithmetic on them."""
    import torch

    deberta, encoder = made_ratescore(fresh_models)
    model = ratescore.load_ratescore()
    found = model.entities(REPORT)
    expected = []
    for sentence in ("Small left pleural effusion.", "The heart is normal."):
        ids = ids_of(fresh_models / "ratescore" / "ner", sentence)
        with torch.no_grad():
            best = deberta(torch.tensor([ids])).logits[0].argmax(-1).tolist()[1:-1]
        words = sentence.lower().replace(".", " .").split()
        open_one = False
        for word, n in zip(words, best, strict=True):
            label = deberta.config.id2label[n]
            if label.startswith("B-"):
                expected.append([word, label[2:]])
            elif label.startswith("I-") and open_one:
                expected[-1][0] += f" {word}"
            open_one = label.startswith("B-") or (label.startswith("I-") and open_one)
    assert [list(pair) for pair in found] == expected
    assert found
    theirs = model.entities(OTHER)
    got = plain_ratescore(
        model.vectors([w for w, _ in found]), [k for _, k in found],
        model.vectors([w for w, _ in theirs]), [k for _, k in theirs],
    )  # fmt: skip
    assert model.score(REPORT, OTHER) == pytest.approx(got)
    assert model.score(REPORT, REPORT) == pytest.approx(1.0)
    ids = torch.tensor([ids_of(fresh_models / "ratescore" / "encoder", found[0][0])])
    with torch.no_grad():
        alone = encoder(ids).last_hidden_state[0, 0].numpy()
    assert model.vectors([w for w, _ in found])[0] == pytest.approx(alone, abs=1e-5)
    assert model.score(REPORT, "   ") == 0.5


def greedily(judge: Any, chat: str, longest: int) -> str:
    """Brute force: the likeliest token, again and again."""
    import torch

    ids = judge._words(chat, add_special_tokens=False)["input_ids"]
    start = len(ids)
    while len(ids) < longest and judge._words.eos_token_id not in ids[start:]:
        with torch.no_grad():
            ids.append(int(judge._model(torch.tensor([ids])).logits[0, -1].argmax()))
    said: str = judge._words.decode(ids[start:], skip_special_tokens=True)
    return said


def test_the_judge_answers_and_its_reply_is_counted(fresh_models: Path) -> None:
    """A random judge talks nonsense: the reply is text, unreadable, counted and not scored."""
    made_green(fresh_models)
    judge = green.GreenJudge(fresh_models / "green", longest=60)
    said = judge.reply("effusion", "nodule")
    assert said == judge.reply("effusion", "nodule")
    assert len(said.split()) > 1
    assert said == greedily(judge, judge._chat("effusion", "nodule"), 60)
    rows = model_scores.METRICS["green"].measure(subject(REPORT, OTHER))
    assert rows[""]["unparseable"] == 1
    assert "GREEN judge" in rows[""]["problem"]
    assert model_scores.METRICS["green_unparseable"].combine(Sample(list(rows.values())))[0] == 1.0
    assert np.isnan(model_scores.METRICS["green"].combine(Sample(list(rows.values())))[0])


def test_a_readable_reply_is_scored(fresh_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the judge answers in its form, GREEN is matched over matched and errors."""
    made_green(fresh_models)
    reply = "[Clinically Significant Errors]:\n(a) False report: 1. x\n\n[Matched Findings]:\n3. a; b; c"
    monkeypatch.setattr(green.GreenJudge, "reply", lambda *_: reply)
    rows = model_scores.METRICS["green"].measure(subject(REPORT, OTHER))
    assert rows[""]["green"] == 0.75
    assert rows[""]["significant"]["a"] == 1
    assert json.loads(json.dumps(rows)) == rows


@pytest.mark.parametrize("keys", [("role", "user", "content"), ("from", "human", "value")])
def test_the_judge_speaks_the_template_of_its_tokenizer(fresh_models: Path, keys: tuple[str, ...]) -> None:
    """Templates of both dialects are filled, and one report cannot take the other's place."""
    speaker, who, words = keys
    template = (
        "{% for m in messages %}{% if m['" + speaker + "'] == '" + who + "' %}"
        "<<{{ m['" + words + "'] }}>>{% endif %}{% endfor %}"
    )
    made_green(fresh_models, template=template)
    judge = green.GreenJudge(fresh_models / "green")
    chat = judge._chat("small {candidate}", "large")
    assert chat == "<<The left: small {candidate} The right: large .>>"


def test_too_long_a_pair_and_a_prompt_without_places_are_errors(fresh_models: Path) -> None:
    """Both in one sentence; the first is one of the case, the second of the folder."""
    made_green(fresh_models)
    judge = green.GreenJudge(fresh_models / "green", longest=20)
    with pytest.raises(OverreadError, match="it reads 20"):
        judge.reply(REPORT, OTHER)
    (fresh_models / "green" / "prompt.txt").write_text("Compare {reference}.")
    with pytest.raises(UsageError, match="where the two reports go"):
        green.GreenJudge(fresh_models / "green")
