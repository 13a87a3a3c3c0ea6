"""Settings of a session from what somebody typed, or wrote into a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from overread.catalog import unknown_name
from overread.errors import UsageError
from overread.session import SessionSettings


def session_settings(values: Mapping[str, Any] | None, *, between: str = ",") -> SessionSettings:
    """Settings of a session from plain values; an unknown or a wrong one is a `UsageError`.

    Where a setting is several words, a text names them with `between` between them.

    >>> session_settings({"longest": "512", "windows": "lung,bone"}).windows
    ('lung', 'bone')
    >>> session_settings({"image_ratoi": "20"})
    Traceback (most recent call last):
        ...
    overread.errors.UnknownName: no setting is called 'image_ratoi': did you mean 'image_ratio'?
    """
    known = SessionSettings().as_settings()
    given = dict(values or {})
    for name, value in given.items():
        if name not in known:
            raise unknown_name("setting", name, known)
        if isinstance(known[name], tuple):
            words = value.split(between) if isinstance(value, str) else value
            given[name] = tuple(word.strip() for word in words if word.strip())
    given["prompts"] = given.get("prompts") or None
    if given["prompts"]:
        folder = Path(given["prompts"]).expanduser().resolve()
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder")
        given["prompts"] = str(folder)
    try:
        return TypeAdapter(SessionSettings).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "a setting"
        raise UsageError(f"the setting '{name}' has an invalid value ({first['msg']})") from None
