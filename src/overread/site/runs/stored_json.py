"""Reading JSON that a command left in a folder, which anybody may have changed since."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from overread.errors import NotThere, OverreadError

_MOST = 1 << 28
_Model = TypeVar("_Model", bound=BaseModel)


def read_marked_json(file: Path, mark: str, model: type[_Model], *, what: str) -> _Model:
    """Read JSON into a model; `mark` is its expected `kind`, `what` its name in messages."""
    try:
        if file.stat().st_size > _MOST:
            raise OverreadError(f"the {what} is too large")
        data = from_json(file.read_bytes())
    except FileNotFoundError:
        raise NotThere(f"there is no {what}") from None
    except OSError as error:
        raise OverreadError(f"the {what} cannot be read ({error.strerror})") from None
    except ValueError:
        raise OverreadError(f"the {what} is damaged", remedy="have it written anew") from None
    if not isinstance(data, dict) or data.get("kind") != mark:
        raise OverreadError(f"the {what} is of another kind", remedy="have it written anew")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise OverreadError(
            f"the {what} is damaged at {at} ({first['msg']})", remedy="have it written anew"
        ) from None
