"""Which field of a request an error answer refuses, where it refuses one at all.

Endpoints that speak chat completions differ in what they take beside the model and the messages. One
that does not know a field says so in one of a few ways; then the same question is worth asking without
it. An error about the content, or about a field's value, is none of these: asking without the field
would answer another question than the one that was put.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

STATUSES = frozenset((400, 422, 501))
"""Statuses with which endpoints refuse a field."""
FORMAT = "response_format"
DETAIL = "image_url.detail"
LENGTHS: tuple[Literal["max_tokens"], Literal["max_completion_tokens"]] = (
    "max_tokens",
    "max_completion_tokens",
)

_FIELD_UNKNOWN = re.compile(
    r"unsupported(?! value)|not (?:currently |yet )?(?:supported|permitted|allowed|recogni[sz]ed|implemented"
    r"|available|accepted)|does(?: not|n't) (?:support|accept|allow|recogni[sz]e)|unknown|unrecogni[sz]ed"
    r"|unexpected|extra (?:inputs?|fields?)|extra_forbidden|cannot find field|no such (?:field|parameter)"
    r"|only the default|only temperature=1|use 'max_(?:completion_)?tokens'|not a valid (?:field|parameter)",
    re.IGNORECASE,
)
_ABOUT_VALUE = re.compile(
    r"must be|should be|out of range|too (?:large|small|long|big|many)|at (?:most|least)|exceed"
    r"|maximum|minimum|less than|greater than|unsupported value|supported values",
    re.IGNORECASE,
)
_ABOUT_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|json mode|structured[ _-]?(?:output|decoding|generation)"
    r"|\bschema\b|guided[ _-]?(?:json|decoding|grammar|generation)|\bgrammar\b",
    re.IGNORECASE,
)
_NO_SYSTEM_ROLE = re.compile(
    r"system[ '\"`]*(?:role|messages?|prompts?)?[ '\"`]*(?:is|are)? ?not supported"
    r"|only (?:user and assistant|'?user'? and '?(?:assistant|model)'?) roles"
    r"|(?:unknown|invalid|unsupported|unexpected)(?: message)? role:? ['\"`]?system",
    re.IGNORECASE,
)
_REPEATED_INPUT = re.compile(r"['\"]input['\"]\s*:.*?(?=['\"]type['\"]\s*:|\Z)", re.DOTALL)
_QUOTED_PLACE = re.compile(r"['\"]loc['\"]\s*:\s*[(\[]([^)\]]{0,200})[)\]]")
_NEAR = 120


def refused_fields(data: object, words: str, sent: Collection[str]) -> frozenset[str]:
    """Those of the `sent` fields that an error refuses; empty where it is about something else.

    >>> refused_fields({"error": {"param": "seed", "message": "Unknown parameter: 'seed'."}},
    ...     "Unknown parameter: 'seed'.", {"seed", "top_p"})
    frozenset({'seed'})
    >>> refused_fields(None, "the image cannot be read", {"seed", "response_format"})
    frozenset()
    """
    words = _REPEATED_INPUT.sub("", words)[:4000]
    places = list(_places_named(data, words))
    if places:
        # The endpoint says which field it means; whatever else its words hold is no evidence.
        found = {
            name for place, told in places for name in sent if _is_at(name, place) and _is_refusal(name, told)
        }
        return frozenset(found)
    return frozenset(name for name in sent if _is_named(name, words))


def refuses_system_role(words: str) -> bool:
    """Whether the model's template knows no system message.

    >>> refuses_system_role("jinja2: System role not supported"), refuses_system_role("bad image")
    (True, False)
    """
    return _NO_SYSTEM_ROLE.search(words) is not None


def _places_named(data: object, words: str) -> Iterator[tuple[str, str]]:
    """(field, what is said of it) for each field that the error names in a place of its own."""
    if isinstance(data, list) and len(data) == 1:
        data = data[0]  # Google's endpoints wrap their error in a list
    if isinstance(data, dict):
        inner = data.get("error")
        held: Mapping[str, Any] = inner if isinstance(inner, dict) else data
        param = held.get("param")
        if isinstance(param, str) and param not in ("", "None", "null"):
            yield param, f"{held.get('code')} {words}"
            return
        for entries in (data.get("detail"), held.get("detail"), held.get("message")):
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("loc"), list):
                    place = ".".join(str(part) for part in entry["loc"] if part != "body")
                    yield place, f"{entry.get('type')} {entry.get('msg')}"
    quoted = list(_QUOTED_PLACE.finditer(words))
    for n, match in enumerate(quoted):
        # The type stands before the place and the message behind it.
        end = quoted[n + 1].start() if n + 1 < len(quoted) else len(words)
        told = words[max(0, match.start() - 40) : end]
        parts = [part.strip(" '\"") for part in match[1].split(",")]
        yield ".".join(part for part in parts if part and part != "body"), told


def _is_at(name: str, place: str) -> bool:
    """Whether a place such as 'messages[1].content[0].image_url.detail' is this field's."""
    plain = re.sub(r"\[\d+\]|\.\d+(?=\.|$)", "", place).removeprefix("body.")
    if name == DETAIL:
        return plain.endswith("detail")
    return plain == name or plain.startswith(f"{name}.")


def _is_refusal(name: str, told: str) -> bool:
    """Whether what is said of a field says that it is not taken, rather than that its value is off."""
    if name == FORMAT:
        return True  # the answer is parsed and checked without it all the same
    return bool(_FIELD_UNKNOWN.search(told)) and (
        "only the default" in told.lower() or not _ABOUT_VALUE.search(told)
    )


def _is_named(name: str, words: str) -> bool:
    """Whether the words refuse a field by its name, and do not only repeat the request."""
    if name == FORMAT:
        return _ABOUT_FORMAT.search(_without_repeated_keys(words)) is not None
    if name in LENGTHS:
        return any(_is_named_field(name, one, words) for one in LENGTHS)  # "use the other name instead"
    return _is_named_field(name, name.rpartition(".")[2], words)


def _is_named_field(name: str, short: str, words: str) -> bool:
    # 'temperature' and 'seed' are words of reports too: they count quoted, or called a parameter.
    bare = rf"\b{re.escape(short)}\b" if "_" in short else rf"{short}\b(?= (?:parameter|field|argument))"
    called = rf"(?:parameters?|fields?|arguments?|keys?|properties|property):? {re.escape(short)}\b"
    quoted = rf"['\"`]{re.escape(short)}['\"`]|\b{re.escape(short)}="
    plain = _without_repeated_keys(words)
    for match in re.finditer(f"{quoted}|{called}|{bare}", plain, re.IGNORECASE):
        around = plain[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        if _is_refusal(name, around):
            return True
    return False


def _without_repeated_keys(words: str) -> str:
    """The words without the keys of a request that they repeat: `'seed': 7`."""
    return re.sub(r"['\"]\w+['\"]\s*:\s*(?=[-\d\[{'\"]|true|false|null|None|True|False)", " ", words)
