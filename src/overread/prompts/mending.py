"""The JSON objects in what a model wrote, mended where only one reading is possible.

Models put words and code fences around their JSON, leave a comma behind, write it as Python would,
or are cut off. What can be mended in one way is, and says so; what cannot is not JSON. The work is
bounded whatever the text: braces are tried from both ends, and only so many of them.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TRIES = 60
"""How many opening brackets are tried from each end of a text."""
_MENDS = 8
"""How many of those that are no JSON are looked at more closely."""
_DEEPEST = 64
_CLOSER = {"{": "}", "[": "]"}
# What has a meaning outside of strings, and a string, complete or cut off.
_SIGN = re.compile(
    r"""[{}\[\],:]|"(?:[^"\\]+|\\.)*+(?:"|\Z)|'(?:[^'\\]+|\\.)*+(?:'|\Z)|[^\s{}\[\],:"']+""",
    re.DOTALL,
)
_OPENING = re.compile(r"[{\[]")
_CUT = "it was cut off, and its last, incomplete part was left out"


@dataclass(frozen=True)
class Found:
    """One object of a text."""

    value: dict[str, Any]
    start: int
    end: int
    repaired: str | None = None
    """What was mended."""


def objects_in(text: str) -> list[Found]:
    """The outermost JSON objects of a text, in order.

    >>> [found.value for found in objects_in('Well: {"answer": "B",} That is all.')]
    [{'answer': 'B'}]
    >>> objects_in('{"answer": "B", "explanation": "The left lo')[0].value
    {'answer': 'B'}
    """
    found: list[Found] = []
    done, mends = 0, _MENDS
    for start in _starts(text):
        if start < done:
            continue
        value, end, repaired = _strict(text, start)
        if end == start and mends and text[start] == "{":
            mends -= 1
            value, end, repaired = _mended(text, start)
        if end > start:
            done = end
            if isinstance(value, dict):
                found.append(Found(value, start, end, repaired))
    return found


def _starts(text: str) -> Iterator[int]:
    """Where an object or a list may begin: the first places and the last ones."""
    first = 0
    for _ in range(_TRIES):
        opening = _OPENING.search(text, first)
        if opening is None:
            return
        yield opening.start()
        first = opening.end()
    last: list[int] = []
    at = len(text)
    while len(last) < _TRIES:
        at = max(text.rfind("{", first, at), text.rfind("[", first, at))
        if at < 0:
            break
        last.append(at)
    yield from reversed(last)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name stands twice")
    return made


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_distinct, parse_constant=_no_number)

Taken = tuple[Any, int, str | None]
"""A value, where it ends (its start, where there is none), what was mended."""


def _strict(text: str, start: int) -> Taken:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start, None
    return value, end, None


def _mended(text: str, start: int) -> Taken:
    """An object that is almost JSON: with surplus commas, in Python's writing, or cut off."""
    signs, end = _signs(text, start)
    if end is None:
        closed = _closed(signs)
        return (None, start, None) if closed is None else (closed, len(text), _CUT)
    bare = " ".join(_without_surplus_commas(signs))
    value, stop, _ = _strict(bare, 0)
    if stop == len(bare):
        return value, end, "a comma too many was taken out"
    try:
        # json.dumps refuses what JSON has no word for: sets, bytes.
        value, stop, _ = _strict(json.dumps(_python(bare)), 0)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None, start, None
    return (value, end, "it was written as Python, not as JSON") if stop else (None, start, None)


def _python(text: str) -> Any:
    """A value written as a Python literal; a name that stands twice is refused here as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of backslashes in strings
        tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(names)) < len(node.keys):
                raise ValueError("a name stands twice, or is none")
    return ast.literal_eval(tree)


def _signs(text: str, start: int) -> tuple[list[str], int | None]:
    """The signs of the object at `start`, and where it ends; None where the text ends before."""
    signs: list[str] = []
    open_: list[str] = []
    for match in _SIGN.finditer(text, start):
        sign = match[0]
        if sign.startswith("```") and open_:
            return signs, None  # the fence ends before the object does
        signs.append(sign)
        if sign in _CLOSER:
            open_.append(_CLOSER[sign])
            if len(open_) > _DEEPEST:
                return [], None
        elif sign in ("}", "]"):
            if not open_ or open_.pop() != sign:
                return [], None
            if not open_:
                return signs, match.end()
    return signs, None


def _without_surplus_commas(signs: list[str]) -> Iterator[str]:
    for sign, following in zip(signs, [*signs[1:], ""], strict=True):
        if sign == "," and following in ("}", "]"):
            continue
        yield sign


def _closed(signs: list[str]) -> dict[str, Any] | None:
    """An object that was cut off, without its last, incomplete member.

    Only where all that is open are objects: nobody knows how long an open list would have become.
    """
    open_: list[str] = []
    kept, depth = 0, 0
    for n, sign in enumerate(signs):
        if sign == "," and "[" not in open_:
            kept, depth = n, len(open_)
        elif sign in _CLOSER:
            open_.append(sign)
        elif sign in ("}", "]"):
            open_.pop()
    if "[" in open_:
        return None
    if signs and (signs[-1] in ("}", "]") or (_is_whole(signs[-1]) and signs[-2] == ":")):
        kept, depth = len(signs), len(open_)
    value, stop, _ = _strict(" ".join(signs[:kept]) + "}" * depth, 0)
    return value if stop and isinstance(value, dict) else None


def _is_whole(sign: str) -> bool:
    """Whether a value is complete though nothing follows it: a number might have gone on."""
    return re.fullmatch(r'"(?:[^"\\]+|\\.)*+"|true|false|null', sign, re.DOTALL) is not None
