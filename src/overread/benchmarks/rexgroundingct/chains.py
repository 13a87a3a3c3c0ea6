"""Chains of thought of ReXGroundingCT: `anatomical_cot.json` as steps, and steps as that file.

Our own layout is {NAME: {finding: [step, …]}}; a step has `level`, `structure`, `text`, `box`, `within`
and, of the lesion, `entities`. The keys of the official file are not published. What is known of it is
that each finding has a chain from the whole scan to the lesion, so files by split, rows with a `name`,
and chains of plain sentences are read too; what is laid out otherwise is kept and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from overread.benchmarks.rexgroundingct.scan_names import scan_stem
from overread.benchmarks.row_fields import format_value
from overread.benchmarks.rows import read_json
from overread.core import ChainLevel, ChainLink, Defect, Region, Step, Trace, VoxelBox
from overread.errors import PictureError
from overread.language.lung_structures import find_lung_structures
from overread.storage.fence import Fence

CHAINS = "anatomical_cot.json"
LEVELS: tuple[ChainLevel, ...] = get_args(ChainLevel)
MAX_STEPS = 200
"""A chain passes through a few structures; a damaged file may say anything."""
_MAX_TEXT = 20_000
_STEP_KEYS = frozenset(("level", "structure", "text", "box", "within", "entities"))
_LAYOUT = "{NAME: {finding: [step, …]}}"

Shape = tuple[int, int, int]


@dataclass
class ChainFile:
    """The chains of a release, scan by scan, as the file has them."""

    chains: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Scan, without the ending of its name → finding → its chain, not yet looked into."""
    raw: dict[str, Any] | None = None
    """The file itself where it is a mapping of scans: what is written back of it."""
    defects: list[Defect] = field(default_factory=list)
    """What is wrong with the file as a whole."""


def read_chain_file(fence: Fence, splits: Sequence[str]) -> ChainFile:
    """The chains beside a list of cases; none where there is no such file."""
    try:
        if not (fence.root / CHAINS).exists() and not fence.holds(CHAINS):
            return ChainFile()
        data, defect = read_json(fence.path(CHAINS), CHAINS)
    except (PictureError, OSError) as error:
        told = str(getattr(error, "what", error))
        data, defect = None, _defect("refused-file", "a file of the release", told)
    if defect is not None:
        return ChainFile(defects=[defect])
    if not isinstance(data, dict | list):
        return ChainFile(defects=[_defect("bad-chain", _LAYOUT, data)])
    found = ChainFile(raw=data if isinstance(data, dict) and not data.keys() & set(splits) else None)
    unread: list[tuple[str, Any]] = []
    for name, value in _scans(data, splits):
        own = _chains_by_finding(value) if name else None
        if own is None:
            unread.append((name, value))
            continue
        strange = {key: chain for key, chain in own.items() if not _is_readable(chain)}
        unread += [(f"{name}, {key}", chain) for key, chain in strange.items()]
        found.chains[scan_stem(name)] = {key: chain for key, chain in own.items() if key not in strange}
    if unread:
        where, value = unread[0]
        told = f"{_outline(value)} ({len(unread):,} of them)" if len(unread) > 1 else _outline(value)
        found.defects.append(_defect("unread-chain", _LAYOUT, told, at=where))
    return found


