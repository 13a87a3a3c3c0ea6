"""Each ablation changes exactly what it says: a scripted model server compares what it was sent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from overread.metrics.choice import POSITION_BIAS
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card
from overread.runs.scoring.from_run import score
from overread.runs.spec import read_spec
from overread.runs.store import last_readings
from overread.runs.sweep.runner import choice_agreement
from overread.session import SessionSettings
from tests.runs.ablation_cases import Sent, by_case, pictured, served, telling

CASES, PICTURES = 4, 5


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four cases of five pictures."""
    return pictured(tmp_path_factory.mktemp("ablations") / "release", CASES, PICTURES)


@pytest.fixture(scope="module")
def plainly(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Sent]:
    """Case → what a model is sent without any ablation."""
    out = tmp_path_factory.mktemp("plainly") / "run"
    sent = by_case(served(root, out, lambda _: "A")[1])
    for case, one in sent.items():
        assert one.greys == [10 * case + number for number in range(1, PICTURES + 1)]
    return sent


def ablated(root: Path, out: Path, **more: Any) -> list[Sent]:
    return served(root, out, lambda _: "A", **more)[1]


# ---- what was sent -------------------------------------------------------------------------


def test_an_image_ratio_takes_pictures_away_and_nothing_else(
    root: Path, tmp_path: Path, plainly: dict[int, Sent]
) -> None:
    """The pixels that were sent are nested over the ratios; all else is the same, byte by byte.

    But for 0: where no picture is shown, none is spoken of.
    """
    before: dict[int, list[str]] = {case: [] for case in plainly}
    for ratio, count in ((0, 0), (20, 1), (40, 2), (60, 3), (80, 4), (100, 5)):
        settings = SessionSettings(image_ratio=ratio)
        out = tmp_path / f"{ratio}"
        for case, one in by_case(ablated(root, out, settings=settings)).items():
            assert len(one.urls) == count
            assert set(before[case]) <= set(one.urls)
            assert one.urls == [url for url in plainly[case].urls if url in one.urls]
            assert (one.rest == plainly[case].rest) == (ratio > 0)
            before[case] = one.urls
        assert read_spec(out).workflow.settings["image_ratio"] == ratio
    assert before == {case: one.urls for case, one in plainly.items()}


@pytest.mark.parametrize("workflow", ["direct", "explore", "twi"])
def test_without_pictures_none_is_spoken_of(root: Path, tmp_path: Path, workflow: str) -> None:
    """No question says that pictures stand above it or can be looked at, and each says so."""
    settings = SessionSettings(image_ratio=0, discussion=False)
    sent = ablated(root, tmp_path / "run", settings=settings, workflow=workflow)
    assert len(sent) == CASES
    for one in sent:
        assert one.urls == []
        assert "No pictures are shown." in one.rest
        assert not re.search(r"pictures? (above|again|and the history)|every picture", one.rest)
        assert "You are shown the pictures" not in one.rest


def test_shuffled_images_change_their_order_and_nothing_else(
    root: Path, tmp_path: Path, plainly: dict[int, Sent]
) -> None:
    """Of each case one request is the plain one; the others show the same pictures elsewhere."""
    settings = SessionSettings(shuffle=("images",))
    sent = ablated(root, tmp_path / "run", settings=settings, repeat=3)
    for case, plain in plainly.items():
        own = [one for one in sent if one.case == case]
        assert len({tuple(one.urls) for one in own}) == 3
        assert sum(one.urls == plain.urls for one in own) == 1
        assert all(sorted(one.urls) == sorted(plain.urls) for one in own)
        assert {one.rest for one in own} == {plain.rest}


def test_shuffled_options_change_their_texts_places_and_nothing_else(
    root: Path, tmp_path: Path, plainly: dict[int, Sent]
) -> None:
    """The lines of the options are permuted under the same letters; pictures and words stay."""
    settings = SessionSettings(shuffle=("options",))
    sent = ablated(root, tmp_path / "run", settings=settings, repeat=3)
    for case, plain in plainly.items():
        own = [one for one in sent if one.case == case]
        assert len(own) == 3
        shown = set()
        for one in own:
            assert one.urls == plain.urls
            lines, usual = one.text.splitlines(), plain.text.splitlines()
            assert len(lines) == len(usual)
            moved = [place for place in range(len(usual)) if lines[place] != usual[place]]
            assert all(usual[place][:13] == f"{usual[place][0]}. Diagnosis " for place in moved)
            assert [lines[place][:2] for place in moved] == [usual[place][:2] for place in moved]
            assert sorted(line[3:] for line in lines) == sorted(line[3:] for line in usual)
            shown.add(tuple(lines))
        assert len(shown) == 3
        assert tuple(plain.text.splitlines()) in shown


