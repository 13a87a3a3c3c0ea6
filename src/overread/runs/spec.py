"""The spec of a run: everything that decides what is read, by whom and how.

It is written when a run begins. A run that goes on must have the same spec, except that it may
grow: more cases, more samples.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import from_json

from overread.core import Record, ReleaseRef
from overread.errors import OverreadError, UnknownName, UsageError
from overread.prompts import find_prompt
from overread.readers.arguments import looks_like_key
from overread.runs.store import RunUnwritable
from overread.session import SessionSettings
from overread.storage.atomic import open_atomic
from overread.storage.system_errors import remedy_for

MARK = "overread run 1"
ARM_SAMPLE = 1
"""The number of the reading that an arm of an audit asks for; the one that is audited has 0."""
_MAX_BYTES = 1 << 24
_SECRET = frozenset({"key", "apikey", "token", "secret", "password", "passwd", "authorization"})


class ReaderSpec(Record):
    """Who reads."""

    name: str
    """Catalog name."""
    arguments: dict[str, str] = Field(default_factory=dict)
    """What it was made with; never a key."""
    identity: dict[str, JsonValue] = Field(default_factory=dict)
    """Everything that changes its answers."""


class WorkflowSpec(Record):
    """How it reads."""

    name: str | None
    """Catalog name; absent where the reader reads whole cases by itself."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """How pictures are shown and questions asked."""


class RunSpec(Record):
    """What a run is: the file `spec.json` in its folder."""

    kind: str = MARK
    """Says what file this is."""
    benchmark: str
    """Catalog name of the benchmark."""
    root: str
    """Folder of the release."""
    split: str
    """Which split."""
    form: str | None = None
    """Which form, where one was asked for."""
    pictures: str | None = None
    """Folder of the pictures, where it is another one."""
    limit: int | None = None
    """Only so many cases, the first ones; absent means all."""
    cases: tuple[str, ...] = ()
    """Only these cases; empty means all."""
    repeat: int = 1
    """How many readings of each case."""
    seed: int = 0
    """What all seeds are derived from."""
    reader: ReaderSpec
    """Who reads."""
    workflow: WorkflowSpec
    """How."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Prompt → digest, of those that were used so far."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Of what the run was begun with."""
    purpose: dict[str, JsonValue] = Field(default_factory=dict)
    """What the run is part of, where it does not stand for itself: an arm of an audit."""

    @property
    def samples(self) -> range:
        """The numbers that the readings of each case have."""
        first = ARM_SAMPLE if "audit" in self.purpose else 0
        return range(first, first + max(self.repeat, 1))

    @property
    def release_ref(self) -> ReleaseRef:
        """The copy of the benchmark that is read."""
        pictures = Path(self.pictures) if self.pictures else None
        return ReleaseRef(self.benchmark, Path(self.root), self.split, self.form, pictures)

    def current_release_ref(self, root: str | Path | None, pictures: str | Path | None) -> ReleaseRef:
        """The same copy where it lies now, if somebody says that it was moved."""
        before = self.release_ref
        return replace(
            before,
            root=before.root if root is None else Path(root).resolve(),
            pictures=before.pictures if pictures is None else Path(pictures).resolve(),
        )


def current_versions() -> dict[str, str]:
    """Versions of what runs here."""
    return {"overread": version("overread"), "python": platform.python_version()}


def refuse_secrets(arguments: Mapping[str, str]) -> None:
    """Arguments are written into the spec, so that no key may be among them.

    >>> refuse_secrets({"max_tokens": "100", "api_key_env": "MY_KEY"})
    >>> refuse_secrets({"api_key": "…"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    overread.errors.UsageError: 'api_key' looks like a key, and ...
    """
    for name, value in arguments.items():
        words = re.split(r"[^a-z]+", name.lower())
        if _SECRET & set(words) and words[-1] != "env":  # the name of a variable is no key
            told = f"'{name}' looks like a key"
        elif looks_like_key(value):
            told = f"the value of '{name}' looks like a key"
        elif re.search(r"://[^/\s]*@", value):
            told = f"the address in '{name}' holds a password"
        else:
            continue
        raise UsageError(
            f"{told}, and arguments are written into the run", remedy="put keys into the environment"
        )


def read_spec(folder: Path) -> RunSpec:
    """The spec of the run in a folder."""
    file = folder / "spec.json"
    remedy = "give a folder that `overread run` wrote"
    try:
        raw = file.read_bytes() if file.stat().st_size <= _MAX_BYTES else b""
    except FileNotFoundError:
        raise UsageError("this folder is not a run", where=str(folder), remedy=remedy) from None
    except OSError as error:
        raise OverreadError(f"it cannot be read ({error.strerror})", where=str(file)) from None
    try:
        data = from_json(raw)
        if not isinstance(data, dict) or data.get("kind") != MARK:
            raise UsageError("this is not the spec.json of a run", where=str(file), remedy=remedy)
        return RunSpec.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        told = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ValueError as error:
        told = str(error)
    raise OverreadError(f"the spec of the run is damaged ({told})", where=str(file), remedy=remedy)


def write_spec(folder: Path, spec: RunSpec) -> None:
    """Write `spec.json`, whole or not at all."""
    body = json.dumps(spec.model_dump(mode="json"), ensure_ascii=False, indent=2)
    try:
        with open_atomic(folder / "spec.json") as out:
            out.write(body.encode("utf-8", "replace") + b"\n")
    except OSError as error:
        raise RunUnwritable(
            f"the run cannot be written ({error.strerror})",
            where=str(folder / "spec.json"),
            remedy=remedy_for(error, "fix this and run the same command again; finished work is kept"),
        ) from None


def reconcile_specs(before: RunSpec, now: RunSpec, *, folder: Path) -> RunSpec:
    """The spec with which a run continues; raises `UsageError` with everything that differs from
    the stored one.

    Limit, cases and repeat may grow. Arguments of the reader that do not change its answers (a
    timeout) and versions may change; prompts and versions of the stored spec are kept.
    """
    one, other = _flatten_spec(before), _flatten_spec(now)
    differing = [
        f"{name} is {_shorten(other.get(name))} and was {_shorten(one.get(name))}"
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name)
    ]
    differing += _describe_shrinking(before, now)
    differing += _describe_changed_prompts(before, now)
    if differing:
        raise UsageError(
            f"this folder holds another run: {'; '.join(differing)}",
            where=str(folder),
            remedy="choose another --out, or use the settings the run was started with",
        )
    return now.model_copy(update={"prompts": before.prompts, "versions": before.versions})


def _flatten_spec(spec: RunSpec) -> dict[str, Any]:
    """What must be the same, flat: 'reader.identity.model' → value."""
    flat: dict[str, Any] = {}
    left_out = {"kind", "limit", "cases", "repeat", "prompts", "versions"}
    body = spec.model_dump(mode="json", exclude=left_out)
    body["reader"].pop("arguments")
    # A run that was begun before there was a setting was read with what is its default now.
    usual = json.loads(json.dumps(SessionSettings().as_settings()))
    body["workflow"]["settings"] = usual | body["workflow"]["settings"]

    def walk(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{path}.{key}" if path else key, inner)
        else:
            flat[path] = value

    walk("", body)
    return flat


def _describe_shrinking(before: RunSpec, now: RunSpec) -> list[str]:
    """What a run would lose: growing is allowed, shrinking is not."""
    found = []
    if now.repeat < before.repeat:
        found.append(f"repeat is {now.repeat} and was {before.repeat}")
    if now.limit is not None and (before.limit is None or now.limit < before.limit):
        found.append(f"limit is {now.limit} and was {before.limit or 'none'}")
    if now.cases and not (before.cases and set(before.cases) <= set(now.cases)):
        asked, was = _describe_cases(now.cases), _describe_cases(before.cases)
        found.append(f"only {asked} asked for and it was {was}")
    return found


def _describe_cases(cases: tuple[str, ...]) -> str:
    return f"{len(cases)} named cases were" if cases else "all cases"


def _describe_changed_prompts(before: RunSpec, now: RunSpec) -> list[str]:
    """Prompts whose text has changed since the run began."""
    own = now.workflow.settings.get("prompts")
    folder = Path(str(own)) if own else None
    found = []
    for name, digest in before.prompts.items():
        try:
            current = find_prompt(name, folder).digest
        except UnknownName:
            current = "gone"
        if current != digest:
            found.append(f"the prompt '{name}' is {current} and was {digest}")
    return found


def _shorten(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}…"
