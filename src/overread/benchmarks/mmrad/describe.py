"""What a copy of MMRad-IVL holds: looks and regions a trace, words a step, what is positive, boxes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from overread.benchmarks.description.collecting import Part
from overread.benchmarks.description.reading import Published, RowReader, describe_releases, total_of
from overread.benchmarks.mmrad.release import MMRadRelease
from overread.core import Box, Entry, Image, Progress, Release, Trace, Truth
from overread.core.description import ALL, Description
from overread.language.findings import is_there
from overread.language.labels import CHEXPERT, chexpert_labels
from overread.language.regions import xray_regions_of
from overread.language.statements import Statement, find_statements
from overread.ontology import xray_regions
from overread.prompts.interleaved import drop_marks

_POSITIVE, _NEGATIVE, _UNREAD = "positive", "negative", "no finding read"
_BY_RULES = "read from the sentences by overread's language rules, not by a model"
_NO_TRACES = "the traces are withheld"

PARTS = (
    Part(
        "numbers",
        "looks",
        "Looks a trace",
        "traces",
        "cut-outs or boxes that the trace looks at",
        absent=_NO_TRACES,
    ),
    Part(
        "numbers",
        "steps",
        "Steps a trace",
        "traces",
        "words, looks and conclusions of the trace, each a step",
        absent=_NO_TRACES,
    ),
    Part(
        "numbers",
        "regions",
        "Major regions a trace",
        "traces",
        "different regions that its looks are announced for",
        absent="no look is announced with the name of a region",
    ),
    Part(
        "counts",
        "look_region",
        "Looks by major region",
        "looks",
        "the region that is announced, by its name in the list of regions where it is in it",
        absent="no look is announced with the name of a region",
        order=lambda: [group.name for group in xray_regions().groups],
    ),
    Part(
        "numbers",
        "structures",
        "Anatomical regions a trace",
        "traces",
        f"different regions of the house's list that its sentences speak of; {_BY_RULES}",
    ),
    Part(
        "counts",
        "structure",
        "Traces by anatomical region",
        "traces",
        f"regions of the list that the sentences speak of; {_BY_RULES}",
        absent="no sentence of a trace names a region of the list",
        several=True,
        order=lambda: xray_regions().names,
    ),
    Part(
        "numbers",
        "rationale_words",
        "Words of a rationale",
        "rationales",
        "what is said of one region after the look, without the box",
    ),
    Part(
        "numbers",
        "trace_words",
        "Words of a trace",
        "traces",
        "all its steps, without boxes and marks, without the report",
        absent=_NO_TRACES,
    ),
    Part(
        "numbers",
        "report_words",
        "Words of a report",
        "reports",
        "the report at the trace's end",
        absent="no trace ends in a report",
    ),
    Part(
        "counts",
        "rationale_sign",
        "Positive rationales",
        "rationales",
        f"positive: something abnormal is said to be there, surely or perhaps; {_BY_RULES}",
        order=lambda: (_POSITIVE, _NEGATIVE, _UNREAD),
    ),
    Part(
        "counts",
        "trace_sign",
        "Positive traces",
        "traces",
        f"positive: at least one rationale is; {_BY_RULES}",
        order=lambda: (_POSITIVE, _NEGATIVE, _UNREAD),
    ),
    Part(
        "counts",
        "chexpert",
        "Traces by CheXpert observation",
        "traces",
        f"CheXpert's 14 observations of the rationales; {_BY_RULES}",
        several=True,
        order=lambda: CHEXPERT,
    ),
    Part("numbers", "boxes", "Boxes a trace", "traces", "different boxes among its steps", absent=_NO_TRACES),
    Part(
        "numbers",
        "box_width",
        "Width of a box",
        "boxes",
        "pixels, in the frame of the row",
        absent="no trace has a box",
    ),
    Part("numbers", "box_height", "Height of a box", "boxes", "pixels, in the frame of the row"),
    Part(
        "numbers",
        "box_area",
        "Area of a box",
        "boxes",
        "square pixels, in the frame of the row; by region",
        order=lambda: [group.name for group in xray_regions().groups],
    ),
    Part(
        "numbers",
        "box_share",
        "Share of the film that a box covers",
        "boxes",
        "area of the box over the film's, as its header gives it; by region",
        absent="the headers of the films were not read; --headers reads them",
        order=lambda: [group.name for group in xray_regions().groups],
    ),
    Part(
        "counts",
        "question_type",
        "Questions by type",
        "questions",
        "question_type of the row (question rows only)",
    ),
    Part("numbers", "film_width", "Width of a film", "films", "pixels, from the header"),
    Part("numbers", "film_height", "Height of a film", "films", "pixels, from the header"),
)

_PAPER = "MMRad-IVL-22K, abstract"
_PARENT = "GEMeX-ThinkVG, as published"


def describe(
    releases: Sequence[Release],
    *,
    headers: bool = False,
    column: str | None = None,
    progress: Progress | None = None,
) -> Description:
    """What the paper's statistical overview shows, by split."""
    questions = any(getattr(release, "is_thinkvg", False) for release in releases)
    rows = "questions" if questions else "traces"
    published = (_PARENT, 206_071) if questions else (_PAPER, 21_994)

    def collect(entry: Entry, row: RowReader) -> None:
        _collect(entry, row, rows)

    first = releases[0]
    # A copy may be one file: then its one split is the whole.
    alone = isinstance(first, MMRadRelease) and not any(first.other_splits())
    whole = first.split if alone else ALL
    return describe_releases(
        releases,
        collect,
        PARTS,
        totals=(rows, f"{rows} whose truth is withheld"),
        headers=headers,
        column=column,
        progress=progress,
        published=(Published(rows, whole, published[1], published[0], total_of(rows)),),
    )


