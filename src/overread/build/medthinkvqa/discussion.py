"""The teaching discussion without what no longer belongs to the case; nothing is ever added.

Out go sentences (or clauses between semicolons) on diagnoses that are no longer options, references
to figures that the release does not number, and sentences that send the reader to another case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from overread.build.item import Change, Data, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import DifferentialDiagnoses, differential_of, text_of
from overread.build.medthinkvqa.missing_answer import missing_answer
from overread.build.medthinkvqa.settings import setting_file
from overread.build.step import StepContext, answer_or_note
from overread.language.diagnoses.names import DiagnosisNames, Mention, load_names
from overread.language.diagnoses.words import WordIndex
from overread.language.text import split_sentences
from overread.prompts.replies import json_parser

_FIGURE = re.compile(
    r"\s?[(\[](?:see |cf\.? |compare |arrows? in )?fig(?:ure)?s?\b\.?[^()\[\]]{0,60}[)\]]", re.IGNORECASE
)
_ONLY_FIGURE = re.compile(
    r"(?:please )?(?:see|refer to|compare)(?: also)? (?:fig(?:ure)?s?\b\.?|the (?:figures|images))"
    r"[^.]{0,60}\.?",
    re.IGNORECASE,
)
_OPENING = 12
"""Characters that may stand before the subject of a sentence: 'In contrast, '."""
_OTHER_CASE = re.compile(
    r"\b(?:eurorad|teaching file)\b[^.]{0,40}\bcases?\b|\bcases? (?:no\.?|number|#) ?\d+", re.I
)


@dataclass(frozen=True)
class TextCut:
    """A stretch that goes, and why."""

    start: int
    end: int
    why: str
    by: str = "rules"


def find_cuts(
    text: str, listed: DifferentialDiagnoses, names: DiagnosisNames
) -> tuple[list[TextCut], list[str]]:
    """What rules would cut, and the sentences that name both kinds of diagnoses and so stay."""
    cuts = [TextCut(m.start(), m.end(), "it refers to a figure") for m in _FIGURE.finditer(text)]
    mixed: list[str] = []
    for sentence in split_sentences(text):
        said = sentence.extract(text)
        if _ONLY_FIGURE.fullmatch(said):
            cuts.append(TextCut(sentence.start, sentence.end, "it refers to a figure"))
        elif _OTHER_CASE.search(said):
            cuts.append(TextCut(sentence.start, sentence.end, "it refers to another case"))
        else:
            found, both = _sentence_cuts(said, sentence.start, listed, names)
            cuts += found
            mixed += [said] if both else []
    return cuts, mixed


def _sentence_cuts(
    said: str, at: int, listed: DifferentialDiagnoses, names: DiagnosisNames
) -> tuple[list[TextCut], bool]:
    """What goes of a sentence on diagnoses that are no longer options; whether some must stay."""
    found = _find_mentions(said, listed.listed, names)
    gone = [one for one in found if one.about in listed.left_out]
    if not gone:
        return [], False
    kept = [one for one in found if one.about in listed.offered]
    # One word that may mean either is no reason to cut.
    gone = [one for one in gone if not any(_overlap(one, other) for other in kept)]
    if not gone:
        return [], False
    why = f"it is about '{gone[0].about}', which is no option"
    # A sentence that opens with a diagnosis is about it; a word that also names another one may
    # be a finding there ('aspergillosis would show bronchiectasis'), unless the name is in full.
    opens = gone[0].start <= _OPENING and all(gone[0].start < one.start for one in kept)
    if not kept or (opens and all(one.way != "name" for one in kept)):
        return [TextCut(at, at + len(said), why)], False
    clauses = [(m.start(), m.end()) for m in re.finditer(r"[^;]+(?:;\s*|$)", said)]
    own = [
        (first, last)
        for first, last in clauses
        if any(first <= one.start < last for one in gone)
        and not any(first <= one.start < last for one in kept)
    ]
    mixed = any(
        any(first <= one.start < last for one in gone) for first, last in clauses if (first, last) not in own
    )
    # The last clause keeps the full stop; cutting it would leave a semicolon at the end.
    return [TextCut(at + a, at + b, why) for a, b in own if b < len(said)], mixed or bool(
        [1 for _, b in own if b == len(said)]
    )


def _find_mentions(said: str, diagnoses: Iterable[str], names: DiagnosisNames) -> list[Mention]:
    return names.find_mentions(WordIndex(said), diagnoses)


def _overlap(one: Mention, other: Mention) -> bool:
    return one.start < other.end and other.start < one.end


def remove_cuts(text: str, cuts: Sequence[TextCut]) -> str:
    """The text without these stretches, and without headings under which nothing is left.

    >>> remove_cuts("Outcome\\nGood. See Fig. 1.", [TextCut(14, 25, "")])
    'Outcome\\nGood.'
    """
    left = text
    for cut in sorted(_merge_cuts(cuts), key=lambda cut: cut.start, reverse=True):
        head, tail = left[: cut.start], left[cut.end :]
        if head[-1:].isspace() and tail[:1] == " ":
            tail = tail[1:]
        elif (not tail or tail[0] == "\n") and head[-1:] == " ":
            head = head.rstrip(" ")
        left = head + tail
    parts = [part for part in re.split(r"\n{2,}", left) if part.strip()]
    before = {part.strip() for part in re.split(r"\n{2,}", text)}
    kept = [part for part in parts if part.strip() in before or not _is_heading(part, text)]
    return "\n\n".join(part.strip("\n") for part in kept) if "\n\n" in text else left.strip("\n")


def _is_heading(part: str, text: str) -> bool:
    """Whether a paragraph is a lone line that had others below it before."""
    line = part.strip()
    return "\n" not in line and line[-1:].isalnum() and f"{line}\n" in text


def _merge_cuts(cuts: Sequence[TextCut]) -> list[TextCut]:
    """Cuts that do not overlap: the first of each place, made as long as the others reach."""
    found: list[TextCut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.start, -cut.end)):
        if found and cut.start < found[-1].end:
            last = found[-1]
            found[-1] = TextCut(last.start, max(last.end, cut.end), last.why, last.by)
        else:
            found.append(cut)
    return found


class SaidCuts(BaseModel):
    """What a model would leave out."""

    delete: list[int]


async def prune_discussion(item: Item, context: StepContext) -> StepResult:
    """Cut the discussion by rules, and let a model name sentences that they did not settle."""
    text = text_of(item, "discussion")
    if not text:
        return Keep(data={})
    listed = differential_of(item)
    names = load_names(setting_file(context, "synonyms"))
    cuts, mixed = find_cuts(text, listed, names)
    changes: list[Change] = []
    if listed.left_out and context.has("reader"):
        asking = _ask_model(text, listed, names, context)
        cuts += await answer_or_note(asking, changes, missing_answer(context, "discussion")) or []
    if not cuts:
        data: Data = {"discussion_unsettled": [*mixed]} if mixed else {}
        return Keep(data=data, changes=tuple(changes))
    changes += (
        Change(
            what="discussion",
            before={"text": text[cut.start : cut.end], "start": cut.start, "end": cut.end},
            by=cut.by,
            why=cut.why,
        )
        for cut in _merge_cuts(cuts)
    )
    left = remove_cuts(text, cuts)
    still = [said for said in mixed if said in left]
    return Keep.model_validate(
        {"data": {"discussion": left, "discussion_unsettled": still}, "changes": changes}
    )


async def _ask_model(
    text: str, listed: DifferentialDiagnoses, names: DiagnosisNames, context: StepContext
) -> list[TextCut]:
    spans = split_sentences(text)

    def wrong(said: SaidCuts) -> str | None:
        strange = [number for number in said.delete if not 1 <= number <= len(spans)]
        if strange:
            return f"there is no sentence {strange[0]}"
        if len(set(said.delete)) == len(spans):
            return "nothing would be left"
        for number in said.delete:
            sentence = spans[number - 1].extract(text)
            if _find_mentions(sentence, [listed.key], names):
                return f"sentence {number} is about '{listed.key}', which stays"
        return None

    said = await context.ask(
        "build-med-prune",
        {
            "sentences": "\n".join(f"{number}. {span.extract(text)}" for number, span in enumerate(spans, 1)),
            "options": "\n".join(f"- {option}" for option in listed.offered),
            "left_out": "\n".join(f"- {option}" for option in listed.left_out),
        },
        json_parser(SaidCuts),
        check=wrong,
    )
    by = context.name("reader")
    return [
        TextCut(spans[n - 1].start, spans[n - 1].end, "it is about a diagnosis that is no option", by)
        for n in sorted(set(said.delete))
    ]
