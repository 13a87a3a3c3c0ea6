"""Arguments of readers: texts become typed settings, and no key gets in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from overread.errors import UnknownName, UsageError
from overread.readers.arguments import looks_like_key, names_a_key, settings_from


@dataclass(frozen=True)
class Settings:
    """One field of each kind."""

    model: str
    steps: int = 1
    warmth: float | None = None
    quick: bool = False
    way: Literal["auto", "none"] = "auto"
    file: Path | None = None
    words: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def test_texts_become_what_the_fields_are() -> None:
    """Each text is read by the type of its field."""
    given = {
        "model": "a model",
        "steps": " 12 ",
        "warmth": "1e-1",
        "quick": "Yes",
        "way": "none",
        "file": "/a/b",
        "words": "lung, bone",
        "extra": '{"top_k": 20}',
    }
    assert settings_from(Settings, given) == Settings(
        "a model", 12, 0.1, True, "none", Path("/a/b"), ("lung", "bone"), {"top_k": 20}
    )


def test_values_that_are_no_texts_are_taken_too() -> None:
    """Who calls from Python may give numbers and mappings as they are."""
    made = settings_from(Settings, {"model": "m", "steps": 3, "quick": True, "extra": {"a": 1}})
    assert made == Settings("m", steps=3, quick=True, extra={"a": 1})


def test_a_hyphen_is_as_good_as_an_underscore() -> None:
    """A name with hyphens finds their field, and twice is refused."""

    @dataclass(frozen=True)
    class Two:
        max_tokens: int = 1

    assert settings_from(Two, {"max-tokens": "5"}).max_tokens == 5
    with pytest.raises(UsageError, match="twice"):
        settings_from(Two, {"max-tokens": "5", "max_tokens": "6"})


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("steps", "1.5", "a whole number, not '1.5'"),
        ("steps", "９" * 200, "a whole number"),
        ("warmth", "warm", "a number, not 'warm'"),
        ("warmth", "nan", "a number"),
        ("warmth", "inf", "a number"),
        ("quick", "perhaps", "yes or no"),
        ("way", "json", "one of auto, none"),
        ("extra", "[1]", "a JSON object"),
        ("extra", "{" * 100_000, "a JSON object"),
    ],
)
def test_wrong_values_say_what_was_expected(name: str, text: str, expected: str) -> None:
    """A value of another kind is refused in one sentence."""
    with pytest.raises(UsageError, match=f"'{name}' must be {expected}"):
        settings_from(Settings, {"model": "m", name: text})


def test_a_permission_is_for_readers_that_ask_for_it() -> None:
    """A reader that never leaves the machine takes it too, and does nothing with it."""

    @dataclass(frozen=True)
    class Remote:
        allow_remote: bool = False

    assert settings_from(Remote, {"allow_remote": "true"}).allow_remote
    assert settings_from(Settings, {"model": "m", "allow_remote": "true"}) == Settings(model="m")


def test_unknown_and_missing_names() -> None:
    """An unknown argument gets the nearest known one, a missing one says how to give it."""
    with pytest.raises(UnknownName, match="did you mean 'warmth'"):
        settings_from(Settings, {"model": "m", "warmht": "1"})
    with pytest.raises(UsageError, match="--reader-arg model="):
        settings_from(Settings, {})


KEYS = [
    "sk-proj-abcdefghijklmnopqrstuv",
    "sk-ant-api03-AAAAAAAAAAAAAAAAAAAA",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "AIzaSyA1234567890abcdefghijklmnop",
    "gsk_abcdefghijklmnop1234",
    "0123456789abcdef0123456789abcdef",
    "Bearer abcdefgh",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
]


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_refused_and_never_repeated(key: str) -> None:
    """Something that looks like a key is refused as any argument, and not in the error."""
    for arguments in (
        {"model": key},
        {"model": "m", "extra": f'{{"a": ["{key}"]}}'},
        {"model": "m", "steps": key},
        {"model": "m", key: "1"},
    ):
        with pytest.raises(UsageError) as caught:
            settings_from(Settings, arguments)
        assert key not in str(caught.value)
        assert key not in repr(caught.value)


@pytest.mark.parametrize("name", ["api_key", "api-key", "authorization", "token", "password"])
def test_arguments_that_are_keys_by_their_name_are_refused(name: str) -> None:
    """A key given by name, alone or inside of extra, leads to the environment variable."""
    assert names_a_key(name)
    for arguments in ({"model": "m", name: "x"}, {"model": "m", "extra": f'{{"{name}": "x"}}'}):
        with pytest.raises(UsageError, match="api_key_env=NAME"):
            settings_from(Settings, arguments)


@pytest.mark.parametrize(
    "name",
    [
        "gpt-5.2",
        "Qwen/Qwen3-VL-235B-A22B-Instruct-FP8",
        "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
        "hf_internal_testing/tiny",
        "/data/models/medgemma-27b-it",
        "http://localhost:8000/v1",
        "https://api-gateway-production-17.example.org/v1",
        "OPENAI_API_KEY",
        "google/medgemma-1.5-4b-it-0123456789abcdef",
    ],
)
def test_names_of_models_and_places_are_no_keys(name: str) -> None:
    """Names that people really use are let through."""
    assert not looks_like_key(name)
