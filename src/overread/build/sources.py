"""The items of a source, and the folder of a build, before anything is done with either."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from overread.build.item import Item
from overread.build.ledger.tables import LEDGER_FILE
from overread.build.step import Recipe
from overread.core import Defect
from overread.errors import UsageError


def load_items(
    recipe: Recipe, source: Path, settings: Mapping[str, str], most: int | None = None
) -> tuple[list[Item], list[Defect]]:
    """The items of a source, at most so many, and everything that is wrong with it.

    Of two items with one id the first is taken, and the other is a defect.
    """
    items: dict[str, Item] = {}
    defects: list[Defect] = []
    place = source.name or str(source)
    if most is not None and most < 1:
        return [], []
    for row, found in enumerate(recipe.items(source, settings), 1):
        if isinstance(found, Defect):
            defects.append(found)
        elif not found.id.strip() or "\0" in found.id:
            defects.append(
                Defect(
                    code="missing-field",
                    file=place,
                    row=row,
                    field="id",
                    expected="a name of its own",
                    found="none" if not found.id.strip() else "one with a NUL in it",
                )
            )
        elif found.id in items:
            same = found == items[found.id]
            defects.append(
                Defect(
                    code="duplicate-id",
                    file=place,
                    row=row,
                    case=found.id,
                    field="id",
                    expected="each id once",
                    found=f"it again, with {'the same' if same else 'other'} content; left out",
                )
            )
        else:
            items[found.id] = found
            if most is not None and len(items) >= most:
                break
    return list(items.values()), defects


def check_build_folder(folder: Path) -> None:
    """Refuse a folder that holds something else."""
    try:
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{folder} is no folder ({error.strerror})") from None
    if names - {"reasons.toml"} and LEDGER_FILE not in names:
        raise UsageError(
            "the folder is not empty and holds no build",
            where=str(folder),
            remedy="give an --out that is empty or not there yet",
        )
