"""How well are sentences of other houses read? Each attribute's precision, recall and F1, in a table.

    .venv/bin/python -m tools.measure.language.other_houses tests/language/data/other_houses_given.jsonl
    .venv/bin/python -m tools.measure.language.other_houses FILE --kinds
    .venv/bin/python -m tools.measure.language.other_houses FILE --wrong

Each line has a kind, a text and its statements as somebody wrote them down who did not see the rules:
a finding in plain words, its presence, and what is told of it. A plain name means the observations that
the reader itself reads in it. Statements are paired one to one, those first that agree in most; what has
no pair is missed or invented with all its attributes. A finding that was or is to be looked for, and
"something is wrong" without what, are not asked for, and so are nothing invented. A size in words (small,
large) is compared as a severity, the lingula as the left upper lobe, and one thing is counted only
where the file counts it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from overread.errors import UsageError
from overread.language.findings import are_close
from overread.language.phrases import drop_joiners
from overread.language.statements import THERE, Statement, find_statements
from overread.language.tokens import tokenise
from overread.language.vocabulary import Head, vocabulary
from overread.metrics.statistics.interval_rule import wilson

FINDING = "finding and presence"
ATTRIBUTES = ("side", "lobes", "size", "severity", "change", "count")
Values = dict[str, Any]
SEVERITY_OF_EXTENT = {"small": "mild", "medium": "moderate", "large": "severe"}
LOBES = {"lingula": "LUL"}
SIZE_APART = 0.05
"""Share by which two sizes that are the same may differ, for rounding."""


@dataclass
class Tally:
    """What was right, invented and missed."""

    right: int = 0
    invented: int = 0
    missed: int = 0

    def add(self, expected: object, read: object, *, same: bool) -> None:
        """Count one value; None is none."""
        if same:
            self.right += expected is not None
            return
        self.invented += read is not None
        self.missed += expected is not None

    def row(self) -> str:
        """Precision, recall, F1 with its interval, and the counts they come from."""
        told, asked = self.right + self.invented, self.right + self.missed
        cells = [_share(self.right, told), _share(self.right, asked)]
        whole = (told + asked) / 2
        if whole:
            low, high = (
                max(0.0, min(1.0, edge)) for edge in wilson(self.right / whole, whole, 1.959964, 0.05)
            )
            cells.append(f"{_share(self.right, whole)} [{_share(low)}, {_share(high)}]")
        else:
            cells.append("–")
        return " | ".join((*cells, str(self.right), str(self.invented), str(self.missed)))


def _share(part: float, whole: float = 1) -> str:
    return f"{part / whole:.3f}" if whole else "–"


@dataclass
class Scores:
    """Attribute → its tally, and the errors in words."""

    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    wrong: list[str] = field(default_factory=list)


@cache
def observations_of(name: str) -> frozenset[str]:
    """The observations that a plain name means: the vocabulary's own, else what is read in it.

    A word whose meaning hangs on its place ("collapse", "mass") means what it does at any of them.
    """
    words = vocabulary()
    if name in words.observations:
        return frozenset((name,))
    meant = {statement.observation for statement in find_statements(name)}
    row = drop_joiners(tokenise(name))
    for thing in words.thing_phrases.find(row):
        if isinstance(thing.value, Head) and thing.last - thing.first == len(row):
            meant |= {*thing.value.by.values(), *thing.value.together}
    return frozenset(meant)


def is_named(name: str, observation: str) -> bool:
    """Whether an observation is what a plain name means, or its near kin."""
    known = vocabulary().observations
    one = known[observation]
    return any(
        own == observation or are_close(known[own], one) or observation == known[own].kind_of
        for own in observations_of(name)
    )


def expected_values(row: Mapping[str, Any]) -> Values:
    """What the file tells of a statement, as it is compared."""
    lobes = frozenset(LOBES.get(lobe, lobe) for lobe in row.get("lobes", ()))
    return {
        "side": row.get("side"),
        "lobes": lobes or None,
        "size": row.get("size_mm"),
        "severity": row.get("severity"),
        "change": row.get("change"),
        "count": row.get("count"),
    }


def read_values(statement: Statement, expected: Values) -> Values:
    """What was read of a statement, as it is compared."""
    severity = statement.severity or SEVERITY_OF_EXTENT.get(statement.extent or "")
    count = statement.count
    return {
        "side": statement.side,
        "lobes": frozenset(statement.lobes) or None,
        "size": statement.size_mm,
        "severity": severity,
        "change": statement.comparison,
        "count": None if count == 1 and expected.get("count") is None else count,
    }


def is_same(name: str, expected: Any, read: Any) -> bool:
    """Whether two values of an attribute agree."""
    if name == "size" and expected is not None and read is not None:
        return bool(abs(expected - read) <= SIZE_APART * expected)
    return bool(expected == read)


def is_asked_for(statement: Statement) -> bool:
    """Whether a statement is of the sort that the file writes down."""
    vague = vocabulary().observations[statement.observation].vague
    return statement.presence in (*THERE, "absent") and not vague


def pair_statements(
    expected: Sequence[Mapping[str, Any]], read: Sequence[Statement]
) -> list[tuple[Mapping[str, Any] | None, Statement | None]]:
    """Statements of the file and of the reader in pairs, those that agree in most first."""
    likeness: list[tuple[int, int, int]] = []
    for (i, row), (j, statement) in itertools.product(enumerate(expected), enumerate(read)):
        if not is_named(row["finding"], statement.observation):
            continue
        wanted = expected_values(row)
        own = read_values(statement, wanted)
        alike = sum(is_same(name, wanted[name], own[name]) for name in ATTRIBUTES)
        exact = statement.observation in observations_of(row["finding"])
        likeness.append((-(10 * (row["presence"] == statement.presence) + 2 * exact + alike), i, j))
    partner: dict[int, int] = {}
    for _, i, j in sorted(likeness):
        if i not in partner and j not in partner.values():
            partner[i] = j
    pairs: list[tuple[Mapping[str, Any] | None, Statement | None]] = [
        (row, read[partner[i]] if i in partner else None) for i, row in enumerate(expected)
    ]
    lone = set(range(len(read))) - set(partner.values())
    return pairs + [(None, read[j]) for j in sorted(lone) if is_asked_for(read[j])]


def score_text(row: Mapping[str, Any], scores: Sequence[Scores]) -> None:
    """Count the statements of one text into every one of `scores`."""
    for wanted, read in pair_statements(row["statements"], find_statements(row["text"])):
        for name, expected, own in _compared(wanted, read):
            same = is_same(name, expected, own)
            for score in scores:
                score.tallies[name].add(expected, own, same=same)
                if not same:
                    what = wanted["finding"] if wanted is not None else f"({read.observation})"  # type: ignore[union-attr]
                    score.wrong.append(f"{row['id']} {row['kind']}: {what}: {name}: {expected} / {own}")


def _compared(wanted: Mapping[str, Any] | None, read: Statement | None) -> Iterator[tuple[str, Any, Any]]:
    """Attribute, what the file tells and what was read, of one pair."""
    yield FINDING, wanted and wanted["presence"], read and read.presence
    expected = expected_values(wanted or {})
    own = read_values(read, expected) if read is not None else dict.fromkeys(ATTRIBUTES)
    for name in ATTRIBUTES:
        yield name, expected[name], own[name]


def load_houses(file: Path) -> list[dict[str, Any]]:
    """The texts of a file with their statements."""
    rows = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            rows.append({name: row[name] for name in ("id", "kind", "text", "statements")})
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"the line is no text with its kind and statements ({error})", where=f"{file}:{number}"
            ) from None
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="lines of JSON, each a text")
    parser.add_argument("--kinds", action="store_true", help="also a table of the kinds of text")
    parser.add_argument("--wrong", action="store_true", help="list what was read otherwise (file / reader)")
    told = parser.parse_args(arguments)
    whole, kinds = Scores(), defaultdict[str, Scores](Scores)
    rows = [row for file in told.files for row in load_houses(file)]
    for row in rows:
        score_text(row, (whole, kinds[row["kind"]]))
    print(f"{len(rows)} texts, {sum(len(row['statements']) for row in rows)} statements\n")
    print(
        "| attribute | precision | recall | F1 | right | invented | missed |\n|---|---|---|---|---|---|---|"
    )
    for name in (FINDING, *ATTRIBUTES):
        print(f"| {name} | {whole.tallies[name].row()} |")
    if told.kinds:
        print("\nF1 (invented + missed)\n\n| kind | " + " | ".join((FINDING, *ATTRIBUTES)) + " |")
        print("|---" * (2 + len(ATTRIBUTES)) + "|")
        for kind, scores in sorted(kinds.items()):
            cells = []
            for name in (FINDING, *ATTRIBUTES):
                tally = scores.tallies[name]
                errors = tally.invented + tally.missed
                cells.append(f"{_share(2 * tally.right, 2 * tally.right + errors)} ({errors})")
            print(f"| {kind} | " + " | ".join(cells) + " |")
    if told.wrong:
        print("\n" + "\n".join(whole.wrong))


if __name__ == "__main__":
    main()
