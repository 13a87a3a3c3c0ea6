"""How far text alone gets on the phantom's diagnosis cases: it should get as far as chance.

.venv/bin/python -m tools.measure.text_only
.venv/bin/python -m tools.measure.text_only --test 2000 --train 8000 --seed 1
.venv/bin/python -m tools.measure.text_only --control

Readers without pictures get the history, the options, the number of pictures, their modalities,
their file names and the lengths of the options. `--control` draws histories from the true diagnosis
instead, which the trained readers must find out: it shows that they would notice a leak.
"""

from __future__ import annotations

import argparse
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Case, Entry
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.entries import make_text_entry
from overread.phantom.illness.history import write_history
from overread.phantom.illness.model import load_diseases_by_option, load_presentations
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.visit import PatientSettings

CEILING = 0.228
"""One-sided 99.9 % of what guessing one of five gets on 2,000 cases."""

Reader = Callable[[Sequence[Entry], Sequence[Entry]], list[str]]


def draw_cases(first: int, number: int, settings: PatientSettings, *, control: bool) -> list[Entry]:
    """Cases as text, of patients from `first` on."""
    drafts = (draw_draft(n, settings) for n in range(first, first + number))
    return [make_text_entry(leak_diagnosis(d) if control else d, settings) for d in drafts]


def leak_diagnosis(draft: Draft) -> Draft:
    """The draft with a history drawn from the true diagnosis: a deliberate leak, as control."""
    whole = load_presentations()[draft.group]
    lots = np.random.default_rng([zlib.crc32(draft.disease.encode())])
    # Each diagnosis has sentences of its own, half of those that there are.
    own = {
        part: tuple(text for text in getattr(whole, part) if lots.random() < 0.5) or getattr(whole, part)[:1]
        for part in ("opening", "symptom", "risk", "exam", "laboratory", "closing")
    }
    rng = np.random.default_rng([draft.patient])
    leaking = whole.model_copy(update=own)
    history = write_history(leaking, draft.age, draft.sex, draft.interval, rng)
    return replace(draft, history=history)


def answers(entries: Sequence[Entry]) -> list[str]:
    """The letters that are right."""
    return [entry.truth.answer or "" for entry in entries if entry.truth is not None]


