"""Interleaved records for models that write text and pictures in turn (Anole, Chameleon).

Each line has the record of MMRad-IVL (`prompt`, `response`, `images`, with `<image>` where each
picture belongs) and the same as `segments`: text and pictures in their order, each with the side
it stands on. A look without a crop of its own gets one, cut from the film by its box.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from overread.benchmarks.output import write_jsonl
from overread.build.release.export_job import CannotExport, ExportJob
from overread.build.release.picture_files import crop_bytes, flat_bytes, picture_path, write_files
from overread.core import Box, Entry, Release, Step, Truth
from overread.pixels.encode import EncodedImage
from overread.prompts.interleaved import IMAGE


def write_interleaved(job: ExportJob) -> None:
    """One JSONL file a split; films and crops in `images/`."""

    def rows(release: Release) -> Iterator[dict[str, Any]]:
        for entry in job.entries(release):
            made: dict[str, Any] | None = None
            with job.track_case(entry):
                record = _InterleavedRow(entry)
                record.add_prompt(release)
                if not job.hides(release.split):
                    record.add_response(release)
                made = record.as_json()
                write_files(job, record.files)
            if made is not None:
                yield made

    for release in job.load_splits():
        write_jsonl(job.out / f"{release.split}.jsonl", rows(release))


class _InterleavedRow:
    """One case on its way to a line."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.files: dict[str, bytes] = {}
        self.segments: list[dict[str, str]] = []
        self.answered = False

    def add_prompt(self, release: Release) -> None:
        """The instruction, then the film or films."""
        self._add_text("prompt", f"{self.entry.case.instruction or ''} ".lstrip())
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
        row: dict[str, Any] = {"id": self.entry.case.id, "prompt": self._join_text("prompt")}
        if self.answered:
            row["response"] = self._join_text("response")
        return row | {"images": list(self.files), "segments": self.segments}

    def _join_text(self, side: str) -> str:
        return "".join(part.get("text", IMAGE) for part in self.segments if part["side"] == side)
