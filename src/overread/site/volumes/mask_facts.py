"""Facts listed beside a volume: where findings lie, their size, how a run matched them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Entry, Finding, Geometry, Record
from overread.metrics.masks.components import Instances, coordinates, entities
from overread.metrics.masks.instances import MaskMatch
from overread.metrics.masks.measure import crop_masks
from overread.metrics.masks.surface.statistics import surface_statistics
from overread.ontology import finding_tree
from overread.pixels.geometry import voxel_to_world
from overread.site.volumes.overlays import SETTINGS, FindingMask, match_masks

Point = tuple[float, float, float]
"""Millimetres to the patient's right, front and head; negative to the left, back and feet."""


class LesionFacts(Record):
    """One lesion: where it lies and how large it is."""

    number: int
    """The annotator's label of an entity, or the lesion's place in scan order."""
    voxels: int
    ml: float
    at: Point
    """A voxel of it, the one nearest to its centre: where to look."""
    low: Point
    high: Point
    """The corners of the box around it."""
    met: bool | None = None
    """Whether the other side has a lesion that meets it; absent where nothing was compared."""
    dice: float | None = None
    """Dice with that lesion."""


class MarkedSentence(Record):
    """What was marked for one sentence of the case."""

    query: str
    text: str
    voxels: int
    ml: float
    lesions: tuple[LesionFacts, ...] = ()
    """Connected lesions that are large enough to count, the first fifty."""
    dropped: int = 0
    """Voxels in pieces that do not count."""
    problem: str = ""
    """Why its mask cannot be shown."""


class FindingOverlap(Record):
    """How well a run marked one finding, by the official rule."""

    dice: float
    """Of what counts in the prediction."""
    dice_whole: float
    """Of the prediction as it is."""
    hit: bool
    """Whether Dice reaches the hit threshold."""
    met: int
    """Entities that a predicted lesion meets."""
    missed: int
    surplus: int
    """Predicted lesions that meet no entity."""
    hit_voxels: int
    missed_voxels: int
    surplus_voxels: int


class FindingFacts(Record):
    """One finding of the truth and, where a run was named, how it was met."""

    query: str
    text: str
    category: str | None
    category_name: str | None
    voxels: int
    ml: float
    entities: tuple[LesionFacts, ...] = ()
    problem: str = ""
    """Why its mask cannot be shown."""
    predicted: MarkedSentence | None = None
    """What the run marked for it; the lesions say whether they meet an entity."""
    met: FindingOverlap | None = None


class SurfaceDistances(Record):
    """How far the two surfaces of one finding are apart, in millimetres."""

    query: str
    hd95: float
    """95 % of either surface is this near to the other."""
    assd: float
    """Mean distance between the surface voxels of both."""
    nsd_2mm: float
    """Share of both surfaces within 2 mm of the other."""
    centroid_error: float
    """Between the centres of mass."""
    volume_error: float
    """Difference of the volumes by that of the truth."""


def list_marked_sentences(
    texts: dict[str, str],
    made: dict[str, FindingMask],
    space: Geometry,
    *,
    judgement: MaskMatch | None = None,
) -> tuple[MarkedSentence, ...]:
    """What a run marked, sentence by sentence, in the order of the case."""
    queries = [*texts, *(query for query in made if query not in texts)]
    return tuple(
        _to_marked_sentence(query, texts.get(query, ""), made.get(query), space, judgement)
        for query in queries
    )


def list_finding_facts(
    entry: Entry, true: dict[str, FindingMask], made: dict[str, FindingMask] | None, space: Geometry
) -> tuple[FindingFacts, ...]:
    """What is true, finding by finding, and how it was met where a run was named."""
    found = entry.truth.findings if entry.truth else ()
    return tuple(
        _to_finding_facts(finding, finding.query or str(place), true, made, space)
        for place, finding in enumerate(found)
    )


def _to_finding_facts(
    finding: Finding,
    query: str,
    true: dict[str, FindingMask],
    made: dict[str, FindingMask] | None,
    space: Geometry,
) -> FindingFacts:
    mask = true.get(query)
    runs = mask.runs if mask is not None else None
    judgement = match_masks(mask, made.get(query)) if mask is not None and made else None
    drawn = entities(runs) if runs is not None else None
    scores = {one: dice for one, _, dice in judgement.matches} if judgement else None
    category = finding_tree().categories.get(finding.category or "")
    voxels = runs.voxels if runs is not None else finding.voxels or 0
    marks = None
    if made is not None:
        marks = _to_marked_sentence(query, finding.text, made.get(query), space, judgement)
    return FindingFacts(
        query=query,
        text=finding.text,
        category=finding.category,
        category_name=category.name if category is not None else None,
        voxels=voxels,
        ml=_ml(voxels, space),
        entities=_to_lesion_facts(drawn, space, scores) if drawn is not None else (),
        problem=mask.problem if mask is not None else "the truth has no mask for this finding",
        predicted=marks,
        met=_to_finding_overlap(judgement) if judgement is not None else None,
    )