def test_reasoning_effort_changes_its_own_field_and_nothing_else(
    root: Path, tmp_path: Path, plainly: dict[int, Sent]
) -> None:
    """The request has one field more, and the spec names it."""
    arguments = {"reasoning_effort": "low"}
    sent = by_case(ablated(root, tmp_path / "run", arguments=arguments))
    for case, one in sent.items():
        assert one.body.pop("reasoning_effort") == "low"
        assert one.body == plainly[case].body
    assert read_spec(tmp_path / "run").reader.arguments["reasoning_effort"] == "low"


def test_revealing_adds_the_experts_words_and_nothing_else(root: Path, tmp_path: Path) -> None:
    """Captions and summary of this case stand in the question when the setting says so, else not."""

    def told(name: str, *reveal: str) -> dict[int, Sent]:
        settings = SessionSettings(reveal=reveal)
        return by_case(ablated(root, tmp_path / name, settings=settings, workflow=telling))

    plain = told("plain")
    summed, captioned = told("summary", "summary"), told("captions", "captions")
    assert not any("Expert" in one.text or "All pictures" in one.text for one in plain.values())
    for case, one in plain.items():
        summary = f"All pictures of case {case} together show it."
        captions = [f"image-{n}: Expert on picture {n} of case {case}." for n in range(1, PICTURES + 1)]
        for other, words in ((summed[case], [summary]), (captioned[case], captions)):
            added = json.dumps("\n" + "\n".join(words))[1:-1]
            assert added in other.rest
            assert other.rest.replace(added, "", 1) == one.rest
            assert other.urls == one.urls


def test_both_orders_and_fewer_pictures_go_together(root: Path, tmp_path: Path) -> None:
    """The pictures of every sample are those of the ratio, and readings are put back."""
    settings = SessionSettings(shuffle=("options", "images"), image_ratio=60)
    sent = ablated(root, tmp_path / "run", settings=settings, repeat=2)
    for case in range(1, CASES + 1):
        first, second = (one for one in sent if one.case == case)
        assert sorted(first.urls) == sorted(second.urls)
        assert first.urls != second.urls
        assert len(first.urls) == 3


# ---- what becomes of the answers -----------------------------------------------------------


def by_text(sent: Sent) -> str:
    """A model that knows the right diagnosis by its words, wherever it stands."""
    right = f"Diagnosis {sent.case} {'B' if sent.case % 2 else 'D'}"
    return next(line[0] for line in sent.text.splitlines() if line.endswith(f". {right}"))


def scored(root: Path, out: Path, choose: Any) -> Card:
    settings = SessionSettings(shuffle=("options",))
    served(root, out, choose, settings=settings, repeat=5)
    return score(out, metrics=["accuracy", "position_bias"], bootstrap=BootstrapSettings(draws=50))


def test_a_model_that_reads_the_texts_is_right_in_every_order(root: Path, tmp_path: Path) -> None:
    """Its letters change, and put back they are the key's: always right, always agreeing."""
    card = scored(root, tmp_path / "run", by_text)
    assert card.scores["accuracy"].value == 1
    assert card.scores["accuracy"].n == 5 * CASES
    assert card.scores["position_bias"].value == 0
    same = choice_agreement(tmp_path / "run", card, BootstrapSettings(draws=50))
    assert same is not None
    assert (same.value, same.n) == (1, CASES)
    said = {json.loads(e.reply.text)["answer"] for e in exchanges(tmp_path / "run")}
    assert len(said) > 2


def exchanges(run: Path) -> list[Any]:
    return [exchange for r in last_readings(run).values() for exchange in r.exchanges]


def test_a_model_that_loves_a_letter_is_found_out(root: Path, tmp_path: Path) -> None:
    """It says A whatever stands there: it agrees with itself as its texts do, and is biased."""
    card = scored(root, tmp_path / "run", lambda _: "A")
    readings = last_readings(tmp_path / "run")
    right = sum(r.choice == ("B" if int(case[-1]) % 2 else "D") for (case, _), r in readings.items())
    assert card.scores["accuracy"].value == pytest.approx(right / len(readings))
    # By place: always the first, where the key is as often as it is chosen rightly.
    assert card.scores["position_bias"].value == pytest.approx(1 - right / len(readings))
    assert POSITION_BIAS.better == "lower"
    same = choice_agreement(tmp_path / "run", card, BootstrapSettings(draws=50))
    assert same is not None
    assert same.value is not None
    by_hand = []
    for case in {case for case, _ in readings}:
        chosen = [readings[case, sample].choice for sample in range(5)]
        pairs = [(a, b) for a in range(5) for b in range(a)]
        by_hand.append(sum(chosen[a] == chosen[b] for a, b in pairs) / len(pairs))
    assert same.value == pytest.approx(sum(by_hand) / CASES)
    assert same.value < 0.7
