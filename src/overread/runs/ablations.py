"""How a case is handed to a reader: as it is, or changed by the run's ablation settings.

A run may show fewer pictures, shuffle options or pictures, reveal the experts' words, or show
edited pictures. All of that happens here and nowhere else, so that one ablation changes one thing.
With default settings the same objects pass through.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic_core import to_jsonable_python

from overread.core import Case, Exchange, Hints, Picture, Pictures, Reader, Reading, Release, Truth
from overread.core.case import captions_of
from overread.core.seeded import hash_number
from overread.errors import UsageError
from overread.runs.trace_hints import traced_regions
from overread.session import SessionSettings

if TYPE_CHECKING:
    from overread.pixels.edits.altered_pictures import Edit

T = TypeVar("T")

NO_HINTS = Hints()
ABLATION_SETTINGS = ("image_ratio", "shuffle", "reveal")
"""Settings of a session that are carried out here, whoever reads."""
Exchanges = Sequence[Exchange]


def undo_nothing(reading: Reading) -> Reading:
    """The undo of a case that was not reordered: returns the reading unchanged."""
    return reading


@dataclass(frozen=True)
class PresentedCase:
    """One case as a reader gets it."""

    case: Case
    """What it may see."""
    pictures: Pictures
    """Opens its pictures, with the edits made."""
    hints: Hints = NO_HINTS
    """What of the truth it is told on purpose."""
    edits: tuple[Edit, ...] = ()
    """What was changed in its pictures, for workers that open them anew."""
    undo: Callable[[Reading], Reading] = undo_nothing
    """Puts the letters of the reading back to those of the release."""


class Presenter:
    """Hands out the cases of one run."""

    def __init__(
        self,
        settings: SessionSettings,
        *,
        seed: int,
        release: Release,
        edits: Mapping[str, tuple[Edit, ...]] | None = None,
    ) -> None:
        """Refuse with one sentence what this release cannot show; `edits` are by case."""
        self._settings = settings
        self._seed = seed
        self._pictures = release.pictures
        self._edits = edits or {}
        _refuse_impossible(settings, release)
        self._source = release.source
        self._hints = _load_hints(release, settings.reveal) if {*settings.reveal} - {"trace"} else {}
        self._traces = _load_traces(release) if "trace" in settings.reveal else {}

    def present(self, case: Case, sample: int) -> PresentedCase:
        """One case, as its reader gets it in this sample."""
        settings = self._settings
        kept = case.pictures
        if settings.image_ratio < 100:
            kept = subset_pictures(kept, settings.image_ratio, seed=self._seed, case_id=case.id)
        shown = self._reorder(kept, "images", case, sample)
        options = case.options
        texts = self._reorder(options, "options", case, sample)
        undo = undo_nothing
        changes: dict[str, object] = {}
        if shown is not case.pictures:
            changes["pictures"] = shown
        if texts is not options:
            # The letters stay where they are, and the texts change places.
            changes["options"] = tuple(
                text.model_copy(update={"letter": place.letter})
                for place, text in zip(options, texts, strict=True)
            )
            undo = _RestoreLetters(tuple(o.letter for o in options), tuple(t.letter for t in texts))
        edits = self._edits.get(case.id, ())
        hints = _hints_for_pictures(self._hints.get(case.id, NO_HINTS), shown)
        if case.id in self._traces:
            hints = replace(hints, trace=traced_regions(self._traces[case.id], self._source))
        return PresentedCase(
            case=case.model_copy(update=changes) if changes else case,
            pictures=_edit_pictures(self._pictures, edits),
            hints=_hints_without_cutouts(hints) if edits and hints.trace else hints,
            edits=edits,
            undo=undo,
        )

    def _reorder(self, things: tuple[T, ...], what: str, case: Case, sample: int) -> tuple[T, ...]:
        if what not in self._settings.shuffle or not sample or len(things) < 2:
            return things
        order = sample_order(len(things), sample, seed=self._seed, case_id=case.id, what=what)
        return tuple(things[place] for place in order)


# ---- fewer pictures, other orders ----------------------------------------------------------


def subset_pictures(
    pictures: tuple[Picture, ...], percent: int, *, seed: int, case_id: str
) -> tuple[Picture, ...]:
    """This percentage of a case's pictures, in their own order; a smaller share is always a subset
    of a larger one.

    One random order is drawn for each case and its first pictures are shown: the count is rounded
    (halves up), and is at least one unless `percent` is 0.
    """
    count = (len(pictures) * percent + 50) // 100
    if percent:
        count = max(count, min(1, len(pictures)))
    if count == len(pictures):
        return pictures
    order = _hash_order(len(pictures), seed, case_id, "image ratio")
    return tuple(pictures[place] for place in sorted(order[:count]))


def sample_order(count: int, sample: int, *, seed: int, case_id: str, what: str) -> tuple[int, ...]:
    """The order for a sample: sample 0 is unchanged, and no order repeats before all were used."""
    plain = tuple(range(count))
    used = {plain}
    order = plain
    for number in range(1, sample + 1):
        if count < 8 and len(used) == math.factorial(count):
            used = set()
        order = next(
            drawn
            for attempt in itertools.count()
            if (drawn := _hash_order(count, seed, case_id, what, number, attempt)) not in used
        )
        used.add(order)
    return order


def _hash_order(count: int, *words: object) -> tuple[int, ...]:
    """A pseudo-random order that depends on these words only, not on any random generator."""
    return tuple(sorted(range(count), key=lambda place: hash_number(*words, place, size=32)))


@dataclass(frozen=True)
class _RestoreLetters:
    """Puts letters back: the one shown in a place becomes the release's letter of its text."""

    shown: tuple[str, ...]
    theirs: tuple[str, ...]

    def __call__(self, reading: Reading) -> Reading:
        back = dict(zip(self.shown, self.theirs, strict=True))
        changes: dict[str, object] = {"order": self.theirs}
        if reading.choice in back:
            changes["choice"] = back[reading.choice]
        if reading.probabilities is not None:
            changes["probabilities"] = {
                back.get(letter, letter): chance for letter, chance in reading.probabilities.items()
            }
        return reading.model_copy(update=changes)


