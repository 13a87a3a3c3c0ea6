"""Texts for the word metrics: like reports, like nothing on earth, and everything between."""

from __future__ import annotations

import random

_STATEMENTS = (
    "The heart is enlarged; the cardiomediastinal silhouette is otherwise unremarkable.",
    "No focal consolidation, pleural effusion or pneumothorax is identified.",
    "A 3.5 x 2-cm spiculated nodule is seen in the right upper lobe (series 4, image 12).",
    "Bibasilar opacities, likely representing atelectasis, are increasing.",
    "Degenerative changes of the thoracic spine.",
    "The tip of the endotracheal tube lies 4.2 cm above the carina.",
    "Emphysematous changes with bullae in both apices; 10-15 mm lymph nodes.",
    "Comparison: none. Technique: contrast-enhanced CT, 1,000 HU window.",
    "Findings are consistent with metastatic disease & were discussed.",
)
_ODD = (
    "naïve Ödem",
    "İstanbul Kelvin K",
    "ΣΙΓΜΑΣ",
    "肺炎 右",
    "١٢٣ mm",
    "½ lung",
    "&quot;ground-glass&quot; &amp;lt; 5",
    "<skipped>",
    "end-\nexpiratory",
    "a\u00a0b\u2003c\x85d\x1ce",
    "…—–×€%",
    "U.S. 1.5T ,, .. 3.",
    "T2*-w. [x] {y} a_b ~1/2",
    "don't 'quote' \"x\"",
    "\ud800",
    "zero\u200bwidth",
)


def a_text(dice: random.Random, words: int = 40) -> str:
    """One text, of up to about so many words."""
    kind = dice.random()
    if kind < 0.04:
        return dice.choice(("", " ", "\n", ".", "…", "肺炎"))
    if kind < 0.12:
        return " ".join(dice.choices(("the", "of", "lung"), k=dice.randint(1, words)))
    if kind < 0.2:
        signs = "abeilostyz 09.,-'&();:/\n\té×İ"
        return "".join(dice.choices(signs, k=dice.randint(1, 3 * words)))
    parts: list[str] = []
    wanted = words * dice.random()
    while sum(part.count(" ") + 1 for part in parts) < wanted:
        parts.append(dice.choice(_ODD if dice.random() < 0.2 else _STATEMENTS))
    return dice.choice((" ", "\n")).join(parts)


def retold(dice: random.Random, text: str) -> str:
    """The text as another would write it: words left out, said twice, moved, exchanged."""
    out: list[str] = []
    for word in text.split(" "):
        luck = dice.random()
        if luck < 0.1:
            continue
        out.append(word.upper() if luck < 0.15 else word)
        if luck > 0.95:
            out.append(word)
        elif luck > 0.88:
            out.insert(dice.randrange(len(out)), dice.choice("no left and seen effusions".split()))
    return " ".join(out)


def text_pairs_of(seed: int, count: int, words: int = 40) -> list[tuple[str, str]]:
    """(reference, candidate) pairs, most of them with much in common."""
    dice = random.Random(seed)
    pairs: list[tuple[str, str]] = []
    for _ in range(count):
        reference = a_text(dice, words)
        related = dice.random() < 0.7
        pairs.append((reference, retold(dice, reference) if related else a_text(dice, words)))
    return pairs
