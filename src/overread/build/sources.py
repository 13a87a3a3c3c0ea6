"""The items of a source, and the folder of a build, before anything is done with either."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from overread.build.item import Item
from overread.build.ledger.tables import LEDGER_FILE
from overread.build.step import Recipe
from overread.core import Defect
from overread.errors import UsageError

_REPLACED = "\N{REPLACEMENT CHARACTER}"


def load_items(
    recipe: Recipe, source: Path, settings: Mapping[str, str], most: int | None = None
) -> tuple[list[Item], list[Defect]]:
    """The items of a source, at most so many, and everything that is wrong with it.

    Of two items with one id the first is taken, and the other is a defect. So is, in every recipe,
    an item with a text that somebody decoded wrongly: bytes that are no UTF-8 are refused by the
    table readers, and what they became elsewhere is refused here.
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
        elif (field := _find_replaced(found)) is not None:
            defects.append(
                Defect(
                    code="wrong-encoding",
                    file=place,
                    row=row,
                    case=found.id,
                    field=field,
                    expected="text in UTF-8",
                    found="a replacement character: it was read in another encoding before it came here",
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


def _find_replaced(item: Item) -> str | None:
    """The first field with a character that stands for bytes nobody could read; None without one."""

    def is_replaced(value: JsonValue) -> bool:
        if isinstance(value, str):
            return _REPLACED in value
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return any(is_replaced(part) for part in parts)

    return next((name for name, value in item.data.items() if is_replaced(value)), None)


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