# ---- hints and edits -----------------------------------------------------------------------


def _load_hints(release: Release, reveal: Sequence[str]) -> dict[str, Hints]:
    """Case → what is revealed of it; refused where the release has nothing of the kind."""
    found: dict[str, Hints] = {}
    for scanned in release.scan():
        if scanned.entry is None or scanned.entry.truth is None:
            continue
        case, truth = scanned.entry.case, scanned.entry.truth
        found[case.id] = Hints(
            captions=captions_of(truth) if "captions" in reveal else {},
            summary=truth.report if "summary" in reveal and _asks_more_than_report(case) else None,
        )
    if "captions" in reveal and not any(hints.captions for hints in found.values()):
        raise _nothing_to_reveal(release, "captions of its pictures")
    if "summary" in reveal and not any(hints.summary for hints in found.values()):
        raise _nothing_to_reveal(release, "summary of its cases")
    return found


def _load_traces(release: Release) -> dict[str, Truth]:
    """Case → the truth with its trace, of cases that ask for a report; refused where none has one.

    What is told of a trace is worked out when its case is read.
    """
    found: dict[str, Truth] = {}
    for scanned in release.scan():
        if scanned.entry is None or scanned.entry.truth is None:
            continue
        case, trace = scanned.entry.case, scanned.entry.truth.trace
        if trace and _asks_for_report(case) and any(step.kind == "look" for step in trace.steps):
            found[case.id] = Truth(trace=trace)
    if not found:
        raise _nothing_to_reveal(release, "traces that lead to a report")
    return found


def _nothing_to_reveal(release: Release, what: str) -> UsageError:
    return UsageError(
        f"{release.benchmark} {release.split} gives no expert {what} to reveal",
        remedy="leave reveal out, or read a split that has them",
    )


