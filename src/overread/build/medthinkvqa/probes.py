"""Can the case be solved without its pictures? Readers who see none are asked, and rules are.

Readers with the roles `probe-1`, `probe-2` … give a letter, in groups that see the history and the
options, or the options alone (`probe_groups.py`). Rules do not guess: they answer
where the history holds what all but settles one of the options (the words under `telling` in
`diagnoses/*.toml`), or shares its own words; and they note a result that proves a diagnosis
(histology, culture, a specific antibody), whichever it is. That the longest option is right, or a
letter more often, is not a matter of one case: the options are balanced over all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import DifferentialDiagnoses, differential_of, text_of
from overread.build.medthinkvqa.probe_groups import ask_group, probe_groups
from overread.build.medthinkvqa.settings import read_choice, setting_file
from overread.build.step import StepContext
from overread.core import Record
from overread.language.diagnoses.names import DiagnosisNames, load_names
from overread.language.diagnoses.words import GENERAL, content_of, fold, sentences_of

_PENDING = re.compile(
    r"\b(?:pending|awaited|outstanding|planned|scheduled|not (?:yet )?back|to be done|sent to"
    r"|had been sent|will be|requested|arranged|refused|not done|not available)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:negative|sterile|no growth|not (?:found|seen|detected|raised|elevated)|unremarkable"
    r"|normal|never|denie[sd]|inconclusive|not conclusive|non-?diagnostic)\b|\bno\b",
    re.IGNORECASE,
)
_PROOF = re.compile(
    r"\b(?:biops\w+|histolog\w+|histopatholog\w+|cytolog\w+|brushings?|needle sample|specimen"
    r"|lavage(?: fluid)?|fluid (?:that was )?(?:drawn|aspirated)|aspirat\w+|autopsy)\b"
    r"[^.;]{0,80}?\b(?:show\w*|reveal\w*|confirm\w*|yield\w*|demonstrat\w*|contain\w*|held|found"
    r"|positive|proved|proven|came back|was (?:bloody|milky|purulent))\b"
    r"|\b(?:tumou?r|malignant|atypical) cells\b"
    r"|\b(?:cultures?|samples?)\b[^.;]{0,40}\b(?:grew|positive)\b"
    r"|\bgrew (?=(?-i:[A-Z])|(?:in|from) (?:\w+ ){0,3}(?:sputum|blood|lavage|culture|sample|fluid))"
    r"|\bpositive\b[^.;]{0,40}\b(?:PCR|serology)\b|\b(?:PCR|serology)\b[^.;]{0,40}\bpositive\b"
    r"|\bantibod\w+[^.;]{0,60}\b(?:positive|found|detected|raised)\b"
    r"|\b\w+-(?:proven|confirmed)\b",
    re.IGNORECASE,
)
"""A result that settles what somebody has, whatever it is."""


class Clue(Record):
    """One stretch of a history that gives a diagnosis away without naming it."""

    kind: str
    """'telling', 'overlap' or 'proof'."""
    about: str | None = None
    """The option that it speaks for; absent for a proof that names none."""
    start: int
    """Its first character in the history."""
    end: int
    """The first character after it."""
    evidence: str
    """What stands there."""


def find_clues(history: str, listed: DifferentialDiagnoses, names: DiagnosisNames) -> list[Clue]:
    """Every clue that rules find, in the order of the text."""
    found: list[Clue] = []
    for sentence in sentences_of(history):
        text = sentence.extract(history)
        if _PENDING.search(text):
            continue
        place = {"start": sentence.start, "end": sentence.end, "evidence": text}
        words = [fold(word) for word in re.findall(r"[^\W_]+", text)]
        plain = f" {' '.join(words)} "
        for option in listed.offered:
            known = names.find(option)
            if known and any(_contains_stems(phrase, plain) for phrase in known.telling):
                found.append(Clue(kind="telling", about=option, **place))
        proof = _PROOF.search(text)
        if proof is not None and not _DENIED.search(text):
            found.append(
                Clue(
                    kind="proof",
                    start=sentence.start + proof.start(),
                    end=sentence.start + proof.end(),
                    evidence=proof.group(),
                )
            )
    return found


@lru_cache(maxsize=10_000)
def _stems(phrase: str) -> tuple[str, ...]:
    parts = (" ".join(fold(w) for w in re.findall(r"[^\W_]+", part)) for part in phrase.split("&"))
    return tuple(f" {part}" for part in parts if part)


def _contains_stems(phrase: str, plain: str) -> bool:
    """Whether a sentence has words that begin with all parts of a phrase."""
    return all(part in plain for part in _stems(phrase))


def answer_by_rules(
    history: str, listed: DifferentialDiagnoses, clues: Sequence[Clue]
) -> tuple[str | None, str]:
    """What rules would answer without the pictures, and why; None where they would not."""
    told = [clue.about for clue in clues if clue.kind == "telling"]
    if told:
        counts = {about: told.count(about) for about in told if about is not None}
        best = max(counts.values())
        leading = [about for about, count in counts.items() if count == best]
        if len(leading) == 1:
            return leading[0], "the history holds what all but settles it"
        return None, "the history speaks for several options"
    said = {word.folded for word in content_of(history)} - GENERAL
    shared = {
        option: len({word.folded for word in content_of(option) if len(word.folded) > 4} & said)
        for option in listed.offered
    }
    best = max(shared.values(), default=0)
    leading = [option for option, count in shared.items() if count == best]
    if best >= 2 and len(leading) == 1:
        return leading[0], f"the history shares {best} words with it and fewer with any other"
    return None, "nothing in the history speaks for one option"


async def run_probes(item: Item, context: StepContext) -> StepResult:
    """Ask all probes, and rules; drop the case if it can be solved without its pictures."""
    history, listed = text_of(item, "history"), differential_of(item)
    clues = find_clues(history, listed, load_names(setting_file(context, "synonyms")))
    answer, why = answer_by_rules(history, listed, clues)
    changes = tuple(_clue_change(clue) for clue in clues)
    groups = probe_groups(context)
    if answer == listed.key:
        # What the history settles is settled for every reader.
        clue = next((clue for clue in clues if clue.about == answer), None)
        where = f" at characters {clue.start} to {clue.end}" if clue else ""
        return Drop(reason="solved-by-text", why=f"rules choose '{answer}'{where}: {why}", changes=changes)
    asked: list[dict[str, object]] = []
    unsaid: list[Change] = []
    for group in groups:
        said = await ask_group(group, item, listed, context, unsaid)
        asked.append({"sees": group.sees, "rule": group.rule, "answers": said})
        right = [who for who, text in said.items() if text == listed.key]
        if group.removes(len(right)):
            seen = "without the pictures" if group.sees == "history" else "from the options alone"
            return Drop(
                reason=group.reason,
                why=f"{len(right)} of {len(said)} readers chose '{listed.key}' {seen}; "
                f"{group.rule} of them must, for a case to go",
                by=", ".join(right),
                changes=(*unsaid, *changes),
            )
    changes = (*unsaid, *changes)
    data: dict[str, object] = {
        "probes": {"rules": answer, "groups": asked},
        "clues": [clue.model_dump(mode="json") for clue in clues],
    }
    proof = next((clue for clue in clues if clue.kind == "proof"), None)
    if proof is not None and read_choice(context, "proof", ("drop", "keep")) == "drop":
        return Drop(
            reason="proof-in-history",
            why=f"the history has a result that proves a diagnosis at characters {proof.start} to "
            f"{proof.end}: '{proof.evidence}'",
            changes=changes,
        )
    return Keep.model_validate({"data": data, "changes": changes})


def _clue_change(clue: Clue) -> Change:
    place: dict[str, object] = {"text": clue.evidence, "start": clue.start, "end": clue.end}
    speaks = f"it speaks for '{clue.about}'" if clue.about else "it proves something"
    return Change.model_validate(
        {"what": "history", "before": place, "after": place, "why": f"a clue: {speaks}"}
    )
