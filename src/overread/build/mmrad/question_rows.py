"""Films of GEMeX-ThinkVG question rows: what the thinking says of which region, and its boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from overread.benchmarks.mmrad.release import MMRadRelease
from overread.benchmarks.release import clean_id
from overread.build.item import Item
from overread.build.mmrad.sentence_regions import regions_of_sentence
from overread.core import Box, Defect, Trace
from overread.errors import UsageError
from overread.language.statements import find_statements
from overread.language.text import split_sentences
from overread.ontology import xray_regions

_LOOK_VERBS = re.compile(r"\b(?:look|examin|focus|assess|evaluat|inspect|question|analy[sz])", re.I)
"""A sentence with a box that states nothing but that one looks there."""
_TAG = re.compile(r"</?\w{1,20}>")
_MENTION = re.compile(r"\uE000(\d+)\uE001")


@dataclass
class _QuestionImage:
    """One film, while its rows come in."""

    file: str
    row: int
    image: str
    patient: str | None
    split: str
    regions: list[list[object]] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    questions: int = 0


def question_items(source: Path, splits: Sequence[str]) -> Iterator[Item | Defect]:
    """One item for each film that is asked about, in the order of the first question on it."""
    films: dict[str, _QuestionImage] = {}
    for split in splits:
        release = MMRadRelease(source, split)
        if not release.is_thinkvg:
            raise UsageError(
                "these are interleaved records, not question rows: they are made already",
                where=release.files[0],
                remedy="give the folder of the question rows, or of a reports.jsonl",
            )
        for scanned in release.scan():
            yield from (one for one in scanned.defects if one.severity == "error")
            if scanned.entry is None or scanned.entry.truth is None:
                continue
            case = scanned.entry.case
            image = case.pictures[0].file
            film = films.setdefault(
                image, _QuestionImage(scanned.file, scanned.row, image, case.patient, split)
            )
            film.questions += 1
            _add_trace(film, scanned.entry.truth.trace or Trace())
    for film in films.values():
        said = [{"text": text, "regions": regions} for text, regions in film.said.items()]
        yield Item.model_validate(
            {
                "id": clean_id(Path(film.image).stem),
                "patient": film.patient,
                "data": {
                    "source": "questions",
                    "file": film.file,
                    "row": film.row,
                    "source_id": film.image,
                    "image": film.image,
                    "report": "",
                    "frame": None,
                    "regions": film.regions,
                    "said": said,
                    "split": film.split,
                    "questions": film.questions,
                },
            }
        )


def _add_trace(film: _QuestionImage, trace: Trace) -> None:
    """What one answer adds: boxes of regions, and sentences with the regions they speak of."""
    labels: list[str] = []
    words = ""
    for step in trace.steps:
        if step.kind == "look":
            box = next((one for one in step.regions if isinstance(one, Box)), None)
            label = box.label if box is not None else None
            if box is not None and label is not None:
                film.regions.append([label, [box.x1, box.y1, box.x2, box.y2]])
                words += f"\ue000{len(labels)}\ue001"
                labels.append(label)
        elif step.kind == "say":
            words += _TAG.sub(" ", step.text)
    for one in split_sentences(words):
        text = one.extract(words)
        marked = [labels[int(number)] for number in _MENTION.findall(text)]
        plain = re.sub(r"\s+([.,;])", r"\1", " ".join(_MENTION.sub(" ", text).split()))
        if marked and not find_statements(plain) and _LOOK_VERBS.search(plain):
            continue
        film.said.setdefault(plain, _sentence_regions(plain, marked, labels))


def _sentence_regions(text: str, marked: Sequence[str], looked: Sequence[str]) -> list[str]:
    """Regions of a sentence: those with a box in it, else those of its words, else all."""
    if not marked:
        told = {name for names in regions_of_sentence(text).values() for name in names}
        seen = [name for name in looked if told & set(xray_regions().find(name))]
        marked = seen or looked
    return list(dict.fromkeys(marked))
