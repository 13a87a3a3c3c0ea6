"""Export of a run as a submission: its readings in the benchmark's format, case by case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from overread.catalog import unknown_name
from overread.core import Progress, Reading, ReleaseRef, WrittenSubmission
from overread.errors import OverreadError, UsageError
from overread.runs.spec import read_spec
from overread.storage.atomic import open_atomic, stage
from overread.storage.fence import Fence
from overread.storage.system_errors import remedy_for


def export_submission(
    run: str | Path,
    out: str | Path,
    *,
    sample: int = 0,
    layout: str | None = None,
    force: bool = False,
    about: Mapping[str, JsonValue] | None = None,
    root: str | Path | None = None,
    pictures: str | Path | None = None,
    progress: Progress | None = None,
) -> WrittenSubmission:
    """Write one sample of a run as a submission, and what is known `about` it beside it.

    `root` and `pictures` say where the release lies now, if it has moved since. Nothing else that
    stands at `out` is replaced unless `force` says so; the very same submission is completed where a
    kill left it unfinished. `layout` names another layout than the official one.
    """
    folder, target = Path(run), Path(out)
    place = read_spec(folder).current_release_ref(root, pictures)
    exam = place.definition
    if layout is not None and layout not in exam.submit_layouts:
        raise unknown_name("layout", layout, exam.submit_layouts)
    submit = exam.submit if layout is None else exam.submit_layouts[layout]
    if submit is None:
        raise UsageError(f"{exam.title} defines no submission format")
    release = place.open()
    with RunReadings(folder, sample) as readings:
        if not len(readings):
            raise UsageError(
                f"the run has no reading number {sample} of any case",
                where=str(folder),
                remedy=f"--sample {readings.other_samples[0]}" if readings.other_samples else "run it first",
            )
        files = Fence(folder)
        try:
            with stage(target, replace=force, remedy="add --force to replace it") as written:
                handed = submit(release, readings.get, files.path, written, progress=progress)
                if about:
                    _write_metadata(written.with_name(f"{target.name}.meta.json"), place, about)
        except OSError as error:
            raise OverreadError(
                f"{target} cannot be written ({error.strerror})",
                remedy=remedy_for(error, "give another --out"),
            ) from None
    return replace(handed, path=target)


class RunReadings:
    """The readings of one sample of a run; a line is read when its case is asked for."""

    def __init__(self, folder: Path, sample: int = 0) -> None:
        """Note where the last line of each case begins."""
        self._offsets: dict[str, int] = {}
        others: set[int] = set()
        path = folder / "readings.jsonl"
        if not path.is_file():
            raise UsageError("this run has no readings yet", where=str(folder))
        self._file = path.open("rb")
        begin = 0
        for line in self._file:
            try:
                row = from_json(line if line.endswith(b"\n") else b"")
                case, number = str(row["case_id"]), int(row.get("sample", 0))
            except (ValueError, KeyError, TypeError, AttributeError):
                case, number = "", -1  # cut off or damaged: as if it had not been read
            if number == sample:
                self._offsets[case] = begin
            elif number >= 0:
                others.add(number)
            begin += len(line)
        self.other_samples = sorted(others)
        """Other samples that the run has."""

    def get(self, case_id: str) -> Reading | None:
        """The reading of a case, if there is one."""
        begin = self._offsets.get(case_id)
        if begin is None:
            return None
        self._file.seek(begin)
        try:
            return Reading.model_validate_json(self._file.readline())
        except ValidationError:
            return None

    def __len__(self) -> int:
        """How many cases have a reading."""
        return len(self._offsets)

    def __enter__(self) -> RunReadings:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _write_metadata(path: Path, place: ReleaseRef, about: Mapping[str, JsonValue]) -> None:
    body = {"benchmark": place.benchmark, "split": place.split, **about}
    with open_atomic(path) as out:
        out.write(json.dumps(body, ensure_ascii=False, indent=2).encode("utf-8") + b"\n")