def oracle(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """Knows the key."""
    return answers(test)


def frequent_letter(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """Always the letter that was right most often."""
    return [Counter(answers(train)).most_common(1)[0][0]] * len(test)


def longest_option(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """The longest option."""
    return [max(entry.case.options, key=lambda o: len(o.text)).letter for entry in test]


def word_overlap(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """The option that shares most words with the history."""
    found = []
    for entry in test:
        said = set(_words(entry.case.history or ""))
        shared = {o.letter: len(said & set(_words(o.text))) for o in entry.case.options}
        found.append(max(shared, key=shared.__getitem__))
    return found


def words_of_pairs(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """Logistic regression over words of history and option, and over pairs of such words."""
    return _read_by_logistic(train, test, _history_tokens)


def names_against_names(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """Logistic regression over which diagnosis stands beside which others, and at which letter."""
    return _read_by_logistic(train, test, _rival_tokens)


def boosted_trees(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """Gradient boosting over lengths, ranks, overlap, counts of pictures, file names and names."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = np.concatenate([_option_numbers(entry) for entry in train])
    right = _correct_flags(train)
    model = HistGradientBoostingClassifier(
        max_iter=80, learning_rate=0.08, categorical_features=[0], random_state=0
    )
    model.fit(rows, right)
    scores = model.predict_proba(np.concatenate([_option_numbers(entry) for entry in test]))[:, 1]
    return _best_letters(scores, test)


def findings_words(train: Sequence[Entry], test: Sequence[Entry]) -> list[str]:
    """The first of the trained readers, given the imaging findings in place of the history."""
    return _read_by_logistic(train, test, _findings_tokens)


BLIND: dict[str, Reader] = {
    "most frequent letter": frequent_letter,
    "longest option": longest_option,
    "word overlap": word_overlap,
    "bag of words, logistic": words_of_pairs,
    "diagnosis names, logistic": names_against_names,
    "numbers and names, boosted": boosted_trees,
}
"""Readers who see no picture and no finding."""

INFORMED: dict[str, Reader] = {"imaging findings, logistic": findings_words, "oracle": oracle}
"""Readers who know what the pictures show, or the key."""


def accuracy(reader: Reader, train: Sequence[Entry], test: Sequence[Entry]) -> float:
    """How many answers of a reader are right."""
    pairs = zip(reader(train, test), answers(test), strict=True)
    return sum(said == true for said, true in pairs) / len(test)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-zäöü0-9.-]+", text.lower())


def _read_by_logistic(
    train: Sequence[Entry], test: Sequence[Entry], tokens: Callable[[Entry], list[list[str]]]
) -> list[str]:
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.linear_model import SGDClassifier

    hasher = FeatureHasher(n_features=2**20, input_type="string", alternate_sign=False)

    def matrix(entries: Sequence[Entry]) -> Any:
        return hasher.transform(row for entry in entries for row in tokens(entry))

    model = SGDClassifier(loss="log_loss", alpha=2e-6, max_iter=12, tol=None, random_state=0)
    model.fit(matrix(train), _correct_flags(train))
    return _best_letters(model.decision_function(matrix(test)), test)


def _history_tokens(entry: Entry) -> list[list[str]]:
    return _pair_tokens(entry, entry.case.history or "")


def _findings_tokens(entry: Entry) -> list[list[str]]:
    assert entry.truth is not None
    return _pair_tokens(entry, entry.truth.report or "")


def _pair_tokens(entry: Entry, text: str) -> list[list[str]]:
    """For each option: its words, what goes for the case, and each word of the text with it."""
    said = sorted(set(_words(text)))
    around = list(_case_facts(entry))
    rows = []
    for option in entry.case.options:
        code = load_diseases_by_option()[option.text].code
        row = [f"letter {option.letter}", f"length {len(option.text) // 3}", f"name {code}"]
        row += [f"word {word}" for word in _words(option.text)]
        row += [f"{code} {word}" for word in said]
        row += [f"{option.letter} {fact}" for fact in around]
        row += [f"{code} {fact}" for fact in around]
        rows.append(row)
    return rows


def _rival_tokens(entry: Entry) -> list[list[str]]:
    codes = [load_diseases_by_option()[option.text].code for option in entry.case.options]
    rows = []
    for option, code in zip(entry.case.options, codes, strict=True):
        rivals = [other for other in codes if other != code]
        row = [f"name {code}", f"text {option.text}", f"{option.letter} {code}"]
        row += [f"{code} beside {other}" for other in rivals]
        row += [f"{option.text} {fact}" for fact in _case_facts(entry)]
        rows.append(row)
    return rows


def _case_facts(entry: Entry) -> Iterator[str]:
    """What goes for the whole case: pictures, modalities, files, time points."""
    assert entry.truth is not None
    case, notes = entry.case, entry.truth.notes
    yield f"pictures {len(case.pictures)}"
    yield f"times {entry.truth.timepoints} {entry.truth.interval}"
    for kind, number in Counter(f"{note.modality} {note.sub_modality}" for note in notes).items():
        yield f"{kind} {number}"
    yield "order " + " ".join((note.modality or "")[0] for note in notes)
    for picture in case.pictures[:3]:
        stem = picture.file.rpartition("/")[2]
        yield f"file {stem[0]}"
        yield f"ends {stem[:-4][-1]}"


def _option_numbers(entry: Entry) -> NDArray[np.float64]:
    """For each option a row of numbers; the first is the diagnosis."""
    assert entry.truth is not None
    case: Case = entry.case
    lengths = [len(option.text) for option in case.options]
    said = set(_words(case.history or ""))
    films = sum(note.modality == "X-ray" for note in entry.truth.notes)
    stem = case.pictures[0].file.rpartition("/")[2]
    rows = []
    for order, option in enumerate(case.options):
        length = lengths[order]
        rows.append(
            (
                list(_codes()).index(load_diseases_by_option()[option.text].code),
                order,
                length,
                sorted(lengths).index(length),
                len(said & set(_words(option.text))),
                len(case.history or ""),
                len(case.pictures),
                films,
                entry.truth.timepoints or 1,
                ord(stem[0]),
                ord(stem[1]),
            )
        )
    return np.array(rows, float)


def _codes() -> dict[str, None]:
    return dict.fromkeys(disease.code for disease in load_diseases_by_option().values())


def _correct_flags(entries: Sequence[Entry]) -> NDArray[np.int64]:
    """Of every option whether it is right, 1 or 0."""
    return np.array(
        [
            option.letter == entry.truth.answer
            for entry in entries
            if entry.truth is not None
            for option in entry.case.options
        ],
        int,
    )


def _best_letters(scores: NDArray[np.float64], entries: Sequence[Entry]) -> list[str]:
    found = scores.reshape(len(entries), 5).argmax(axis=1)
    return [entry.case.options[n].letter for entry, n in zip(entries, found.tolist(), strict=True)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--train", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--control", action="store_true")
    args = parser.parse_args()
    settings = PatientSettings(seed=args.seed)
    begun = time.perf_counter()
    test = draw_cases(1, args.test, settings, control=args.control)
    train = draw_cases(args.test + 1, args.train, settings, control=args.control)
    took = time.perf_counter() - begun
    print(f"{len(test) + len(train)} cases as text in {took:.1f} s, seed {args.seed}")
    for name, reader in {**BLIND, **INFORMED}.items():
        begun = time.perf_counter()
        share = accuracy(reader, train, test)
        print(f"  {name:28s} {share:6.1%}   {time.perf_counter() - begun:5.1f} s")


if __name__ == "__main__":
    main()
