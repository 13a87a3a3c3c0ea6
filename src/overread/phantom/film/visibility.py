"""What can be seen on a frontal film: the rule that says which finding stands out, and where.

The rule. The film is taken twice without noise: as it is, and without the finding. Both are blurred
over 2 mm, since finer detail is lost among vessels, and subtracted. `strength` is the mean change,
in grey levels of 256, on the 50 mm² that change most; `area_mm2` is the area that changes by 6
levels or more. A finding is *seen* where both reach what `VISIBILITY_LIMITS` asks for things of its
kind, *doubtful* where they reach a lower pair, else *hidden*. The more a thing looks like what
surrounds it, the more is asked: least of the long sharp line of a pneumothorax, more of what is
compact, most of what is fine or spread and lies among vessels. The numbers were chosen by looking
at films.

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
from overread.phantom.film.build_signs import (
    AORTA_LIMITS_MM,
    SPUR_LIMITS_MM,
    grade_visibility,
    heart_visibility,
    measure_aorta,
    measure_heart_ratio,
)
from overread.phantom.film.difference import FilmDifference, FilmHalves, box_of_pixels, compare_films
from overread.phantom.film.regions import project_region_boxes
from overread.phantom.film.renderer import FilmRenderer, Radiograph
from overread.phantom.film.sign import FRONTAL, FilmBox, FilmContents, Sign, View, Visibility
from overread.phantom.findings.extrapulmonary import ExtrapulmonaryFinding
from overread.phantom.findings.measure import longest_axis
from overread.phantom.findings.scan import BoolArray, Entity
from overread.phantom.statement import EXTRAPULMONARY, FindingStatement
from overread.phantom.visit import PatientFinding, Visit


@dataclass(frozen=True)
class VisibilityLimits:
    """Grey levels and square millimetres from which a finding is seen, or doubtful."""

    seen: tuple[float, float]
    doubtful: tuple[float, float]

    def classify(self, strength: float, area: float) -> Visibility:
        """Whether a thing of this strength and area stands out."""
        if strength >= self.seen[0] and area >= self.seen[1]:
            return "seen"
        if strength >= self.doubtful[0] and area >= self.doubtful[1]:
            return "doubtful"
        return "hidden"


_LINE_LIMITS = VisibilityLimits((10, 100), (7, 50))
_COMPACT_LIMITS = VisibilityLimits((13, 80), (8, 40))
_STRAND_LIMITS = VisibilityLimits((20, 100), (12, 50))
_SPREAD_LIMITS = VisibilityLimits((26, 400), (16, 150))
VISIBILITY_LIMITS: Mapping[str, VisibilityLimits] = {
    "pneumothorax": _LINE_LIMITS,
    "consolidation": _COMPACT_LIMITS,
    "atelectasis": _COMPACT_LIMITS,
    "solid": _COMPACT_LIMITS,
    "part-solid": _COMPACT_LIMITS,
    "calcified": _COMPACT_LIMITS,
    "spiculated": _COMPACT_LIMITS,
    "mass": _COMPACT_LIMITS,
    "cavity": _COMPACT_LIMITS,
    "air cyst": _COMPACT_LIMITS,
    "fluid cyst": _COMPACT_LIMITS,
    "effusion": _COMPACT_LIMITS,
    "thickening": _COMPACT_LIMITS,
    "bullous": _COMPACT_LIMITS,
    "band": _STRAND_LIMITS,
    "scar": _STRAND_LIMITS,
    "mucus plugging": _STRAND_LIMITS,
}
"""What is asked of a kind; of every other finding of the lung, what is asked of spread ones."""
_SUPINE_LIMITS: Mapping[str, VisibilityLimits] = {"pneumothorax": _SPREAD_LIMITS, "effusion": _SPREAD_LIMITS}
"""Lying, air gathers in front and fluid behind: a veil without an edge."""

_EXTRAPULMONARY_REGIONS: Mapping[str, tuple[str, ...]] = {
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


def find_limits(statement: FindingStatement, view: View) -> VisibilityLimits:
    """The visibility limits for a finding in a view."""
    if statement.kind in EXTRAPULMONARY:
        return _COMPACT_LIMITS
    if view == "AP supine" and statement.kind in _SUPINE_LIMITS:
        return _SUPINE_LIMITS[statement.kind]
    return VISIBILITY_LIMITS.get(statement.kind, _SPREAD_LIMITS)


def find_signs(room: FilmRenderer, visit: Visit, view: View) -> FilmContents:
    """All signs of a patient on a frontal film, hidden ones included."""
    if view not in FRONTAL:
        raise UsageError(
            f"signs can only be found on a frontal film, not on a {view} one",
            where="overread.phantom.film.visibility.find_signs",
            remedy=f"take one of: {', '.join(FRONTAL)}",
        )
    return _SignFinder(room, visit, view).find_all()


class _SignFinder:
    """Finds the signs of one frontal film by comparing it with the film without each finding."""

    def __init__(self, room: FilmRenderer, visit: Visit, view: View) -> None:
        self.room, self.visit, self.view = room, visit, view
        self.film: Radiograph = room.render(view, noise=False)
        self.regions = project_region_boxes(room, view)
        self.halves = FilmHalves(room, view)
        self.ratio = measure_heart_ratio(room, view)

    def find_all(self) -> FilmContents:
        """All signs, those of the lung first."""
        signs = [self._finding_sign(n, one) for n, one in enumerate(self.visit.findings)]
        signs += [self._extrapulmonary_sign(one) for one in self.visit.extrapulmonary]
        large = FindingStatement(category=EXTRAPULMONARY["cardiomegaly"], kind="cardiomegaly")
        named = any(one.statement.kind == large.kind for one in self.visit.extrapulmonary)
        if not named and heart_visibility(self.ratio, self.view, named=False) is not None:
            signs.append(self._build_sign(large, "seen", self.ratio, self._region_box("cardiac silhouette")))
        rows, columns = self.film.pixels.shape
        return FilmContents(
            view=self.view,
            columns=columns,
            rows=rows,
            regions=self.regions,
            signs=tuple(signs),
            heart_ratio=self.ratio,
        )

    def _difference_without(self, key: str) -> FilmDifference:
        other = self.room.render(self.view, without=(key,), noise=False)
        return compare_films(self.film.pixels, other.pixels, self.film.spacing)

    def _finding_sign(self, number: int, finding: PatientFinding) -> Sign:
        """One finding of lung or pleura."""
        key, statement = f"finding-{number}", finding.statement
        changed = self._difference_without(key)
        seen = find_limits(statement, self.view).classify(changed.strength, changed.area_mm2)
        outline = self.room.project_entities(finding.entities, self.view)
        shown = outline if seen == "hidden" else changed.visible_mask(outline)
        if not shown.any():
            # A finding may show by what it does to its surroundings alone.
            shown = changed.visible_mask()
        sides = ("right", "left") if statement.side == "both" else (statement.side or "right",)
        weights = np.where(shown, changed.levels + np.float32(0.01), 0)
        held: dict[str, float] = {}
        boxes: list[FilmBox] = []
        for side in sides:
            # What has one side may reach over the midline in front of the spine or behind it.
            own = self.halves.mask_of_side(shown, side) if len(sides) == 2 else shown
            box = box_of_pixels(own)
            if box is None:
                continue
            boxes.append(box)
            held |= self.halves.zone_weights(weights * own, side)
            held |= self._angle_weight(statement, own, side, float((weights * own).sum()))
        return Sign(
            key=key,
            statement=statement,
            seen=seen,
            strength=round(changed.strength, 1),
            area_mm2=round(changed.area_mm2, 1),
            zones=self._rank_regions(held),
            boxes=() if seen == "hidden" else tuple(boxes),
            size_mm=self._film_size(finding) if seen != "hidden" else None,
        )

    def _angle_weight(
        self, statement: FindingStatement, shown: BoolArray, side: str, weight: float
    ) -> dict[str, float]:
        """The costophrenic angle of a side, where fluid or a rind fills a part of it."""
        name = f"{side} costophrenic angle"
        box = self.regions.get(name)
        if statement.category != "2e" or box is None:
            return {}
        left, top, right, bottom = box
        part = shown[top:bottom, left:right]
        return {name: 0.5 * weight} if part.mean() >= 0.2 else {}

    def _extrapulmonary_sign(self, one: ExtrapulmonaryFinding) -> Sign:
        """One finding beyond the lung, by what the film loses without it or by its measure."""
        statement, name = one.statement, one.statement.kind
        if name == "cardiomegaly":
            seen = heart_visibility(self.ratio, self.view, named=True) or "hidden"
            return self._build_sign(statement, seen, self.ratio, self._region_box("cardiac silhouette"))
        if name == "aortic ectasia":
            wide, box = measure_aorta(self.room, self.view)
            return self._build_sign(statement, grade_visibility(wide, AORTA_LIMITS_MM), wide, box)
        if name == "osteophytes":
            long = self.visit.spurs
            return self._build_sign(
                statement, grade_visibility(long, SPUR_LIMITS_MM), long, self._region_box("spine")
            )
        if name == "steatosis":
            return self._build_sign(statement, "hidden", 0.0, None)
        changed = self._difference_without(f"beyond-{name}")
        seen = find_limits(statement, self.view).classify(changed.strength, changed.area_mm2)
        shown = changed.visible_mask()
        box = box_of_pixels(shown)
        held = self._region_weights(name, shown * changed.levels)
        if statement.side in ("right", "left"):
            held |= self.halves.zone_weights(shown * changed.levels, statement.side)
        return Sign(
            key=f"beyond-{name}",
            statement=statement,
            seen=seen,
            strength=round(changed.strength, 1),
            area_mm2=round(changed.area_mm2, 1),
            zones=self._rank_regions(held),
            boxes=() if seen == "hidden" or box is None else (box,),
        )

    def _build_sign(
        self, statement: FindingStatement, seen: Visibility, measure: float, box: FilmBox | None
    ) -> Sign:
        """A sign of the body's own build; its strength is the measure that the rule looks at."""
        zones = [name for name in _EXTRAPULMONARY_REGIONS[statement.kind] if name in self.regions]
        return Sign(
            key=f"beyond-{statement.kind}",
            statement=statement,
            seen=seen,
            strength=round(measure, 3),
            zones=tuple(zones),
            boxes=() if seen == "hidden" or box is None else (box,),
        )

    def _region_weights(self, name: str, weights: Floats) -> dict[str, float]:
        """Regions that hold a part of a finding beyond the lung."""
        total = float(weights.sum())
        held = {}
        for region in _EXTRAPULMONARY_REGIONS.get(name, ()):
            box = self.regions.get(region)
            if box is not None and total > 0:
                inside = float(weights[box[1] : box[3], box[0] : box[2]].sum())
                if inside >= 0.25 * total:
                    held[region] = inside
        return held

    def _region_box(self, name: str) -> FilmBox | None:
        return self.regions.get(name)

    def _rank_regions(self, held: Mapping[str, float]) -> tuple[str, ...]:
        """Regions in use, the fullest first."""
        order = sorted(held, key=lambda name: -held[name])
        return tuple(name for name in order if name in self.regions)

    def _film_size(self, finding: PatientFinding) -> int | None:
        """Longest axis on the film of the largest entity, of one whose size is given.

        A film shows the axes across the beam; how much it enlarges them is taken out again.
        """
        if finding.statement.size_mm is None:
            return None
        step = self.visit.scan.canvas.grid.step
        return round(max(longest_axis(_flatten(entity), step) for entity in finding.entities))


def _flatten(entity: Entity) -> Entity:
    """An entity as the beam sees it from the front: without depth."""
    z, y, x = entity.cut
    return Entity((z, slice(y.start, y.start + 1), x), np.any(entity.mask, axis=1, keepdims=True))


__all__ = ["VISIBILITY_LIMITS", "VisibilityLimits", "find_limits", "find_signs"]
