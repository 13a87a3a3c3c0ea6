"""How much of a finding annotators mark: at most three entities in train, all in val and test.

The protocol follows the split, as published. The setting `protocol` is that of train alone:
`protocol2` where train was marked exhaustively too.
"""

from __future__ import annotations

from collections.abc import Mapping

from overread.build.item import Item
from overread.build.rexgroundingct.settings import read_setting
from overread.build.rexgroundingct.statement_cache import cached_statements
from overread.language.findings import is_there

CAPPED, EXHAUSTIVE = "protocol1", "protocol2"
MAX_MARKED = 3
"""Entities of one finding that are marked where the protocol is capped."""
_HOW = {
    CAPPED: "at most three entities of each finding, those that show it best",
    EXHAUSTIVE: "every entity of each finding, however many there are",
}


def protocol_of(item: Item, settings: Mapping[str, str]) -> str:
    """The protocol of a scan, by its split.

    >>> scan = Item(id="a", data={"split": "val"})
    >>> protocol_of(scan, {"protocol": "protocol1"})
    'protocol2'
    """
    train = read_setting(settings, "protocol")
    return train if item.data["split"] == "train" else EXHAUSTIVE


def describe_protocol(protocol: str) -> str:
    """What annotators are told to mark."""
    return f"{_HOW[protocol]}, numbered 1, 2, 3, … in the CT's own voxels"


def entity_problem(finding: str, entities: int, protocol: str) -> str | None:
    """Why so many entities are not what the protocol asks for; None where they are.

    More than are to be marked, or fewer than the sentence counts.

    >>> entity_problem("Two nodules in the right lung", 5, "protocol1")
    '5 entities are marked, and protocol1 marks at most three'
    >>> entity_problem("Two nodules in the right lung", 1, "protocol2")
    'the sentence counts 2 and 1 is marked, and protocol2 marks all'
    """
    if protocol == CAPPED and entities > MAX_MARKED:
        return f"{entities} entities are marked, and {CAPPED} marks at most three"
    counted = [one.count for one in cached_statements(finding) if is_there(one) and one.count is not None]
    most = max(counted, default=0)
    wanted = min(most, MAX_MARKED) if protocol == CAPPED else most
    if entities < wanted and len(counted) == 1:
        are, rule = ("is" if entities == 1 else "are"), "three of them" if wanted < most else "all"
        return f"the sentence counts {most} and {entities} {are} marked, and {protocol} marks {rule}"
    return None
