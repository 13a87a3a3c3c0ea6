"""How a history speaks of a diagnosis: stated, hedged or denied; or denied of the family alone.

Of the cues before a mention the nearest decides: in "without fever, diagnosed with X" X is stated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from overread.language.diagnoses.words import sentences_of
from overread.language.text import Span

_HEDGE_BEFORE = re.compile(
    r"(?:\?|\br/o\b|\brule[sd]? out\b|\bruling out\b|\bexclu(?:de[sd]?|ding|sion of)\b"
    r"|\bsuspect(?:ed|s|ing)?\b|\bsuspici(?:on|ous)\b|\bpossib(?:le|ly)\b|\bprobabl[ey]\b"
    r"|\b(?:un)?likely\b|\bpresum(?:ed|ptive|ably)\b|\bquer(?:y|ied)\b|\bquestion(?:able| of)?\b"
    r"|\bconsistent with\b|\bcompatible with\b|\bsuggest(?:s|ed|ing|ive)?\b|\bindicative of\b"
    r"|\bconcern(?:s|ed|ing)? (?:for|of|about)\b|\bdifferential\b|\bhistory of\b|\bh/o\b|\bhx\b"
    r"|\b(?:past|previous|prior) (?:medical |surgical )?history\b|\bknown cases? of\b|\bk/?c/?o\b"
    r"|\bversus\b|\bvs\b|\bmay (?:be|have|represent)\b|\bmight\b|\bcould (?:be|have|represent)\b"
    r"|\bthought to\b|\bbelieved to\b|\bassum(?:ed|ing)\b|\bfear(?:ed|s)?(?: of)?\b|\bworkup\b"
    r"|\bwork-up\b|\bevaluat(?:e|ion) (?:for|of)\b|\bscreen(?:ed|ing) for\b|\btested for\b"
    r"|\brisk (?:of|for)\b|\bcontact with\b|\bexpos(?:ed|ure) to\b|\bno\b|\bnot\b|\bnever\b"
    r"|\bwithout\b|\bden(?:ied|ies)\b|\bnegative for\b|\bfree of\b|\bfamil(?:y|ial)\b"
    r"|\b(?:mother|father|brother|sister|parents?|uncle|aunt|grand\w+|wife|husband)\b"
    r"|\bin view of\b|\bzum ausschluss\b|\bverdacht auf\b|\bv\.\s?a\.)",
    re.IGNORECASE,
)
"""What makes a mention behind it a hedged one."""
_STATED_BEFORE = re.compile(
    r"(?<!not )(?<!never )(?<!not been )(?<!no )(?<!never been )"
    r"\b(?:diagnosed (?:with|as|to have)|diagnosis\s*(?::|of|was|is)|(?:proven|confirmed|established)\b)",
    re.IGNORECASE,
)
"""What states the mention behind it, whatever stands before."""
_STATED_AFTER = re.compile(
    r"^\W{0,3}(?:was|were|is|has been|had been) (?:diagnosed|confirmed|proven|established)\b", re.IGNORECASE
)
"""What states the mention before it."""
_HEDGE_AFTER = re.compile(
    r"^\W{0,3}(?:\?|(?:\w+\W+){0,3}?(?:suspected|possible|considered|questioned|queried|assumed"
    r"|excluded|ruled out|unlikely|likely|debated|in question|discussed|presumed|denied|feared"
    r"|absent|negative|in the family))\b|^\s?\?",
    re.IGNORECASE,
)
"""What makes a mention before it a hedged one."""
_CONTRAST = re.compile(r"\b(?:but|however|although|though|whereas|while)\b|;", re.IGNORECASE)
_REACH = 60
"""Characters that a hedge reaches ahead."""

_KIN = (
    r"(?:famil(?:y|ial)|relatives?|relations|siblings?|parents?|mother|father|brothers?|sisters?"
    r"|grand(?:mother|father|parents?)|uncles?|aunts?|cousins?)"
)
_BETWEEN = (
    r"(?:\s+(?:a|any|the|his|her|their|known|relevant|significant|positive|other|previous|past|evidence"
    r"|of|history|cases?|member|members|first-degree|close|in|is|was|are|were|there))*"
)
"""Words that a denial passes over on its way."""
_FAMILY_DENIED_BEFORE = re.compile(
    rf"\b(?:(?:no|not|without|den(?:y|ies|ied)|never|neither|nor|nobody|none){_BETWEEN}\s+{_KIN}\b(?:\s+members?)?"
    r"(?:\s+(?:medical\s+)?history)?\s+(?:of|for|with|has|had|have|suffers?\s+from|suffered\s+from)"
    rf"|{_KIN}(?:\s+(?:medical\s+)?history)?\W{{0,2}}\s*(?:is|was|were|are|had|has|have)?\s*"
    r"(?:(?:negative|unremarkable|non-?contributory)\s+(?:for|of)|free\s+of|no|not|never|without))"
    r"\s+(?!note\b)(?P<list>[^.:?]*)$",
    re.IGNORECASE,
)
"""A family history that is denied, and what else is denied in the same breath."""
_NEW_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|had|now|known|he|she|patient|who|with|since|diagnosed|treated|presented)\b",
    re.IGNORECASE,
)
"""Words by which a list of what is denied has ended."""
_DENIAL_JUST_BEFORE = re.compile(
    rf"\b(?:no|not|without|den(?:y|ies|ied)|never|nor){_BETWEEN}\s*$", re.IGNORECASE
)
_FAMILY_AFTER = re.compile(
    rf"^[^.;]{{0,30}}?\b(?:in|of|among|on)\s+(?:the|his|her|their|any)?\s*(?:\w+\s+)?{_KIN}\b", re.IGNORECASE
)
"""'No case of X in the family'."""
_FAMILY_BEFORE = re.compile(rf"\b{_KIN}\s+(?:medical\s+)?history\b[^.;]*$", re.IGNORECASE)
_DENIED_AFTER = re.compile(
    r"^[^.;,]{0,30}?\b(?:(?:is|was|were|are|has been|had been)\s+)?(?:denied|negative|absent|unknown"
    r"|not known|not reported|excluded)\b",
    re.IGNORECASE,
)
"""'A family history of X was denied'."""
_PERSONAL = re.compile(r"\bpersonal\b|\bpatient'?s? own\b", re.IGNORECASE)


def is_hedged(text: str, start: int, end: int, spans: Sequence[Span] | None = None) -> bool:
    """Whether what stands there is suspected, asked for, denied or long past rather than stated.

    >>> is_hedged("To rule out sarcoidosis.", 12, 23), is_hedged("Known sarcoidosis.", 6, 17)
    (True, False)
    """
    before, after = _words_around(text, start, end, spans)
    hedges = [cue.end() for cue in _HEDGE_BEFORE.finditer(before)]
    stated = [cue.end() for cue in _STATED_BEFORE.finditer(before)]
    if stated and not _is_of_family(before, stated[-1]):
        return bool(hedges) and hedges[-1] > stated[-1]
    if _STATED_AFTER.search(after):
        return False
    if hedges or re.search(r"\?\s?$", text[max(0, start - 3) : start]):
        return True
    return bool(_HEDGE_AFTER.search(after))


def _is_of_family(before: str, at: int) -> bool:
    """Whether a relative has it: a mother's proven X is not the patient's. A comma parts the two."""
    return bool(re.search(rf"\b{_KIN}\b", before[before.rfind(",", 0, at) + 1 :], re.IGNORECASE))


def is_denied_of_family(text: str, start: int, end: int, spans: Sequence[Span] | None = None) -> bool:
    """Whether what stands there is only said not to run in the family: that tells nothing of the patient.

    >>> is_denied_of_family("No family history of gout.", 21, 25)
    True
    >>> is_denied_of_family("A family history of gout.", 20, 24)
    False
    """
    before, after = _words_around(text, start, end, spans)
    if _PERSONAL.search(before):
        return False
    if _STATED_AFTER.search(after):
        return False
    denied = _FAMILY_DENIED_BEFORE.search(before)
    if denied is not None and not _NEW_CLAUSE.search(denied["list"]):
        return True
    if _DENIAL_JUST_BEFORE.search(before) and _FAMILY_AFTER.search(after):
        return True
    return bool(_FAMILY_BEFORE.search(before) and _DENIED_AFTER.search(after))


def _words_around(text: str, start: int, end: int, spans: Sequence[Span] | None) -> tuple[str, str]:
    """What stands before and after in the same sentence, within reach and behind the last contrast."""
    first, last = sentence_at(start, sentences_of(text) if spans is None else spans, text)
    before = text[max(first, start - _REACH) : start]
    cut = [mark.end() for mark in _CONTRAST.finditer(before)]
    return before[cut[-1] :] if cut else before, text[end : min(last, end + _REACH)]


def sentence_at(at: int, spans: Sequence[Span], text: str) -> tuple[int, int]:
    """First and last character of the sentence that a character stands in."""
    for span in spans:
        if span.start <= at < span.end:
            return span.start, span.end
    return 0, len(text)