def _to_marked_sentence(
    query: str, text: str, mask: FindingMask | None, space: Geometry, judgement: MaskMatch | None
) -> MarkedSentence:
    if mask is None or mask.runs is None or mask.lesions is None:
        problem = mask.problem if mask is not None else "the run marked nothing for this sentence"
        return MarkedSentence(query=query, text=text, voxels=0, ml=0.0, problem=problem)
    scores = {other: dice for _, other, dice in judgement.matches} if judgement else None
    voxels = mask.runs.voxels
    return MarkedSentence(
        query=query,
        text=text,
        voxels=voxels,
        ml=_ml(voxels, space),
        lesions=_to_lesion_facts(mask.lesions, space, scores),
        dropped=voxels - int(mask.lesions.sizes.sum()),
    )


def _to_finding_overlap(ours: MaskMatch) -> FindingOverlap:
    true = len(ours.matches)
    return FindingOverlap(
        dice=ours.dice,
        dice_whole=ours.raw_dice,
        hit=ours.dice >= SETTINGS.hit_threshold,
        met=true,
        missed=len(ours.truth) - true,
        surplus=len(ours.predicted) - true,
        hit_voxels=ours.raw_shared,
        missed_voxels=ours.truth.runs.voxels - ours.raw_shared,
        surplus_voxels=ours.predicted.runs.voxels - ours.raw_shared,
    )


def measure_distances(
    query: str, truth: FindingMask, predicted: FindingMask, space: Geometry
) -> SurfaceDistances | None:
    """Surface distances of one finding; None where a mask cannot be read or is empty."""
    if truth.runs is None or predicted.runs is None:
        return None
    if not len(truth.runs) or not len(predicted.runs):
        return None
    one, other = crop_masks(truth.runs, predicted.runs)
    found = surface_statistics(one, other, space.spacing)
    return SurfaceDistances(
        query=query,
        hd95=found["hd95"],
        assd=found["assd_pooled"],
        nsd_2mm=found["nsd_2mm"],
        centroid_error=found["centroid_error"],
        volume_error=found["volume_error"],
    )


def _to_lesion_facts(
    lesions: Instances, space: Geometry, scores: dict[int, float] | None
) -> tuple[LesionFacts, ...]:
    if not len(lesions):
        return ()
    inner = _inner_voxels(lesions, space)
    low, high = lesions.boxes
    return tuple(
        LesionFacts(
            number=int(lesions.numbers[place]),
            voxels=int(lesions.sizes[place]),
            ml=_ml(int(lesions.sizes[place]), space),
            at=_mm(space, inner[place]),
            low=_corner(space, low[place] - 0.5, high[place] + 0.5, lowest=True),
            high=_corner(space, low[place] - 0.5, high[place] + 0.5, lowest=False),
            met=place in scores if scores is not None else None,
            dice=scores.get(place) if scores is not None else None,
        )
        for place in range(len(lesions))
    )


def _inner_voxels(lesions: Instances, space: Geometry) -> NDArray[Any]:
    """Of each lesion the voxel nearest to its centre, which itself may lie outside of it."""
    runs, of_run = lesions.counted_runs()
    centre = lesions.centroids[of_run]
    h, w, d = (axis.astype(np.int64) for axis in coordinates(runs))
    near = np.clip(np.rint(centre[:, 0]).astype(np.int64), h, h + (runs.stop - runs.start) - 1)
    points = np.stack([near, w, d], axis=1)
    away = (((points - centre) * space.spacing) ** 2).sum(axis=1)
    order = np.lexsort((away, of_run))
    first = np.searchsorted(of_run[order], np.arange(len(lesions)))
    found: NDArray[Any] = points[order[first]]
    return found


def _mm(space: Geometry, index: NDArray[Any]) -> Point:
    return voxel_to_world(space, (float(index[0]), float(index[1]), float(index[2])))


def _corner(space: Geometry, low: NDArray[Any], high: NDArray[Any], *, lowest: bool) -> Point:
    ends = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    points = np.array([_mm(space, end) for end in ends])
    found = points.min(axis=0) if lowest else points.max(axis=0)
    return (float(found[0]), float(found[1]), float(found[2]))


def _ml(voxels: int, space: Geometry) -> float:
    return voxels * float(abs(np.linalg.det(np.asarray(space.affine)[:3, :3]))) / 1000
