"""JSON objects in the text of a model, repaired where only one meaning is possible.

Models put words and code fences around their JSON, leave a comma behind, write it as Python would,
or are cut off. What can be repaired in one way is, and the repair is named; the rest is not JSON.
The work is bounded whatever the text: opening brackets are tried from both ends, and only so many.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_MAX_STARTS = 60
"""How many opening brackets are tried from each end of a text."""
_MAX_REPAIRS = 8
"""How many of those that are no JSON are looked at more closely."""
_DEEPEST = 64
_CLOSER = {"{": "}", "[": "]"}
# What has a meaning outside of strings, and a string, complete or cut off.
_SIGN = re.compile(
    r"""[{}\[\],:]|"(?:[^"\\]+|\\.)*+(?:"|\Z)|'(?:[^'\\]+|\\.)*+(?:'|\Z)|[^\s{}\[\],:"']+""", re.DOTALL
)
_OPENING = re.compile(r"[{\[]")
_CUT_OFF = "it was cut off, and its last, incomplete part was left out"


@dataclass(frozen=True)
class FoundObject:
    """One object of a text."""

    value: dict[str, Any]
    start: int
    end: int
    repaired: str | None = None
    """What was mended."""


def find_objects(text: str) -> list[FoundObject]:
    """The outermost JSON objects of a text, in order.

    >>> [found.value for found in find_objects('Well: {"answer": "B",} That is all.')]
    [{'answer': 'B'}]
    >>> find_objects('{"answer": "B", "explanation": "The left lo')[0].value
    {'answer': 'B'}
    """
    found: list[FoundObject] = []
    done, mends = 0, _MAX_REPAIRS
    for start in _candidate_starts(text):
        if start < done:
            continue
        value, end, repaired = _decode_strict(text, start)
        if end == start and mends and text[start] == "{":
            mends -= 1
            value, end, repaired = _decode_repaired(text, start)
        if end > start:
            done = end
            if isinstance(value, dict):
                found.append(FoundObject(value, start, end, repaired))
    return found


def _candidate_starts(text: str) -> Iterator[int]:
    """Where an object or a list may begin: the first places and the last ones."""
    first = 0
    for _ in range(_MAX_STARTS):
        opening = _OPENING.search(text, first)
        if opening is None:
            return
        yield opening.start()
        first = opening.end()
    last: list[int] = []
    at = len(text)
    while len(last) < _MAX_STARTS:
        at = max(text.rfind("{", first, at), text.rfind("[", first, at))
        if at < 0:
            break
        last.append(at)
    yield from reversed(last)


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name stands twice")
    return made


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number")


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant
)

DecodeResult = tuple[Any, int, str | None]
"""A value, where it ends (its start if there is none), and what was repaired."""


def _decode_strict(text: str, start: int) -> DecodeResult:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start, None
    return value, end, None


def _decode_repaired(text: str, start: int) -> DecodeResult:
    """An object that is almost JSON: with surplus commas, in Python's writing, or cut off."""
    signs, end = _tokenise(text, start)
    if end is None:
        closed = _close_truncated(signs)
        return (None, start, None) if closed is None else (closed, len(text), _CUT_OFF)
    bare = " ".join(_without_surplus_commas(signs))
    value, stop, _ = _decode_strict(bare, 0)
    if stop == len(bare):
        return value, end, "a comma too many was taken out"
    try:
        # json.dumps refuses what JSON has no word for: sets, bytes.
        value, stop, _ = _decode_strict(json.dumps(_parse_python(bare)), 0)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None, start, None
    return (value, end, "it was written as Python, not as JSON") if stop else (None, start, None)


def _parse_python(text: str) -> Any:
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


def _tokenise(text: str, start: int) -> tuple[list[str], int | None]:
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


def _close_truncated(signs: list[str]) -> dict[str, Any] | None:
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
    if signs and (signs[-1] in ("}", "]") or (_is_complete(signs[-1]) and signs[-2] == ":")):
        kept, depth = len(signs), len(open_)
    value, stop, _ = _decode_strict(" ".join(signs[:kept]) + "}" * depth, 0)
    return value if stop and isinstance(value, dict) else None


def _is_complete(sign: str) -> bool:
    """Whether a value is complete though nothing follows it: a number might have gone on."""
    return re.fullmatch(r'"(?:[^"\\]+|\\.)*+"|true|false|null', sign, re.DOTALL) is not None
