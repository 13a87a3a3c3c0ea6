"""Writing a release so that a kill at any moment leaves the old one, the new one, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from overread import __version__
from overread.build.item import Change
from overread.build.ledger.store import Ledger
from overread.build.plan import RELEASE, BuildOutcome
from overread.build.release.provenance import Provenance
from overread.build.step import Recipe
from overread.build.step_context import LiveStepContext
from overread.errors import OverreadError
from overread.storage.atomic import replace_folder
from overread.storage.system_errors import explain_system_error


def _write_with_card(
    recipe: Recipe, outcome: BuildOutcome, part: Path, context: LiveStepContext, key: str
) -> Sequence[Change]:
    """The release in the benchmark's layout, with its card where the recipe names one."""
    changes = recipe.release(list(outcome.items), part, context)
    if recipe.benchmark:
        from overread.build.release.publication import finish_release

        made = Provenance(
            recipe=recipe.name,
            steps=tuple(f"{step.name} {step.version}" for step in recipe.steps),
            models=tuple(f"{role}: {context.name(role)}" for role in context.roles),
            settings={name: value for name, value in context.settings.items() if value},
            seed=context.seed,
            ledger=key,
            versions={"overread": __version__},
        )
        finish_release(part, recipe.benchmark, provenance=made)
    return changes


async def replace_release(
    recipe: Recipe, outcome: BuildOutcome, context: LiveStepContext, ledger: Ledger, key: str
) -> None:
    """Write the release beside its place and move it there; what goes wrong is told, not raised.

    `key` is the digest of everything that was decided: the card names it.
    """
    place = outcome.folder / RELEASE
    try:
        with replace_folder(place) as part:
            part.mkdir(parents=True)
            # Aside, so that a Ctrl-C is heard: what is half written by then is thrown away.
            changes: Sequence[Change] = await asyncio.to_thread(
                _write_with_card, recipe, outcome, part, context, key
            )
            ledger.clear_release_key()  # a kill between here and the end has it written again
        ledger.record_release(key, len(outcome.items), changes or ())
        outcome.release = place
        outcome.written = True
    except OverreadError as error:
        outcome.problem = f"the release could not be written: {error}"
    except OSError as error:
        told = explain_system_error(error)
        outcome.problem = f"the release could not be written: {told}"
    except Exception as error:
        outcome.problem = f"a bug ended the release ({outcome.tally.note_bug(error, RELEASE)})"
