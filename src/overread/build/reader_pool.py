"""The readers of a build: one for each role, made once, with limits, prices, stored replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from overread.build.ledger.store import Ledger, LedgerReplies
from overread.core import Reader, WrappedReader, make_reader
from overread.errors import UsageError
from overread.readers.arguments import PERMISSION
from overread.runs.judging.runner import judge_label
from overread.runs.requests.asker import Asker, Spending
from overread.runs.requests.endpoint_health import EndpointHealth
from overread.runs.requests.limits import EndpointLimits
from overread.runs.requests.prices import Prices
from overread.runs.requests.waits import Waits
from overread.runs.spec import refuse_secrets

PriceOf = Callable[[str], Prices] | Prices | None
"""Prices, or what gives them for a model's name."""


@dataclass(frozen=True)
class RoleSpec:
    """Which reader fills a role: a catalog name with its arguments, or a reader object."""

    reader: str | Reader
    arguments: Mapping[str, str] = field(default_factory=dict)


class _AlwaysCached(WrappedReader):
    """A reader whose replies are all cached, even those of a person."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.cached = True


@dataclass
class _PooledReader:
    """One role, the reader that fills it, and what is needed to ask it."""

    reader: Reader
    label: str
    arguments: dict[str, str]
    own: bool
    prices: Prices | None = None
    asker: Asker | None = None


class ReaderPool:
    """The readers of a build by role; nothing can be asked before `start`."""

    def __init__(self, roles: Mapping[str, RoleSpec]) -> None:
        """Make the readers; whoever cannot answer in words is refused."""
        self._posts: dict[str, _PooledReader] = {}
        self.waits = Waits()
        """The questions to any of them that wait just now."""
        for role, hired in roles.items():
            refuse_secrets(hired.arguments)
            own = isinstance(hired.reader, str)
            made = make_reader(hired.reader, hired.arguments, None)
            if "words" not in made.skills:
                raise UsageError(
                    f"the reader '{made.name}' does not answer in text, so it cannot take the role '{role}'",
                    remedy="use a reader that answers in text, such as openai",
                )
            kept = {k: v for k, v in hired.arguments.items() if k != PERMISSION}
            self._posts[role] = _PooledReader(made, judge_label(made), kept, own)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that have a reader."""
        return tuple(self._posts)

    @property
    def interactive(self) -> bool:
        """Whether one of the readers uses the terminal."""
        return any(post.reader.interactive for post in self._posts.values())

    @property
    def identities(self) -> dict[str, dict[str, JsonValue]]:
        """Role → everything that changes its reader's answers."""
        return {
            role: {"reader": post.reader.name, **post.reader.identity} for role, post in self._posts.items()
        }

    def as_json(self) -> dict[str, JsonValue]:
        """Role → its reader and arguments, for the ledger."""
        return {
            role: {"reader": post.reader.name, "arguments": dict(post.arguments),
                   "identity": dict(post.reader.identity)}
            for role, post in self._posts.items()
        }  # fmt: skip

    def start(
        self,
        ledger: Ledger,
        *,
        concurrency: int,
        prices: PriceOf = None,
        max_retries: int = 5,
        max_wait: float | None = None,
        give_up: int | None = None,
    ) -> None:
        """Prepare for asking: replies are stored in the ledger, and looked up there first."""
        shared = EndpointLimits(concurrency)
        for post in self._posts.values():
            few = post.reader.at_once
            price = prices
            if callable(price):
                price = price(str(post.reader.identity.get("model", post.reader.name)))
            post.prices = price
            post.asker = Asker(
                _AlwaysCached(post.reader),
                pace=EndpointLimits(min(few, concurrency)) if few else shared,
                cache=LedgerReplies(ledger, post.label, price),
                prices=price,
                max_retries=max_retries,
                max_wait=max_wait,
                give_up=give_up,
                waits=self.waits,
            )

    def has(self, role: str) -> bool:
        """Whether this role has a reader."""
        return role in self._posts

    def label(self, role: str) -> str:
        """The name of this role's reader in the ledger."""
        return self._pooled(role).label

    def reader(self, role: str) -> Reader:
        """The reader of this role."""
        return self._pooled(role).reader

    def cost(self, role: str, tokens: int) -> tuple[float, str] | None:
        """What so many input tokens cost with this role's reader, where prices are given."""
        prices = self._pooled(role).prices
        return None if prices is None else (tokens * prices.input / 1e6, prices.currency)

    def asker(self, role: str) -> Asker:
        """What sends requests to the reader of a role and stores its replies in the ledger."""
        asker = self._pooled(role).asker
        if asker is None:
            raise UsageError("a reader was asked before the reader pool was started")
        return asker

    def _pooled(self, role: str) -> _PooledReader:
        if role not in self._posts:
            raise UsageError(
                f"this build has no reader for the role '{role}'",
                remedy="check `has(role)` first, and fall back to rules",
            )
        return self._posts[role]

    @property
    def healths(self) -> list[EndpointHealth]:
        """Whether the endpoints of all of them answer."""
        return [post.asker.health for post in self._posts.values() if post.asker is not None]

    @property
    def spent(self) -> Spending:
        """What asking all of them came to in this run of the build."""
        total = Spending()
        for post in self._posts.values():
            if post.asker is None:
                continue
            one = post.asker.spent
            for name in ("calls", "cached", "retries", "input_tokens", "output_tokens", "pictures"):
                setattr(total, name, getattr(total, name) + getattr(one, name))
            for name in ("cost", "saved"):
                mine, theirs = getattr(total, name), getattr(one, name)
                if theirs is not None:
                    setattr(total, name, (mine or 0.0) + theirs)
            total.currency = total.currency or one.currency
        return total

    async def close(self) -> None:
        """Close the readers that were created here."""
        for post in self._posts.values():
            if post.own:
                await post.reader.close()
