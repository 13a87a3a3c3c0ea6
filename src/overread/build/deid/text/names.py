"""Names of people in a text: by labels, titles and what is said around them, then by the lists.

Three kinds of evidence, the strongest first. A label ("Patient name:") makes a name of whatever
follows. A title or a verb ("Dr.", "dictated by") makes one of the capitalised words behind it. With
neither, a word must be a name of the lists, or two unknown capitalised words must stand together
where words of a report would not. A name once found is a name wherever it stands in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from overread.build.deid.text.patterns import pattern
from overread.build.deid.text.spans import PhiSpan
from overread.build.deid.text.word_lists import (
    fold,
    is_also_word,
    is_common,
    is_eponym,
    is_family_name,
    is_function_word,
    is_given_name,
    is_particle,
    looks_like_a_word,
)

WORD = re.compile(r"[^\W\d_]+(?:['’`-][^\W\d_]+)*")
"""A word with what is joined to it by a hyphen or an apostrophe."""
_GAP = re.compile(r"[ \u00a0]{1,2}|\^{1,2}")
_AFTER_INITIAL = re.compile(r"\.?[ \u00a0]?")
_COMMA = re.compile(r",[ \u00a0]")
_SUFFIXES = frozenset("jr sr ii iii iv".split())
_MAX_WORDS = 4


@dataclass(frozen=True)
class NameWord:
    """One word of a text, as names are told by it."""

    start: int
    end: int
    text: str

    @cached_property
    def folded(self) -> str:
        """As lists are searched, without what is hung on: Yılmaz'ın is Yılmaz."""
        bare = re.sub(r"['’](?:s|[ıiuüyn]\w{0,3}|[dt][ae]n?|l[ae])$", "", self.text)
        return fold(bare)

    @property
    def is_capitalised(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[0].isupper()

    @property
    def is_all_caps(self) -> bool:
        """Whether all of it is in capital letters."""
        return len(self.text) > 1 and self.text.isupper()

    @property
    def is_initial(self) -> bool:
        """Whether it is one capital letter."""
        return len(self.text) == 1 and self.is_capitalised

    @cached_property
    def is_listed_name(self) -> bool:
        """Whether it is a name of the lists."""
        return (
            is_given_name(self.text)
            or is_family_name(self.text)
            or (
                self.folded != fold(self.text) and (is_given_name(self.folded) or is_family_name(self.folded))
            )
        )

    @cached_property
    def is_ordinary(self) -> bool:
        """Whether it is a word of a report, or one that names are not told by."""
        return is_common(self.text) or is_also_word(self.text)


class NameSearch:
    """The search for names in one text."""

    def __init__(self, text: str, known: Iterable[str] = ()) -> None:
        """Take a text apart; `known` are names that are looked for whatever stands around them."""
        self.text = text
        self.words = [NameWord(m.start(), m.end(), m[0]) for m in WORD.finditer(text)]
        self.starts = [word.start for word in self.words]
        self.known = {fold(w) for name in known for w in WORD.findall(name) if len(w) > 2}
        self.found: list[PhiSpan] = []
        self.taken: set[int] = set()
        self.carried: set[str] = set()
        capitals = sum(character.isupper() for character in text)
        letters = sum(character.isalpha() for character in text)
        self.shouting = capitals > 0.6 * max(1, letters)
        inside = [word for n, word in enumerate(self.words) if not self._opens_sentence(n)]
        raised = sum(word.is_capitalised and not word.is_all_caps and not word.is_initial for word in inside)
        # German nouns and headlines: where every second word has a capital, it says nothing.
        self.telling = not self.shouting and raised <= 0.3 * max(8, len(inside))
        self.lowered = {word.folded for word in self.words if word.text.islower()}

    def search(self) -> list[PhiSpan]:
        """All names, in order of the evidence."""
        self._find_known()
        self._find_by_labels()
        self._find_by_cues()
        self._find_by_lists()
        self._find_repeats()
        return self.found

    # What stands before a name.

    def _find_by_labels(self) -> None:
        labels = (pattern("name_label"), pattern("name_heading"))
        for match in (match for form in labels for match in form.finditer(self.text)):
            first = self._word_at(match.end())
            if first is not None:
                self._add(first, self._grow_forward(first, "label"), "label")
        for match in pattern("person_label").finditer(self.text):
            first = self._word_at(match.end())
            if first is not None and not self._is_word(self.words[first]):
                self._add(first, self._grow_forward(first, "label"), "label")

    def _find_by_cues(self) -> None:
        for rule in ("title", "by_whom", "told_whom", "role"):
            for match in pattern(rule).finditer(self.text):
                first = self._word_at(match.end())
                if first is None or first in self.taken:
                    continue
                word = self.words[first]
                if rule != "title" and self._is_word(word):
                    continue
                if rule != "title" and self._is_acronym(word):
                    continue
                behind = pattern("eponym_noun").match(self.text[word.end : word.end + 40])
                if rule == "role" and is_eponym(word.text) and behind:
                    continue
                last = self._grow_forward(first, "title")
                self._add(first, last, rule)
                self._find_joined(last, rule)
        for match in pattern("after_name").finditer(self.text):
            last = bisect_left(self.starts, match.start()) - 1
            if last < 0 or self.words[last].end != match.start() or last in self.taken:
                continue
            first = self._grow_back(last)
            if first is not None:
                self._add(first, last + 1, "said-after")

    def _find_joined(self, last: int, rule: str) -> None:
        """Names that are joined on: "Drs. Kaya and Larsen", "Müller / Weber"."""
        while last < len(self.words) and rule in ("title", "by_whom", "told_whom"):
            gap = self.text[self.words[last - 1].end : self.words[last].start]
            joined = re.fullmatch(r"\s?(?:,|/|&|;)\s?", gap) is not None
            first = last
            if not joined and self.words[last].folded in ("and", "ve", "und", "y", "et", "e"):
                first, joined = last + 1, re.fullmatch(r"\s", gap) is not None
            if not joined or first >= len(self.words):
                return
            word = self.words[first]
            sure = word.is_listed_name and not word.is_ordinary
            unknown = (
                word.is_capitalised and not self._is_word(word) and not word.is_all_caps and self.telling
            )
            wordy = is_eponym(word.text) or (rule != "title" and looks_like_a_word(word.text))
            if not sure and (not unknown or wordy):
                return
            last = self._grow_forward(first, "title")
            if last <= first:
                return
            self._add(first, last, rule)

    # What a name looks like.

    def _find_by_lists(self) -> None:
        n = 0
        while n < len(self.words):
            if n in self.taken or not self._may_begin(n):
                n += 1
                continue
            last = self._grow_forward(n, "bare")
            while last > n and is_particle(self.words[last - 1].text) and self.words[last - 1].text.islower():
                last -= 1
            first = n
            # A sentence may begin with a word that is no name: "Thanks Maria Keller".
            while (
                first < last - 1
                and self._opens_sentence(first)
                and not self.words[first].is_listed_name
                and (looks_like_a_word(self.words[first].text) or self.words[first].folded in self.lowered)
            ):
                first += 1
            if last > first and self._is_convincing(first, last):
                self._add(first, last, "list")
            n = max(last, n + 1)

    def _may_begin(self, n: int) -> bool:
        word = self.words[n]
        if word.is_initial:
            return n + 1 < len(self.words) and self._is_joined(n)
        return word.is_capitalised and (word.is_listed_name or not self._is_word(word))

    def _is_convincing(self, first: int, last: int) -> bool:
        run = [word for word in self.words[first:last] if not (word.text.islower() or word.is_initial)]
        initials = any(word.is_initial for word in self.words[first:last])
        if not run or all(word.folded in _SUFFIXES for word in run):
            return False
        sure = [w for w in run if w.is_listed_name and not w.is_ordinary and not is_eponym(w.text)]
        given = [w for w in run if is_given_name(w.text)]
        behind = pattern("eponym_noun").match(self.text[self.words[last - 1].end :][:40])
        if any(is_eponym(word.text) for word in run) and (behind or not sure):
            # "Ivor Lewis esophagectomy"; but "John Wilson" is a person.
            return (
                not behind
                and len(run) > 1
                and bool(given)
                and all(w.is_listed_name for w in run)
                and not all(is_eponym(w.text) for w in run)
            )
        if behind and len(run) == 1 and not is_given_name(run[0].text):
            return False
        if len(run) == 1 and not initials:
            word = run[0]
            short = word.is_all_caps and len(word.text) <= 4 and not self.shouting
            return bool(sure) and not short and word.folded not in self.lowered
        if sure:
            return not self.shouting or len(sure) > 1 or len(run) <= 3
        if len(run) > 1 and given and all(word.is_listed_name for word in run) and not self.shouting:
            return not all(word.folded in self.lowered for word in run)
        if self.shouting:
            return False
        return self.telling and self._looks_like_name(
            run, initials=initials, opens=self._opens_sentence(first)
        )

    def _looks_like_name(self, run: list[NameWord], *, initials: bool, opens: bool) -> bool:
        """Whether words that nobody knows stand as a name does."""
        no_words = [
            word
            for word in run
            if not (
                self._is_word(word)
                or is_eponym(word.text)
                or word.folded in self.lowered
                or word.is_all_caps
                or len(word.text) < 3
            )
        ]
        strange = [word for word in no_words if not looks_like_a_word(word.text)]
        if initials and len(strange) == len(run) == 1:
            return not opens or "." in self.text[run[0].start - 2 : run[0].start]
        # Of two inside a sentence one may end as words do: Alaric, Fleming.
        fitting = strange if opens else no_words
        every = [word for word in run if word.is_listed_name or word in fitting]
        return len(run) > 1 and len(every) == len(run) and bool(strange)

    # Known names, and names found before.

    def _find_known(self) -> None:
        for n, word in enumerate(self.words):
            if word.folded in self.known and n not in self.taken:
                if word.is_ordinary and not (word.is_capitalised and not self._opens_sentence(n)):
                    continue
                self._add(n, n + 1, "known")

    def _find_repeats(self) -> None:
        for n, word in enumerate(self.words):
            if n in self.taken or word.folded not in self.carried or not word.is_capitalised:
                continue
            if is_common(word.text) or (is_also_word(word.text) and self._opens_sentence(n)):
                continue
            behind = pattern("eponym_noun").match(self.text[word.end : word.end + 40])
            if is_eponym(word.text) and behind:
                continue
            self._add(n, n + 1, "again")

    # Words and what is between them.

    def _word_at(self, place: int) -> int | None:
        n = bisect_left(self.starts, place)
        return n if n < len(self.words) and self.words[n].start == place else None

    def _opens_sentence(self, n: int) -> bool:
        """Whether a word begins a sentence, a line or a field."""
        before = self.text[max(0, self.words[n].start - 8) : self.words[n].start]
        stripped = before.rstrip(" \t\"'(*•-")
        return not stripped or stripped[-1] in ".!?:;\n\r|" or "\n" in before[len(stripped) :]

    def _is_joined(self, n: int) -> bool:
        """Whether a word and the next one may belong to one name."""
        one, two = self.words[n], self.words[n + 1]
        gap = self.text[one.end : two.start]
        if _GAP.fullmatch(gap):
            return True
        short = one.is_initial or one.folded in ("st", *_SUFFIXES)
        return bool(short and _AFTER_INITIAL.fullmatch(gap))

    def _is_word(self, word: NameWord) -> bool:
        # X-ray, T-spine, J-wire: a letter and a word are no double name.
        lettered = re.match(r"[^\W\d_]-", word.text) is not None
        if word.is_initial and self._is_dotted(word):
            return False
        return lettered or (is_common(word.text) and not word.is_listed_name) or is_function_word(word.folded)

    def _is_dotted(self, word: NameWord) -> bool:
        return self.text[word.end : word.end + 1] == "."

    def _is_acronym(self, word: NameWord) -> bool:
        short = len(word.text) <= 4 and word.text.isupper()
        return short and not word.is_initial and not word.is_listed_name and not self.shouting

    def _fits(self, n: int, trust: str, *, opening: bool) -> bool:
        word = self.words[n]
        if is_function_word(word.folded) and not (word.is_initial and (not opening or self._is_dotted(word))):
            return False
        if trust == "label":
            return word.is_listed_name or not is_common(word.text)
        if not word.is_capitalised:
            return opening and trust == "title" and word.is_listed_name and not word.is_ordinary
        if word.is_initial:
            return trust != "title" or self._is_joined(n) if n + 1 < len(self.words) else not opening
        if trust == "title":
            return opening or word.is_listed_name or not (is_common(word.text) or self._is_acronym(word))
        if n in self.taken or (is_common(word.text) and not word.is_listed_name):
            return False
        return word.is_listed_name or not self._is_word(word)

    def _grow_forward(self, first: int, trust: str) -> int:
        """Where the name that begins here ends (exclusive)."""
        n, taken = first, 0
        while n < len(self.words) and taken < _MAX_WORDS:
            if n > first and not self._is_joined(n - 1) and not self._is_inverted(first, n, trust):
                break
            word = self.words[n]
            inner = word.text.islower() and is_particle(word.text)
            if (
                inner
                and n + 1 < len(self.words)
                and self._is_joined(n)
                and (self.words[n + 1].is_capitalised or is_particle(self.words[n + 1].text))
            ):
                n += 1
                continue
            if not self._fits(n, trust, opening=n == first):
                break
            n, taken = n + 1, taken + 1
        return n

    def _is_inverted(self, first: int, n: int, trust: str) -> bool:
        """Whether a comma stands between a family name and a given one: "Kaya, Mehmet"."""
        gap = self.text[self.words[n - 1].end : self.words[n].start]
        one, two = self.words[n - 1], self.words[n]
        if not _COMMA.fullmatch(gap) or n - first > 2 or not two.is_capitalised:
            return False
        if trust == "label":
            return two.is_listed_name or not is_common(two.text)
        sure = [word for word in (one, two) if word.is_listed_name and not word.is_ordinary]
        return one.is_listed_name and is_given_name(two.text) and bool(sure) and not is_eponym(one.text)

    def _grow_back(self, last: int) -> int | None:
        """Where the name that ends here begins; None where it is no name."""
        first, n = None, last
        while n >= 0 and last - n < _MAX_WORDS:
            word = self.words[n]
            if n < last and not self._is_joined(n):
                break
            inner = is_particle(word.text) and word.text.islower() and n < last
            plain = not word.is_capitalised or self._is_word(word) or self._is_acronym(word)
            if not inner and (plain or n in self.taken):
                break
            if not inner and not word.is_listed_name and is_eponym(word.text):
                break
            first = first if inner else n
            n -= 1
        if first == last and not self.words[last].is_listed_name:
            return None if looks_like_a_word(self.words[last].text) else first
        return first

    def _add(self, first: int, last: int, rule: str) -> None:
        last = min(last, len(self.words))
        letters = all(word.is_initial for word in self.words[first:last])
        if last <= first or (letters and rule not in ("label", "title")):
            return
        end = self.words[last - 1].end
        self.taken |= set(range(first, last))
        for word in self.words[first:last]:
            if len(word.text) > 2 and not word.text.islower() and not is_particle(word.text):
                self.carried.add(word.folded)
        self.found.append(PhiSpan(self.words[first].start, end, "name", rule))
