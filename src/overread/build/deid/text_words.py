"""One word of a text, and what its looks and the lists say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from overread.build.deid.words import fold, is_also_word, is_common, is_family, is_given

WORD = re.compile(r"[^\W\d_]+(?:['’`-][^\W\d_]+)*")
"""A word with what is joined to it by a hyphen or an apostrophe."""


@dataclass(frozen=True)
class Word:
    """One word of a text, as names are told by it."""

    start: int
    end: int
    text: str

    @cached_property
    def low(self) -> str:
        """As lists are searched, without what is hung on: Yılmaz'ın is Yılmaz."""
        bare = re.sub(r"['’](?:s|[ıiuüyn]\w{0,3}|[dt][ae]n?|l[ae])$", "", self.text)
        return fold(bare)

    @property
    def capital(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[0].isupper()

    @property
    def shouted(self) -> bool:
        """Whether all of it is in capital letters."""
        return len(self.text) > 1 and self.text.isupper()

    @property
    def initial(self) -> bool:
        """Whether it is one capital letter."""
        return len(self.text) == 1 and self.capital

    @cached_property
    def listed(self) -> bool:
        """Whether it is a name of the lists."""
        return (
            is_given(self.text)
            or is_family(self.text)
            or (self.low != fold(self.text) and (is_given(self.low) or is_family(self.low)))
        )

    @cached_property
    def plain(self) -> bool:
        """Whether it is a word of a report, or one that names are not told by."""
        return is_common(self.text) or is_also_word(self.text)
