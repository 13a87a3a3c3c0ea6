"""One word of a text, and what its looks and the lists say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from overread.build.deid.text.word_lists import (
    fold,
    is_also_word,
    is_common,
    is_family_name,
    is_given_name,
)

WORD = re.compile(r"[^\W\d_]+(?:['’`-][^\W\d_]+)*")
"""A word with what is joined to it by a hyphen or an apostrophe."""


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
                self.folded != fold(self.text)
                and (is_given_name(self.folded) or is_family_name(self.folded))
            )
        )

    @cached_property
    def is_ordinary(self) -> bool:
        """Whether it is a word of a report, or one that names are not told by."""
        return is_common(self.text) or is_also_word(self.text)
