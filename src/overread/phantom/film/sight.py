"""What can be seen on a frontal film: the rule that says which finding stands out, and where.

The rule. The film is taken twice without noise: as it is, and without the finding. Both are blurred
over 2 mm, since finer detail is lost among vessels, and subtracted. `strength` is the mean change,
in grey levels of 256, on the 50 mm² that change most; `area_mm2` is the area that changes by 6
levels or more. A finding is *seen* where both reach what `DEMANDS` asks for things of its kind,
*doubtful* where they reach a lower pair, else *hidden*. The more a thing looks like what surrounds
it, the more is asked: least of the long sharp line of a pneumothorax, more of what is compact, most
of what is fine or spread and lies among vessels. The numbers were chosen by looking at films.

What is the body's own build has no film without it and is measured: the heart by its share of the
chest's width, the aorta by the width of its shadow, spurs by their length. A fatty liver never
shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from overread.errors import UsageError
from overread.phantom.body.shapes import Floats
from overread.phantom.film.build import (
    AORTA_MM,
    SPUR_MM,
    aorta,
    graded,
    heart_ratio,
    heart_seen,
)
from overread.phantom.film.change import Change, Halves, box_of_pixels, change
from overread.phantom.film.regions import region_boxes
from overread.phantom.film.room import Film, FilmRoom
from overread.phantom.film.sign import FRONTAL, Corners, Seen, Sight, Sign, View
from overread.phantom.findings.beyond import Beyond
from overread.phantom.findings.measure import longest_axis
from overread.phantom.findings.scan import Entity, Mask
from overread.phantom.statement import BEYOND, Statement
from overread.phantom.visit import PatientFinding, Visit


@dataclass(frozen=True)
class Demand:
    """Grey levels and square millimetres from which a thing is seen, and is doubtful."""

    seen: tuple[float, float]
    doubtful: tuple[float, float]

    def answer(self, strength: float, area: float) -> Seen:
        """Whether a thing of this strength and area stands out."""
        if strength >= self.seen[0] and area >= self.seen[1]:
            return "seen"
        if strength >= self.doubtful[0] and area >= self.doubtful[1]:
            return "doubtful"
        return "hidden"


_LINE = Demand((10, 100), (7, 50))
_COMPACT = Demand((13, 80), (8, 40))
_STRAND = Demand((20, 100), (12, 50))
_SPREAD = Demand((26, 400), (16, 150))
DEMANDS: Mapping[str, Demand] = {
    "pneumothorax": _LINE,
    "consolidation": _COMPACT,
    "atelectasis": _COMPACT,
    "solid": _COMPACT,
    "part-solid": _COMPACT,
    "calcified": _COMPACT,
    "spiculated": _COMPACT,
    "mass": _COMPACT,
    "cavity": _COMPACT,
    "air cyst": _COMPACT,
    "fluid cyst": _COMPACT,
    "effusion": _COMPACT,
    "thickening": _COMPACT,
    "bullous": _COMPACT,
    "band": _STRAND,
    "scar": _STRAND,
    "mucus plugging": _STRAND,
}
"""What is asked of a kind; of every other finding of the lung, what is asked of spread ones."""
_SUPINE: Mapping[str, Demand] = {"pneumothorax": _SPREAD, "effusion": _SPREAD}
"""Lying, air gathers in front and fluid behind: a veil without an edge."""

_BESIDE: Mapping[str, tuple[str, ...]] = {
    "cardiomegaly": ("cardiac silhouette",),
    "pericardial effusion": ("cardiac silhouette",),
    "coronary calcification": ("cardiac silhouette",),
    "aortic calcification": ("aortic arch", "mediastinum"),
    "aortic ectasia": ("aortic arch", "mediastinum"),
    "lymph nodes": ("right hilar structures", "left hilar structures", "mediastinum"),
    "hiatal hernia": ("mediastinum", "cardiac silhouette"),
    "osteophytes": ("spine",),
    "steatosis": ("right upper abdomen",),
}
"""Regions in which each finding beyond the lung can lie."""


def demand(statement: Statement, view: View) -> Demand:
    """What the rule asks of a finding on a film."""
    if statement.kind in BEYOND:
        return _COMPACT
    if view == "AP supine" and statement.kind in _SUPINE:
        return _SUPINE[statement.kind]
    return DEMANDS.get(statement.kind, _SPREAD)


def see(room: FilmRoom, visit: Visit, view: View) -> Sight:
    """Everything that a frontal film shows of a patient, and what it does not show of him."""
    if view not in FRONTAL:
        raise UsageError(
            f"a {view} film has no regions, and nothing is read off it",
            where="overread.phantom.film.sight.see",
            remedy=f"take one of: {', '.join(FRONTAL)}",
        )
    return _Viewing(room, visit, view).sight()


class _Viewing:
    """One frontal film, compared with itself less one finding after the other."""

    def __init__(self, room: FilmRoom, visit: Visit, view: View) -> None:
        self.room, self.visit, self.view = room, visit, view
        self.film: Film = room.film(view, noise=False)
        self.regions = region_boxes(room, view)
        self.halves = Halves(room, view)
        self.ratio = heart_ratio(room, view)

    def sight(self) -> Sight:
        """All signs, those of the lung first."""
        signs = [self._finding(n, one) for n, one in enumerate(self.visit.findings)]
        signs += [self._beyond(one) for one in self.visit.beyond]
        large = Statement(category=BEYOND["cardiomegaly"], kind="cardiomegaly")
        named = any(one.statement.kind == large.kind for one in self.visit.beyond)
        if not named and heart_seen(self.ratio, self.view, named=False) is not None:
            signs.append(self._built(large, "seen", self.ratio, self._region("cardiac silhouette")))
        rows, columns = self.film.pixels.shape
        return Sight(
            view=self.view,
            columns=columns,
            rows=rows,
            regions=self.regions,
            signs=tuple(signs),
            heart_ratio=self.ratio,
        )

    def _change(self, key: str) -> Change:
        other = self.room.film(self.view, without=(key,), noise=False)
        return change(self.film.pixels, other.pixels, self.film.spacing)

    def _finding(self, number: int, finding: PatientFinding) -> Sign:
        """One finding of lung or pleura."""
        key, statement = f"finding-{number}", finding.statement
        changed = self._change(key)
        seen = demand(statement, self.view).answer(changed.strength, changed.area_mm2)
        outline = self.room.outline_of(finding.entities, self.view)
        shown = outline if seen == "hidden" else changed.shown(outline)
        if not shown.any():
            # A finding may show by what it does to its surroundings alone.
            shown = changed.shown()
        sides = ("right", "left") if statement.side == "both" else (statement.side or "right",)
        weights = np.where(shown, changed.levels + np.float32(0.01), 0)
        held: dict[str, float] = {}
        boxes: list[Corners] = []
        for side in sides:
            # What has one side may reach over the midline in front of the spine or behind it.
            own = self.halves.side(shown, side) if len(sides) == 2 else shown
            box = box_of_pixels(own)
            if box is None:
                continue
            boxes.append(box)
            held |= self.halves.zones(weights * own, side)
            held |= self._angle(statement, own, side, float((weights * own).sum()))
        return Sign(
            key=key,
            statement=statement,
            seen=seen,
            strength=round(changed.strength, 1),
            area_mm2=round(changed.area_mm2, 1),
            zones=self._ranked(held),
            boxes=() if seen == "hidden" else tuple(boxes),
            size_mm=self._size(finding) if seen != "hidden" else None,
        )

    def _angle(
        self, statement: Statement, shown: Mask, side: str, weight: float
    ) -> dict[str, float]:
        """The costophrenic angle of a side, where fluid or a rind fills a part of it."""
        name = f"{side} costophrenic angle"
        box = self.regions.get(name)
        if statement.category != "2e" or box is None:
            return {}
        left, top, right, bottom = box
        part = shown[top:bottom, left:right]
        return {name: 0.5 * weight} if part.mean() >= 0.2 else {}

    def _beyond(self, one: Beyond) -> Sign:
        """One finding beyond the lung, by what the film loses without it or by its measure."""
        statement, name = one.statement, one.statement.kind
        if name == "cardiomegaly":
            seen = heart_seen(self.ratio, self.view, named=True) or "hidden"
            return self._built(statement, seen, self.ratio, self._region("cardiac silhouette"))
        if name == "aortic ectasia":
            wide, box = aorta(self.room, self.view)
            return self._built(statement, graded(wide, AORTA_MM), wide, box)
        if name == "osteophytes":
            long = self.visit.spurs
            return self._built(statement, graded(long, SPUR_MM), long, self._region("spine"))
        if name == "steatosis":
            return self._built(statement, "hidden", 0.0, None)
        changed = self._change(f"beyond-{name}")
        seen = demand(statement, self.view).answer(changed.strength, changed.area_mm2)
        shown = changed.shown()
        box = box_of_pixels(shown)
        held = self._holding(name, shown * changed.levels)
        if statement.side in ("right", "left"):
            held |= self.halves.zones(shown * changed.levels, statement.side)
        return Sign(
            key=f"beyond-{name}",
            statement=statement,
            seen=seen,
            strength=round(changed.strength, 1),
            area_mm2=round(changed.area_mm2, 1),
            zones=self._ranked(held),
            boxes=() if seen == "hidden" or box is None else (box,),
        )

    def _built(self, statement: Statement, seen: Seen, measure: float, box: Corners | None) -> Sign:
        """A sign of the body's own build; its strength is the measure that the rule looks at."""
        zones = [name for name in _BESIDE[statement.kind] if name in self.regions]
        return Sign(
            key=f"beyond-{statement.kind}",
            statement=statement,
            seen=seen,
            strength=round(measure, 3),
            zones=tuple(zones),
            boxes=() if seen == "hidden" or box is None else (box,),
        )

    def _holding(self, name: str, weights: Floats) -> dict[str, float]:
        """Regions that hold a part of a finding beyond the lung."""
        total = float(weights.sum())
        held = {}
        for region in _BESIDE.get(name, ()):
            box = self.regions.get(region)
            if box is not None and total > 0:
                inside = float(weights[box[1] : box[3], box[0] : box[2]].sum())
                if inside >= 0.25 * total:
                    held[region] = inside
        return held

    def _region(self, name: str) -> Corners | None:
        return self.regions.get(name)

    def _ranked(self, held: Mapping[str, float]) -> tuple[str, ...]:
        """Regions in use, the fullest first."""
        order = sorted(held, key=lambda name: -held[name])
        return tuple(name for name in order if name in self.regions)

    def _size(self, finding: PatientFinding) -> int | None:
        """Longest axis on the film of the largest entity, of one whose size is given.

        A film shows the axes across the beam; how much it enlarges them is taken out again.
        """
        if finding.statement.size_mm is None:
            return None
        step = self.visit.scan.canvas.grid.step
        return round(max(longest_axis(_flat(entity), step) for entity in finding.entities))


def _flat(entity: Entity) -> Entity:
    """An entity as the beam sees it from the front: without depth."""
    z, y, x = entity.cut
    return Entity((z, slice(y.start, y.start + 1), x), np.any(entity.mask, axis=1, keepdims=True))


__all__ = ["DEMANDS", "Demand", "demand", "see"]
