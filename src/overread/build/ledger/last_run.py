"""The source and the settings that a build was last made with, for who looks at it afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from overread.build.ledger.tables import LEDGER_FILE, open_for_reading, sqlite_errors
from overread.build.step import StepContext


def load_last_context(folder: Path) -> StepContext | None:
    """What the steps were handed, as far as finding files goes; None where there is no ledger.

    Nobody is asked through it: it has no models and no verdicts.
    """
    if not (folder / LEDGER_FILE).is_file():
        return None
    base = open_for_reading(folder)
    try:
        with sqlite_errors(folder):
            row = base.execute("SELECT told FROM sittings ORDER BY id DESC LIMIT 1").fetchone()
    finally:
        base.close()
    try:
        sitting = json.loads(row[0]) if row is not None else {}
        source = Path(str(sitting["source"]))
    except (ValueError, KeyError, TypeError):
        return None
    settings = sitting.get("settings")
    plain: Mapping[str, str] = (
        {str(name): str(value) for name, value in settings.items()} if isinstance(settings, dict) else {}
    )
    return cast(StepContext, SimpleNamespace(source=source, folder=folder, settings=plain, seed=0))
