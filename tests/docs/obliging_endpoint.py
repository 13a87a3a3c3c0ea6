"""A chat-completions endpoint that answers any question by the JSON schema that comes with it.

It knows no medicine. It takes the first of the allowed words, numbers within the allowed bounds, one
place to look at, and as many verdicts as the question numbers things; where words are wanted it says
what a short report would say. What it answers hangs on the question alone.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PLAIN: dict[str, Any] = {
    "answer": "A",
    "errors": [],
    "probability": 0.2,
    "left": 0.2,
    "top": 0.2,
    "right": 0.7,
    "bottom": 0.7,
}
"""What is said in a field of this name, where the schema alone would allow nonsense."""
EACH = {
    "candidate": "ABCDE",
    "dimension": ("definition", "manifestation", "imaging", "reasoning", "learning"),
}
"""Fields of which a list has one of each."""
SENTENCE = "There is a small nodule in the right upper lobe. No pleural effusion."


@contextmanager
def obliging_endpoint() -> Iterator[str]:
    """Its base URL, while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = answer(told)
        body = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": told["model"],
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        """Nothing on stderr."""


def answer(told: dict[str, Any]) -> str:
    """What is said to one request."""
    schema = ((told.get("response_format") or {}).get("json_schema") or {}).get("schema")
    if schema is None:
        return SENTENCE
    texts = [part for message in told["messages"] for part in _texts(message["content"])]
    asked = texts[-1]
    if "steps" in schema.get("properties", {}):  # of a splitter: the sentences, as they stand
        quoted = asked.split("=====")
        return json.dumps({"steps": re.findall(r"[^.]+\.", quoted[1] if len(quoted) > 1 else SENTENCE)})
    numbers = [int(n) for n in re.findall(r"^(\d+)\. ", asked, re.M)]
    return json.dumps(_fill(schema, schema.get("$defs", {}), numbers))


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part["type"] == "text"]


def _fill(schema: dict[str, Any], known: dict[str, Any], numbers: list[int], name: str = "") -> Any:
    """The plainest value that a schema allows."""
    if name in PLAIN:
        return PLAIN[name]
    if "$ref" in schema:
        return _fill(known[schema["$ref"].rpartition("/")[2]], known, numbers, name)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return _fill(
                next(one for one in schema[choice] if one.get("type") != "null"), known, numbers, name
            )
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" or "properties" in schema:
        return {key: _fill(one, known, numbers, key) for key, one in schema.get("properties", {}).items()}
    if kind == "array":
        return _fill_list(schema, known, numbers, name)
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        return min(max(low, 1), schema.get("maximum", 10**9))
    if kind == "boolean":
        return True
    return SENTENCE[: schema.get("maxLength", 10**6)]


def _fill_list(schema: dict[str, Any], known: dict[str, Any], numbers: list[int], name: str) -> list[Any]:
    parts = schema.get("prefixItems")
    size = len(parts) if parts else schema.get("minItems", 1)
    if size == 4 or name in ("box", "bbox"):
        return [100, 100, 400, 400]
    if parts:
        return [_fill(one, known, numbers) for one in parts]
    made = [_fill(schema.get("items", {}), known, numbers, name) for _ in range(max(1, size))]
    for key, values in EACH.items():
        if isinstance(made[0], dict) and key in made[0]:
            return [{**made[0], key: value} for value in values]
    for key in ("step", "sentence", "number"):
        if isinstance(made[0], dict) and key in made[0] and numbers:
            return [{**made[0], key: n} for n in numbers]
    return made
