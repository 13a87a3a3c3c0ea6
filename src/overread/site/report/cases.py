"""Cases in a report: the pictures with marks of the readers and the truth, the steps in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from overread.core import Box, Entry, Finding, Image, Mask, Reading, Region, Release, Truth, Volume, Whole
from overread.errors import OverreadError
from overread.pixels.draw import Colour
from overread.pixels.encode import data_uri, encode
from overread.prompts.interleaved import IMAGE
from overread.site.report.markup import Markup, h, join_markup, table
from overread.site.report.scores import format_number
from overread.site.strip_paths import strip_paths_and_urls
from overread.site.traces.cutouts import TRUTH, CasePixels, Pixels, draw_mask_slice, draw_region
from overread.site.traces.steps import describe_region
from overread.storage.fence import Fence

_MOST_PICTURES, _MOST_SLICES, _LONGEST = 9, 6, 640
_MOST_WORDS = 6000
_COLOURS: tuple[Colour, ...] = ((86, 180, 233), (230, 159, 0), (204, 121, 167), (47, 199, 154))
"""One for each reader, as the style has them for boxes."""
_KINDS = {"say": "says", "look": "looks", "ask": "asks", "conclude": "concludes"}


@dataclass
class PictureBudget:
    """The pictures embedded in a report, up to a limit in bytes."""

    max_bytes: int
    """Bytes that all of them may have."""
    size: int = 0
    count: int = 0
    left_out: int = 0

    def add(self, pixels: Pixels, alt: str) -> Markup | None:
        """A picture as part of the page; None where there is no room any more."""
        data = encode(pixels, kind="jpeg", longest=_LONGEST, quality=84)
        if self.size + len(data) > self.max_bytes:
            self.left_out += 1
            return None
        self.size += len(data)
        self.count += 1
        return h("img", src=data_uri(data), alt=alt)


@dataclass(frozen=True)
class ReportCase:
    """One case of the report with its readings and scores."""

    entry: Entry
    release: Release
    why: str
    readings: Mapping[str, tuple[Path, Reading | None]]
    """Run's name → its folder and its reading of the case, if there is one."""
    values: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """Metric → run's name → what the case scores."""
    truth: bool = True


def case_article(shown: ReportCase, album: PictureBudget | None) -> Markup:
    """One case; without an album it has no pictures."""
    case = shown.entry.case
    truth = shown.entry.truth if shown.truth else None
    return h(
        "article",
        h("h3", case.id),
        h("p", shown.why, class_="quiet"),
        h("p", _truncate(case.history), class_="words") if case.history else None,
        h("p", _truncate(case.instruction), class_="words") if case.instruction else None,
        _pictures(shown, truth, album) if album is not None else None,
        _answers(shown, truth),
        [_reading(name, one) for name, (_, one) in shown.readings.items()],
        _truth_block(truth) if truth else None,
        _values(shown) if shown.truth else None,
        class_="case",
    )


# ---- pictures --------------------------------------------------------------------------------


def _pictures(shown: ReportCase, truth: Truth | None, album: PictureBudget) -> Markup:
    figures: list[Markup] = []
    lost: list[str] = []
    for picture in shown.entry.case.pictures[:_MOST_PICTURES]:
        try:
            if isinstance(picture, Volume):
                figures += _slices(shown, truth, picture, album)
            else:
                figure = _flat_figure(shown, truth, picture, album)
                figures += [figure] if figure is not None else []
        except OverreadError:
            lost.append(f"{picture.name} cannot be shown.")
    more = len(shown.entry.case.pictures) - _MOST_PICTURES
    if more > 0:
        lost.append(f"{more} more pictures are not shown.")
    return join_markup(
        h("div", figures, class_="films") if figures else None,
        _marks_legend(list(shown.readings), truth=truth is not None) if figures else None,
        h("p", " ".join(lost), class_="quiet") if lost else None,
    )


def _flat_figure(
    shown: ReportCase, truth: Truth | None, picture: Image, album: PictureBudget
) -> Markup | None:
    pixels = np.asarray(shown.release.pictures.pixels(picture))
    height, width = pixels.shape[:2]
    image = album.add(pixels, f"{picture.name} of {shown.entry.case.id}")
    if image is None:
        return None
    rects = [
        _rect(box, f"reader mark-{n % 4 + 1}")
        for n, (_, reading) in enumerate(shown.readings.values())
        for box in _boxes(_reading_regions(reading), picture.name)
    ]
    rects += [_rect(box, "truth") for box in _boxes(_truth_regions(truth), picture.name)]
    over = h("svg", rects, viewBox=f"0 0 {width} {height}", aria_hidden="true") if rects else None
    time = f", time {picture.timepoint}" if picture.timepoint is not None else ""
    caption = h("figcaption", f"{picture.name}{time}")
    return h("figure", h("div", image, over, class_="film"), caption)


def _rect(box: Box, kind: str) -> Markup:
    size = {"width": f"{box.x2 - box.x1:.1f}", "height": f"{box.y2 - box.y1:.1f}"}
    return h("rect", x=f"{box.x1:.1f}", y=f"{box.y1:.1f}", **size, class_=kind)


def _boxes(regions: Sequence[Region], picture: str) -> list[Box]:
    own = [r for r in regions if isinstance(r, Box) and r.picture == picture and r.is_proper]
    return list(dict.fromkeys(box for box in own if max(map(abs, (box.x1, box.y2))) < 1e6))


def _reading_regions(reading: Reading | None) -> list[Region]:
    if reading is None:
        return []
    marked = [region for finding in reading.findings or () for region in finding.regions]
    steps = reading.trace.steps if reading.trace else ()
    return marked or [region for step in steps for region in step.regions]


