"""What a run tells a reader of the reference trace: each region once, each sentence once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from overread.core import TracedLook, TracedRegion, Truth
from overread.language.text import one_line, split_sentences
from overread.metrics.traces.looks import TraceLook, collect_looks
from overread.metrics.traces.words import judge_look
from overread.pixels.image_files import stored_bytes
from overread.prompts.interleaved import text_after_box

Source = Callable[[str], Path | bytes]
"""File of a release → where its bytes are."""


def traced_regions(truth: Truth, source: Source) -> tuple[TracedRegion, ...]:
    """The looks of the reference trace, region by region; its report is no part of them.

    Looks at one region are told together, where it is looked at first. A sentence that stands at
    several regions is told once: at the first that it speaks of, else at the first.
    """
    said: dict[str, dict[str, str]] = {}  # region → sentence without case → sentence
    places: dict[str, list[TracedLook]] = {}
    for look in collect_looks(truth.trace):
        region = look.label or look.place
        own = said.setdefault(region, {})
        words = one_line(text_after_box(look.said))
        for sentence in (span.extract(words) for span in split_sentences(words)):
            own.setdefault(sentence.casefold().strip(" ."), sentence)
        known = places.setdefault(region, [])
        if look.box is not None and all(look.box != other.box for other in known):
            cutout = partial(_read_bytes, source, look.crop) if look.crop else None
            known.append(TracedLook(look.box, cutout))
    told = []
    for region, own in said.items():
        kept = [sentence for key, sentence in own.items() if _find_home(key, sentence, said) == region]
        if kept or places[region]:
            told.append(TracedRegion(region, " ".join(kept), tuple(places[region])))
    return tuple(told)


def _find_home(key: str, sentence: str, said: Mapping[str, Mapping[str, str]]) -> str:
    """The region that a sentence is told at, of those that it stands at."""
    regions = [region for region, own in said.items() if key in own]
    if len(regions) > 1:
        for region in regions:
            if judge_look(TraceLook("", region, None, None, sentence)):
                return region
    return regions[0]


def _read_bytes(source: Source, file: str) -> bytes:
    return stored_bytes(source(file))
