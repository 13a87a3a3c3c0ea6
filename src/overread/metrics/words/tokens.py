"""How a text becomes words: the ways of rouge-score, of sacrebleu and of RadCliQ.

All of them work on what stands between white space, piece by piece; so each piece is cut once and
remembered. The tests hold every way to the package it comes from, on texts of all scripts.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from itertools import chain
from typing import Literal

from overread.errors import UnknownName
from overread.metrics.words.stems import stem
from overread.metrics.words.word_cache import WordCache

Tokenizer = Literal["13a", "intl", "none"]
"""sacrebleu's: punctuation cut off as in mteval 13a, by Unicode as in mteval 14, or white space."""

_PLAIN = re.compile(r"[a-z0-9]+")
_SHORTEST_STEMMED = 4


def _stem_word(word: str) -> str:
    # Interned, so that comparing two equal stems compares two addresses.
    return sys.intern(stem(word) if len(word) >= _SHORTEST_STEMMED else word)


_stems = WordCache(_stem_word)
_plain_pieces = WordCache(lambda piece: tuple(map(sys.intern, _PLAIN.findall(piece.lower()))))
_stemmed_pieces = WordCache(lambda piece: tuple(_stems[word] for word in _plain_pieces[piece]))


def rouge_words(text: str, *, stemmed: bool = True) -> list[str]:
    """Runs of a-z and 0-9 in lower case, those of four letters and more stemmed if so wished.

    Everything else separates, letters with accents included.

    >>> rouge_words("Two 3.5-cm opacities; naïve oedema.")
    ['two', '3', '5', 'cm', 'opac', 'na', 've', 'oedema']
    """
    pieces = _stemmed_pieces if stemmed else _plain_pieces
    return list(chain.from_iterable(map(pieces.__getitem__, text.split())))


# ---- sacrebleu -----------------------------------------------------------------------------

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_APART = re.compile(r"([!-&(-+/:-@\[-`{-~])")
_POINT_AFTER = re.compile(r"([^0-9])([.,])")
_POINT_BEFORE = re.compile(r"([.,])([^0-9])")
_DASH = re.compile(r"([0-9])(-)")


def _cut_13a(piece: str) -> tuple[str, ...]:
    """Punctuation apart; points and commas stay in numbers, dashes unless after a digit."""
    piece = _APART.sub(r" \1 ", f" {piece} ")
    piece = _POINT_AFTER.sub(r"\1 \2 ", piece)
    piece = _POINT_BEFORE.sub(r" \1 \2", piece)
    return tuple(map(sys.intern, _DASH.sub(r"\1 \2 ", piece).split()))


class _Kinds(dict[int, str]):
    """Code of a sign → 'n' for numbers, 'p' for punctuation, 's' for symbols, as Unicode has it."""

    def __missing__(self, code: int) -> str:
        self[code] = unicodedata.category(chr(code))[0].lower()
        return self[code]


_KINDS = _Kinds()
_INTL = ((re.compile("[^n]p"), 1), (re.compile("p[^n]"), 0), (re.compile("s"), 0))


def _cut_intl(text: str) -> list[str]:
    """Punctuation apart unless it stands between numbers; symbols apart."""
    for rule, place in _INTL:
        done, parts = 0, []
        for match in rule.finditer(text.translate(_KINDS)):
            sign = match.start() + place
            parts.append(f"{text[done:sign]} {text[sign]} ")
            done = sign + 1
        text = "".join(parts) + text[done:]
    return text.split()


_pieces_13a = WordCache(_cut_13a)


def bleu_words(text: str, tokenizer: Tokenizer = "13a", *, lowercase: bool = False) -> list[str]:
    """The words of a text as sacrebleu counts them.

    >>> bleu_words("Nodule (3.5 mm), stable.")
    ['Nodule', '(', '3.5', 'mm', ')', ',', 'stable', '.']
    """
    text = (text.lower() if lowercase else text).rstrip()
    if tokenizer == "none":
        return text.split()
    if tokenizer == "intl":
        return _cut_intl(text)
    if tokenizer != "13a":
        raise UnknownName(f"there is no tokenizer {tokenizer!r}", remedy="use one of '13a', 'intl', 'none'")
    text = text.replace("<skipped>", "").replace("-\n", "")
    if "&" in text:
        for name, sign in _ENTITIES:
            text = text.replace(name, sign)
    return list(chain.from_iterable(map(_pieces_13a.__getitem__, text.split())))


def radcliq_words(text: str) -> list[str]:
    """The words of a text as RadCliQ's BLEU-2 counts them: lower case, points apart.

    Only the space separates; a line break stays in its word.

    >>> radcliq_words("No effusion. Heart normal.")
    ['no', 'effusion', '.', 'heart', 'normal', '.']
    """
    return [word for word in text.lower().replace(".", " .").split(" ") if word]
