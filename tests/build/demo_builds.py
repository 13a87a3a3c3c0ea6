"""Builds by rules alone, of reports of which some are odd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overread.build.plan import BuildOutcome
from overread.build.runner import run_build
from overread.build.step import Recipe
from overread.session import SessionSettings
from tests.build.demo_recipe import DEMO, write_prompts

ROWS = ("b one", "  a   two ", "", "raise", {"id": "r1", "text": "again"}, {"id": "lost"}, "c six")


def built(source: Path, out: Path, recipe: Recipe = DEMO, **more: Any) -> BuildOutcome:
    """A build by rules."""
    prompts = write_prompts(out.parent / "prompts")
    session = SessionSettings(prompts=str(prompts), repairs=2)
    return run_build(recipe, source, out, **{"session": session, **more})
