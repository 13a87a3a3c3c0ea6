"""What `--reader-arg k=v` gave, turned from texts into the typed settings of a reader.

A reader declares its settings as a frozen dataclass, one documented field each; the texts are read
by the types of its fields. A value that looks like a key is refused wherever it stands, and never
repeated: arguments are written into the spec of a run.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from overread.catalog import unknown_name
from overread.errors import UsageError

PERMISSION = "allow_remote"
"""The argument that lets a reader send pictures to another machine, where it has such a field."""

S = TypeVar("S")

_YES_NO = {"true": True, "yes": True, "on": True, "1": True}
_YES_NO |= {"false": False, "no": False, "off": False, "0": False}

# How the keys of the known services begin, a token behind "Bearer", a JWT.
_KEY = re.compile(
    r"""(?:^|[^A-Za-z0-9])(?:
        (?:sk|xai|nvapi|pplx|csk|glpat)-[A-Za-z0-9_-]{16,}
      | (?:sk|hf|gsk|r8|fw|ghp|tgp_v1)_[A-Za-z0-9]{16,}
      | AIza[A-Za-z0-9_-]{20,}
      | AKIA[A-Z0-9]{12,}
      | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
      | Bearer\s+\S{6,}
    )""",
    re.VERBOSE,
)
# One unbroken word of letters and figures, as long as a key and longer than a name.
_BARE_KEY = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/]{32,}={0,2}")
_NAMES_A_KEY = re.compile(
    r"(?:api|access|secret|private|subscription)[-_]?key|auth|password|passwd|secret"
    r"|bearer|credential|(?:^|[-_])(?:key|token)$",
    re.IGNORECASE,
)


def looks_like_key(text: str) -> bool:
    """Whether a text may be a secret that somebody pasted where it does not belong.

    >>> looks_like_key("sk-proj-0123456789abcdef0123"), looks_like_key("Qwen/Qwen3-VL-30B-A3B")
    (True, False)
    """
    text = text.strip()
    # A word with a slash is a path or a model far more often than a key in base64.
    return bool(_KEY.search(text) or ("/" not in text and _BARE_KEY.fullmatch(text)))


def names_a_key(name: str) -> bool:
    """Whether a name says that its value is a secret.

    >>> names_a_key("api_key"), names_a_key("Authorization"), names_a_key("max_tokens")
    (True, True, False)
    """
    return bool(_NAMES_A_KEY.search(name))


def settings_from(settings: type[S], arguments: Mapping[str, Any]) -> S:
    """The settings of a reader from the arguments that were given for it.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Settings:
    ...     model: str
    ...     temperature: float | None = None
    >>> settings_from(Settings, {"model": "local", "temperature": "0.6"})
    Settings(model='local', temperature=0.6)
    >>> settings_from(Settings, {"model": "local", "temprature": "0.6"})
    Traceback (most recent call last):
        ...
    overread.errors.UnknownName: no reader argument is called 'temprature': did you mean \
'temperature'?
    """
    hints = get_type_hints(settings)
    known = {field.name: field for field in fields(settings)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for given, value in arguments.items():
        name = given.strip().replace("-", "_")
        if name not in known:
            if name == PERMISSION:
                continue  # whatever the reader is, one may allow it more than it needs
            if names_a_key(name) or looks_like_key(given):
                raise _key_refused("a key was given as an argument of the reader")
            raise unknown_name("reader argument", given, known)
        if name in values:
            raise UsageError(f"the reader argument '{name}' was given twice")
        text = value if isinstance(value, str) else json.dumps(value)
        values[name] = _parse_value(name, hints[name], text)
    for name, field in known.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and name not in values:
            raise UsageError(f"the reader needs the argument '{name}'", remedy=f"add --reader-arg {name}=…")
    return settings(**values)


def _parse_value(name: str, hint: Any, text: str) -> Any:
    """A text read as the type of its field."""
    if looks_like_key(text):
        raise _key_refused(f"the reader argument '{name}' looks like a key")
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for kind in kinds:
        if kind is not type(None):
            return _parse_typed(name, kind, text)
    raise TypeError(f"a reader cannot take an argument of the type {hint}")


def _parse_typed(name: str, kind: Any, text: str) -> Any:
    origin = get_origin(kind) or kind
    if origin is str:
        return text
    if origin is Path:
        return Path(text).expanduser()
    stripped = text.strip()
    if origin is bool:
        if stripped.lower() in _YES_NO:
            return _YES_NO[stripped.lower()]
        raise _invalid_argument(name, "yes or no", text)
    if origin is int:
        if re.fullmatch(r"[+-]?\d{1,18}", stripped, re.ASCII):
            return int(stripped)
        raise _invalid_argument(name, "a whole number", text)
    if origin is float:
        try:
            number = float(stripped)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
        raise _invalid_argument(name, "a number", text)
    if origin is Literal:
        if stripped in get_args(kind):
            return stripped
        raise _invalid_argument(name, f"one of {', '.join(get_args(kind))}", text)
    if origin is tuple:
        return tuple(word.strip() for word in text.split(",") if word.strip())
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _json_object(name, text)
    raise TypeError(f"a reader cannot take an argument of the type {kind}")


def _json_object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _invalid_argument(name, 'a JSON object, such as {"top_k": 20}', text)
    _refuse_hidden_keys(name, value)
    return value


def _refuse_hidden_keys(name: str, value: object) -> None:
    """Refuse a key that is hidden somewhere inside of a JSON value."""
    if isinstance(value, dict):
        for word, inner in value.items():
            if names_a_key(word) and isinstance(inner, str):
                raise _key_refused(f"'{word}' in the reader argument '{name}' is a key by its name")
            _refuse_hidden_keys(name, inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_hidden_keys(name, inner)
    elif isinstance(value, str) and looks_like_key(value):
        raise _key_refused(f"the reader argument '{name}' holds what looks like a key")


def _invalid_argument(name: str, expected: str, text: str) -> UsageError:
    told = f", not '{text}'" if len(text) <= 40 else ""
    return UsageError(f"the reader argument '{name}' must be {expected}{told}")


def _key_refused(what: str) -> UsageError:
    return UsageError(
        what,
        remedy="arguments are written into the run; put the key into an environment variable "
        "and give that variable's name (--reader-arg api_key_env=NAME)",
    )
