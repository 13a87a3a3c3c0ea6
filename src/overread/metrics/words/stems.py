"""Stems of English words: Porter's rules with the amendments of nltk, which ROUGE relies on.

Martin Porter, "An algorithm for suffix stripping", Program 14(3), 1980. The amendments are those of
nltk's `PorterStemmer` in its default mode, to which every stem here is held.
"""

from __future__ import annotations

from collections import defaultdict

_IRREGULAR = {
    form: stem
    for stem, forms in {
        "sky": "sky skies",
        "die": "dying",
        "lie": "lying",
        "tie": "tying",
        "news": "news",
        "inning": "inning innings",
        "outing": "outing outings",
        "canning": "canning cannings",
        "howe": "howe",
        "proceed": "proceed",
        "exceed": "exceed",
        "succeed": "succeed",
    }.items()
    for form in forms.split()
}


def _rules(text: str) -> dict[str, str]:
    """'ful nes>ne' → {'ful': '', 'nes': 'ne'}."""
    pairs = (rule.partition(">") for rule in text.split())
    return {suffix: new for suffix, _, new in pairs}


# Of several endings that fit, Porter takes the longest and no other, even where its condition
# fails: so an ending is looked up, the longest first.
_DERIVED = _rules(
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e "
    "ousli>ous ization>ize ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous "
    "aliti>al iviti>ive biliti>ble fulli>ful"
)
_FURTHER = _rules("icate>ic ative alize>al iciti>ic ical>ic ful ness")
_LAST = _rules("al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize")


def stem(word: str) -> str:
    """The stem of a word in lower case.

    >>> [stem(word) for word in ("opacities", "effusions", "enlarged", "hilar", "dying")]
    ['opac', 'effus', 'enlarg', 'hilar', 'die']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _without_participle(_without_plural(word))
    if word.endswith("y") and len(word) > 2 and _shape(word)[-2] == "c":
        word = word[:-1] + "i"
    word = _replace_ending(_strip_derivation(word), _FURTHER, 5, more_than=0)
    return _strip_last_letter(_replace_ending(word, _LAST, 5, more_than=1))


_KIND = defaultdict(lambda: "c", {ord(vowel): "v" for vowel in "aeiou"})


def _shape(word: str) -> str:
    """'c' for each consonant and 'v' for each vowel; a y after a consonant is a vowel."""
    if "y" not in word:
        return word.translate(_KIND)
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _porter_measure(word: str) -> int:
    """How often a consonant follows a vowel: Porter's m, which stands for syllables."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether it ends like 'hop' (consonant, vowel, consonant but w, x, y), or is like 'op'."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")


def _without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_participle(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _porter_measure(word[:-3]) > 0 else word
    cut = 2 if word.endswith("ed") else 3 if word.endswith("ing") else 0
    root = word[: len(word) - cut]
    if not cut or "v" not in _shape(root):
        return word
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if root[-1] == root[-2:-1] and _shape(root)[-1] == "c":
        return root if root[-1] in "lsz" else root[:-1]
    return root + "e" if _porter_measure(root) == 1 and _is_short(root) else root


def _strip_derivation(word: str) -> str:
    if word.endswith("alli") and _porter_measure(word[:-4]) > 0:
        word = word[:-2]
    if word.endswith("logi"):  # the l counts as part of the root, for the sake of 'geology'
        return word[:-1] if _porter_measure(word[:-3]) > 0 else word
    return _replace_ending(word, _DERIVED, 7, more_than=0)


def _replace_ending(word: str, rules: dict[str, str], longest: int, *, more_than: int) -> str:
    """The word with its longest known ending exchanged, if enough stands before it."""
    for size in range(min(longest, len(word)), 1, -1):
        new = rules.get(word[-size:])
        if new is None:
            continue
        root = word[:-size]
        enough = _porter_measure(root) > more_than
        if word.endswith("ion") and rules is _LAST:
            enough = enough and root[-1] in "st"
        return root + new if enough else word
    return word


def _strip_last_letter(word: str) -> str:
    if word.endswith("e"):
        measure = _porter_measure(word[:-1])
        if measure > 1 or (measure == 1 and not _is_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _porter_measure(word[:-1]) > 1 else word
