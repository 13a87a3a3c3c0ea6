"""Presets: files that say how a family of models wants to be asked, as arguments of a reader.

A preset names no address: where the model is served is up to the user. What is given beside a preset
wins over it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field

from overread.catalog import unknown_name
from overread.core.record import Record
from overread.errors import UsageError

_FOLDER = "overread.readers.openai.presets"


class Preset(Record):
    """One family of models."""

    about: str
    """Which models, in words."""
    models: tuple[str, ...] = ()
    """Names under which they are served, or lie on the hub."""
    benchmarks: tuple[str, ...] = ()
    """The papers that evaluate one of them."""
    source: str
    """Where what it says comes from."""
    serve: str = ""
    """How it is served, or reached."""
    arguments: dict[str, Any]
    """Arguments of the reader."""
    thinking: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """How long it thinks → what that takes: more arguments of the reader."""


@dataclass(frozen=True)
class NamedPreset:
    """A preset and what it is called."""

    name: str
    preset: Preset


def preset_names() -> list[str]:
    """The names of the house's own presets."""
    found = (file.name for file in files(_FOLDER).iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def find_preset(name: str) -> NamedPreset:
    """The preset of that name, or the one in a file of one's own (`mine.toml`)."""
    if name in preset_names():
        text = (files(_FOLDER) / f"{name}.toml").read_text("utf-8")
        return NamedPreset(name, _parse(text, f"the preset '{name}'"))
    if not name.endswith(".toml"):
        raise unknown_name("preset", name, preset_names())
    try:
        text = Path(name).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the preset cannot be read ({why})", where=name) from None
    return NamedPreset(Path(name).stem, _parse(text, name))


def apply_preset(arguments: Mapping[str, str]) -> dict[str, str]:
    """The arguments of a reader with those of their `preset` beneath, and its `thinking` between.

    >>> apply_preset({"model": "m", "preset": "qwen3-vl", "temperature": "0"})["boxes"]
    'thousandths'
    """
    given = {name.strip().replace("-", "_"): value for name, value in arguments.items()}
    name, thinking = given.pop("preset", None), given.pop("thinking", None)
    if name is None:
        if thinking is not None:
            raise UsageError(
                "how long a model thinks is told by a preset",
                remedy="add --reader-arg preset=…, or use reasoning_effort or extra",
            )
        return dict(arguments)
    found = find_preset(name)
    told = dict(found.preset.arguments)
    if thinking is not None:
        if thinking not in found.preset.thinking:
            raise unknown_name(f"thinking of the preset '{found.name}'", thinking, found.preset.thinking)
        told |= found.preset.thinking[thinking]
    return {**{word: _as_text(value) for word, value in told.items()}, **given}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _parse(text: str, where: str) -> Preset:
    import tomllib

    from pydantic import ValidationError

    try:
        return Preset.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"the preset is no TOML ({error})", where=where) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"'{place}' of the preset is wrong ({first['msg']})", where=where) from None
