"""The settings of the recipe: what each may be, and a clear word where it is something else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from overread.build.item import Item
from overread.build.source_pictures import source_folder
from overread.build.step import StepContext
from overread.errors import UsageError
from overread.ontology.diagnoses import diagnoses_file

SETTINGS: Mapping[str, str] = {
    "least-differentials": "5",
    "evaluator": "pictures",
    "leaks": "drop",
    "leak-levels": "L1,L2,L3",
    "leak-about": "listed",
    "synonyms": "",
    "remove": "all",
    "probe-groups": "",
    "proof": "drop",
    "icd": "",
    "test-share": "0.1",
    "pictures": "required",
}
"""Setting → its default.

    least-differentials  how many diagnoses the experts must have listed, at least five
    evaluator            what the model sees whose wrong choice stays an option: pictures, or history alone
    leaks                drop a case whose history leaks, cut the sentence, or keep it and note it
    leak-levels          which levels count
    leak-about           of which diagnoses: all listed, the five options, or the key alone
    synonyms             a TOML file of diagnoses of one's own, beside the house's or in their place
    remove               without groups: a case goes if any, or if all, of the text-only probes are right
    probe-groups         which probes see what, and the rule of each group: '1-4 history all; 5-6 options any'
    proof                what becomes of a history with a result that proves the key: drop or keep
    icd                  a CSV or TSV of codes and titles in place of the house's 2,050
    test-share           how many patients go to the test split, from 0 to 1
    pictures             required: they must be there and are copied; named: they are not looked at
"""


def read_choice(context: StepContext, name: str, allowed: Sequence[str]) -> str:
    """A setting that is one of a few words."""
    value = context.settings.get(name, SETTINGS[name])
    if value not in allowed:
        raise UsageError(
            f"the setting '{name}' is '{value[:40]}'", remedy=f"it may be {' or '.join(allowed)}"
        )
    return value


def leak_levels(context: StepContext) -> frozenset[str]:
    """The levels of leaks that count."""
    value = context.settings.get("leak-levels", SETTINGS["leak-levels"])
    levels = frozenset(part.strip() for part in value.split(",") if part.strip())
    if not levels <= {"L1", "L2", "L3"}:
        raise UsageError(f"the setting 'leak-levels' is '{value[:40]}'", remedy="it is some of L1,L2,L3")
    return levels


def least_differentials(context: StepContext) -> int:
    """How many diagnoses must be listed."""
    value = context.settings.get("least-differentials", SETTINGS["least-differentials"])
    if not value.isdigit() or not 5 <= int(value) <= 26:
        raise UsageError(
            f"the setting 'least-differentials' is '{value[:40]}'",
            remedy="it is a whole number from 5 to 26: five options are needed",
        )
    return int(value)


def test_share(context: StepContext) -> float:
    """How many patients go to the test split."""
    value = context.settings.get("test-share", SETTINGS["test-share"])
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"the setting 'test-share' is '{value[:40]}'", remedy="it is a number from 0 to 1")
    return share


def setting_file(context: StepContext, name: str) -> str:
    """The file that a setting names, from here or from the source's folder; empty for none."""
    given = context.settings.get(name, "")
    beside = source_folder(context.source) / given
    return str(beside) if given and not Path(given).is_file() and beside.is_file() else given


def files_state(item: Item, context: StepContext) -> JsonValue:
    """What is in the files that settings name: a step that uses them is done anew with others."""
    found: dict[str, JsonValue] = {}
    for name in ("synonyms", "icd"):
        file = setting_file(context, name) or (diagnoses_file() if name == "synonyms" else "")
        if file and Path(file).is_file():
            found[name] = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    return found
