"""What a run would take, without asking anybody: calls, pictures, tokens, cost.

Every case is rendered as in the run itself. Cached replies are used; any other reply is replaced by
the simplest value that the question's JSON schema allows, so that a workflow of several questions
goes on to the next one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from overread.core import Case, DrawnMask, Reader, Reply, Request, SentImage
from overread.core.seeded import hash_seed
from overread.errors import OverreadError
from overread.runs.ablations import Presenter
from overread.runs.case_runner import Workflow
from overread.runs.engine import (
    RunPlan,
    find_prices,
    find_workflow,
    make_presenter,
    pending_readings,
    prepare_run,
    resume_spec,
)
from overread.runs.requests.reply_cache import ReplyCache, ReplyKeys, default_cache_path
from overread.runs.store import QuestionMessages, find_unusable_questions, scan_readings
from overread.session import Session

CHARACTERS_PER_TOKEN = 4
PIXELS_PER_TOKEN = 28
RULE = (
    f"a token for {CHARACTERS_PER_TOKEN} characters, and one for each {PIXELS_PER_TOKEN} × "
    f"{PIXELS_PER_TOKEN} pixels"
)
_MAX_SECONDS = 30.0


@dataclass
class Estimate:
    """What a run would take from here on."""

    readings: int = 0
    """Readings that are to be made."""
    before: int = 0
    """Readings that are there already."""
    looked_at: int = 0
    """Readings that the numbers below were counted on; the rest was taken to be like them."""
    calls: int = 0
    """Questions that the reader would be asked."""
    cached: int = 0
    """Questions whose answer is known."""
    pictures: int = 0
    """Pictures that would be sent."""
    input_tokens: int = 0
    """Tokens that would be read, by the rule."""
    cost: float | None = None
    """Price of the input alone, where prices are given."""
    currency: str = ""
    """What it is in, where the price list says so."""
    at_least: bool = False
    """Whether a workflow could not be followed to its end, so that there may be more calls."""
    failing: list[tuple[str, str]] = field(default_factory=list)
    """(case, why) of the first few that could not even be asked about."""
    rule: str = RULE
    """How tokens were counted."""


def estimate(plan: RunPlan, out: str | Path | None = None) -> Estimate:
    """What the run would take; `out` is its folder, where it may have begun."""
    return asyncio.run(_estimate(plan, Path(out) if out else None))


async def _estimate(plan: RunPlan, folder: Path | None) -> Estimate:
    reader, release, spec = prepare_run(plan)
    cache = None
    try:
        if folder is not None and (folder / "spec.json").exists():
            resume_spec(spec, folder)
        known = scan_readings(folder or Path("nowhere"))
        if plan.use_cache and reader.cached:
            path = plan.cache or default_cache_path()
            cache = ReplyCache(path, read_only=True) if path.exists() else None
        presenter = make_presenter(plan, reader, release)
        found = Estimate(before=len(known.done))
        workflow = find_workflow(plan, reader)
        unusable = find_unusable_questions(folder) if folder is not None and plan.retry_failed else {}
        counter = _CountingReader(reader, cache, found, unusable)
        begin = time.monotonic()
        for case, sample in pending_readings(plan, spec, release, known):
            found.readings += 1
            if workflow is None or time.monotonic() - begin > _MAX_SECONDS:
                continue
            found.looked_at += 1
            await counter.count_case(plan, workflow, presenter, case, sample)
        if workflow is None:
            found.looked_at = found.readings
        if plan.retry_failed:
            found.before -= len(known.failed)
        return _extrapolate(found, plan, reader)
    finally:
        if cache is not None:
            cache.close()
        await reader.close()


def _extrapolate(found: Estimate, plan: RunPlan, reader: Reader) -> Estimate:
    if found.looked_at and found.looked_at < found.readings:
        share = found.readings / found.looked_at
        for name in ("calls", "cached", "pictures", "input_tokens"):
            setattr(found, name, round(getattr(found, name) * share))
    prices = find_prices(plan, reader)
    if prices is not None:
        found.cost = found.input_tokens * prices.input / 1e6
        found.currency = prices.currency
    return found


class _CountingReader:
    """Takes the place of the reader and counts what it would be asked."""

    def __init__(
        self,
        reader: Reader,
        cache: ReplyCache | None,
        found: Estimate,
        unusable: Mapping[tuple[str, int], Sequence[QuestionMessages]],
    ) -> None:
        self._reader = reader
        self._cache = cache
        self._keys = ReplyKeys(reader.identity, seeded=reader.seeded)
        self._found = found
        self._unusable = unusable
        self._anew: Sequence[QuestionMessages] = ()

    async def count_case(
        self, plan: RunPlan, workflow: Workflow, presenter: Presenter, case: Case, sample: int
    ) -> None:
        """Go through one case as the run would."""
        self._anew = self._unusable.get((case.id, sample), ())
        presented = presenter.present(case, sample)
        session = Session(
            self.ask,
            self._reader,
            presented.case,
            presented.pictures,
            # A stand-in that makes no sense is no reason to count a second question.
            replace(plan.settings, repairs=0),
            sample=sample,
            seed=hash_seed(plan.seed, case.id, sample),
            hints=presented.hints,
        )
        asked = self._found.calls + self._found.cached
        try:
            await workflow(presented.case, session)
        except Exception as error:
            if self._found.calls + self._found.cached > asked:
                self._found.at_least = True  # the stand-in led nowhere; the first part counts
            elif isinstance(error, OverreadError):
                if len(self._found.failing) < 10:
                    self._found.failing.append((case.id, str(error)))
            else:
                raise

    async def ask(self, request: Request) -> Reply | DrawnMask:
        """Count a question, and answer it as plainly as can be."""
        if self._cache is not None and request.messages and request.messages not in self._anew:
            known = self._cache.get(self._keys.key(request))
            if known is not None:
                self._found.cached += 1
                return known
        self._found.calls += 1
        if not request.messages:
            return DrawnMask(mask=None)
        for part in (part for message in request.messages for part in message.parts):
            if isinstance(part, SentImage):
                self._found.pictures += 1
                self._found.input_tokens += picture_tokens(part.width, part.height)
            else:
                self._found.input_tokens += -(-len(part) // CHARACTERS_PER_TOKEN)
        options = request.case.options
        word = options[0].letter if options else "…"
        return Reply(text=json.dumps(simplest_value(request.schema, word)) if request.schema else word)


def picture_tokens(width: int, height: int) -> int:
    """Tokens that a picture is taken to be; models differ by a factor of two either way.

    >>> picture_tokens(1024, 1024)
    1369
    """
    return -(-width // PIXELS_PER_TOKEN) * -(-height // PIXELS_PER_TOKEN)


_SMALL_BOX = [0, 0, 20, 20]
"""Four numbers are a box; in thousandths or in pixels, this one has a width and a height."""


def simplest_value(schema: Mapping[str, Any], word: str = "…") -> Any:
    """The plainest value that a JSON schema allows; `word` stands for any text.

    >>> simplest_value({"type": "object", "properties": {"answer": {"enum": ["A", "B"]},
    ...     "why": {"type": "string"}, "sure": {"type": "number", "minimum": 0.5}}})
    {'answer': 'A', 'why': '…', 'sure': 0.5}
    """
    return _simplest_value(schema, {"": word, **(schema.get("$defs") or {})}, 0)


def _simplest_value(schema: Mapping[str, Any], named: Mapping[str, Any], depth: int) -> Any:
    if depth > 20:
        return None
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    if "$ref" in schema:
        inner = named.get(str(schema["$ref"]).rpartition("/")[2], {})
        return _simplest_value(inner, named, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return _simplest_value(schema[word][0], named, depth + 1)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        inside = schema.get("properties") or {}
        return {name: _simplest_value(part, named, depth + 1) for name, part in inside.items()}
    if kind == "array":
        count = int(schema.get("minItems", 1))
        if count == 4 == schema.get("maxItems") and (schema.get("items") or {}).get("type") == "number":
            return _SMALL_BOX
        return [_simplest_value(schema.get("items") or {}, named, depth + 1) for _ in range(count)]
    plain = {"integer": 0, "number": 0.0, "boolean": False, "null": None}
    if kind in ("integer", "number"):
        return schema.get("minimum", plain[kind])
    return plain.get(str(kind), named[""])
