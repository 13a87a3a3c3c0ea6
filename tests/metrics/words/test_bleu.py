"""BLEU against sacrebleu, and RadCliQ's BLEU-2 against nltk."""

from __future__ import annotations

import itertools
import random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction
from nltk.translate.bleu_score import sentence_bleu as nltk_bleu
from sacrebleu.metrics import BLEU

from overread.errors import UnknownName, UsageError
from overread.metrics.words import corpus_bleu, radcliq_bleu2, sentence_bleu
from overread.metrics.words.bleu_scores import BleuCounts, Smoothing, bleu_counts, bleu_of_counts
from overread.metrics.words.tokens import Tokenizer, bleu_words, radcliq_words
from tests.metrics.words.sample_texts import a_text, retold, text_pairs_of

SMOOTHINGS: tuple[tuple[Smoothing, float | None], ...] = (
    ("exp", None),
    ("floor", None),
    ("floor", 0.01),
    ("add-k", None),
    ("add-k", 2),
    ("none", None),
)
TOKENIZERS: tuple[Tokenizer, ...] = ("13a", "intl", "none")


def peer(order: int = 4, **settings: Any) -> Any:
    return BLEU(max_ngram_order=order, force=True, **settings)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(("smoothing", "value"), SMOOTHINGS)
def test_corpus_bleu_equals_sacrebleu(order: int, smoothing: Smoothing, value: float | None) -> None:
    """Sets of 1 to 40 random texts score what sacrebleu says, bit for bit, with its parts."""
    pairs = text_pairs_of(seed=21, count=400, words=12)
    dice = random.Random(order)
    theirs = peer(order, smooth_method=smoothing, smooth_value=value)
    for _ in range(60):
        some = dice.sample(pairs, dice.choice((1, 2, 5, 40)))
        truth, own = [t for t, _ in some], [c for _, c in some]
        wanted = theirs.corpus_score(own, [truth])
        found = corpus_bleu(truth, own, order, smoothing=smoothing, smoothing_value=value)
        assert found.score == wanted.score
        assert list(found.precisions) == wanted.precisions
        assert found.brevity == wanted.bp
        assert found.counts[:2] == (wanted.sys_len, wanted.ref_len)


@pytest.mark.parametrize("effective", [True, False])
@pytest.mark.parametrize(("smoothing", "value"), SMOOTHINGS)
def test_sentence_bleu_equals_sacrebleu(smoothing: Smoothing, value: float | None, effective: bool) -> None:
    """Single texts, many of them shorter than the order, score what sacrebleu says."""
    theirs = peer(smooth_method=smoothing, smooth_value=value, effective_order=effective)
    for truth, own in text_pairs_of(seed=22, count=300, words=8):
        found = sentence_bleu(
            truth, own, smoothing=smoothing, smoothing_value=value, effective_order=effective
        )
        assert found.score == theirs.sentence_score(own, [truth]).score


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_words_are_those_of_sacrebleu(tokenizer: Tokenizer, lowercase: bool) -> None:
    """Texts of all scripts become the same words, and score the same with several references."""
    theirs = peer(tokenize=tokenizer, lowercase=lowercase)
    for text in itertools.chain.from_iterable(text_pairs_of(seed=23, count=800)):
        cut = theirs._preprocess_segment(text).split()
        assert bleu_words(text, tokenizer, lowercase=lowercase) == cut
    dice = random.Random(24)
    own = [a_text(dice, 15) for _ in range(30)]
    truth = [[retold(dice, text) for _ in range(3)] for text in own]
    wanted = theirs.corpus_score(own, list(zip(*truth, strict=True)))
    found = corpus_bleu(truth, own, tokenizer=tokenizer, lowercase=lowercase)
    assert found.score == wanted.score


@given(st.text(max_size=50))
def test_words_of_any_string(text: str) -> None:
    """Whatever Unicode holds, 13a cuts it as sacrebleu does."""
    assert bleu_words(text) == peer()._preprocess_segment(text).split()


def test_radcliq_bleu2_equals_nltk() -> None:
    """2,000 random pairs have the number that nltk gives with smoothing method 1, bit for bit."""
    method = SmoothingFunction().method1
    for truth, own in text_pairs_of(seed=25, count=2000, words=15):
        cut = [radcliq_words(truth)], radcliq_words(own)
        wanted = nltk_bleu(*cut, weights=(0.5, 0.5), smoothing_function=method)
        assert radcliq_bleu2(truth, own) == wanted


def test_radcliq_words_keep_what_is_no_space() -> None:
    """Points stand apart, other punctuation and line breaks stay, and no word is empty."""
    assert radcliq_words("No  effusion.\nSize 3.5, stable") == [
        *("no", "effusion", ".\nsize", "3", ".5,", "stable")
    ]


def test_what_cannot_be_asked_is_refused() -> None:
    """Unknown tokenizers and smoothings, and texts without references, are named with a remedy."""
    with pytest.raises(UnknownName, match="13a"):
        bleu_words("a", cast("Tokenizer", "zh"))
    with pytest.raises(UsageError, match="floor"):
        bleu_of_counts(BleuCounts(1, 1, (1,), (1,)), smoothing=cast("Smoothing", "mean"))
    with pytest.raises(UsageError, match="reference"):
        bleu_counts([], ["a"])
    with pytest.raises(ValueError, match="zip"):
        corpus_bleu(["a"], [])


def test_an_empty_set_is_zero() -> None:
    """No text at all scores 0 and does not fail."""
    assert corpus_bleu([], []).score == 0.0
