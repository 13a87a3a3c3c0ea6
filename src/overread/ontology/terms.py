"""Plain lists of terms: step errors, education dimensions, report regions; and the file loader."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from overread.core import Record
from overread.errors import UsageError

T = TypeVar("T", bound=Record)


class Term(Record):
    """One word of a shared list."""

    code: str
    """Short form, for JSON."""
    name: str
    """Name in full."""
    about: str
    """What it means, in one sentence."""


class Terms(Record):
    """A list of terms and where it comes from."""

    title: str
    """What the list is of."""
    source: str
    """Who made it."""
    item: tuple[Term, ...]
    """The terms, in their order."""
    lowest: int | None = None
    """Lowest mark, where the terms are marked."""
    highest: int | None = None
    """Highest mark, where the terms are marked."""


@cache
def step_errors() -> Terms:
    """The ways a step of reasoning can be wrong."""
    return load_ontology(Terms, "step_errors.toml")


@cache
def education_dimensions() -> Terms:
    """The dimensions of a case discussion's education value, each 0 to 2."""
    return load_ontology(Terms, "education.toml")


@cache
def report_regions() -> Terms:
    """The seven regions that a chest CT report is sorted into."""
    return load_ontology(Terms, "report_regions.toml")


def load_ontology(kind: type[T], file: str | Path) -> T:
    """An ontology from one of our files (by name) or one of the user's (by path)."""
    return load_toml("overread.ontology", "data", kind, file)


def load_toml(package: str, folder: str, kind: type[T], file: str | Path) -> T:
    """Words as a record from a TOML file: one in a folder of a package, or one of the user's."""
    source = files(package) / folder / file if isinstance(file, str) else file
    try:
        data: dict[str, Any] = tomllib.loads(source.read_bytes().decode("utf-8"))
        return kind.model_validate(data)
    except FileNotFoundError:
        raise UsageError("there is no such vocabulary file", where=str(file)) from None
    except OSError as error:
        raise UsageError(f"the file cannot be read ({error.strerror})", where=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"this is not a TOML file ({error})",
            where=str(file),
            remedy=f"take a file of {package.replace('.', '/')}/{folder} as an example",
        ) from None
    except RecursionError:
        raise UsageError("its values are nested too deeply", where=str(file)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UsageError(
            f"{place}: {first['msg']}",
            where=str(file),
            remedy=f"take a file of {package.replace('.', '/')}/{folder} as an example",
        ) from None
