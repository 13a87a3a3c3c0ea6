"""How well do spaCy, negspaCy and medspaCy read CT-RATE reports, without any pretrained model?

A labeller is built on each library from one and the same list of targets (TARGETS), and beside
them two that need no library; every one says "1" where a report holds a target that it does not
take as negated. The table gives F1 over the 18 labels on the two parts of the file, sentences per
second on one core, and how each stands up to two hostile texts.

The rows whose sha256(AccessionNo) % 4 is 0 are held out: they are scored here and nobody has read
them; TARGETS and the added rules were written against the other three quarters. Nothing of a
report is ever printed.

The libraries are no dependency of overread. Give them an environment of their own:

    python3.11 -m venv peers
    peers/bin/pip install medspacy negspacy
    peers/bin/python -m tools.measure.language.peer_accuracy ctrate_labelled_reports.csv

Asked for both, pip settles on negspacy 1.0.4: medspacy 1.3.1 wants spacy < 3.8 on Python 3.11 and
negspacy 1.1.0 wants spacy >= 3.8. (Installed one after the other they end up in conflict.) For the
newest negspaCy make a second environment with `pip install negspacy`; a peer that is not installed
is left out of the table.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.measure.language.peer_words import BACKWARD, NEGATIONS, PSEUDO, TARGETS, TERMINATE

HELD_OUT = 4
"""One row in so many is held out, by the hash of its number."""

ROUNDS = 3
TIMEOUT = 60
"""Seconds that a hostile text is given before the process is ended."""

Labels = frozenset[str]
Reader = Callable[[str], Labels]


def split_sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+|[•\"\n]+", text) if part.strip()]


def phrase_regex(phrase: str) -> str:
    words = [re.escape(word).replace(r"\*", r"\w*") for word in phrase.split()]
    return r"\b" + r"[\s\-]+".join(words) + r"\b"


def token_pattern(phrase: str) -> list[dict[str, Any]]:
    """The same phrase for spaCy's Matcher, whose tokenizer makes a token of a hyphen."""
    pattern: list[dict[str, Any]] = []
    for word in phrase.split():
        if pattern:
            pattern.append({"ORTH": "-", "OP": "?"})
        if "*" in word:
            pattern.append({"LOWER": {"REGEX": "^" + word.replace("*", r"\w*") + "$"}})
        else:
            pattern.append({"LOWER": word})
    return pattern


class Gates:
    """Target and sentence to labels, the same for every peer."""

    def __init__(self) -> None:
        self._gates = {
            one.name: [
                (
                    gate.label,
                    re.compile(gate.needs) if gate.needs else None,
                    re.compile(gate.unless) if gate.unless else None,
                )
                for gate in one.gates
            ]
            for one in TARGETS
        }
        self._by_upper = {name.upper(): name for name in self._gates}

    def __call__(self, name: str, sentence: str) -> Iterator[str]:
        lower = sentence.lower()
        for label, needs, unless in self._gates[self._by_upper[name.upper()]]:
            if needs is not None and needs.search(lower) is None:
                continue
            if unless is not None and unless.search(lower) is not None:
                continue
            yield label


def make_keyword_reader(*, negation: bool) -> Reader:
    gates = Gates()
    compiled = [(one.name, re.compile("|".join(map(phrase_regex, one.phrases)))) for one in TARGETS]
    negated = re.compile(NEGATIONS)

    def read(text: str) -> Labels:
        found: set[str] = set()
        for sentence in split_sentences(text):
            lower = sentence.lower()
            if negation and negated.search(lower) is not None:
                continue
            for name, pattern in compiled:
                if pattern.search(lower) is not None:
                    found.update(gates(name, sentence))
        return frozenset(found)

    return read


def make_span_reader(nlp: Any, denied: Callable[[Any], bool]) -> Reader:
    """A reader from a pipeline that leaves its targets in doc.ents."""
    gates = Gates()
    nlp.max_length = 1 << 30

    def read(text: str) -> Labels:
        asserted = {(ent.label_, ent.sent) for ent in nlp(text).ents if not denied(ent)}
        return frozenset(label for name, sent in asserted for label in gates(name, sent.text))

    return read