def _truth_regions(truth: Truth | None) -> list[Region]:
    if truth is None:
        return []
    marked = [region for finding in truth.findings for region in finding.regions]
    steps = truth.trace.steps if truth.trace else ()
    return marked or [region for step in steps for region in step.regions]


def _slices(shown: ReportCase, truth: Truth | None, picture: Volume, album: PictureBudget) -> list[Markup]:
    """For each sentence the slice where most is marked, one picture a reader."""
    case, pictures = shown.entry.case, shown.release.pictures
    space = pictures.geometry(picture)
    volume = np.asarray(pictures.pixels(picture))
    source = CasePixels(case, pictures, shown.release.source)
    figures: list[Markup] = []
    for query in case.queries[:_MOST_SLICES]:
        true = _mask(truth.findings if truth else (), query.id)
        for n, (name, (folder, reading)) in enumerate(shown.readings.items()):
            own = _mask((reading.findings if reading else None) or (), query.id)
            sight = CasePixels(case, pictures, Fence(folder).path)
            try:
                marked = sight.mask_voxels(own, space) if own else np.zeros(space.shape, bool)
                other = source.mask_voxels(true, space) if true else None
            except OverreadError:
                continue
            pixels = draw_mask_slice(
                volume,
                space,
                marked,
                part="whole",
                window="lung",
                colour=_COLOURS[n % 4],
                other_mask=other,
                other_colour=TRUTH,
            )
            image = album.add(pixels, f"{query.text}, as {name} marked it")
            if image is not None:
                caption = h("figcaption", f"{name}: {query.text}")
                figures.append(h("figure", h("div", image, class_="film"), caption))
    if not figures and not case.queries:
        sheet = draw_region(source, Whole(picture=picture.name), part="whole")
        image = album.add(sheet, f"{picture.name} of {case.id}")
        figures += [h("figure", h("div", image, class_="film"))] if image is not None else []
    return figures


def _mask(findings: Sequence[Finding], query: str) -> Mask | None:
    for finding in findings:
        if finding.query == query:
            return next((r for r in finding.regions if isinstance(r, Mask)), None)
    return None


def _marks_legend(names: Sequence[str], *, truth: bool) -> Markup:
    """Whose marks are which."""
    items = [h("li", h("span", class_=f"key mark-{n % 4 + 1}"), name) for n, name in enumerate(names)]
    items += [h("li", h("span", class_="key truth"), "truth")] if truth else []
    return h("ul", items, class_="legend")


# ---- words -----------------------------------------------------------------------------------


def _answers(shown: ReportCase, truth: Truth | None) -> Markup | None:
    """The options, who chose which, and which is right."""
    case = shown.entry.case
    if not case.options:
        return None
    rows = []
    for option in case.options:
        chosen = [n for n, (_, r) in shown.readings.items() if r is not None and r.choice == option.letter]
        chances = [
            f"{n} {r.probabilities[option.letter]:.0%}"
            for n, (_, r) in shown.readings.items()
            if r is not None and r.probabilities and option.letter in r.probabilities
        ]
        right = "✓ right" if truth is not None and truth.answer == option.letter else ""
        rows.append([f"{option.letter} {option.text}", ", ".join(chosen), ", ".join(chances), right])
    heads = ["option", "chosen by", "probability", "truth" if truth is not None else ""]
    return table(heads, rows)


def _reading(name: str, reading: Reading | None) -> Markup:
    if reading is None:
        return join_markup(h("h4", name), h("p", "Did not read this case."))
    parts: list[Markup | None] = [h("h4", name)]
    if reading.error:
        parts.append(h("p", h("strong", "Failed: "), strip_paths_and_urls(reading.error), class_="bad"))
    steps = reading.trace.steps if reading.trace else ()
    items = []
    for step in steps:
        words = " ".join(step.text.replace(IMAGE, " ").split())
        places = "; ".join(dict.fromkeys(describe_region(region) for region in step.regions))
        if words or places:
            at = h("span", f" [{places}]", class_="quiet") if places else None
            items.append(h("li", h("b", _KINDS[step.kind]), " ", _truncate(words), at))
    if items:
        parts.append(h("ol", items, class_="steps"))
    elif reading.findings:
        parts.append(h("ul", [h("li", _truncate(f.text)) for f in reading.findings], class_="steps"))
    for title, text in (
        ("Answer", reading.choice if len(reading.choice or "") > 1 else None),
        ("Rationale", reading.rationale),
        ("Report", reading.report),
        ("Discussion", reading.discussion),
    ):
        if text:
            parts.append(h("h5", title))
            parts.append(h("p", _truncate(text), class_="words"))
    if len(parts) == 1:
        parts.append(h("p", "No text.", class_="quiet"))
    return join_markup(parts)


def _truth_block(truth: Truth) -> Markup:
    parts: list[Markup] = [h("h4", "The truth")]
    answer = " ".join(filter(None, (truth.answer, truth.answer_text)))
    if answer:
        parts.append(h("p", h("strong", answer)))
    if truth.findings:
        parts.append(h("ul", [h("li", _truncate(f.text)) for f in truth.findings], class_="steps"))
    for title, text in (("Report", truth.report), ("Discussion", truth.discussion)):
        if text:
            parts.append(h("h5", title))
            parts.append(h("p", _truncate(text), class_="words"))
    return h("div", parts, class_="true")


def _values(shown: ReportCase) -> Markup | None:
    if not shown.values:
        return None
    names = list(shown.readings)
    rows = [[m, *(format_number(own.get(n)) for n in names)] for m, own in shown.values.items()]
    return table(["score of this case", *names], rows, numbers=range(1, len(names) + 1))


def _truncate(text: str) -> str:
    """A text, cut where nobody would read on."""
    text = text.strip()
    return text if len(text) <= _MOST_WORDS else f"{text[:_MOST_WORDS]} … (cut)"
