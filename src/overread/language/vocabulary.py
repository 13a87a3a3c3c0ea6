"""The words that are understood: data files, and those that users add.

`use_vocabulary(path)`, or the variable OVERREAD_VOCABULARY, names a TOML file with
`[[observation]]` tables like ours: a known name gets more terms, a new one is a new observation.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from overread.core import Record
from overread.errors import UsageError
from overread.language.phrases import PhraseTree
from overread.ontology.terms import load_toml

VOCABULARY_VARIABLE = "OVERREAD_VOCABULARY"


class Observation(Record):
    """One thing that can be observed."""

    name: str
    """What it is called here."""
    category: str
    """Code in the finding ontology."""
    region: str = "L"
    """Code of the report region that it belongs to."""
    ctrate: tuple[str, ...] = ()
    """CT-RATE labels that its presence gives."""
    chexpert: tuple[str, ...] = ()
    """CheXpert observations that its presence gives."""
    kind_of: str | None = None
    """The observation that it is a kind of: two kinds of one ("device") are two things."""
    family: str | None = None
    """What it has in common with others that reports name in its stead."""
    vague: bool = False
    """Whether it only says that something is wrong, and yields to what is named beside it."""
    terms: tuple[str, ...] = ()
    """Phrases that say it on their own."""


class Head(Record):
    """Words whose meaning depends on the place they are tied to."""

    terms: tuple[str, ...]
    """The words."""
    by: dict[str, str]
    """Group of places → observation."""
    otherwise: str | None = None
    """Observation where no place is named."""
    normal: bool = False
    """Whether the words say that nothing is wrong: the observation is then absent."""
    near: bool = False
    """Whether the place must stand on its own side of the things beside it."""
    attached: bool = False
    """Whether the place must stand right before the words: "bony findings", "pulmonary disease"."""
    together: tuple[str, ...] = ()
    """Observations that the words mean all at once, whatever the place: "hydropneumothorax"."""
    of_nodes: bool = False
    """Whether the words say nothing of a place where they are said of lymph nodes in it."""


class Anatomy(Record):
    """One group of places."""

    group: str
    """What heads ask for."""
    region: str
    """Code of the report region."""
    terms: tuple[str, ...]
    """Its names."""


class Cues(Record):
    """Cues of one kind."""

    before: tuple[str, ...] = ()
    """Stand before what they speak of."""
    after: tuple[str, ...] = ()
    """Stand behind it."""
    terms: tuple[str, ...] = ()
    """Stand anywhere."""


class CarinaDistance(Record):
    """Millimetres above the carina at which a tube lies well."""

    too_low: float
    """Under so much it is too low."""
    lowest: float
    """From here on it is satisfactory."""
    highest: float
    """Above this it is too high."""

    def judge(self, mm: float) -> str | None:
        """The position at a distance; None between too low and satisfactory."""
        if mm > self.highest:
            return "too high"
        if mm >= self.lowest:
            return "satisfactory"
        return "too low" if mm < self.too_low else None


class DeviceTips(Record):
    """What the place of a tip says of one kind of device."""

    kind: str
    """Name of the observation."""
    tips: dict[str, str] = Field(default_factory=dict)
    """Place of the tip → position."""
    above_carina_mm: CarinaDistance | None = None
    """What its distance to the carina says."""


class _DeviceTips(Record):
    items: tuple[DeviceTips, ...] = Field(alias="device")
    """The kinds."""


class _Observations(Record):
    items: tuple[Observation, ...] = Field(alias="observation")
    """The observations."""


class _Heads(Record):
    items: tuple[Head, ...] = Field(alias="head")
    """The heads."""


class _Places(Record):
    items: tuple[Anatomy, ...] = Field(alias="place")
    """The groups."""


class _Cues(Record):
    absent: Cues
    """Nothing is there."""
    uncertain: Cues
    """It may be there."""
    historical: Cues
    """It was there."""
    recommended: Cues
    """It is to be looked for."""
    pseudo: Cues
    """Negations that speak of something else."""
    ends: Cues
    """Where a scope ends."""
    normal: Cues
    """Nothing is wrong with a place."""


class _Modifiers(Record):
    severity: dict[str, tuple[str, ...]]
    """Grade → words."""
    spread: dict[str, tuple[str, ...]]
    """Distribution → words."""
    traits: dict[str, tuple[str, ...]]
    """Trait → words."""
    comparison: dict[str, tuple[str, ...]]
    """Change → words."""
    count: dict[str, tuple[str, ...]]
    """Number → words."""
    many: dict[str, tuple[str, ...]]
    """Vague number → words."""
    size: dict[str, tuple[str, ...]]
    """Size in words → words."""
    landmark: dict[str, tuple[str, ...]]
    """Region of the radiograph, without its side → words."""
    position: dict[str, tuple[str, ...]]
    """How a device lies → words."""
    tip: dict[str, tuple[str, ...]]
    """Where the tip of a device lies → words."""


class Vocabulary:
    """Everything that is known, ready to be looked up."""

    def __init__(self, more: Path | None = None) -> None:
        """`more` is a file of the user's own."""
        ours = _load_words(_Observations, "observations.toml").items
        self.observations = {item.name: item for item in ours}
        if more is not None:
            for item in _load_words(_Observations, more).items:
                self._add(item)
        self.heads = _load_words(_Heads, "heads.toml").items
        self.places = _load_words(_Places, "anatomy.toml").items
        qualities = _load_words(_Places, "qualities.toml").items
        self.qualities = frozenset(item.group for item in qualities)
        self.cues = _load_words(_Cues, "cues.toml")
        self.modifiers = _load_words(_Modifiers, "modifiers.toml")
        self.device_tips = {item.kind: item for item in _load_words(_DeviceTips, "device_tips.toml").items}
        self.regions = {place.group: place.region for place in self.places}
        # One tree for both: the longest match decides whether "calcific plaque" is a head or not.
        self.thing_phrases: PhraseTree[Observation | Head] = PhraseTree()
        for item in self.observations.values():
            for term in item.terms:
                self.thing_phrases.add(term, item)
        for head in self.heads:
            for term in head.terms:
                self.thing_phrases.add(term, head)
        self.anatomy_phrases = PhraseTree(
            (term, place.group) for place in self.places for term in place.terms
        )
        self.quality_phrases = PhraseTree((term, item.group) for item in qualities for term in item.terms)
        self.cue_phrases = PhraseTree(self._cue_items())
        self.end_phrases = PhraseTree((term, "ends") for term in self.cues.ends.terms)
        self.modifier_phrases = PhraseTree(self._modifier_items())

    def _add(self, item: Observation) -> None:
        known = self.observations.get(item.name)
        if known is None:
            self.observations[item.name] = item
            return
        both = tuple(dict.fromkeys((*known.terms, *item.terms)))
        self.observations[item.name] = known.model_copy(update={"terms": both})

    def _cue_items(self) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
        """Cue → kinds and sides; one phrase may be a cue of several kinds."""
        found: dict[str, list[tuple[str, str]]] = {}
        for kind in ("absent", "uncertain", "historical", "recommended"):
            cues: Cues = getattr(self.cues, kind)
            for side in ("before", "after"):
                for term in getattr(cues, side):
                    found.setdefault(term, []).append((kind, side))
        for term in self.cues.pseudo.terms:
            found[term] = [("pseudo", "around")]
        return [(term, tuple(kinds)) for term, kinds in found.items()]

    def _modifier_items(self) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
        """Modifier → fields and values; one word may fill two fields."""
        found: dict[str, list[tuple[str, str]]] = {}
        for field in type(self.modifiers).model_fields:
            for value, terms in getattr(self.modifiers, field).items():
                for term in terms:
                    found.setdefault(term, []).append((field, value))
        return [(term, tuple(values)) for term, values in found.items()]


def _load_words(kind: type[Any], file: str | Path) -> Any:
    return load_toml("overread.language", "vocabulary", kind, file)


_chosen: Path | None = None


def use_vocabulary(path: Path | None) -> Vocabulary:
    """Read a file of one's own besides ours from now on; None goes back to ours alone."""
    global _chosen  # noqa: PLW0603
    made = Vocabulary(path)
    _chosen = path
    vocabulary.cache_clear()
    return made


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary in use."""
    named = os.environ.get(VOCABULARY_VARIABLE)
    path = _chosen or (Path(named) if named else None)
    if path is not None and not path.exists():
        raise UsageError("there is no such vocabulary", where=str(path))
    return Vocabulary(path)
