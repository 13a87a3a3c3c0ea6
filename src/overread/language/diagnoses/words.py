"""Words with their places, folded so that the spellings of one name meet."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from overread.language.text import Span, split_sentences
from overread.language.tokens import normalise_word

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")

FUNCTION_WORDS = frozenset(
    (
        "a an the of to in on at by with from for and or as is der die das des den dem von mit "
        "de la le les du di del della il et y e d l"
    ).split()
)
"""Words that join others; a name is the same with or without them."""

GENERAL = frozenset(
    (
        # how, when and how much
        "acute subacute chronic active inactive recurrent recurring primary secondary early late "
        "advanced healed old recent new simple complex complicated atypical typical mild moderate "
        "severe diffuse focal multifocal disseminated localised localized bilateral unilateral "
        "both side left right upper lower middle anterior posterior central peripheral single "
        "multiple isolated solitary spontaneous traumatic nontraumatic non post pre infectious "
        "noninfectious infected bacterial viral fungal mycotic idiopathic cryptogenic sporadic "
        "congenital acquired familial hereditary autoimmune benign malignant metastatic invasive "
        "noninvasive calcified cystic solid necrotic ruptured giant small large pure mixed "
        "sliding long standing stage grade type form variant associated related induced due "
        "exudative purulent pyogenic obstructive congestive decompensated sided embolic "
        "post-operative postoperative juvenile adult childhood infantile senile partial complete "
        # where
        "lung pulmonary bronchial bronchus thorax thoracic chest pleural pleura mediastinal "
        "mediastinum space intrapulmonary extrapulmonary cardiac heart hepatic liver renal kidney "
        "cerebral brain intracranial spinal spine bone osseous breast mammary gastric stomach "
        "colonic colon bowel intestinal pancreatic pancreas splenic spleen adrenal ovarian ovary "
        "uterine uterus prostatic prostate thyroid vascular venous arterial artery vein aortic "
        "aorta soft tissue node lymph muscle joint knee hip shoulder femur tibia skull orbit "
        "abdominal pelvic pelvis abdomen retroperitoneal peritoneal esophageal esophagus cervical "
        # what, too broadly
        "disease syndrome disorder infection inflammation inflammatory lesion mass nodule tumor "
        "neoplasm cancer carcinoma sarcoma adenoma cyst abscess effusion hemorrhage hematoma "
        "fracture rupture injury trauma pneumonia pneumonitis fibrosis collapse obstruction "
        "stenosis dilatation aneurysm thrombosis embolism infarction infarct edema change process "
        "condition anomaly malformation complication involvement spread deposit swelling plug "
        "granuloma hernia insufficiency failure diaphragm diaphragmatic"
    ).split()
)
"""Words that by themselves name no diagnosis."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text."""

    folded: str
    """As it is compared: no accents, lower case, American, singular."""
    raw: str
    """As it is written."""
    start: int
    """First character."""
    end: int
    """First character after it."""


