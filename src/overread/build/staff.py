"""Who is asked in a build: a reader for each role, made once, with limits, prices and a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from overread import catalog
from overread.build.ledger import Ledger, LedgerReplies
from overread.core import Drawn, Reader, Reply, Request
from overread.errors import UsageError
from overread.runs.asking import Asker, Spent
from overread.runs.cache import Keys
from overread.runs.judging import label_of
from overread.runs.pace import Pace
from overread.runs.prices import Prices
from overread.runs.spec import refuse_secrets

PriceOf = Callable[[str], Prices] | Prices | None
"""Prices, or what gives them for a model's name."""


@dataclass(frozen=True)
class Hired:
    """Who has a role: a reader of the catalog and its arguments, or a reader itself."""

    reader: str | Reader
    arguments: Mapping[str, str] = field(default_factory=dict)


class _Kept:
    """A reader all of whose answers are kept: in a build, a person's too."""

    cached = True

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


@dataclass
class _Post:
    """One role and who has it."""

    reader: Reader
    label: str
    arguments: dict[str, str]
    keys: Keys
    own: bool
    prices: Prices | None = None
    asker: Asker | None = None
    replies: LedgerReplies | None = None


class Staff:
    """The readers of a build by their roles; nobody is asked before `at_work`."""

    def __init__(self, roles: Mapping[str, Hired]) -> None:
        """Make the readers; whoever cannot answer in words is refused."""
        self._posts: dict[str, _Post] = {}
        for role, hired in roles.items():
            refuse_secrets(hired.arguments)
            made = hired.reader
            own = isinstance(made, str)
            if isinstance(made, str):
                find = catalog.find("readers", made)
                made = cast(Reader, find(dict(hired.arguments), place=None))
            if "words" not in made.skills:
                raise UsageError(
                    f"the reader '{made.name}' does not answer in words, and cannot be the {role}",
                    remedy="take a reader that models words, such as openai",
                )
            kept = {k: v for k, v in hired.arguments.items() if k != "allow_remote"}
            keys = Keys(made.identity, seeded=bool(getattr(made, "seeded", False)))
            self._posts[role] = _Post(made, label_of(made), kept, keys, own)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that somebody has."""
        return tuple(self._posts)

    @property
    def interactive(self) -> bool:
        """Whether somebody among them talks to the terminal."""
        return any(getattr(post.reader, "interactive", False) for post in self._posts.values())

    @property
    def identities(self) -> dict[str, dict[str, JsonValue]]:
        """Role → everything that changes the answers of who has it."""
        return {
            role: {"reader": post.reader.name, **post.reader.identity}
            for role, post in self._posts.items()
        }

    def told(self) -> dict[str, JsonValue]:
        """Role → who has it, for the ledger."""
        return {
            role: {"reader": post.reader.name, "arguments": dict(post.arguments),
                   "identity": dict(post.reader.identity)}
            for role, post in self._posts.items()
        }  # fmt: skip

    def at_work(
        self, ledger: Ledger, *, concurrency: int, prices: PriceOf = None, max_retries: int = 5
    ) -> None:
        """Have questions asked: answers are kept in the ledger, and looked up there first."""
        shared = Pace(concurrency)
        for post in self._posts.values():
            few = getattr(post.reader, "at_once", None)
            price = prices
            if callable(price):
                price = price(str(post.reader.identity.get("model", post.reader.name)))
            post.prices = price
            post.replies = LedgerReplies(ledger, post.label, price)
            post.asker = Asker(
                cast(Reader, _Kept(post.reader)),
                pace=Pace(min(few, concurrency)) if few else shared,
                cache=post.replies,
                prices=price,
                max_retries=max_retries,
            )

    def has(self, role: str) -> bool:
        """Whether somebody has this role."""
        return role in self._posts

    def label(self, role: str) -> str:
        """What the ledger calls who has this role."""
        return self._post(role).label

    def reader(self, role: str) -> Reader:
        """Who has this role."""
        return self._post(role).reader

    def cost(self, role: str, tokens: int) -> tuple[float, str] | None:
        """What reading so many tokens costs with who has this role, where prices are given."""
        prices = self._post(role).prices
        return None if prices is None else (tokens * prices.input / 1e6, prices.currency)

    def key(self, role: str, request: Request) -> bytes:
        """The key of a question to who has this role."""
        return self._post(role).keys.key(request)

    def knows(self, key: bytes, role: str) -> bool:
        """Whether the answer to a question is there already."""
        replies = self._post(role).replies
        return replies is not None and replies.get(key) is not None

    async def ask(self, role: str, request: Request, *, anew: bool = False) -> Reply | Drawn:
        """The answer of who has this role, or the one that was given before."""
        post = self._post(role)
        if post.asker is None or post.replies is None:
            raise UsageError("nobody is at work yet, and somebody was asked")
        key = post.keys.key(request)
        post.replies.ask(key, request)
        reply = await post.asker.ask(request, anew=anew)
        post.replies.forget(key)
        return reply

    def _post(self, role: str) -> _Post:
        if role not in self._posts:
            raise UsageError(
                f"nobody is the {role} of this build",
                remedy="a step asks `desk.has(role)` first, and goes by rules where nobody is",
            )
        return self._posts[role]

    @property
    def spent(self) -> Spent:
        """What asking all of them came to in this sitting."""
        total = Spent()
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
        """Send home whoever was made here."""
        for post in self._posts.values():
            if post.own:
                await post.reader.close()
