"""CIDEr-D against pycocoevalcap."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocoevalcap.cider.cider import Cider

from overread.errors import UsageError
from overread.metrics.words import cider
from overread.metrics.words.cider_scores import cider_of_words, cider_words
from tests.metrics.words.sample_texts import a_text, retold, text_pairs_of

Texts = Sequence[Sequence[str]]


def same(references: Texts, candidates: Sequence[str]) -> None:
    """Both score every text alike, on words between white space."""
    _, wanted = Cider().compute_score(
        {i: list(texts) for i, texts in enumerate(references)},
        {i: [text] for i, text in enumerate(candidates)},
    )
    found = cider_of_words(
        [[text.split() for text in texts] for texts in references], [text.split() for text in candidates]
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("count", [1, 2, 7, 400])
def test_cider_equals_pycocoevalcap(count: int) -> None:
    """Sets from one text to four hundred score as there, text by text."""
    pairs = text_pairs_of(seed=31 + count, count=count)
    pairs[0] = ("no effusion is seen today", pairs[0][1])
    same([[truth] for truth, _ in pairs], [own for _, own in pairs])


def test_cider_with_several_references() -> None:
    """One to four references a text, some of them empty, score as there."""
    dice = random.Random(33)
    own = [a_text(dice, 20) for _ in range(150)]
    truth = [[retold(dice, text) for _ in range(dice.randint(1, 4))] for text in own]
    same(truth, own)


@given(
    st.lists(
        st.tuples(st.text("ab ", min_size=0, max_size=12), st.text("ab ", max_size=12)),
        min_size=1,
        max_size=5,
    )
)
def test_cider_of_few_words_often_repeated(pairs: list[tuple[str, str]]) -> None:
    """Repeats are clipped and lengths damped as there, empty texts included."""
    pairs = [*pairs, ("a", "b")]  # pycocoevalcap fails where no reference has a word
    same([[truth] for truth, _ in pairs], [own for _, own in pairs])


def test_cider_of_long_texts() -> None:
    """Texts of a thousand words score as there."""
    pairs = text_pairs_of(seed=34, count=8, words=1500)
    same([[truth] for truth, _ in pairs], [own for _, own in pairs])


def test_cider_of_plain_texts_takes_its_words() -> None:
    """From plain texts, words are in lower case and without punctuation; numbers stay whole."""
    assert cider_words("No. 3.5-cm NODULE, ±stable —!") == ["no", "3.5", "cm", "nodule", "±stable"]
    pairs = text_pairs_of(seed=35, count=50)
    by_hand = cider_of_words(
        [[cider_words(truth)] for truth, _ in pairs], [cider_words(own) for _, own in pairs]
    )
    found = cider([truth for truth, _ in pairs], [own for _, own in pairs])
    assert found.tolist() == by_hand.tolist()
    assert cider([[truth] for truth, _ in pairs], [own for _, own in pairs]).tolist() == (by_hand.tolist())


def test_cider_at_its_edges() -> None:
    """Nothing scores nothing; a set without words is 0; what all references say weighs nothing."""
    assert cider([], []).tolist() == []
    assert cider(["", ""], ["", "lung"]).tolist() == [0.0, 0.0]
    assert cider(["no effusion"] * 3, ["no effusion"] * 3).tolist() == [0.0] * 3


@pytest.mark.parametrize("references", [[], [[]], [["a"], ["b"]]])
def test_cider_needs_a_reference_for_each_text(references: Texts) -> None:
    """Missing references are refused in one sentence."""
    with pytest.raises(UsageError, match="at least one reference"):
        cider(references, ["a"])
