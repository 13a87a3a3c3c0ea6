"""ROUGE against rouge-score, stems against nltk: equal, not nearly equal."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from overread.errors import UnknownName
from overread.metrics.words.overlap import overlap, shared_runs
from overread.metrics.words.rouge_scores import rouge
from overread.metrics.words.stems import stem
from overread.metrics.words.tokens import rouge_words
from overread.metrics.words.word_cache import MOST_WORDS, WordCache
from tests.metrics.words.sample_texts import text_pairs_of

ALL_KINDS = ("rouge1", "rouge2", "rouge3", "rouge9", "rougeL", "rougeLsum")
SCORERS = {stemmed: RougeScorer(ALL_KINDS, use_stemmer=stemmed) for stemmed in (True, False)}
TOKENIZERS = {stemmed: DefaultTokenizer(stemmed) for stemmed in (True, False)}
NLTK = PorterStemmer()

ENDINGS = (
    "s es ies sses ss ed ing eed ied y ly ll e l ational tional enci anci izer bli alli entli eli "
    "ousli ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate "
    "ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion tion "
    "ou ism ate iti ous ive ize at bl iz ier ying ogy"
).split()
IRREGULAR = (
    "sky skies dying lying tying news innings inning outings outing cannings canning howe proceed "
    "exceed succeed dies died ties tied die lie tie"
).split()


def same(reference: str, candidate: str, stemmed: bool) -> None:
    """Every score of every kind is the same number."""
    wanted = SCORERS[stemmed].score(reference, candidate)
    found = rouge(reference, candidate, ALL_KINDS, stemmed=stemmed)
    assert {kind: tuple(score) for kind, score in found.items()} == {
        kind: tuple(score) for kind, score in wanted.items()
    }


@pytest.mark.parametrize("stemmed", [True, False])
def test_rouge_equals_rouge_score(stemmed: bool) -> None:
    """Precision, recall and F-measure of 2,000 random pairs are rouge-score's, bit for bit."""
    for reference, candidate in text_pairs_of(seed=11, count=2000, words=30):
        same(reference, candidate, stemmed)


@pytest.mark.slow
def test_rouge_of_long_texts() -> None:
    """Texts of a thousand words, whose bits fill many machine words, give the same too."""
    pairs = text_pairs_of(seed=5, count=8, words=1500)
    assert sum(min(len(truth.split()), len(own.split())) > 800 for truth, own in pairs) >= 2
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    for reference, candidate in pairs:
        wanted = scorer.score(reference, candidate)
        assert {kind: tuple(score) for kind, score in rouge(reference, candidate).items()} == {
            kind: tuple(score) for kind, score in wanted.items()
        }


@pytest.mark.parametrize("stemmed", [True, False])
@given(reference=st.text(max_size=60), candidate=st.text(max_size=60))
def test_rouge_of_any_strings(stemmed: bool, reference: str, candidate: str) -> None:
    """Whatever Unicode holds, scores are rouge-score's."""
    same(reference, candidate, stemmed)


@given(reference=st.text(alphabet="ab \n", max_size=40), candidate=st.text(alphabet="ab \n", max_size=40))
def test_rouge_of_few_words_often_repeated(reference: str, candidate: str) -> None:
    """Where the same words stand many times, counts are clipped and subsequences chosen alike."""
    same(reference, candidate, stemmed=False)


def test_rouge_knows_its_edges() -> None:
    """Empty texts give 0, equal ones 1, and one word has no ROUGE-2 even against itself."""
    assert all(set(score) == {0.0} for score in rouge("", "lung").values())
    assert all(set(score) == {0.0} for score in rouge("lung", "").values())
    assert all(set(score) == {1.0} for score in rouge("no effusion", "No effusion!").values())
    assert rouge("effusion", "effusion")["rouge2"].fmeasure == 0.0


@pytest.mark.parametrize("kind", ["rouge0", "rouge10", "rougel", "bleu", ""])
def test_an_unknown_kind_is_named(kind: str) -> None:
    """A ROUGE that does not exist is refused with those that do."""
    with pytest.raises(UnknownName, match="rougeLsum"):
        rouge("a", "a", [kind])


@pytest.mark.parametrize("stemmed", [True, False])
def test_words_are_those_of_rouge_score(stemmed: bool) -> None:
    """Texts of all scripts become the same words."""
    for text in itertools.chain.from_iterable(text_pairs_of(seed=3, count=1500)):
        assert rouge_words(text, stemmed=stemmed) == TOKENIZERS[stemmed].tokenize(text)


def test_stems_equal_nltk_on_made_up_words() -> None:
    """60,000 random beginnings with one to three real endings have nltk's stems."""
    dice = random.Random(8)
    words = {
        "".join(dice.choices("aeioyyblstnzwxr7", k=dice.randint(0, 5)))
        + "".join(dice.choices(ENDINGS, k=dice.randint(1, 3)))
        for _ in range(60_000)
    }
    assert [word for word in words if stem(word) != NLTK.stem(word)] == []


def test_stems_equal_nltk_on_all_short_words() -> None:
    """Up to three of these letters before every ending has nltk's stem."""
    roots = ("".join(root) for n in range(4) for root in itertools.product("aeytslz", repeat=n))
    words = {root + ending for root in roots for ending in ["", *ENDINGS]} | set(IRREGULAR)
    assert [word for word in words if stem(word) != NLTK.stem(word)] == []


@given(st.text(alphabet="aeiouybcdlstz09é", max_size=12))
def test_stems_equal_nltk_on_any_word(word: str) -> None:
    """Words in lower case with digits and other letters have nltk's stems."""
    assert stem(word) == NLTK.stem(word)


@pytest.mark.shared
def test_real_reports(shared: Path) -> None:
    """Every word of the real reports has nltk's stem, and neighbouring reports score the same."""
    lines = (shared / "reports" / "openi_reports.jsonl").read_text("utf-8").splitlines()
    texts = [f"{row['findings']} {row['impression']}" for row in map(json.loads, lines)]
    words = {word for text in texts for word in rouge_words(text, stemmed=False)}
    assert [word for word in words if stem(word) != NLTK.stem(word)] == []
    for reference, candidate in itertools.pairwise(texts[:300]):
        same(reference, candidate, stemmed=True)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_overlap_equals_plain_counting(truth: list[str], own: list[str]) -> None:
    """Bits give what a table of common subsequences and counted runs give."""
    table = [[0] * (len(own) + 1) for _ in range(len(truth) + 1)]
    for i, j in itertools.product(range(len(truth)), range(len(own))):
        met = table[i][j] + 1 if truth[i] == own[j] else 0
        table[i + 1][j + 1] = max(met, table[i][j + 1], table[i + 1][j])

    def shared(size: int) -> int:
        left = [tuple(truth[i : i + size]) for i in range(len(truth) - size + 1)]
        hits = 0
        for run in (tuple(own[i : i + size]) for i in range(len(own) - size + 1)):
            if run in left:
                left.remove(run)
                hits += 1
        return hits

    counts = [shared(size) for size in range(1, 6)]
    assert overlap(truth, own) == (len(own), len(truth), counts[0], counts[1], table[-1][-1])
    assert shared_runs(truth, own, 5) == counts


def test_memory_is_bounded() -> None:
    """What is remembered never exceeds its bound, and overlong words are not kept at all."""
    sizes = WordCache(len)
    for number in range(MOST_WORDS + 10):
        assert sizes[str(number)] == len(str(number))
    assert 0 < len(sizes) <= MOST_WORDS
    assert sizes["x" * 100] == 100
    assert "x" * 100 not in sizes
