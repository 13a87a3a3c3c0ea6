"""Turns error answers of an endpoint into exceptions: whether to retry, and what the user can do.

Endpoints repeat what they were sent, so only short, redacted pieces of their messages are used, and
none at all where the key is concerned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from overread.errors import EndpointFailed, ReaderError, TryAgain, Unavailable
from overread.readers.openai.endpoints import retry_after

_ABOUT_LENGTH = re.compile(
    r"context|maximum.{0,20}(?:length|tokens)|too (?:long|large|big|many)|exceed", re.IGNORECASE
)
# Gateways (LiteLLM without its database, Google's) answer 400 where others answer 401 and 404.
_ABOUT_KEY = re.compile(
    r"no connected db|(?:missing|invalid|incorrect|no|wrong|expired) api[ _-]?key"
    r"|api[ _-]?key (?:is )?(?:not valid|invalid|missing|required|expired)",
    re.IGNORECASE,
)
_ABOUT_MODEL = re.compile(
    r"invalid model name|unknown model|no such model|model_not_found|not a valid model"
    r"|\bmodel ['\"`]?[\w./:-]{1,120}['\"`]? (?:does not exist|(?:was |is )?not found|is not available)",
    re.IGNORECASE,
)
# llama.cpp answers 500 for a model without eyes; what follows the last word must not be a kind of picture.
_ABOUT_SIGHT = re.compile(
    r"(?:image|vision|multi-?modal) inputs? (?:is|are) not supported"
    r"|(?:does not|doesn't) support (?:image|vision|multi-?modal)"
    r"(?:s| inputs?| requests?| content)?(?=[^\w\s]|\s*$)"
    r"|(?:endpoints found that support|missing data required for) image input"
    r"|is not a (?:multi-?modal|vision)(?:[ -]language)? model|at most 0 images?\b",
    re.IGNORECASE,
)
_TRANSIENT = frozenset((408, 409, 425, 429))
_BUSY = frozenset((429, 503, 529))
_LESS = "wait until it has time again, ask less at once (--concurrency), or wait longer (--max-wait)"
_SMALLER = "send smaller pictures (--setting longest=512)"


@dataclass(frozen=True)
class RequestTarget:
    """Endpoint, model and key variable, for the error messages."""

    where: str
    """The endpoint."""
    model: str
    """The model."""
    key_name: str
    """The environment variable that holds the key, or would."""
    has_key: bool
    """Whether there is one."""


def parse_error(data: object, content: bytes) -> tuple[str, str]:
    """(code, message) of an endpoint's error, in any of the JSON shapes they use.

    >>> parse_error({"error": {"message": "no such model", "code": "model_not_found"}}, b"")
    ('model_not_found', 'no such model')
    >>> parse_error({"detail": [{"msg": "Field required", "input": "…"}]}, b"")
    ('', 'Field required')
    """
    if isinstance(data, list) and len(data) == 1:
        data = data[0]  # Google's endpoints wrap their error in a list
    if not isinstance(data, dict):
        text = content[:4000].decode("utf-8", "replace")
        return "", " ".join(re.sub(r"<[^>]*>", " ", text).split())
    inner = data.get("error", data.get("errors", data))
    if isinstance(inner, list):
        inner = inner[0] if inner else None
    held: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    code = held.get("code") or held.get("type") or data.get("code") or ""
    for value in (held.get("message"), data.get("message"), data.get("detail"), inner):
        words = "; ".join(_error_texts(value))
        if words:
            return str(code)[:60], words[:10_000]
    return str(code)[:60], ""


def _error_texts(value: object) -> list[str]:
    """The words of a message, or of each entry of a list; never the input that they repeat."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        told = [entry.get("msg") for entry in value[:3] if isinstance(entry, dict)]
        return [words for words in told if isinstance(words, str)]
    return []


def meant_status(status: int, code: str, words: str) -> int:
    """The status that others give to the same error.

    >>> meant_status(400, "400", "No connected db."), meant_status(200, "502", "upstream died")
    (401, 502)
    """
    if status < 300 and re.fullmatch(r"[45]\d\d", code):
        return int(code)  # gateways pass on somebody else's failure as a success
    if status in (400, 404, 422, 500, 501) and _ABOUT_SIGHT.search(words):
        return 415
    if status == 400 and _ABOUT_KEY.search(words):
        return 401
    if status == 400 and (_ABOUT_MODEL.search(words) or code == "model_not_found"):
        return 404
    return status


def error_for_status(
    status: int, headers: Mapping[str, str], code: str, words: str, asked: RequestTarget
) -> ReaderError:
    """The exception for an error answer; `words` must be redacted already.

    `Unavailable` means that every question would fail the same way, unless others were answered
    before.
    """
    shown, status = status, meant_status(status, code, words)
    shown = status if shown < 300 else shown
    where = asked.where
    told = f" ({shown}: {words})" if words else f" ({shown})"
    if status == 402 or (status == 429 and "quota" in code):
        return Unavailable(f"the account at {where} has no credit left{told}")
    if status in _TRANSIENT or status >= 500:
        again = TryAgain(
            f"{where} {'is too busy' if status in _BUSY else 'failed'}{told}",
            remedy=_LESS if status in _BUSY else "",
        )
        again.retry_after = retry_after(headers)
        return again
    if 300 <= status < 400:
        return EndpointFailed(
            f"{where} redirects to another address ({status}), and redirects are not followed",
            remedy="give the final address with --reader-arg base_url=…",
        )
    if status == 401:
        return Unavailable(
            f"{where} {'refuses the key' if asked.has_key else 'asks for a key'} ({shown})",
            remedy=f"put a valid one into the environment variable {asked.key_name}",
        )
    if status == 403:
        return Unavailable(
            f"{where} denies access to the model '{asked.model}' ({shown})",
            remedy=f"check the rights of the key in the environment variable {asked.key_name}",
        )
    if status == 404:
        return Unavailable(
            f"{where} has no model '{asked.model}', or no chat completions{told}",
            remedy="check the model's name, and the base URL, which usually ends in /v1",
        )
    if status == 415 and _ABOUT_SIGHT.search(words):
        return Unavailable(
            f"the model '{asked.model}' at {where} takes no pictures{told}",
            remedy="serve one that sees (llama.cpp's server: with --mmproj too), or read words alone with "
            "--setting image_ratio=0",
        )
    if status == 413:
        return ReaderError(f"the pictures are too large for {where} (413)", remedy=_SMALLER)
    remedy = _SMALLER if _ABOUT_LENGTH.search(words) else ""
    return ReaderError(f"{where} refuses the request{told}", remedy=remedy)
