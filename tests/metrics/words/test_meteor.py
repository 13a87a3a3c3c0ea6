"""METEOR against nltk, whose third stage is given a WordNet without synonyms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.meteor_score import single_meteor_score

from overread.metrics.sample import Sample
from overread.metrics.words import meteor
from overread.metrics.words.counting import combine_meteor
from overread.metrics.words.meteor_scores import meteor_of_words
from overread.metrics.words.tokens import rouge_words
from tests.metrics.words.sample_texts import text_pairs_of


class NoSynonyms:
    """A WordNet in which no word has a synonym."""

    def synsets(self, word: str) -> list[object]:
        """None at all."""
        return []


def nltks(reference: list[str], written: list[str]) -> float:
    return float(single_meteor_score(reference, written, wordnet=NoSynonyms()))


def test_meteor_equals_nltk() -> None:
    """1,500 pairs of texts, like reports and like nothing on earth, have nltk's number."""
    scores = []
    for truth, own in text_pairs_of(seed=41, count=1500):
        cut = rouge_words(truth, stemmed=False), rouge_words(own, stemmed=False)
        scores.append(meteor(truth, own))
        assert scores[-1] == pytest.approx(nltks(*cut), rel=1e-12)
    assert len(set(scores)) > 500


@given(st.lists(st.sampled_from("lung lungs lunged heart a".split()), max_size=9), st.data())
def test_meteor_of_few_words_often_repeated(reference: list[str], data: st.DataObject) -> None:
    """Which of several equal words or stems is taken is settled as there."""
    written = data.draw(st.lists(st.sampled_from("lung lungs lunged heart hearts".split()), max_size=9))
    assert meteor_of_words(reference, written) == pytest.approx(nltks(reference, written), rel=1e-12)


@pytest.mark.parametrize("words", [1, 2, 7])
def test_the_ceiling_is_what_a_text_gets_against_itself(words: int) -> None:
    """1 - 1 / (2 n³) of n words, also where they repeat."""
    text = " ".join("no effusion no mass no effusion seen".split()[:words])
    row = {"meteor": 0.0, "rouge_truth_words": words}
    assert combine_meteor(Sample([row]), perfect=True)[0] == pytest.approx(meteor(text, text), rel=1e-12)
