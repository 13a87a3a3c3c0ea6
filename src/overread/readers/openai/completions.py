"""Chat completions: how a question is written down for an endpoint, and its answer read.

Endpoints agree on little: an answer may be a text, a list of parts or the arguments of a tool call,
reasoning has three names, and counts may be missing. Nothing here trusts what came.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from overread.core import Message, Reply, Request, SentImage, Usage

StructuredMode = Literal["schema", "json", "none"]
Finish = Literal["stop", "length", "refused", "other"]

_FINISHES: dict[object, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
    "safety": "refused",
}
_MAX_DEPTH = 8


def format_messages(
    request: Request, *, detail: str | None = None, system_message: bool = True
) -> list[dict[str, Any]]:
    """The messages of a question as endpoints take them, pictures as data URIs in their places.

    Without `system_message` what is told to the system stands before the words of the user's first
    message, for models whose template knows no such role.
    """
    messages = request.messages if system_message else _without_system(request.messages)
    return [_format_message(message, request.images, detail) for message in messages]


def _without_system(messages: Sequence[Message]) -> list[Message]:
    told = [part for message in messages if message.role == "system" for part in message.parts]
    others = [message for message in messages if message.role != "system"]
    if not others or others[0].role != "user":
        return [Message(role="user", parts=tuple(told)), *others]
    return [Message(role="user", parts=(*told, *others[0].parts)), *others[1:]]


def _format_message(message: Message, images: Mapping[str, bytes], detail: str | None) -> dict[str, Any]:
    if not any(isinstance(part, SentImage) for part in message.parts):
        # Many endpoints take a list of parts from the user only.
        text = "\n".join(part for part in message.parts if isinstance(part, str))
        return {"role": message.role, "content": text}
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
            continue
        coded = base64.b64encode(images[part.sha256]).decode("ascii")
        address = {"url": f"data:{part.media};base64,{coded}"}
        if detail is not None:
            address["detail"] = detail
        parts.append({"type": "image_url", "image_url": address})
    return {"role": message.role, "content": parts}


def response_format(schema: Mapping[str, Any] | None, way: StructuredMode) -> dict[str, Any] | None:
    """The `response_format` that tells an endpoint to answer in JSON."""
    if schema is None or way == "none":
        return None
    if way == "json":
        return {"type": "json_object"}
    named = {"name": "answer", "schema": dict(schema), "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _is_strict(schema: object) -> bool:
    """Whether every object says all it may hold and needs all of it: what strict mode asks for."""
    if isinstance(schema, Mapping):
        if "properties" in schema:
            names = set(cast(Mapping[str, Any], schema["properties"]))
            if schema.get("additionalProperties") is not False:
                return False
            if names != set(schema.get("required", ())):
                return False
        return all(_is_strict(inner) for inner in schema.values())
    if isinstance(schema, list | tuple):
        return all(_is_strict(inner) for inner in schema)
    return True


def parse_completion(data: Mapping[str, Any]) -> Reply:
    """The reply in a completion; empty words where there are none, never an error."""
    choice = _as_mapping(_first_item(data.get("choices")))
    message = _as_mapping(choice.get("message"))
    content = message.get("content")
    text = "".join(_iter_texts(content, skip=("thinking", "reasoning")))
    refusal = "".join(_iter_texts(message.get("refusal")))
    finish = _finish_reason(choice, text)
    if not text and not refusal:
        text = _tool_call_arguments(message.get("tool_calls")) or "".join(_iter_texts(choice.get("text")))
    if refusal:
        text, finish = text or refusal, "refused"
    usage = _as_mapping(data.get("usage"))
    model = data.get("model")
    return Reply(
        text=repair_surrogates(text),
        reasoning=repair_surrogates(_reasoning(message, content)) or None,
        finish=finish,
        model=repair_surrogates(model)[:200] if isinstance(model, str) else "",
        usage=Usage(
            input_tokens=_token_count(usage.get("prompt_tokens")),
            output_tokens=_token_count(usage.get("completion_tokens")),
        ),
    )


def _finish_reason(choice: Mapping[str, Any], text: str) -> Finish:
    told = choice.get("finish_reason")
    if told is None:
        return "stop" if text else "other"
    return _FINISHES.get(told.lower() if isinstance(told, str) else "", "other")


def _reasoning(message: Mapping[str, Any], content: object) -> str:
    """What the model thought aloud, under the first of its names."""
    for name in ("reasoning_content", "reasoning", "reasoning_details", "thinking"):
        found = "".join(_iter_texts(message.get(name)))
        if found:
            return found
    if not isinstance(content, list):
        return ""
    thoughts = [p for p in content if _as_mapping(p).get("type") in ("thinking", "reasoning")]
    return "".join(_iter_texts(thoughts))


def _iter_texts(value: object, *, skip: tuple[str, ...] = (), depth: int = 0) -> Iterator[str]:
    """The words of a text, a part, or a list of parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for part in value:
            yield from _iter_texts(part, skip=skip, depth=depth + 1)
    elif isinstance(value, dict) and depth < _MAX_DEPTH and value.get("type") not in skip:
        for name in ("text", "content", "summary", "thinking", "refusal"):
            if value.get(name):
                yield from _iter_texts(value[name], skip=skip, depth=depth + 1)
                return


def _tool_call_arguments(calls: object) -> str:
    """The arguments of the only tool call: some models answer in JSON that way, unasked."""
    if not isinstance(calls, list) or len(calls) != 1:
        return ""
    told = _as_mapping(_as_mapping(calls[0]).get("function")).get("arguments")
    return told if isinstance(told, str) else ""


def repair_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, so that it can be stored
    as UTF-8.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _first_item(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _token_count(value: object) -> int:
    counted = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return cast(int, value) if counted else 0
