"""Runs tasks side by side, and raises the one error that ended them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from overread.errors import first_error


async def run_tasks(tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run them all at the same time; the first that raises ends the others, and it is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(task)
    except BaseExceptionGroup as several:
        raise first_error(several) from None
