"""Steps, findings and regions as the API sends them: no file names, problems included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from overread.core import (
    Box,
    Case,
    ChainLevel,
    Finding,
    Mask,
    Pictures,
    Record,
    Region,
    Slices,
    Step,
    Volume,
    VoxelBox,
)
from overread.core.submission import FindFile
from overread.errors import NotThere, OverreadError
from overread.pixels.image_files import image_size
from overread.pixels.masks import detect_layout
from overread.pixels.nifti import read_header
from overread.pixels.planes import slice_count
from overread.pixels.voxel_boxes import to_shown


# Apart from core's regions, findings and steps: masks name files.
class TraceRegion(Record):
    """A place that a step or a finding names."""

    kind: Literal["box", "mask", "slices", "voxels", "whole"]
    picture: str
    """Name of the picture within the case."""
    told: str
    """The place in a few words."""
    label: str | None
    """What it is called, where it has a name."""
    box: tuple[float, float, float, float] | None
    """Left, top, right, bottom in pixels of the picture, where it is a box; of voxels, on the slice as it
    is shown."""
    axis: str | None
    """Plane of the slices, where it is a range of them or a box through some."""
    first: int | None
    last: int | None
    channel: int | None
    """Which finding of the mask file, where it is a mask."""
    entity: int | None
    """Which entity of it; absent means all."""
    problem: str | None
    """What is wrong with the place: it lies outside, it is no box, its mask is not there."""
    drawable: bool
    """Whether it can be drawn at all."""


class TraceStep(Record):
    """One step of a reading or of the reference."""

    index: int
    """Its place in the trace, counted from 0: the one to ask for its looks by."""
    kind: Literal["say", "look", "ask", "conclude"]
    text: str
    """Its words; `<image>` stands where a cut-out is shown."""
    regions: list[TraceRegion]
    exchange: int | None
    """Which exchange it came from; absent where nobody was asked."""
    level: ChainLevel | None
    """How near its finding it is, where it is a link of an anatomical chain of thought."""
    query: str | None
    """The sentence of the case that the chain leads to."""


class TraceFinding(Record):
    """One finding of a reading or of the reference."""

    index: int
    text: str
    regions: list[TraceRegion]
    query: str | None
    """The sentence of the case that it answers."""
    category: str | None


# Less than core's pictures: these name files.
class TracePicture(Record):
    """A picture of the case, as far as a viewer must know it."""

    name: str
    kind: Literal["image", "volume"]
    width: int | None
    """Pixels across, of a flat picture that can be read."""
    height: int | None
    shape: tuple[int, int, int] | None
    """Voxels of a volume, as stored."""
    timepoint: int | None
    problem: str | None
    """Why it cannot be shown."""


class RegionChecker:
    """Checks regions against the headers of the pictures and masks, without decoding pixels."""

    def __init__(self, case: Case | None, pictures: Pictures | None, find: FindFile) -> None:
        """`find` gives the masks of whoever names the places; without a case nothing is there."""
        self._case = case
        self._pictures = pictures
        self._find = find
        self._known: dict[str, TracePicture] = {}

    def pictures(self) -> list[TracePicture]:
        """All pictures of the case."""
        return [self.picture(one.name) for one in self._case.pictures] if self._case else []

    def picture(self, name: str) -> TracePicture:
        """One picture, measured by its header."""
        if name not in self._known:
            self._known[name] = self._measure_picture(name)
        return self._known[name]

    def _measure_picture(self, name: str) -> TracePicture:
        known = self._case.pictures if self._case is not None else ()
        found = next((one for one in known if one.name == name), None)
        about: dict[str, object] = {
            "name": name[:200],
            "kind": found.kind if found else "image",
            "timepoint": found.timepoint if found else None,
            **dict.fromkeys(("width", "height", "shape", "problem")),
        }
        if self._case is None or self._pictures is None:
            about["problem"] = "the dataset was not found"
        elif found is None:
            about["problem"] = f"the case has no picture '{name[:80]}'"
        else:
            try:
                if isinstance(found, Volume):
                    about["shape"] = self._pictures.geometry(found).shape
                else:
                    size = image_size(self._pictures.data(found))
                    about["width"], about["height"] = size
            except NotThere:
                about["problem"] = "the file of the picture is missing"
            except (OverreadError, OSError):
                about["problem"] = "the picture's file cannot be read"
        return TracePicture.model_validate(about)

    def region(self, region: Region) -> TraceRegion:
        """One place, with what is wrong with it."""
        problem, drawable = self._problem(region)
        common = {
            "kind": region.kind,
            "picture": region.picture[:200],
            "told": describe_region(region),
            "problem": problem,
            "drawable": drawable,
            **dict.fromkeys(("label", "box", "axis", "first", "last", "channel", "entity")),
        }
        if isinstance(region, Box):
            edges = (region.x1, region.y1, region.x2, region.y2)
            return TraceRegion.model_validate({**common, "box": edges, "label": region.label})
        if isinstance(region, Mask):
            own = {"channel": region.channel, "entity": region.entity}
            return TraceRegion.model_validate({**common, **own})
        if isinstance(region, Slices):
            span = {"axis": region.axis, "first": region.first, "last": region.last}
            return TraceRegion.model_validate({**common, **span})
        if isinstance(region, VoxelBox):
            place: dict[str, object] = {"label": region.label}
            if drawable and self._case is not None and self._pictures is not None:
                space = self._pictures.geometry(self._case.picture(region.picture))
                shown = to_shown(region, space)
                edges = (shown.left, shown.top, shown.right, shown.bottom)
                place |= {"axis": "axial", "first": shown.first, "last": shown.last, "box": edges}
            return TraceRegion.model_validate({**common, **place})
        return TraceRegion.model_validate(common)

    def steps(self, steps: Sequence[Step]) -> list[TraceStep]:
        """Steps that say or show something; breaks between paragraphs are none."""
        return [
            TraceStep(
                index=index,
                kind=step.kind,
                text=step.text,
                regions=[self.region(region) for region in step.regions],
                exchange=step.exchange,
                level=step.link.level if step.link else None,
                query=step.link.query if step.link else None,
            )
            for index, step in enumerate(steps)
            if step.text.strip() or step.regions
        ]

    def findings(self, findings: Sequence[Finding]) -> list[TraceFinding]:
        """Findings with their places."""
        return [
            TraceFinding(
                index=index,
                text=finding.text,
                regions=[self.region(region) for region in finding.regions],
                query=finding.query,
                category=finding.category,
            )
            for index, finding in enumerate(findings)
        ]

    def _problem(self, region: Region) -> tuple[str | None, bool]:
        """What is wrong with a place, and whether it can be drawn all the same."""
        picture = self.picture(region.picture)
        if picture.problem is not None:
            return picture.problem, False
        if isinstance(region, Box):
            return self._box_problem(region, picture)
        if isinstance(region, Mask | Slices | VoxelBox) and picture.shape is None:
            return "a flat picture has no slices and no masks", False
        if isinstance(region, Slices):
            return self._slices_problem(region)
        if isinstance(region, VoxelBox) and picture.shape is not None:
            sides = zip(region.low, region.high, picture.shape, strict=True)
            if any(not 0 <= low < high <= size for low, high, size in sides):
                size = " × ".join(map(str, picture.shape))
                return f"the box does not lie within the {size} voxels of the CT", False
        if isinstance(region, Mask) and picture.shape is not None:
            return self._mask_problem(region, picture.shape)
        return None, True

    def _box_problem(self, box: Box, picture: TracePicture) -> tuple[str | None, bool]:
        if picture.width is None or picture.height is None:
            return "a box in a volume cannot be drawn", False
        if not box.is_proper:
            return "invalid box: its edges are in the wrong order", False
        size = f"{picture.width}×{picture.height} pixels"
        if box.x2 <= 0 or box.y2 <= 0 or box.x1 >= picture.width or box.y1 >= picture.height:
            return f"the box lies outside the picture ({size})", False
        # Half a pixel is rounding; more is a box of another picture.
        beyond = (-box.x1, -box.y1, box.x2 - picture.width, box.y2 - picture.height)
        if max(beyond) > 1:
            return f"the box reaches beyond the picture ({size})", True
        return None, True

    def _slices_problem(self, region: Slices) -> tuple[str | None, bool]:
        assert self._case is not None
        assert self._pictures is not None
        space = self._pictures.geometry(self._case.picture(region.picture))
        count = slice_count(space, region.axis)
        if not 0 <= region.first <= region.last < count:
            return f"there are only {count} {region.axis} slices", False
        return None, True

    def _mask_problem(self, mask: Mask, shape: tuple[int, int, int]) -> tuple[str | None, bool]:
        try:
            header = read_header(self._find(mask.file))
            detect_layout(header.shape, shape, mask.channels, where="")
        except NotThere:
            return "the mask file is missing", False
        except (OverreadError, OSError):
            return "the mask cannot be read, or does not fit the CT", False
        if not 0 <= mask.channel < mask.channels:
            return "the mask file has no such finding", False
        return None, True


def describe_region(region: Region) -> str:
    """A place in a few words.

    >>> describe_region(Box(picture="xray", x1=1, y1=2, x2=30, y2=40, label="left lung"))
    'left lung'
    >>> describe_region(Slices(picture="ct", first=5, last=152))
    'ct, axial 5–152'
    """
    if isinstance(region, Box):
        edges = f"{region.x1:.0f}, {region.y1:.0f} – {region.x2:.0f}, {region.y2:.0f}"
        return region.label or f"{region.picture[:80]}, box {edges}"
    if isinstance(region, Mask):
        entity = f", entity {region.entity}" if region.entity is not None else ""
        return f"{region.picture[:80]}, mask {region.channel + 1}{entity}"
    if isinstance(region, VoxelBox):
        low, high = (", ".join(map(str, corner)) for corner in (region.low, region.high))
        return region.label or f"{region.picture[:80]}, voxels {low} – {high}"
    if isinstance(region, Slices):
        return f"{region.picture[:80]}, {region.axis} {region.first}–{region.last}"
    return f"all of {region.picture[:80]}"
