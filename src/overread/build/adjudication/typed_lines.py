"""What a person types: keys for verdicts, numbers for reasons, words behind a colon.

r                     the verdict with the key r r 1 3                 with the reasons number 1 and
3 r 1: the box is low   and why, in words reject: unreadable    the verdict may be spelled out
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from overread.build.adjudication.reads import CANNOT_JUDGE
from overread.build.item import Data
from overread.errors import UsageError

COMMANDS = {"u": "undo", "s": "later", "h": "help", "q": "quit"}
"""Key → what it does; ':undo' and so on do the same, also where a choice has the key."""
_CANNOT = ("c", "?")


@dataclass(frozen=True)
class TypedVerdict:
    """A verdict as it was typed."""

    verdict: str
    reasons: tuple[str, ...]
    note: str


def keys_for(choices: Sequence[str]) -> dict[str, str]:
    """Key → verdict: a letter of each choice that is free, and c for 'cannot judge'.

    >>> keys_for(("accept", "reject", "adjust"))
    {'a': 'accept', 'r': 'reject', 'd': 'adjust', 'c': 'cannot judge'}
    """
    own = [choice for choice in choices if choice != CANNOT_JUDGE]
    keys = {choice.casefold(): choice for choice in own if len(choice) == 1}  # letters of options
    cannot = next(key for key in _CANNOT if key not in keys or key == "?")
    for choice in own:
        letters = f"{choice.casefold()}abcdefghijklmnopqrstuvwxyz"
        free = (c for c in letters if c.isascii() and c.isalpha())
        key = next((c for c in free if c not in {*keys, *COMMANDS, *_CANNOT}), None)
        if key is not None and len(choice) > 1:  # beyond some twenty they have to be spelled out
            keys[key] = choice
    return {**keys, cannot: CANNOT_JUDGE}


def parse_command(line: str, choices: Sequence[str]) -> str | None:
    """The command that a line gives, such as 'undo'; None where it gives none.

    >>> [parse_command(line, ("accept", "reject")) for line in ("u", ":Quit", "r 1")]
    ['undo', 'quit', None]
    """
    word = line.strip().casefold()
    if word.startswith(":") and word[1:] in COMMANDS.values():
        return word[1:]
    return COMMANDS.get(word) if word not in keys_for(choices) else None


def parse_verdict(line: str, choices: Sequence[str], codes: Mapping[str, str]) -> TypedVerdict:
    """The verdict that a line gives; raises with what to type where it gives none.

    >>> parse_verdict("r 2: too low", ("accept", "reject"), {"wrong-side": "", "wrong-place": ""})
    TypedVerdict(verdict='reject', reasons=('wrong-place',), note='too low')
    """
    keys = keys_for(choices)
    spelled = {label.casefold(): label for label in (*choices, CANNOT_JUDGE)}
    for word, verdict in sorted({**keys, **spelled}.items(), key=lambda pair: -len(pair[0])):
        found = re.match(rf"{re.escape(word)}(?=[\s,:]|$)", line.strip().casefold())
        if found is not None:
            head, _, note = line.strip()[found.end() :].partition(":")
            return TypedVerdict(verdict, _parse_reasons(head, list(codes), found.group()), note.strip())
    raise UsageError(
        f"'{line.strip()[:40]}' is no verdict",
        remedy=f"type {', '.join(f'{key} ({label})' for key, label in keys.items())}",
    )


def _parse_reasons(head: str, codes: Sequence[str], key: str) -> tuple[str, ...]:
    found = []
    for word in re.split(r"[\s,]+", head.strip()):
        if word.isdecimal() and 1 <= int(word) <= len(codes):
            found.append(codes[int(word) - 1])
        elif word in codes:
            found.append(word)
        elif word:
            raise UsageError(
                f"there is no reason '{word[:40]}'",
                remedy=f"give its number, and words behind a colon, for instance {key} 1: too low",
            )
    return tuple(found)


def parse_correction(line: str, before: Data) -> Data:
    """The corrected data after a line such as ':box 10 20 30 40' or ':slices 12-18 22'.

    >>> parse_correction(":slices 12-14 20", {})
    {'slices': [12, 13, 14, 20]}
    >>> parse_correction(":box 1 2 3 4", {"box": [5, 6, 7, 8]})
    {'boxes': [[5, 6, 7, 8], [1, 2, 3, 4]]}
    """
    name, _, rest = line.strip().partition(" ")
    try:
        if name == ":box":
            numbers: list[JsonValue] = [_parse_number(n) for n in re.split(r"[\s,]+", rest.strip())]
            one, several = before.get("box"), before.get("boxes")
            boxes = [*(several if isinstance(several, list) else []), *([one] if one else [])]
            left = {key: value for key, value in before.items() if key not in ("box", "boxes")}
            return {**left, "boxes": [*boxes, numbers]} if boxes else {**left, "box": numbers}
        if name == ":slices":
            return before | {"slices": list(_parse_slices(rest))}
        if name == ":data":
            told = json.loads(rest)
            if isinstance(told, dict):
                return before | told
    except (ValueError, RecursionError):
        pass
    raise UsageError(
        f"'{line.strip()[:40]}' corrects nothing",
        remedy=":box left top right bottom, :slices 12-18 22, :data {…}, or :clear",
    )


def _parse_number(word: str) -> float:
    return int(word) if word.isdecimal() else float(word)


def _parse_slices(text: str) -> list[int]:
    found: dict[int, None] = {}
    for word in re.split(r"[\s,]+", text.strip()):
        first, _, last = word.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end < 100_000:
            raise ValueError
        found |= dict.fromkeys(range(begin, end + 1))
    return list(found)
