"""The desk at which a step works: models by their roles, prompts, verdicts, the source's pictures.

One desk serves one step on one item (or one gathering step on all), and remembers what was asked
and looked up there, so that the ledger can tell it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from overread.build.item import Data, Item
from overread.build.keys import may_ask, shown_settings
from overread.build.ledger import Attempt
from overread.build.questions import corrected_key
from overread.build.staff import Staff
from overread.build.step import Gather, Step
from overread.core import Case, Drawn, Image, Reply, Request, Shown, Volume
from overread.errors import BadReply, UsageError
from overread.prompts.replies import Parse, Parsed
from overread.runs.pace import derived_seed
from overread.session import Session, SessionSettings

T = TypeVar("T")

Count = Callable[[str, Request], None]


class Undeclared(UsageError):
    """A step used what it does not declare: its key would not tell, so the build ends."""


class WouldAsk(BaseException):
    """A dry run came to a question that nobody has answered yet.

    No `Exception`: a step that goes by rules where an answer is no good must not take it for one.
    """


class WorkDesk:
    """A desk for real work; without `staff` it is one where everything goes by rules."""

    def __init__(
        self,
        source: Path,
        *,
        folder: Path | None = None,
        settings: Mapping[str, str] | None = None,
        seed: int = 0,
        staff: Staff | None = None,
        verdicts: Mapping[str, str] | None = None,
        session: SessionSettings | None = None,
        step: Step | Gather | None = None,
        item: Item | None = None,
        unusable: frozenset[bytes] = frozenset(),
        count: Count | None = None,
    ) -> None:
        """A desk for a `step` lets it use what it declares, and no more.

        Replies whose keys are `unusable` are asked for anew. With `count` nobody is asked: it is
        told each question that would be, and the step ends there.
        """
        self.source = source
        self.folder = folder if folder is not None else source
        self.settings: Mapping[str, str] = dict(settings or {})
        if step is not None:
            self.settings = shown_settings(step, self.settings)
        self.seed = seed
        self.attempts: list[Attempt] = []
        """Every answer that was given at this desk."""
        self.consulted: dict[str, str | None] = {}
        """Question → what people had decided when it was looked up here."""
        self._staff = staff or Staff({})
        self._verdicts = verdicts or {}
        self._session = session or SessionSettings()
        self._step = step
        self._item = item
        self._unusable = unusable
        self._count = count

    def has(self, role: str = "reader") -> bool:
        """Whether there is a model for this role."""
        self._declared("role", role, self._step is None or may_ask(self._step, role))
        return self._staff.has(role)

    def name(self, role: str = "reader") -> str:
        """What the ledger calls who has this role; 'rules' where nobody has."""
        return self._staff.label(role) if self.has(role) else "rules"

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that somebody has and that the step may ask."""
        step = self._step
        return tuple(r for r in self._staff.roles if step is None or may_ask(step, r))

    def verdict(self, question: str) -> str | None:
        """What people decided on a question by its id; None where they have not yet."""
        self.consulted[question] = self._verdicts.get(question)
        return self.consulted[question]

    def corrected(self, question: str) -> Data | None:
        """What people put in the place of what the question showed; None where they did not."""
        told = self.verdict(corrected_key(question))
        return None if told is None else json.loads(told)

    async def ask(
        self,
        prompt: str,
        values: Mapping[str, str],
        parse: Parse[T],
        *,
        role: str = "reader",
        pictures: Sequence[str] = (),
        check: Callable[[T], str | None] | None = None,
        sample: int = 0,
    ) -> T:
        """Ask a model by a prompt of the house; again with the reason where the answer is no good.

        Raises `BadReply` where no answer was good after all repairs; every attempt is kept.
        """
        self._declared("role", role, self._step is None or may_ask(self._step, role))
        self._declared("prompt", prompt, self._step is None or prompt in self._step.prompts)
        case = self._case(pictures)
        replies: list[tuple[bytes, bool]] = []

        async def asked(request: Request) -> Reply | Drawn:
            key = self._staff.key(role, request)
            anew = key in self._unusable
            if self._count is not None and (anew or not self._staff.knows(key, role)):
                self._count(role, request)
                raise WouldAsk
            reply = await self._staff.ask(role, request, anew=anew)
            known = isinstance(reply, Reply) and reply.usage.calls == 0
            replies.append((key, known))
            return reply

        session = Session(
            asked,
            self._staff.reader(role),
            case,
            _Source(self.source, self.folder),
            self._session,
            sample=sample,
            seed=derived_seed(self.seed, case.id, sample),
        )
        shown = await session.look() if case.pictures else []
        try:
            return await self._answer(session, prompt, values, parse, check, shown)
        finally:
            for exchange, (key, known) in zip(session.exchanges, replies, strict=False):
                self.attempts.append(
                    Attempt(
                        role=role,
                        reader=self._staff.label(role),
                        prompt=exchange.prompt,
                        reply=key,
                        known=known,
                        problem=exchange.problem,
                        repaired=exchange.repaired,
                    )
                )

    async def _answer(
        self,
        session: Session,
        prompt: str,
        values: Mapping[str, str],
        parse: Parse[T],
        check: Callable[[T], str | None] | None,
        shown: Sequence[Shown],
    ) -> T:
        def checked(text: str) -> Parsed[T]:
            found = parse(text)
            wrong = check(found.value) if check is not None else None
            if wrong:
                raise BadReply(wrong)
            return found

        model = getattr(parse, "model", None)
        schema = _schema(model) if model is not None else None
        return await session.ask(
            prompt, values, checked, task=prompt, show=shown, schema=schema, kind=None
        )

    def _case(self, pictures: Sequence[str]) -> Case:
        from overread.benchmarks.release import clean_id

        parts: list[Image | Volume] = []
        for number, file in enumerate(pictures, 1):
            kind = Volume if file.endswith((".nii", ".nii.gz")) else Image
            parts.append(kind(name=f"image-{number}", file=file))
        item = clean_id(self._item.id) if self._item is not None else "all"
        step = self._step.name if self._step is not None else "build"
        return Case(id=item, benchmark="build", split=step, pictures=tuple(parts))

    def _declared(self, what: str, name: str, holds: bool) -> None:  # noqa: FBT001
        if not holds and self._step is not None:
            raise Undeclared(
                f"the step '{self._step.name}' uses the {what} '{name}', which it does not declare",
                remedy=f"name it in the step's {what}s",
            )


class _Source:
    """Opens pictures of the source, or such as a step made under the build's folder."""

    def __init__(self, source: Path, folder: Path) -> None:
        from overread.benchmarks.release import OpenPictures

        self._source = source
        self._folder = folder
        self._open = OpenPictures(self._find)
        self.data = self._open.data
        self.pixels = self._open.pixels
        self.geometry = self._open.geometry

    def _find(self, file: str) -> Path:
        from overread.pixels.fence import Fence

        path = Path(file)
        if path.is_absolute() and path.is_relative_to(self._folder.resolve()):
            return Fence(self._folder).path(str(path.relative_to(self._folder.resolve())))
        return Fence(self._source).path(file)


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()
