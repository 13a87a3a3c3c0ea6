"""Groups of readers who try a case without its pictures, each with what it sees and when it removes.

The setting `probe-groups` names them, parted by semicolons: which probes, what they see, the rule.

    1-4 history all; 5-8 history all; 1-8 options any

Probes are numbered as `--probe` gives them. `history` is history and options, `options` the options
alone. A group removes a case if all, or any, of its probes choose the right diagnosis. Groups are
asked in their order, and none is asked of a case that one before it has removed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Literal, cast

from overread.build.item import Change, Item
from overread.build.medthinkvqa.fields import DifferentialDiagnoses, text_of
from overread.build.medthinkvqa.missing_answer import missing_answer
from overread.build.medthinkvqa.options import LETTERS
from overread.build.medthinkvqa.seeded import seeded_order
from overread.build.medthinkvqa.settings import SETTINGS, read_choice
from overread.build.step import StepContext, answer_or_note
from overread.core import Option, Record
from overread.errors import UsageError
from overread.prompts.replies import letter_parser as chosen_letter

Sight = Literal["history", "options"]
Rule = Literal["all", "any"]

_GROUP = re.compile(r"([0-9,\- ]+?)\s+(history|options)\s+(all|any)")


class ProbeGroup(Record):
    """Some of the probes, with one question and one rule."""

    probes: tuple[int, ...]
    """Their numbers, from 1."""
    sees: Sight
    """History and options, or the options alone."""
    rule: Rule
    """Whether all must be right for a case to go, or any."""

    @property
    def reason(self) -> str:
        """The reason of a drop in the ledger."""
        return "solved-by-text" if self.sees == "history" else "solved-by-options"

    def removes(self, right: int) -> bool:
        """Whether a case goes that so many of them solved.

        >>> two = ProbeGroup(probes=(1, 2), sees="history", rule="all")
        >>> two.removes(1), two.removes(2), two.model_copy(update={"rule": "any"}).removes(1)
        (False, True, True)
        """
        return right > 0 and (self.rule == "any" or right == len(self.probes))


def parse_groups(text: str) -> tuple[ProbeGroup, ...]:
    """The groups that a setting names.

    >>> [(one.probes, one.sees, one.rule) for one in parse_groups("1-2,4 history all; 3 options any")]
    [((1, 2, 4), 'history', 'all'), ((3,), 'options', 'any')]
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = _GROUP.fullmatch(part)
        numbers = _parse_numbers(match[1]) if match else ()
        if match is None or not numbers:
            raise UsageError(
                f"the setting 'probe-groups' has '{part[:60]}', which is no group",
                remedy="write the probes, what they see and the rule: '1-4 history all; 5-6 options any'",
            )
        found.append(ProbeGroup(probes=numbers, sees=cast(Sight, match[2]), rule=cast(Rule, match[3])))
    return tuple(found)


def _parse_numbers(text: str) -> tuple[int, ...]:
    """'1-3,5' as numbers; empty where it is no such thing."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 7:
            return ()
        found += range(int(first), int(last if dash else first) + 1)
    return tuple(dict.fromkeys(found))


def probe_groups(context: StepContext) -> tuple[ProbeGroup, ...]:
    """The groups in use: those of the setting, or all probes with the rule of `remove`."""
    roles = (f"probe-{number}" for number in itertools.count(1))
    there = len(list(itertools.takewhile(context.has, roles)))
    rule = cast(Rule, read_choice(context, "remove", ("all", "any")))
    groups = parse_groups(context.settings.get("probe-groups", SETTINGS["probe-groups"]))
    if not groups:
        everybody = ProbeGroup(probes=tuple(range(1, there + 1)), sees="history", rule=rule)
        return (everybody,) if there else ()
    if rule == "any":
        raise UsageError(
            "the settings 'remove' and 'probe-groups' were both given",
            remedy="leave 'remove' out: each group has its own rule",
        )
    named = {number for group in groups for number in group.probes}
    for number in sorted(named - set(range(1, there + 1))):
        raise UsageError(
            f"the setting 'probe-groups' names probe {number}, and there are {there}",
            remedy="give one --probe for each number",
        )
    for number in sorted(set(range(1, there + 1)) - named):
        raise UsageError(
            f"probe {number} is in no group of the setting 'probe-groups'",
            remedy="add it to a group, or leave it out",
        )
    return groups


async def ask_group(
    group: ProbeGroup,
    item: Item,
    listed: DifferentialDiagnoses,
    context: StepContext,
    unsaid: list[Change],
) -> dict[str, str | None]:
    """Who of a group chose what; None where no answer was usable, which goes to `unsaid`."""
    answers: dict[str, str | None] = {}
    options = shuffle_options(item, listed, context.seed)
    for number in group.probes:
        role = f"probe-{number}"
        asking = _ask_probe(group.sees, text_of(item, "history"), options, context, role)
        said = await answer_or_note(asking, unsaid, missing_answer(context, "probes", role))
        answers[f"{role} {context.name(role)}"] = said
    return answers


def shuffle_options(item: Item, listed: DifferentialDiagnoses, seed: int) -> tuple[Option, ...]:
    """The options as a probe sees them, in an order that is drawn by lot for this case."""
    texts = seeded_order(listed.offered, seed, item.id, "probe")
    return tuple(Option(letter=a, text=b) for a, b in zip(LETTERS, texts, strict=False))


async def _ask_probe(
    sees: Sight, history: str, options: Sequence[Option], context: StepContext, role: str
) -> str:
    """The text of the option that a reader chooses."""
    values = {"options": "\n".join(f"{one.letter}. {one.text}" for one in options)}
    if sees == "history":
        values["history"] = history
    letter = await context.ask(
        "build-med-probe" if sees == "history" else "build-med-probe-options",
        values,
        chosen_letter(options),
        role=role,
    )
    return next(one.text for one in options if one.letter == letter)
