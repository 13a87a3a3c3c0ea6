"""What a step may use while it runs: models by role, prompts, people's verdicts, pictures.

One context serves one step on one item (or one batch step on all items). It records every
question asked and every verdict looked up, so that the ledger can store them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from overread.build.decision_keys import declares_role, filled_role, restrict_settings
from overread.build.item import Data, Item
from overread.build.ledger.questions import correction_key
from overread.build.ledger.store import ReplyAttempt
from overread.build.reader_pool import ReaderPool
from overread.build.source_pictures import picture_path
from overread.build.step import BatchStep, ItemStep
from overread.core import Case, DrawnMask, Image, Reply, Request, Volume
from overread.core.seeded import hash_seed
from overread.errors import BadReply, UsageError
from overread.prompts.replies import ParsedReply, ReplyParser
from overread.session import Session, SessionSettings

T = TypeVar("T")

RequestCounter = Callable[[str, Request], None]


class Undeclared(UsageError):
    """A step used something that it does not declare, so its key would miss it; the build ends."""


class WouldAsk(BaseException):
    """A dry run reached a question that has no stored answer.

    Not an `Exception`: a step that falls back to rules on errors must not catch it.
    """


class LiveStepContext:
    """The step context of a real build; without `staff` no role has a reader."""

    def __init__(
        self,
        source: Path,
        *,
        folder: Path | None = None,
        settings: Mapping[str, str] | None = None,
        seed: int = 0,
        staff: ReaderPool | None = None,
        verdicts: Mapping[str, str] | None = None,
        session: SessionSettings | None = None,
        step: ItemStep | BatchStep | None = None,
        item: Item | None = None,
        unusable: frozenset[bytes] = frozenset(),
        count: RequestCounter | None = None,
    ) -> None:
        """With a `step`, only what that step declares may be used.

        Replies whose keys are in `unusable` are asked for again. With `count` (a dry run) no
        model is asked: `count` gets each request that would be sent, and the step ends there.
        """
        self.source = source
        self.folder = folder if folder is not None else source
        self.settings: Mapping[str, str] = dict(settings or {})
        if step is not None:
            self.settings = restrict_settings(step, self.settings)
        self.seed = seed
        self.attempts: list[ReplyAttempt] = []
        """Every model reply that this context received."""
        self.consulted: dict[str, str | None] = {}
        """Question → what people had decided when it was looked up here."""
        self._staff = staff or ReaderPool({})
        self._verdicts = verdicts or {}
        self._session = session or SessionSettings()
        self._step = step
        self._item = item
        self._unusable = unusable
        self._count = count

    def has(self, role: str = "reader") -> bool:
        """Whether there is a model for this role."""
        self._check_declared("role", role, self._step is None or declares_role(self._step, role))
        return self._staff.has(self._filled(role))

    def name(self, role: str = "reader") -> str:
        """The name of this role's reader in the ledger; 'rules' where the role has none."""
        return self._staff.label(self._filled(role)) if self.has(role) else "rules"

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that have a reader and that the step may ask."""
        step = self._step
        if step is None:
            return self._staff.roles
        found = [r for r in self._staff.roles if declares_role(step, r) or r == step.name]
        return tuple(dict.fromkeys(self._filled(role) for role in found))

    def verdict(self, question: str) -> str | None:
        """What people decided on a question by its id; None where they have not yet."""
        self.consulted[question] = self._verdicts.get(question)
        return self.consulted[question]

    def correction(self, question: str) -> Data | None:
        """The corrected data that people gave for a question; None where they gave none."""
        told = self.verdict(correction_key(question))
        return None if told is None else json.loads(told)

    async def ask(
        self,
        prompt: str,
        values: Mapping[str, str],
        parse: ReplyParser[T],
        *,
        role: str = "reader",
        pictures: Sequence[str] = (),
        check: Callable[[T], str | None] | None = None,
        sample: int = 0,
    ) -> T:
        """Ask a model with a bundled prompt; ask again, with the reason, if the answer is unusable.

        Raises `BadReply` if no answer was usable after all repairs; every attempt is stored.
        """
        self._check_declared("role", role, self._step is None or declares_role(self._step, role))
        self._check_declared("prompt", prompt, self._step is None or prompt in self._step.prompts)
        role = self._filled(role)
        case = self._make_case(pictures)
        asker = self._staff.asker(role)
        keys: list[bytes] = []

        async def send(request: Request) -> Reply | DrawnMask:
            key = asker.key(request)
            anew = key in self._unusable
            if self._count is None:
                reply = await asker.ask(request, key=key, anew=anew)
            else:
                stored = None if anew else asker.find_cached(key)
                if stored is None:
                    self._count(role, request)
                    raise WouldAsk
                reply = stored
            keys.append(key)
            return reply

        def parse_checked(text: str) -> ParsedReply[T]:
            found = parse(text)
            wrong = check(found.value) if check is not None else None
            if wrong:
                raise BadReply(wrong)
            return found

        session = Session(
            send,
            self._staff.reader(role),
            case,
            _BuildPictures(self.source, self.folder),
            self._session,
            sample=sample,
            seed=hash_seed(self.seed, case.id, sample),
        )
        shown = await session.show_async() if case.pictures else []
        model = getattr(parse, "model", None)
        schema = _schema(model) if model is not None else None
        try:
            return await session.ask(
                prompt, values, parse_checked, task=prompt, show=shown, schema=schema, kind=None
            )
        finally:
            for exchange, key in zip(session.exchanges, keys, strict=False):
                self.attempts.append(
                    ReplyAttempt(
                        role=role,
                        reader=self._staff.label(role),
                        prompt=exchange.prompt,
                        reply=key,
                        known=exchange.from_cache,
                        problem=exchange.problem,
                        repaired=exchange.repaired,
                    )
                )

    def _filled(self, role: str) -> str:
        return filled_role(self._step, role, self._staff.roles)

    def _make_case(self, pictures: Sequence[str]) -> Case:
        from overread.benchmarks.release import clean_id

        parts: list[Image | Volume] = []
        for number, file in enumerate(pictures, 1):
            kind = Volume if file.endswith((".nii", ".nii.gz")) else Image
            parts.append(kind(name=f"image-{number}", file=file))
        item = clean_id(self._item.id) if self._item is not None else "all"
        step = self._step.name if self._step is not None else "build"
        return Case(id=item, benchmark="build", split=step, pictures=tuple(parts))

    def _check_declared(self, what: str, name: str, holds: bool) -> None:  # noqa: FBT001
        if not holds and self._step is not None:
            raise Undeclared(
                f"the step '{self._step.name}' uses the {what} '{name}', which it does not declare",
                remedy=f"name it in the step's {what}s",
            )


class _BuildPictures:
    """Opens pictures of the source, or such as a step made under the build's folder."""

    def __init__(self, source: Path, folder: Path) -> None:
        from overread.benchmarks.release import ReleasePictures

        self._source = source
        self._folder = folder
        self._open = ReleasePictures(self._find)
        self.data = self._open.data
        self.pixels = self._open.pixels
        self.geometry = self._open.geometry

    def _find(self, file: str) -> Path:
        from overread.storage.fence import Fence

        path = Path(file)
        if path.is_absolute() and path.is_relative_to(self._folder.resolve()):
            return Fence(self._folder).path(str(path.relative_to(self._folder.resolve())))
        return picture_path(self._source, file)


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()
