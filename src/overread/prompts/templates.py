"""Prompts: text files with placeholders, rendered strictly.

A prompt is one `.md` file in this folder, or in the user's own (`--prompts DIR`), which has
precedence. Its first lines, up to a line of three dashes, describe it and the values it takes;
the rest is sent to the model. What stands between the lines `# system` and `# user` is the system
message.

A placeholder is `{{name}}`. A value without a placeholder, or a placeholder without a value, is an
error: a typo must not quietly change what a model is asked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from overread.catalog import unknown_name
from overread.errors import UsageError

_PLACEHOLDER = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")
_SYSTEM = re.compile(r"^# system\n(.*?)^# user\n", re.M | re.S)


@dataclass(frozen=True)
class Prompt:
    """One prompt, ready to be rendered."""

    name: str
    about: str
    system: str
    user: str

    @cached_property
    def digest(self) -> str:
        """What tells one wording from another."""
        return hashlib.sha256(f"{self.system}\0{self.user}".encode()).hexdigest()[:16]

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """The names of the values it takes."""
        return frozenset(_PLACEHOLDER.findall(self.system) + _PLACEHOLDER.findall(self.user))

    def render(self, values: Mapping[str, str]) -> tuple[str, str]:
        """(system, user) with every gap filled.

        >>> Prompt("p", "", "", "Find {{finding}}.").render({"finding": "the nodule"})
        ('', 'Find the nodule.')
        """
        if values.keys() != self.placeholders:
            lacking = ", ".join(sorted(self.placeholders - values.keys())) or "nothing"
            surplus = ", ".join(sorted(values.keys() - self.placeholders)) or "nothing"
            raise UsageError(
                f"the prompt '{self.name}' lacks {lacking} and has no placeholder for {surplus}",
                remedy=f"it takes {', '.join(sorted(self.placeholders)) or 'no values'}",
            )
        # One pass: a value that itself holds braces is text, never a gap.
        return tuple(_PLACEHOLDER.sub(lambda gap: values[gap[1]], part) for part in (self.system, self.user))  # type: ignore[return-value]


def prompt_names() -> list[str]:
    """The names of the built-in prompts."""
    folder = files("overread.prompts")
    return sorted(f.name.removesuffix(".md") for f in folder.iterdir() if f.name.endswith(".md"))


def find_prompt(name: str, folder: Path | None = None) -> Prompt:
    """The prompt of that name: the user's own from `folder` where it has one, else the built-in
    one.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,60}", name):
        raise unknown_name("prompt", name, prompt_names())
    file = None if folder is None else folder / f"{name}.md"
    if file is None or not file.is_file():
        return _load_builtin(name)
    try:
        return parse_prompt(name, file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the prompt '{name}' cannot be read ({why})", where=str(file)) from None


@cache
def _load_builtin(name: str) -> Prompt:
    file = files("overread.prompts") / f"{name}.md"
    if not file.is_file():
        raise unknown_name("prompt", name, prompt_names())
    return parse_prompt(name, file.read_text("utf-8"))


def parse_prompt(name: str, text: str) -> Prompt:
    """A prompt from the text of its file."""
    about, dashes, body = text.partition("\n---\n")
    if not dashes or not body.strip():
        raise UsageError(
            f"the prompt '{name}' has no '---' line between its description and its text",
            remedy="look at one of the prompts in overread/prompts",
        )
    found = _SYSTEM.search(body)
    system = found[1].strip() if found else ""
    user = body[found.end() :] if found else body
    return Prompt(name=name, about=about.strip(), system=system, user=user.strip())
