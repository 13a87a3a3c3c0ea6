"""The settings of this recipe, and their defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from overread.build.item import Change
from overread.build.step import StepContext
from overread.errors import UsageError
from overread.ontology import finding_tree

SETTINGS: dict[str, str] = {
    "columns": "id=VolumeName,findings=Findings_EN,impressions=Impressions_EN",
    "wording": "keep",
    "scope": "1,2,3a,8",
    "others": "drop",
    "annotate": "1,2",
    "splits": "name",
    "cts": "",
    "masks": "",
    "organs": "",
    "task-formats": "folder,redbrick,label-studio",
    "protocol": "protocol1",
    "qa": "no",
    "copy-cts": "yes",
}
"""Setting → what holds unless it is set; docs/build-rexgroundingct.md says what each means."""

_CHOICES = {
    "wording": ("keep", "american"),
    "others": ("drop", "keep"),
    "protocol": ("protocol1", "protocol2"),
    "qa": ("no", "yes"),
    "copy-cts": ("yes", "no"),
}
FORMATS = ("folder", "redbrick", "label-studio")
"""Forms in which annotation tasks go out."""


def read_setting(settings: Mapping[str, str], name: str) -> str:
    """The value of one setting, checked where only some values are known.

    >>> read_setting({}, "others"), read_setting({"others": "keep"}, "others")
    ('drop', 'keep')
    """
    value = settings.get(name, SETTINGS[name]).strip()
    known = _CHOICES.get(name)
    if known is not None and value not in known:
        raise UsageError(f"the setting {name} is '{value}'", remedy=f"use one of {', '.join(known)}")
    return value


def codes_of(settings: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The parents and categories that a setting lists, each known to the ontology.

    >>> codes_of({"scope": "1, 2, 3a"}, "scope")
    ('1', '2', '3a')
    """
    tree = finding_tree()
    known = {parent.code for parent in tree.parents} | set(tree.categories)
    told = tuple(part.strip() for part in read_setting(settings, name).split(",") if part.strip())
    strange = [code for code in told if code not in known]
    if strange or not told:
        raise UsageError(
            f"the setting {name} names '{', '.join(strange) or 'nothing'}'",
            remedy="list parents (2) and categories (3a) of `overread list categories`",
        )
    return told


def is_covered(code: str, listed: tuple[str, ...]) -> bool:
    """Whether a category is in a list, by itself or by its parent.

    >>> is_covered("2d", ("1", "2", "3a")), is_covered("3b", ("1", "2", "3a"))
    (True, False)
    """
    return code in listed or finding_tree().parent_of(code).code in listed


def formats_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The forms in which annotation tasks are wanted."""
    told = [part.strip() for part in read_setting(settings, "task-formats").split(",")]
    strange = [part for part in told if part not in FORMATS]
    if strange:
        raise UsageError(
            f"the setting task-formats names '{', '.join(strange)}'",
            remedy=f"use any of {', '.join(FORMATS)}",
        )
    return tuple(dict.fromkeys(told))


def columns_of(settings: Mapping[str, str]) -> dict[str, str]:
    """What the columns of the table are called: id, findings and, if there is one, impressions.

    >>> columns_of({"columns": "id=AccessionNo,findings=report_text"})
    {'id': 'AccessionNo', 'findings': 'report_text'}
    """
    named: dict[str, str] = {}
    for part in read_setting(settings, "columns").split(","):
        key, _, column = (word.strip() for word in part.partition("="))
        if key and column:
            named[key] = column
    strange = set(named) - {"id", "findings", "impressions"}
    if strange or not {"id", "findings"} <= set(named):
        raise UsageError(
            "the setting columns must name a column for id and one for findings",
            remedy=f"write it as in columns={SETTINGS['columns']}",
        )
    return named


def setting_folder(settings: Mapping[str, str], name: str, source: Path) -> Path | None:
    """The folder that a setting names, in the source or where one stands; None where unset."""
    told = read_setting(settings, name)
    if not told:
        return None
    home = source_folder(source)
    for folder in (home / told, Path(told)):
        if folder.is_dir():
            return folder
    raise UsageError(
        f"the setting {name} names a folder that does not exist: {told}",
        where=str(home),
        remedy="give a path, absolute or relative to the source",
    )


def by_rules(context: StepContext, what: str) -> Change:
    """The change where no answer of the model was usable and rules decided."""
    why = f"no answer of {context.name()} could be taken: {{problem}}"
    return Change(what=what, after="by rules", why=why)


def source_folder(source: Path) -> Path:
    """The folder of a source, which may be named by its table."""
    return source if source.is_dir() else source.parent


def parse_shares(settings: Mapping[str, str]) -> tuple[float, float, float] | None:
    """Shares of train, val and test; None where the names of the scans tell the split.

    >>> parse_shares({"splits": "70/10/20"})
    (0.7, 0.1, 0.2)
    """
    told = read_setting(settings, "splits")
    if told == "name":
        return None
    found = re.fullmatch(r"(\d{1,3})/(\d{1,3})/(\d{1,3})", told)
    parts = [int(part) for part in found.groups()] if found else []
    if sum(parts) != 100:
        raise UsageError(
            f"the setting splits is '{told}'",
            remedy="use 'name', or three percentages that make 100: 80/10/10",
        )
    train, val, test = (part / 100 for part in parts)
    return train, val, test
