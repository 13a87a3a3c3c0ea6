"""Interleaved records for models that write text and pictures in turn (Anole, Chameleon).

Each line has the record of MMRad-IVL (`prompt`, `response`, `images`, with `<image>` where each
picture belongs) and the same as `segments`: text and pictures in their order, each with the side
it stands on. A look without a crop of its own gets one, cut from the film by its box.

An anatomical chain of thought makes a record for each finding: the CT as a montage, then link by link
the words and a close-up of the structure, then the finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from overread.benchmarks.output import write_jsonl
from overread.build.release.chain_looks import chain_links, show_place
from overread.build.release.export_job import CannotExport, ExportJob
from overread.build.release.picture_files import crop_bytes, flat_bytes, picture_path, write_files
from overread.core import Box, Entry, Query, Release, Step, Truth, VoxelBox
from overread.pixels.encode import EncodedImage
from overread.pixels.geometry import ras_geometry
from overread.pixels.voxel_boxes import to_share, to_shown
from overread.prompts.interleaved import IMAGE
from overread.prompts.templates import find_prompt
from overread.workflows.blocks import make_block
from overread.workflows.ground_cot import narrow


def write_interleaved(job: ExportJob) -> None:
    """One JSONL file a split; films and crops in `images/`."""

    def rows(release: Release) -> Iterator[dict[str, Any]]:
        for entry in job.entries(release):
            made: list[dict[str, Any]] = []
            with job.track_case(entry):
                records = list(_make_records(job, release, entry))
                if not records:
                    raise CannotExport("it has no trace")
                for record in records:
                    write_files(job, record.files)
                made = [record.as_json() for record in records]
            yield from made

    for release in job.load_splits():
        write_jsonl(job.out / f"{release.split}.jsonl", rows(release))


def _make_records(job: ExportJob, release: Release, entry: Entry) -> Iterator[_InterleavedRow]:
    """The record of a case; where it has sentences to be found, one for each that has a chain."""
    hidden = job.hides(release.split)
    if not entry.case.queries:
        record = _InterleavedRow(entry, entry.case.id)
        record.add_prompt(release, entry.case.instruction or "")
        if not hidden:
            record.add_response(release)
        yield record
        return
    for query in entry.case.queries:
        if not hidden and not chain_links(entry, query):
            job.notes.append(f"{entry.case.id}: finding {query.id} has no chain of thought")
            continue
        record = _InterleavedRow(entry, f"{entry.case.id}-q{query.id}")
        record.add_prompt(release, find_prompt("chain-record").render({"finding": query.text})[1].strip())
        if not hidden:
            record.add_chain(release, query)
        yield record


class _InterleavedRow:
    """One case, or one finding of it, on its way to a line."""

    def __init__(self, entry: Entry, name: str) -> None:
        self.entry = entry
        self.name = name
        self.files: dict[str, bytes] = {}
        self.segments: list[dict[str, str]] = []
        self.answered = False

    def add_prompt(self, release: Release, instruction: str) -> None:
        """The instruction, then the film or films."""
        self._add_text("prompt", f"{instruction} ".lstrip())
        for picture in self.entry.case.pictures:
            self._add_image("prompt", picture.name, flat_bytes(release, picture))

    def add_response(self, release: Release) -> None:
        """The trace with its looks, then the report."""
        truth = self.entry.truth or Truth()
        if truth.trace is None or not truth.trace.steps:
            raise CannotExport("it has no trace")
        self.answered = True
        looks = 0
        for step in truth.trace.steps:
            words = step.text.replace(IMAGE, "") if step.crop is not None else step.text
            if IMAGE in words:
                raise CannotExport(f"a step of its trace holds '{IMAGE}' and no crop")
            self._add_text("response", words)
            sent = self._look_image(release, step)
            if sent is not None:
                looks += 1
                self._add_image("response", f"crop-{looks}", sent)
        self._add_text("response", truth.report or "")

    def add_chain(self, release: Release, query: Query) -> None:
        """Link by link the words and what is there, then the finding."""
        self.answered = True
        space = release.pictures.geometry(self.entry.case.pictures[0])
        last = ras_geometry(space).shape[2] - 1
        for number, step in enumerate(chain_links(self.entry, query)):
            if IMAGE in step.text:
                raise CannotExport(f"a step of its chain holds '{IMAGE}'")
            self._add_text("response", f"{step.text.strip()} ")
            boxes = [region for region in step.regions if isinstance(region, VoxelBox)]
            if step.link is not None and step.link.level != "scan" and boxes:  # the prompt shows the scan
                shown = to_shown(boxes[0], space)
                block = make_block((shown.first, shown.last), to_share(shown, space))
                sent = show_place(release, self.entry, *narrow([block], last))
                self._add_image("response", f"crop-q{query.id}-{number}", sent)
                self._add_text("response", " ")
        self._add_text("response", query.text)

    def _look_image(self, release: Release, step: Step) -> EncodedImage | None:
        """What a step looked at: its crop, or what its first box holds."""
        if step.crop is not None:
            return crop_bytes(release, step.crop)
        boxes = [region for region in step.regions if isinstance(region, Box)]
        if step.kind != "look" or not boxes:
            return None
        return flat_bytes(release, self.entry.case.picture(boxes[0].picture), box=boxes[0])

    def _add_text(self, side: str, words: str) -> None:
        if not words:
            return
        if self.segments and self.segments[-1].get("text") and self.segments[-1]["side"] == side:
            self.segments[-1]["text"] += words
        else:
            self.segments.append({"side": side, "type": "text", "text": words})

    def _add_image(self, side: str, name: str, sent: EncodedImage) -> None:
        file = picture_path(self.entry, name, sent)
        self.files[file] = sent[0]
        self.segments.append({"side": side, "type": "image", "image": file})

    def as_json(self) -> dict[str, Any]:
        """The line; without a response where that is hidden."""
        row: dict[str, Any] = {"id": self.name, "prompt": self._join_text("prompt")}
        if self.answered:
            row["response"] = self._join_text("response")
        return row | {"images": list(self.files), "segments": self.segments}

    def _join_text(self, side: str) -> str:
        return "".join(part.get("text", IMAGE) for part in self.segments if part["side"] == side)
