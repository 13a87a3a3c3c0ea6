"""Presets: each is a reader that can be made; what is given beside one wins; files of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overread.core import make_reader
from overread.core.box_convention import CONVENTIONS
from overread.errors import UnknownName, UsageError
from overread.readers.openai.presets.loading import apply_preset, find_preset, preset_names
from overread.readers.openai.reader import OpenAIReader

PLACE = {"model": "m", "base_url": "http://localhost:1/v1"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presets of hosted models name a variable for the key."""
    for name in ("GEMINI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "not-needed-here")


def made(**arguments: str) -> OpenAIReader:
    """A reader with these arguments."""
    reader = make_reader("openai", {**PLACE, **arguments}, None)
    assert isinstance(reader, OpenAIReader)
    return reader


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_makes_a_reader(name: str) -> None:
    """With each of its ways of thinking; it names where its numbers come from, and no address."""
    preset = find_preset(name).preset
    assert preset.about
    assert preset.source
    assert not {"base_url", "model", "allow_remote"} & preset.arguments.keys()
    reader = made(preset=name)
    assert reader.boxes is CONVENTIONS[preset.arguments.get("boxes", "shares")]
    parameters: Any = reader.identity["parameters"]
    for key, value in preset.arguments.items():
        if key != "api_key_env":
            assert parameters[key] == value
    identities = [json.dumps(made(preset=name, thinking=word).identity) for word in preset.thinking]
    assert len(set(identities)) == len(identities), "each way of thinking asks otherwise"


def test_the_conventions_that_the_families_document() -> None:
    """What the papers' families write; a change here must come with a page that says so."""
    found = {name: find_preset(name).preset.arguments.get("boxes", "shares") for name in preset_names()}
    assert found["qwen2-vl"] == found["qwen3-vl"] == found["internvl"] == "thousandths"
    assert found["qwen2.5-vl"] == found["lingshu"] == "pixels-28"
    assert found["gemini"] == found["gemma-3"] == found["medgemma"] == "thousandths-yx"
    assert found["claude"] == "pixels-1568"


def test_what_is_given_wins_over_the_preset() -> None:
    """Arguments over thinking over preset, whatever hyphens they are written with."""
    told = apply_preset({"preset": "claude", "thinking": "on", "max-tokens": "99"})
    assert told["max_tokens"] == "99"
    assert json.loads(told["extra"]) == {"thinking": {"type": "enabled", "budget_tokens": 16384}}
    assert "preset" not in told
    assert made(preset="qwen2.5-vl", box_max_pixels="1003520").boxes.full_size(1920, 1080) == (1316, 728)


def test_a_preset_is_part_of_the_identity_by_what_it_says() -> None:
    """The same arguments by hand are the same reader; boxes in other numbers are another."""
    by_hand = {"temperature": "0.6", "top_p": "0.95", "max_tokens": "8192", "boxes": "thousandths"}
    assert made(preset="internvl").identity == made(**by_hand).identity
    assert made(boxes="pixels").identity != made().identity


def test_a_preset_of_ones_own(tmp_path: Path) -> None:
    """A file with the same fields; what is wrong in it is one sentence."""
    mine = tmp_path / "mine.toml"
    mine.write_text('about = "Mine"\nsource = "me"\n[arguments]\nboxes = "pixels"\ntemperature = 0.1\n')
    assert made(preset=str(mine)).boxes.name == "pixels"
    for text, told in (
        ("about = ", "is no TOML"),
        ('about = "x"\n[arguments]\n', "'source' of the preset is wrong"),
        ('about = "x"\nsource = "y"\ncolour = "red"\n[arguments]\n', "'colour' of the preset is wrong"),
    ):
        mine.write_text(text)
        with pytest.raises(UsageError, match=told):
            made(preset=str(mine))
    with pytest.raises(UsageError, match="cannot be read"):
        made(preset=str(tmp_path / "gone.toml"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"preset": "qwen3vl"}, "no preset is called 'qwen3vl': did you mean 'qwen3-vl'"),
        ({"preset": "gpt-5", "thinking": "hihg"}, "did you mean 'high'"),
        ({"boxes": "pixel"}, "no way of giving boxes is called 'pixel'"),
    ],
)
def test_unknown_names_are_told_with_the_nearest(arguments: dict[str, str], told: str) -> None:
    """One sentence."""
    with pytest.raises(UnknownName, match=told):
        made(**arguments)


def test_thinking_without_a_preset_is_refused() -> None:
    """Nobody would know which switch is meant."""
    with pytest.raises(UsageError, match="told by a preset"):
        made(thinking="on")