def make_negspacy(*, added: bool) -> Reader:
    spacy = importlib.import_module("spacy")
    importlib.import_module("negspacy.negation")
    termset = importlib.import_module("negspacy.termsets").termset
    terms = {key: list(words) for key, words in termset("en_clinical").get_patterns().items()}
    if added:
        terms["following_negations"] += BACKWARD
        terms["pseudo_negations"] += PSEUDO
        terms["termination"] += TERMINATE
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer", config={"punct_chars": [".", "!", "?", "•", '"']})
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": one.name, "pattern": token_pattern(phrase)} for one in TARGETS for phrase in one.phrases]
    )
    nlp.add_pipe("negex", config={"neg_termset": terms})
    return make_span_reader(nlp, lambda ent: bool(ent._.negex))


def make_medspacy(*, added: bool, splitter: str = "medspacy_pyrush") -> Reader:
    importlib.import_module("loguru").logger.remove()
    library = importlib.import_module("medspacy")
    target_rule = importlib.import_module("medspacy.ner").TargetRule
    context_rule = importlib.import_module("medspacy.context").ConTextRule
    enable = {"medspacy_tokenizer", "medspacy_target_matcher", "medspacy_context"}
    if splitter == "medspacy_pyrush":
        enable.add(splitter)
    nlp = library.load(medspacy_enable=enable)
    if splitter == "sentencizer":
        config = {"punct_chars": [".", "!", "?", "•", '"']}
        nlp.add_pipe("sentencizer", first=True, config=config)
    nlp.get_pipe("medspacy_target_matcher").add(
        [
            target_rule(phrase, one.name, pattern=token_pattern(phrase))
            for one in TARGETS
            for phrase in one.phrases
        ]
    )
    if added:
        nlp.get_pipe("medspacy_context").add(
            [
                context_rule(literal, category, direction=direction)
                for category, direction, literals in (
                    ("NEGATED_EXISTENCE", "BACKWARD", BACKWARD),
                    # of the same category it would end the scope of a true negation
                    ("NO_NEGATION", "PSEUDO", PSEUDO),
                    ("NEGATED_EXISTENCE", "TERMINATE", TERMINATE),
                )
                for literal in literals
            ]
        )
    return make_span_reader(nlp, lambda ent: bool(ent._.is_negated))


PEERS: dict[str, tuple[str, Callable[[], Reader]]] = {
    "keywords": ("", lambda: make_keyword_reader(negation=False)),
    "keywords, negation word in sentence": ("", lambda: make_keyword_reader(negation=True)),
    "spaCy + negspaCy en_clinical": ("negspacy", lambda: make_negspacy(added=False)),
    "spaCy + negspaCy + added terms": ("negspacy", lambda: make_negspacy(added=True)),
    "medspaCy default": ("medspacy", lambda: make_medspacy(added=False)),
    "medspaCy + added rules": ("medspacy", lambda: make_medspacy(added=True)),
    "medspaCy + added, sentencizer": ("medspacy", lambda: make_medspacy(added=True, splitter="sentencizer")),
}

KILOBYTE = 1 << 10
CLAUSE = "no nodule in the lung and pleural effusion was not observed, "


