"""What a report may lose on the way to findings, and why: each reason goes into the ledger.

As published, a sentence may go that is administrative (patient labels, dates), speaks of the
quality or the technique of the examination, speculates without a finding, or is empty of findings;
and a finding that is told twice is told once. Nothing that a sentence says is there, or denies,
goes for such a reason. The same tests are put to the rules and to what a model leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from overread.build.rexgroundingct.phrases import positive_statements
from overread.build.rexgroundingct.speculation import ADVICE
from overread.build.rexgroundingct.statement_cache import cached_statements
from overread.language.numerals import find_numerals
from overread.language.phrases import drop_joiners
from overread.language.places import find_places
from overread.language.rewrites.diff import diff_rewrite
from overread.language.tokens import tokenise
from overread.language.vocabulary import vocabulary

ADMINISTRATIVE = "administrative: who the patient is, or when it was"
QUALITY = "about the quality or the technique of the examination"
SPECULATION = "speculation, a question or a recommendation without a finding"
EMPTY = "empty of findings"

_IDENTITY = re.compile(
    r"\b(?:(?i:name|protocol (?:no|number)|accession|patient id|born|birth|dated?|"
    r"signed|dictated|reported by|referr\w+)|(?:Mr|Mrs|Ms|Dr|Prof)\b\.? [A-Z])\b"
)
_QUALITY = re.compile(
    r"\b(?:artifacts?|artefacts?|motion|breath[- ]?hold\w*|respirat\w+|inspirat\w+|expirat\w+|"
    r"(?:sub)?optimal\w*|image quality|quality|limited (?:evaluation|examination|study)|"
    r"(?:non-?|un)(?:contrast|enhanced)|contrast (?:agent|material|medium|media|substance)|"
    r"(?:section|slice) thickness|thin sections?|reconstruct\w+|reformat\w+|low[- ]dose|"
    r"(?:examination|study|scan|images?) (?:was|were|is|has been|obtained|taken|performed|made)|"
    r"technique|technical\w*|mpr|as far as can be (?:seen|evaluated))\b",
    re.IGNORECASE,
)
_EXAM_UNITS = frozenset(("date", "time", "series", "image", "slice", "frame"))

SURE = (ADMINISTRATIVE, QUALITY)
"""Reasons for which the rules leave out what nobody asked them to."""


def reason_to_leave_out(sentence: str) -> str | None:
    """Why a sentence may go; None where it tells or denies something.

    >>> reason_to_leave_out("Compared with the CT dated 12.03.2021.") == ADMINISTRATIVE
    True
    >>> reason_to_leave_out("There are motion artifacts.") == QUALITY
    True
    >>> reason_to_leave_out("A nodule cannot be excluded.") == SPECULATION
    True
    >>> reason_to_leave_out("A 5 mm nodule, as on the CT dated 12.03.2021.") is None
    True
    """
    told = cached_statements(sentence)
    if positive_statements(sentence) or any(one.presence in ("absent", "historical") for one in told):
        return None
    numbers = find_numerals(sentence)
    if _IDENTITY.search(sentence) or any(number.unit in ("date", "time") for number in numbers):
        return ADMINISTRATIVE
    if _QUALITY.search(sentence) and not ADVICE.search(sentence):
        return QUALITY
    words = drop_joiners(tokenise(sentence, 0, len(sentence)))
    placed = bool(vocabulary().anatomy_phrases.find(words)) or bool(find_places(words))
    if placed or any(number.unit not in _EXAM_UNITS for number in numbers):
        return None  # something is seen somewhere, though the rules cannot say what
    if told or ADVICE.search(sentence):
        return SPECULATION
    return None if vocabulary().thing_phrases.find(words) else EMPTY


def find_repeated(code: str, sentences: Mapping[str, str], among: Iterable[str]) -> str | None:
    """The other sentence that tells all that one tells; None where none does.

    >>> said = {"F0": "A 5 mm nodule in the left lung.", "F1": "Left lung nodule of 5 mm.",
    ...         "F2": "A 7 mm nodule in the left lung."}
    >>> find_repeated("F1", said, ["F0", "F2"]), find_repeated("F2", said, ["F0", "F1"])
    ('F0', None)
    """
    if not cached_statements(sentences[code]):
        return None
    for other in among:
        if other != code:
            told = diff_rewrite(sentences[code], sentences[other])
            if not told.lost and not told.changed:
                return other
    return None
