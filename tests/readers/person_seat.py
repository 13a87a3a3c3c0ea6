"""A person's seat without a person: what is typed ahead, and what was printed."""

from __future__ import annotations

import io
import os
from typing import Any

from pydantic import BaseModel

from overread.readers.person import PersonReader, PersonSettings
from overread.readers.terminal import Terminal


class Block(BaseModel):
    """A box through slices."""

    first_slice: int
    left: float


class Blocks(BaseModel):
    """Where a finding is."""

    blocks: list[Block]


class Choice(BaseModel):
    """A letter and why."""

    answer: str
    explanation: str = ""


class Seat:
    """A person's seat: what is typed ahead, and what was printed."""

    def __init__(self, typed: str, **settings: Any) -> None:
        back, self._front = os.pipe()
        os.write(self._front, typed.encode())
        self._source = os.fdopen(back, "r")
        self.screen = io.StringIO()
        viewer = tuple(settings.pop("viewer", ()))
        terminal = Terminal(self._source, self.screen)
        self.person = PersonReader(PersonSettings(**settings), viewer, terminal)

    def leave(self) -> None:
        """Nothing more will be typed."""
        if self._front >= 0:
            os.close(self._front)
            self._front = -1

    def close(self) -> None:
        """Clear the seat away."""
        self.leave()
        self._source.close()