def words_of(text: str) -> list[Word]:
    """The words of a text; a hyphen parts two of them.

    >>> [word.folded for word in words_of("Wegener’s, non-specific Tuberkulose")]
    ['wegener', 'non', 'specific', 'tuberkulose']
    """
    return [Word(fold(m.group()), m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]


def content_of(text: str) -> list[Word]:
    """The words of a text that carry its meaning.

    >>> [word.folded for word in content_of("Abscess of the lung")]
    ['abscess', 'lung']
    """
    return [word for word in words_of(text) if word.folded not in FUNCTION_WORDS]


@lru_cache(maxsize=50_000)
def fold(word: str) -> str:
    """A word as it is compared.

    >>> fold("Haemorrhages"), fold("Lobärpneumonie"), fold("organising")
    ('hemorrhage', 'lobarpneumonie', 'organizing')
    """
    if len(word) > 60:
        return word.casefold()
    plain = unicodedata.normalize("NFKD", word.replace("’", "'").replace("ß", "ss"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    folded = normalise_word(plain)
    return re.sub(r"is(e|ed|ing|ation)$", r"iz\1", folded) if len(folded) > 6 else folded


_ENDING = re.compile(
    r"(?:osis|ose|osi|osa|oses|otic|ous|itis|itide|ite|itid|itic|asis|atic|ase|asi|omatous|om|oma|ome"
    r"|omi|ematous|em|ema|eme|ien|ie|ia|ies|ic|ism|ismus|isme|ismo|is|en|e|a|o|i)$"
)
"""Endings of nouns and adjectives in English, German, French, Italian and Spanish."""


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """What a medical word has in common with its adjective and with its cognates elsewhere.

    >>> stem("tuberkulose") == stem("tuberculosis"), stem("perikarditis") == stem("pericardite")
    (True, True)
    >>> stem("bronchiectatic") == stem("bronchiectasis"), stem("fibrosis") == stem("fibroma")
    (True, True)
    """
    told = fold(word)
    for old, new in (("ph", "f"), ("th", "t"), ("ch", "c"), ("k", "c"), ("z", "c"), ("y", "i")):
        told = told.replace(old, new)
    told = told.replace("oe", "e").replace("ae", "e")
    told = re.sub(r"(.)\1", r"\1", told)
    return _ENDING.sub("", told)


_RATE_ENDS = re.compile(r"(?<=/min\.)\s+(?=[A-Z])")


def sentences_of(text: str) -> list[Span]:
    """The sentences of a history; a rate ends one, though elsewhere 'min.' is an abbreviation.

    >>> text = "Pulse 90/min. He slept."
    >>> [span.extract(text) for span in sentences_of(text)]
    ['Pulse 90/min.', 'He slept.']
    """
    found: list[Span] = []
    for sentence in split_sentences(text):
        start = sentence.start
        for gap in _RATE_ENDS.finditer(text, sentence.start, sentence.end):
            found.append(Span(start=start, end=gap.start()))
            start = gap.end()
        found.append(Span(start=start, end=sentence.end))
    return found


def join_words(words: Iterable[Word]) -> str:
    """Words run together, so that 'broncho-pneumonia' and 'bronchopneumonia' are one."""
    return "".join(word.folded for word in words)


class WordIndex:
    """A text in which names are looked up."""

    def __init__(self, text: str) -> None:
        """Cut the text into words and note where words begin alike."""
        self.text = text
        self.words = content_of(text)
        self._places: dict[str, list[int]] = {}
        for at, word in enumerate(self.words):
            self._places.setdefault(word.folded[:3], []).append(at)

    def find(self, phrase: str) -> list[tuple[int, int]]:
        """Where a phrase that was run together (`joined`) stands: first and last word, inclusive.

        >>> WordIndex("A broncho-pneumonia of both lungs.").find("bronchopneumonia")
        [(0, 1)]
        """
        found = []
        for length in (1, 2, 3):
            if length > len(phrase):
                break
            for first in self._places.get(phrase[:length], ()):
                if length < 3 and len(self.words[first].folded) != length:
                    continue
                last = self._match_phrase(first, phrase)
                if last is not None:
                    found.append((first, last))
        return sorted(set(found))

    def _match_phrase(self, first: int, phrase: str) -> int | None:
        """The word at which the words from `first` on are the phrase; None where they are not."""
        at = 0
        for place in range(first, min(first + 12, len(self.words))):
            word = self.words[place].folded
            if not phrase.startswith(word, at):
                return None
            # A name does not go on in the next sentence.
            if place > first and self._is_parted(place):
                return None
            at += len(word)
            if at == len(phrase):
                return place
        return None

    def _is_parted(self, place: int) -> bool:
        between = self.text[self.words[place - 1].end : self.words[place].start]
        return bool(re.search(r"[.;:!?]\s|\n\n", between)) and not re.fullmatch(
            r"\.\s", between if len(self.words[place - 1].raw) == 1 else ""
        )

    def find_near(self, names: frozenset[str], spare: int = 2) -> list[tuple[int, int]]:
        """Where all of these words stand close together, in any order."""
        found = []
        size = len(names) + spare
        for first, word in enumerate(self.words):
            if word.folded not in names:
                continue
            last = self._all_within(first, names, size)
            if last is not None:
                found.append((first, last))
        return found

    def _all_within(self, first: int, names: frozenset[str], size: int) -> int | None:
        left = set(names)
        for place in range(first, min(first + size, len(self.words))):
            if place > first and self._is_parted(place):
                return None
            left.discard(self.words[place].folded)
            if not left:
                return place
        return None

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The characters from one word to another, both included."""
        return self.words[first].start, self.words[last].end
