"""Words with their places: lower case, American spelling, singular."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][st])?|\d+(?:[.,]\d+)?|[^\s]", re.UNICODE)

_LETTER_SIDE = re.compile(r"(?<![\w./-])[RL](?=\)|[\s-]+(?!(?i:spine)\b)[A-Za-z]{2})")
"""R and L for right and left: "small R effusion", "(L) base"; not the L of "L4" or of "L-spine"."""
_LETTER_SIDES = {"R": ("right", "r"), "L": ("left", "l")}

# British → American, as parts of words: radiology has few others.
_SPELLING = (
    ("oesoph", "esoph"), ("oedem", "edem"), ("haem", "hem"), ("anaem", "anem"), ("tumour", "tumor"),
    ("calibre", "caliber"), ("fibre", "fiber"), ("centre", "center"), ("litre", "liter"),
    ("grey", "gray"), ("aetiol", "etiol"), ("foetal", "fetal"), ("paed", "ped"), ("leuc", "leuk"),
    ("millimetre", "millimeter"), ("centimetre", "centimeter"), ("subcentimetric", "subcentimeter"),
    ("subcentimetre", "subcentimeter"), ("coeliac", "celiac"), ("faec", "fec"), ("colour", "color"),
    ("neighbour", "neighbor"), ("catheteris", "catheteriz"), ("localis", "localiz"),
    ("visualis", "visualiz"), ("characteris", "characteriz"), ("calcificated", "calcified"),
    ("lamellar", "lamellar"), ("azygous", "azygos"), ("mineralis", "mineraliz"),
    ("recognis", "recogniz"), ("gynaec", "gynec"), ("generalis", "generaliz"),
)  # fmt: skip
_IRREGULAR = {
    "bullae": "bulla", "bronchi": "bronchus", "nuclei": "nucleus", "foci": "focus",
    "thrombi": "thrombus", "emboli": "embolus", "diverticula": "diverticulum", "hila": "hilum",
    "pleurae": "pleura", "vertebrae": "vertebra", "apices": "apex", "masses": "mass",
    "scapulae": "scapula", "costae": "costa", "axillae": "axilla", "fossae": "fossa",
    "lungs": "lung", "lobes": "lobe", "hemithoraces": "hemithorax", "sequela": "sequela",
    "sequelae": "sequela", "sequels": "sequela", "sequel": "sequela", "calculi": "calculus",
    "metastases": "metastasis", "atelectases": "atelectasis", "stenoses": "stenosis",
    "ectasies": "ectasia", "ectasias": "ectasia", "bronchiectases": "bronchiectasis",
    "prostheses": "prosthesis", "is": "is", "was": "was", "has": "has", "does": "does",
    "this": "this", "gas": "gas", "pancreas": "pancreas", "whereas": "whereas",
    "pus": "pus", "atlas": "atlas", "lens": "lens", "as": "as",
    "atria": "atrium", "septa": "septum", "stigmata": "stigma", "plexuses": "plexus",
    "thickenings": "thickening", "feet": "foot", "pneumothoraces": "pneumothorax",
    "adenopathies": "adenopathy", "lymphadenopathies": "lymphadenopathy", "less": "less",
}  # fmt: skip
_ENDS_IN_S = ("ss", "us", "is")


class Token(NamedTuple):
    """One word, number or sign."""

    word: str
    """As it is looked up: lower case, American, singular."""
    raw: str
    """In lower case, otherwise as written."""
    start: int
    """First character in the text."""
    end: int
    """First character after it."""


def tokenise(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The words of a stretch of text.

    >>> [t.word for t in tokenise("Oedematous opacities, 4.5 mm")]
    ['edematous', 'opacity', ',', '4.5', 'mm']
    >>> [t.word for t in tokenise("R effusion, L4")]
    ['right', 'effusion', ',', 'l', '4']
    """
    stop = len(text) if end is None else end
    return [
        Token(
            *(
                _LETTER_SIDES[m[0]]
                if m[0] in _LETTER_SIDES and _LETTER_SIDE.match(text, m.start())
                else _word_forms(m[0])
            ),
            *m.span(),
        )
        for m in _TOKEN.finditer(text, start, stop)
    ]


def spell_out_sides(text: str) -> str:
    """A text with right and left for R and L.

    >>> spell_out_sides("Small R effusion at L1.")
    'Small right effusion at L1.'
    """
    return _LETTER_SIDE.sub(lambda found: _LETTER_SIDES[found[0]][0], text)


@lru_cache(maxsize=50_000)
def _word_forms(raw: str) -> tuple[str, str]:
    """A word as it is looked up, and in lower case."""
    return normalise_word(raw), raw.lower()


@lru_cache(maxsize=50_000)
def normalise_word(word: str) -> str:
    """A word as it is looked up."""
    low = word.lower()
    if not low[:1].isalpha() or len(low) > 40:
        return low
    low = low.replace("’", "'")
    if low.endswith("n't"):
        return "cannot" if low == "can't" else "not"
    low = low.removesuffix("'s")
    for british, american in _SPELLING:
        if british in low:
            low = low.replace(british, american)
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if len(low) > 3 and low.endswith("ies"):
        return low[:-3] + "y"
    if len(low) > 4 and low.endswith(("xes", "ches", "shes", "sses")):
        return low[:-2]
    if len(low) > 3 and low.endswith("s") and not low.endswith(_ENDS_IN_S):
        return low[:-1]
    return low