def _hints_for_pictures(hints: Hints, shown: Sequence[Picture]) -> Hints:
    """Hints without those on pictures that are not shown."""
    if hints is NO_HINTS or not hints.captions:
        return hints
    names = [picture.name for picture in shown]
    return replace(hints, captions={n: hints.captions[n] for n in names if n in hints.captions})


def _hints_without_cutouts(hints: Hints) -> Hints:
    """Hints whose looks are cut out of the pictures as they are shown: an edit is in these too."""
    regions = (
        replace(one, looks=tuple(replace(look, cutout=None) for look in one.looks)) for one in hints.trace
    )
    return replace(hints, trace=tuple(regions))


def _edit_pictures(pictures: Pictures, edits: tuple[Edit, ...]) -> Pictures:
    if not edits:
        return pictures
    from overread.pixels.edits.altered_pictures import AlteredPictures

    return AlteredPictures(pictures, edits)


def refuse_unused_hints(hints: Hints, exchanges: Exchanges) -> None:
    """Refuse a workflow that did not pass the revealed hints on to the reader."""
    said = _join_words(
        part for one in exchanges for m in one.messages for part in m.parts if isinstance(part, str)
    )
    for what, texts in (
        ("captions", hints.captions.values()),
        ("summary", (hints.summary or "",)),
        ("trace", [one.words for one in hints.trace]),
    ):
        wanted = [_join_words([text]) for text in texts if text.strip()]
        if wanted and not any(text in said for text in wanted):
            raise UsageError(
                f"this workflow does not pass an expert {what} on to the reader",
                remedy=f"leave reveal={what} out, or use another --workflow",
            )


def _join_words(texts: Iterable[str]) -> str:
    return " ".join(word for text in texts for word in text.split())


# ---- what the spec says, and refusing ------------------------------------------------------


def spec_settings(settings: SessionSettings, *, whole: bool) -> dict[str, Any]:
    """The settings for the spec; a reader of `whole` cases is concerned by few of them."""
    told = to_jsonable_python(settings.as_settings())
    if whole:
        usual = to_jsonable_python(SessionSettings().as_settings())
        return {name: told[name] for name in ABLATION_SETTINGS if told[name] != usual[name]}
    return cast(dict[str, Any], told)


def refuse_ignored_settings(reader: Reader, settings: SessionSettings) -> None:
    """Refuse ablation settings that have no effect on this reader."""
    if settings.reveal and "whole" in reader.skills:
        raise UsageError(
            f"the reader '{reader.name}' takes no prompts, so nothing can be revealed to it",
            remedy="leave reveal out",
        )
    asked = spec_settings(settings, whole=True)
    if asked and reader.ignores_pictures:
        raise UsageError(
            f"the reader '{reader.name}' answers whatever it is shown, so that "
            f"{' and '.join(asked)} would change nothing",
            remedy="use a reader that reads the pictures",
        )


def _refuse_impossible(settings: SessionSettings, release: Release) -> None:
    """Refuse at once settings that apply to no case of the release."""
    name = f"{release.benchmark} {release.split}"
    if "options" in settings.shuffle and not any(case.options for case in release):
        raise UsageError(f"the cases of {name} have no options to shuffle")
    several = "images" in settings.shuffle or 0 < settings.image_ratio < 100
    if several and not any(len(case.pictures) > 1 for case in release):
        what = "in another order" if "images" in settings.shuffle else "in part"
        raise UsageError(f"each case of {name} has one picture, which cannot be shown {what}")
    if not settings.image_ratio and not any(map(_asks_more_than_report, release)):
        raise UsageError(
            f"the cases of {name} cannot be read without pictures", remedy="give an image_ratio above 0"
        )
    if "summary" in settings.reveal and not any(map(_asks_more_than_report, release)):
        raise UsageError(
            f"for {name} the expert summary is the expected answer, and cannot be revealed",
            remedy="leave reveal=summary out",
        )


def _asks_for_report(case: Case) -> bool:
    """Whether a report is all that is asked for."""
    return not (case.options or case.queries or case.asks == "answer")


def _asks_more_than_report(case: Case) -> bool:
    """Whether more is asked than a report: options to choose from, or a question."""
    return bool(case.options) or case.asks == "answer"
