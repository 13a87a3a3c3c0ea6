"""What a run would take, without asking anybody: calls, pictures, tokens, cost.

Every case is shown and every question worded as in the run itself. A known reply stands for
itself; any other is stood in for by the plainest answer that the question's schema allows, so that
a workflow of several questions goes on to the next one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from overread.core import Case, Drawn, Reader, Reply, Request, Shown
from overread.errors import OverreadError
from overread.runs.cache import Keys, ReplyCache, default_cache
from overread.runs.engine import Plan, prepared, presenter_of, prices_of, settled, todo, workflow_of
from overread.runs.pace import derived_seed
from overread.runs.presenting import Presenter
from overread.runs.reading_room import Workflow
from overread.runs.store import Question, known_of, unusable_of
from overread.session import Session

LETTERS_A_TOKEN = 4
PIXELS_A_TOKEN = 28
RULE = (
    f"a token for {LETTERS_A_TOKEN} characters, and one for each {PIXELS_A_TOKEN} × "
    f"{PIXELS_A_TOKEN} pixels"
)
_PATIENCE = 30.0


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


def estimate(plan: Plan, out: str | Path | None = None) -> Estimate:
    """What the run would take; `out` is its folder, where it may have begun."""
    return asyncio.run(_estimate(plan, Path(out) if out else None))


async def _estimate(plan: Plan, folder: Path | None) -> Estimate:
    reader, release, spec = prepared(plan)
    cache = None
    try:
        if folder is not None and (folder / "spec.json").exists():
            settled(spec, folder)
        known = known_of(folder or Path("nowhere"))
        if plan.use_cache and reader.cached:
            path = plan.cache or default_cache()
            cache = ReplyCache(path, read_only=True) if path.exists() else None
        presenter = presenter_of(plan, reader, release)
        found = Estimate(before=len(known.done))
        workflow = workflow_of(plan, reader)
        unusable = unusable_of(folder) if folder is not None and plan.retry_failed else {}
        counter = _Counter(reader, cache, found, unusable)
        begin = time.monotonic()
        for case, sample in todo(plan, spec, release, known):
            found.readings += 1
            if workflow is None or time.monotonic() - begin > _PATIENCE:
                continue
            found.looked_at += 1
            await counter.follow(plan, workflow, presenter, case, sample)
        if workflow is None:
            found.looked_at = found.readings
        if plan.retry_failed:
            found.before -= len(known.failed)
        return _extrapolated(found, plan, reader)
    finally:
        if cache is not None:
            cache.close()
        await reader.close()


def _extrapolated(found: Estimate, plan: Plan, reader: Reader) -> Estimate:
    if found.looked_at and found.looked_at < found.readings:
        share = found.readings / found.looked_at
        for name in ("calls", "cached", "pictures", "input_tokens"):
            setattr(found, name, round(getattr(found, name) * share))
    prices = prices_of(plan, reader)
    if prices is not None:
        found.cost = found.input_tokens * prices.input / 1e6
        found.currency = prices.currency
    return found


class _Counter:
    """Stands in for the reader and counts."""

    def __init__(
        self,
        reader: Reader,
        cache: ReplyCache | None,
        found: Estimate,
        unusable: Mapping[tuple[str, int], Sequence[Question]],
    ) -> None:
        self._reader = reader
        self._cache = cache
        self._keys = Keys(reader.identity, seeded=bool(getattr(reader, "seeded", False)))
        self._found = found
        self._unusable = unusable
        self._anew: Sequence[Question] = ()

    async def follow(
        self, plan: Plan, workflow: Workflow, presenter: Presenter, case: Case, sample: int
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
            seed=derived_seed(plan.seed, case.id, sample),
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

    async def ask(self, request: Request) -> Reply | Drawn:
        """Count a question, and answer it as plainly as can be."""
        if self._cache is not None and request.messages and request.messages not in self._anew:
            known = self._cache.get(self._keys.key(request))
            if known is not None:
                self._found.cached += 1
                return known
        self._found.calls += 1
        if not request.messages:
            return Drawn(mask=None)
        for part in (part for message in request.messages for part in message.parts):
            if isinstance(part, Shown):
                self._found.pictures += 1
                self._found.input_tokens += picture_tokens(part.width, part.height)
            else:
                self._found.input_tokens += -(-len(part) // LETTERS_A_TOKEN)
        options = request.case.options
        word = options[0].letter if options else "…"
        return Reply(text=json.dumps(plainest(request.schema, word)) if request.schema else word)


def picture_tokens(width: int, height: int) -> int:
    """Tokens that a picture is taken to be; models differ by a factor of two either way.

    >>> picture_tokens(1024, 1024)
    1369
    """
    return -(-width // PIXELS_A_TOKEN) * -(-height // PIXELS_A_TOKEN)


def plainest(schema: Mapping[str, Any], word: str = "…") -> Any:
    """The plainest value that a JSON schema allows; `word` stands for any text.

    >>> plainest({"type": "object", "properties": {"answer": {"enum": ["A", "B"]},
    ...     "why": {"type": "string"}, "sure": {"type": "number", "minimum": 0.5}}})
    {'answer': 'A', 'why': '…', 'sure': 0.5}
    """
    return _plainest(schema, {"": word, **(schema.get("$defs") or {})}, 0)


def _plainest(schema: Mapping[str, Any], named: Mapping[str, Any], depth: int) -> Any:
    if depth > 20:
        return None
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    if "$ref" in schema:
        inner = named.get(str(schema["$ref"]).rpartition("/")[2], {})
        return _plainest(inner, named, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return _plainest(schema[word][0], named, depth + 1)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        inside = schema.get("properties") or {}
        return {name: _plainest(part, named, depth + 1) for name, part in inside.items()}
    if kind == "array":
        count = int(schema.get("minItems", 1))
        return [_plainest(schema.get("items") or {}, named, depth + 1) for _ in range(count)]
    plain = {"integer": 0, "number": 0.0, "boolean": False, "null": None}
    if kind in ("integer", "number"):
        return schema.get("minimum", plain[kind])
    return plain.get(str(kind), named[""])
