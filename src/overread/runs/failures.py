"""Starts tasks, and raises the one error that ended them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from overread.errors import UsageError, first_error


def refuse_running_loop(instead: str) -> None:
    """Refuse to wait inside of a running loop, such as a notebook's: `instead` says what to do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError("an asyncio event loop is already running", remedy=f"use `await {instead}`")


async def run_tasks(tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run them all at the same time; the first that raises ends the others, and it is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(task)
    except BaseExceptionGroup as several:
        raise first_error(several) from None