def make_brackets(kilobytes: int) -> str:
    return "([{" * (kilobytes * KILOBYTE // 3)


def make_long_sentence(kilobytes: int) -> str:
    return CLAUSE * (kilobytes * KILOBYTE // len(CLAUSE))


HOSTILE: dict[str, Callable[[], str]] = {
    "brackets 8 KB": lambda: make_brackets(8),
    "brackets 2 MB": lambda: make_brackets(2048),
    "sentence 50 KB": lambda: make_long_sentence(50),
    "sentence 200 KB": lambda: make_long_sentence(200),
}


@dataclass
class LabelledReport:
    text: str
    truth: Labels
    held_out: bool


@dataclass
class Counts:
    """Right, invented and missed, by label."""

    hit: dict[str, int] = field(default_factory=dict)
    invented: dict[str, int] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)

    def add(self, said: Labels, truth: Labels) -> None:
        for counts, labels in (
            (self.hit, said & truth),
            (self.invented, said - truth),
            (self.missed, truth - said),
        ):
            for label in labels:
                counts[label] = counts.get(label, 0) + 1

    def f1(self, labels: Iterable[str]) -> float:
        names = list(labels)
        hit, invented, missed = (
            sum(counts.get(name, 0) for name in names) for counts in (self.hit, self.invented, self.missed)
        )
        total = 2 * hit + invented + missed
        return 2 * hit / total if total else 0.0

    def macro(self, labels: list[str]) -> float:
        return sum(self.f1([label]) for label in labels) / len(labels)


def load_rows(path: Path) -> tuple[list[str], list[LabelledReport]]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        labels = list(reader.fieldnames or [])[2:]
        rows = [
            LabelledReport(
                text=line["report_text"],
                truth=frozenset(label for label in labels if line[label] == "1"),
                held_out=int(hashlib.sha256(line["AccessionNo"].encode()).hexdigest(), 16) % HELD_OUT == 0,
            )
            for line in reader
        ]
    return labels, rows


def is_installed(module: str) -> bool:
    try:
        importlib.import_module(module or "re")
    except ImportError:
        return False
    return True


def run_hostile(peer: str, case: str) -> None:
    """Runs in a process of its own, so that it can be ended."""
    read = PEERS[peer][1]()
    text = HOSTILE[case]()
    start = time.process_time()
    try:
        read(text)
    except Exception as error:
        print(type(error).__name__)
        return
    spent = time.process_time() - start
    print(f"{spent:.1f} s")


def try_hostile(peer: str, case: str) -> str:
    command = [sys.executable, "-m", "tools.measure.language.peer_accuracy", "--hostile", peer, case]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"> {TIMEOUT} s"
    if done.returncode:
        return f"died ({done.returncode})"
    return done.stdout.strip().splitlines()[-1]


def import_time(module: str) -> str:
    code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
    best = min(
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout.split()[-1]
        )
        for _ in range(ROUNDS)
    )
    return f"{best:.2f} s"


def measure(labels: list[str], rows: list[LabelledReport], *, by_label: bool, with_hostile: bool) -> None:
    total = sum(len(split_sentences(row.text)) for row in rows)
    held = sum(row.held_out for row in rows)
    print(f"{len(rows)} reports ({held} held out), {total} sentences, {len(labels)} labels")
    for module in ("spacy", "negspacy.negation", "medspacy"):
        if is_installed(module):
            version = importlib.metadata.version(module.partition(".")[0])
            print(f"{module} {version}, imported in {import_time(module)}")
    head = ["peer", "dev macro", "dev micro", "held macro", "held micro", "sentences/s", "ready in"]
    print("| " + " | ".join(head + (list(HOSTILE) if with_hostile else [])) + " |")
    print("|" + " --- |" * (len(head) + (len(HOSTILE) if with_hostile else 0)))
    detail: dict[str, Counts] = {}
    for peer, (module, make) in PEERS.items():
        if not is_installed(module):
            continue
        start = time.perf_counter()
        read = make()
        ready = time.perf_counter() - start
        parts = {False: Counts(), True: Counts()}
        start = time.process_time()  # of the processor: others may be at work beside us
        said = [read(row.text) for row in rows]
        rate = total / (time.process_time() - start)
        for row, answer in zip(rows, said, strict=True):
            parts[row.held_out].add(answer, row.truth)
        cells = [
            f"{score:.3f}"
            for part in (parts[False], parts[True])
            for score in (part.macro(labels), part.f1(labels))
        ]
        cells += [f"{rate:,.0f}", f"{ready:.2f} s"]
        if with_hostile:
            cells += [try_hostile(peer, case) for case in HOSTILE]
        print("| " + " | ".join([peer, *cells]) + " |", flush=True)
        detail[peer] = parts[False]
    if by_label:
        print("\nF1 by label, on the part that is not held out: " + "; ".join(detail))
        for label in labels:
            scores = "  ".join(f"{counts.f1([label]):.3f}" for counts in detail.values())
            print(f"{label:32} {scores}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("csv", type=Path, nargs="?", help="ctrate_labelled_reports.csv")
    parser.add_argument("--by-label", action="store_true", help="F1 of every label as well")
    parser.add_argument("--no-hostile", action="store_true", help="without the hostile texts")
    parser.add_argument("--hostile", nargs=2, metavar=("PEER", "CASE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if arguments.hostile:
        run_hostile(*arguments.hostile)
        return
    if arguments.csv is None:
        parser.error("which file?")
    labels, rows = load_rows(arguments.csv)
    measure(labels, rows, by_label=arguments.by_label, with_hostile=not arguments.no_hostile)


if __name__ == "__main__":
    main()
