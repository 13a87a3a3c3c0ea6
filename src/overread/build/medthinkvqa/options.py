"""Five options for each case, of which neither length nor letter gives the right one away.

Exactly five diagnoses stay. Of more, the right one stays, and the one that a model took for it
(where there is a model and it was wrong); the rest is drawn by lot, so that the right option is the
longest, the second longest … of its case about as often as each other. Letters come last, when it
is known which cases are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from overread.build.item import Change, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import DifferentialDiagnoses, differential_of, pictures_of, text_of
from overread.build.medthinkvqa.missing_answer import missing_answer
from overread.build.medthinkvqa.seeded import seeded_order, seeded_share
from overread.build.medthinkvqa.settings import read_choice
from overread.build.step import StepContext, answer_or_note
from overread.core import Option
from overread.prompts.replies import letter_parser as chosen_letter

LETTERS = "ABCDE"
_ALL_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


async def find_tempting(item: Item, context: StepContext) -> StepResult:
    """Ask a model for the diagnosis as in the exam, pictures and all; a wrong choice stays an option."""
    listed = differential_of(item)
    if len(listed.listed) <= len(LETTERS) or not context.has("reader"):
        return Keep(data={})
    texts = seeded_order(listed.listed, context.seed, item.id, "tempt")
    options = [Option(letter=a, text=b) for a, b in zip(_ALL_LETTERS, texts, strict=False)]
    sees = read_choice(context, "evaluator", ("pictures", "history"))
    # Where pictures are only named they are not there to be shown.
    shown = sees == "pictures" and read_choice(context, "pictures", ("required", "named")) == "required"
    changes: list[Change] = []
    asking = context.ask(
        "choose" if shown else "choose-no-pictures",
        {
            "history": text_of(item, "history"),
            "options": "\n".join(f"{one.letter}. {one.text}" for one in options),
        },
        chosen_letter(options),
        pictures=[picture.file for picture in pictures_of(item)] if shown else [],
    )
    letter = await answer_or_note(asking, changes, missing_answer(context, "tempting"))
    if letter is None:
        return Keep(data={}, changes=tuple(changes))
    said = next(one.text for one in options if one.letter == letter)
    if said == listed.key:
        return Keep(data={})
    saw = "saw the pictures and " if shown else ""
    why = f"the model {saw}took it for the right one, so it stays among the options"
    change = Change(what="tempting", after=said, by=context.name("reader"), why=why)
    return Keep(data={"tempting": said}, changes=(change,))


@dataclass(frozen=True)
class _OptionPool:
    """What can be chosen for one case: distractors that are longer than the key, and the others."""

    item: Item
    listed: DifferentialDiagnoses
    longer: tuple[str, ...]
    others: tuple[str, ...]
    fewest: int
    most: int


def _make_pool(item: Item, seed: int) -> _OptionPool:
    listed = differential_of(item)
    wrong = [text for text in listed.listed if text != listed.key]
    longer: list[str] = []
    others: list[str] = []
    for text in seeded_order(wrong, seed, item.id, "options"):
        surplus = len(text) - len(listed.key)
        # Those of equal length are one or the other by lot: nobody can tell which is longer.
        is_longer = surplus > 0 or (surplus == 0 and seeded_share(seed, item.id, text, "tie") < 0.5)
        (longer if is_longer else others).append(text)
    tempting = text_of(item, "tempting")
    for group in (longer, others):
        if tempting in group:
            group.sort(key=lambda text: text != tempting)
    fewest = max(0, len(LETTERS) - 1 - len(others), int(tempting in longer))
    most = min(len(LETTERS) - 1, len(longer)) - int(tempting in others and len(longer) > 3)
    return _OptionPool(item, listed, tuple(longer), tuple(others), fewest, max(fewest, most))


async def choose_five(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
    """Choose the options of all cases together, so that lengths are balanced."""
    choices = [_make_pool(item, context.seed) for item in items]
    # Cases without a choice first: the others can make up for them.
    choices.sort(key=lambda one: (one.most - one.fewest, seeded_share(context.seed, one.item.id, "rank")))
    taken: Counter[int] = Counter()
    outcomes: dict[str, StepResult] = {}
    for one in choices:
        able = range(one.fewest, one.most + 1)
        longer = min(able, key=lambda n: (taken[n], seeded_share(context.seed, one.item.id, f"rank {n}")))
        taken[longer] += 1
        chosen = {one.listed.key, *one.longer[:longer], *one.others[: len(LETTERS) - 1 - longer]}
        outcomes[one.item.id] = _keep_five(one.listed, chosen)
    return outcomes


def _keep_five(listed: DifferentialDiagnoses, chosen: set[str]) -> Keep:
    options: list[JsonValue] = [text for text in listed.listed if text in chosen]
    if len(chosen) == len(listed.listed):
        return Keep(data={"options": options})
    change = Change(
        what="options",
        before=[*listed.listed],
        after=options,
        why="five are offered: the right one, and four others by lot with lengths balanced",
    )
    return Keep(data={"options": options}, changes=(change,))


async def assign_letters(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
    """Give letters to the options: within a split, each is right as often as the others."""
    outcomes: dict[str, StepResult] = {}
    splits: dict[str, list[Item]] = {}
    for item in items:
        splits.setdefault(text_of(item, "split"), []).append(item)
    for split, here in splits.items():
        here.sort(key=lambda item: (seeded_share(context.seed, item.id, "letter"), item.id))
        letters = seeded_order(LETTERS, context.seed, split, "letters")
        for place, item in enumerate(here):
            outcomes[item.id] = _keep_lettered(item, letters[place % len(letters)], context.seed)
    return outcomes


def _keep_lettered(item: Item, right: str, seed: int) -> Keep:
    listed = differential_of(item)
    wrong = seeded_order((text for text in listed.offered if text != listed.key), seed, item.id, "letters")
    texts: dict[str, JsonValue] = {}
    for letter in LETTERS:
        texts[letter] = listed.key if letter == right else wrong.pop(0)
    why = "letters are dealt so that each is right as often as the others"
    change = Change(what="answer", after={"letter": right, "text": listed.key}, why=why)
    return Keep(data={"lettered": texts, "answer": right}, changes=(change,))