def _collect(entry: Entry, row: RowReader, rows: str) -> None:
    case, found, truth = entry.case, row.found, entry.truth
    found.total(rows)
    found.total(f"{rows} whose truth is withheld", truth is None)
    for picture in case.pictures:
        found.distinct("films", picture.file)
    if rows == "questions":
        kind = entry.extra.get("question_type")
        found.word("question_type", kind if isinstance(kind, str) else None)
    film = case.pictures[0]
    size = row.size(film) if isinstance(film, Image) else None
    if size is not None:
        found.number("film_width", size[0])
        found.number("film_height", size[1])
    if truth is not None and truth.trace is not None:
        _collect_looks(truth.trace, row, size)
        _collect_words(truth, truth.trace, row)


def _collect_looks(trace: Trace, row: RowReader, size: tuple[int, int] | None) -> None:
    found = row.found
    looks = [step for step in trace.steps if step.kind == "look"]
    found.number("looks", len(looks))
    found.number("steps", len(trace.steps))
    names: list[str] = []
    for look in looks:
        label = next((place.label for place in look.regions if isinstance(place, Box) and place.label), None)
        name = _region_name(label) if label else None
        found.word("look_region", name)
        names += [name] if name else []
    found.number("regions", len(set(names)) or None)
    boxes = dict.fromkeys(
        place for step in trace.steps for place in step.regions if isinstance(place, Box) and place.is_proper
    )
    # A look and the sentence after it give the same box, the one with and the other without its name.
    places: dict[tuple[float, float, float, float], str | None] = {}
    for box in boxes:
        edges = (box.x1, box.y1, box.x2, box.y2)
        places[edges] = places.get(edges) or box.label
    found.number("boxes", len(places))
    for (x1, y1, x2, y2), label in places.items():
        group = (_region_name(label),) if label else ()
        found.number("box_width", _exact(x2 - x1))
        found.number("box_height", _exact(y2 - y1))
        area = (x2 - x1) * (y2 - y1)
        found.number("box_area", _exact(area), *group)
        if size is not None:
            found.number("box_share", area / (size[0] * size[1]), *group)


def _collect_words(truth: Truth, trace: Trace, row: RowReader) -> None:
    found = row.found
    words = sum(len(drop_marks(step.text).split()) for step in trace.steps)
    found.number("trace_words", words)
    found.number("report_words", len(truth.report.split()) if truth.report else None)
    said = [finding.text for finding in truth.findings]
    if not said:
        return  # question rows think in one piece, which is no rationale of one region
    statements: list[Statement] = []
    signs = []
    for text in said:
        read = find_statements(text)
        statements += read
        signs.append(_sign(read))
        found.number("rationale_words", len(text.split()))
        found.word("rationale_sign", signs[-1])
    found.word("trace_sign", min(signs, key=(_POSITIVE, _NEGATIVE, _UNREAD).index))
    named = dict.fromkeys(name for statement in statements for name in xray_regions_of(statement))
    found.number("structures", len(named))
    found.word("structure", *named)
    found.word("chexpert", *(label for label, there in chexpert_labels(statements).items() if there))


def _sign(statements: Sequence[Statement]) -> str:
    if any(is_there(statement) for statement in statements):
        return _POSITIVE
    return _NEGATIVE if statements else _UNREAD


@lru_cache(maxsize=4096)
def _region_name(label: str) -> str:
    """The list's name of a major region, or of a region; else the row's own words."""
    regions = xray_regions()
    for words in (label, label.removesuffix(" region"), label.removesuffix(" regions")):
        found = regions.find(words)
        if found:
            whole = [group.name for group in regions.groups if group.members == found]
            return (whole or list(found))[0] if len(found) == 1 or whole else words
    return label


def _exact(number: float) -> float:
    """A whole number as such, so that it is counted exactly."""
    return int(number) if number.is_integer() else number