def _scans(data: dict[str, Any] | list[Any], splits: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Scan by scan: its name, empty where it has none, and what is told of it."""
    if isinstance(data, list):
        for row in data:
            name = row.get("name") if isinstance(row, dict) else None
            yield name if isinstance(name, str) else "", row
        return
    for key, value in data.items():
        if key in splits and isinstance(value, dict | list):
            yield from _scans(value, ())
        else:
            yield key, value


def _chains_by_finding(value: object) -> dict[str, Any] | None:
    """Finding → chain of one scan, or of the column of a row that holds chains."""
    if not isinstance(value, dict):
        return None
    if all(isinstance(key, str) and re.fullmatch(r"\d{1,6}", key) for key in value):
        return value
    columns = [key for key in value if re.search(r"cot|chain|thought", key, re.IGNORECASE)]
    return _chains_by_finding(value[columns[0]]) if len(columns) == 1 else None


def _is_readable(chain: object) -> bool:
    """Whether a chain is of a layout that is known; it may be damaged all the same."""
    if isinstance(chain, list):
        return all(not isinstance(one, dict) or not one or _STEP_KEYS & one.keys() for one in chain)
    return not isinstance(chain, dict)


def read_chains(
    chains: Mapping[str, Any], findings: Iterable[str], *, picture: str, shape: Shape | None, case: str
) -> tuple[Trace | None, list[Defect]]:
    """The chains of one scan as a trace, finding after finding; a damaged one is left out and named."""
    known = sorted(findings, key=int)
    defects = []
    strange = sorted(chains.keys() - set(known), key=int)
    if strange:
        found = f"a chain of {', '.join(strange[:5])}"
        defects.append(_defect("bad-chain", f"the findings {', '.join(known)}", found, case=case))
    steps: list[Step] = []
    for key in (key for key in known if key in chains):
        try:
            # As a list: a generator would leave the steps before the damage behind.
            steps += list(_ChainReader(key, picture, shape).read(chains[key]))
        except _Damaged as wrong:
            at = f"{key}{wrong.at}"
            defects.append(_defect("bad-chain", wrong.expected, wrong.found, case=case, at=at))
    return (Trace(steps=tuple(steps)) if steps else None), defects


class _Damaged(Exception):
    """What is wrong with a chain, and where in it; never leaves this module."""

    def __init__(self, at: str, expected: str, found: object) -> None:
        super().__init__(expected)
        self.at, self.expected, self.found = at, expected, found


@dataclass(frozen=True)
class _ChainReader:
    """Reads the chain of one finding."""

    finding: str
    picture: str
    shape: Shape | None

    def read(self, chain: object) -> Iterator[Step]:
        """Its steps, in order."""
        if isinstance(chain, str):
            chain = _split_sentences(chain)
        if not isinstance(chain, list):
            raise _Damaged("", "a list of steps", chain)
        if not 1 <= len(chain) <= MAX_STEPS:
            raise _Damaged("", f"1 to {MAX_STEPS} steps", f"{len(chain):,}")
        for number, step in enumerate(chain):
            last = number == len(chain) - 1
            if isinstance(step, str):
                yield self._sentence(step, number, last=last)
            elif isinstance(step, dict):
                yield self._step(step, number, last=last)
            else:
                raise _Damaged(f"[{number}]", "a step", step)

    def _sentence(self, text: str, number: int, *, last: bool) -> Step:
        """A step of words alone: what it names says which level it is."""
        self._check_text(text, number, "")
        level = _level_of(text, number, last=last)
        named = tuple(one.name for one in find_lung_structures(text) if one.level == level)
        return Step(kind="say", text=text, link=ChainLink(query=self.finding, level=level, structures=named))

    def _step(self, step: dict[str, Any], number: int, *, last: bool) -> Step:
        at = f"[{number}]"
        text, structure = step.get("text"), step.get("structure")
        self._check_text(text, number, ".text")
        if structure is not None:
            self._check_text(structure, number, ".structure")
        level = step.get("level")
        if level is None:
            level = _level_of(str(structure or text), number, last=last)
        elif level not in LEVELS:
            raise _Damaged(f"{at}.level", f"one of {', '.join(LEVELS)}", level)
        box, entities, within = step.get("box"), step.get("entities"), step.get("within")
        regions: list[Region] = []
        if box is not None:
            regions.append(self._box(box, f"{at}.box", structure))
        if entities is not None:
            if not isinstance(entities, list) or (entities and not regions):
                raise _Damaged(f"{at}.entities", "a list of boxes beside the box of them all", entities)
            regions += [
                self._box(one, f"{at}.entities[{n}]", f"entity {n + 1}") for n, one in enumerate(entities)
            ]
        if within is not None:
            earlier = isinstance(within, list) and all(type(n) is int and 0 <= n < number for n in within)
            if not earlier:
                raise _Damaged(f"{at}.within", "a list of numbers of earlier steps", within)
            within = tuple(within)
        return Step(
            kind="look" if regions else "say",
            text=text,
            regions=tuple(regions),
            link=ChainLink(
                query=self.finding,
                level=level,
                structures=() if structure is None else (structure,),
                within=within,
            ),
        )

    def _check_text(self, text: object, number: int, part: str) -> None:
        if not isinstance(text, str) or not text.strip() or len(text) > _MAX_TEXT:
            found = f"{len(text):,} characters" if isinstance(text, str) and text.strip() else text
            raise _Damaged(f"[{number}]{part}", f"a text of at most {_MAX_TEXT:,} characters", found)

    def _box(self, box: object, at: str, label: str | None) -> VoxelBox:
        if not isinstance(box, list) or len(box) != 6 or any(type(n) is not int for n in box):
            raise _Damaged(at, "six whole numbers i0, j0, k0, i1, j1, k1", box)
        low, high = (box[0], box[1], box[2]), (box[3], box[4], box[5])
        # A CT without a stated shape has at most so many voxels along an axis as its header can tell.
        limits = self.shape or (2**15, 2**15, 2**15)
        if any(not 0 <= a < b <= limit for a, b, limit in zip(low, high, limits, strict=True)):
            where = f"within the {' × '.join(map(str, limits))} voxels of its CT"
            raise _Damaged(at, f"a box that ends after it begins, {where}", box)
        return VoxelBox(picture=self.picture, low=low, high=high, label=label)


def _level_of(text: str, number: int, *, last: bool) -> ChainLevel:
    """The level of a step that does not say it: by what it names, else by its place in the chain."""
    if last:
        return "lesion"
    found = find_lung_structures(text)
    if found:
        return found[0].level
    # Facts of the official chains: whole scan → lung → lobe → segment or structure → lesion.
    return "segment" if number else "scan"


def _split_sentences(text: str) -> list[str]:
    """A chain in one text as its steps: a line each, or between arrows."""
    parts = re.split(r"\s*(?:\r?\n|→|->|=>)\s*", text.strip())
    bare = (re.sub(r"^(?:step\s*)?\d{1,3}\s*[.:)]\s*", "", part, flags=re.IGNORECASE) for part in parts)
    return [part for part in bare if part]


def chain_rows(trace: Trace | None) -> dict[str, list[Any]]:
    """Finding → its chain, as the file has it."""
    found: dict[str, list[Any]] = {}
    for step in trace.steps if trace is not None else ():
        if step.link is None:
            continue
        own = found.setdefault(step.link.query, [])
        if len(step.link.structures) > 1:
            own.append(step.text)  # a sentence: it names them itself
            continue
        boxes = [[*one.low, *one.high] for one in step.regions if isinstance(one, VoxelBox)]
        row: dict[str, Any] = {
            "level": step.link.level,
            "structure": next(iter(step.link.structures), None),
            "text": step.text,
            "box": boxes[0] if boxes else None,
            "within": None if step.link.within is None else list(step.link.within),
            "entities": boxes[1:] or None,
        }
        own.append({key: value for key, value in row.items() if value is not None})
    return found


def unused_chains(found: ChainFile, names: Sequence[str]) -> Defect | None:
    """That the file has chains of scans that are in no list."""
    strange = sorted(found.chains.keys() - {scan_stem(name) for name in names})
    if not strange:
        return None
    more = f" and {len(strange) - 1:,} more" if len(strange) > 1 else ""
    return _defect("unused-chain", "scans of the list", f"{strange[0]}{more}")


def _outline(value: object) -> str:
    """What something is, without its contents: these are the truth."""
    while isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    if isinstance(value, dict):
        return f"an object with the keys {', '.join(map(str, list(value)[:8]))}"
    return f"a {type(value).__name__}"


def _defect(
    code: str, expected: str, found: object, *, case: str | None = None, at: str | None = None
) -> Defect:
    told = format_value(found)
    return Defect(code=code, file=CHAINS, case=case, field=at, expected=expected, found=told)
