"""The formats a release can be exported in, and what all exports have in common."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from overread import __version__, catalog
from overread.benchmarks import splits_of
from overread.build.release.export_job import ExportJob
from overread.build.release.staging import staging_folder
from overread.core import Benchmark, Progress
from overread.core.benchmark import TruthPart
from overread.core.notice import RELEASE_NOTICE
from overread.errors import MissingPart, UsageError
from overread.storage.system import write_text


@dataclass(frozen=True)
class ExportFormat:
    """One way to write a release for somebody else's program."""

    name: str
    about: str
    run: str
    """'module:function'; the function takes an `ExportJob` and writes into its folder."""
    takes: TruthPart | None = None
    """What a benchmark's truth must hold for it; None where every benchmark can be exported."""
    styles: tuple[str, ...] = ()
    """Ways to word the same thing; the first is used unless another is asked for."""
    workflows: tuple[str, ...] = ()
    """The workflows whose questions it can ask; the first unless another is asked for."""
    all_truth: bool = False
    """Whether there is nothing to write of a case without its truth."""
    names_pictures: bool = False
    """Whether its rows name pictures whose place can be chosen."""
    needs: tuple[str, str] = ("", "")
    """A package that must be installed, and the extra that brings it."""

    def fits(self, part: Benchmark) -> bool:
        """Whether a benchmark has what this format is for."""
        return self.takes is None or self.takes in part.holds

    def benchmarks(self) -> list[str]:
        """The installed benchmarks that it fits."""
        return [b for b in catalog.names("benchmarks") if self.fits(catalog.find("benchmarks", b))]


_PACKAGE = "overread.build.release"

FORMATS: dict[str, ExportFormat] = {
    one.name: one
    for one in (
        ExportFormat(
            "parquet",
            "Parquet with image features, as the package `datasets` loads it",
            f"{_PACKAGE}.parquet:write_parquet",
        ),
        ExportFormat(
            "chat",
            "chat-style JSONL with pictures beside it, for vision-language models",
            f"{_PACKAGE}.chat:write_chat",
            styles=("qwen", "llava", "trl", "ms-swift", "llama-factory"),
            workflows=("direct", "ground-cot"),
            names_pictures=True,
        ),
        ExportFormat(
            "anole",
            "interleaved JSONL: text and pictures of a trace in their order, crops as files",
            f"{_PACKAGE}.interleaved:write_interleaved",
            takes="traces of looks",
        ),
        ExportFormat(
            "vlmevalkit",
            "a TSV a split for VLMEvalKit: pictures, options and the answer in one table",
            f"{_PACKAGE}.vlmevalkit:write_vlmevalkit",
            takes="diagnoses to choose from",
            all_truth=True,
        ),
        ExportFormat(
            "lmms-eval",
            "a task for lmms-eval: its page and functions, questions, answers and pictures",
            f"{_PACKAGE}.lmms_eval:write_lmms_eval",
            takes="diagnoses to choose from",
            all_truth=True,
            names_pictures=True,
        ),
        ExportFormat(
            "nnunet",
            "nnU-Net raw data: CTs, and one label map a CT by category of finding",
            f"{_PACKAGE}.nnunet:write_nnunet",
            takes="masks in CTs",
        ),
        ExportFormat(
            "nifti",
            "one 3D NIfTI a finding, its affine that of the CT",
            f"{_PACKAGE}.finding_masks:write_finding_masks",
            takes="masks in CTs",
            all_truth=True,
        ),
        ExportFormat(
            "dicom-seg",
            "DICOM segmentations, one segment a finding, with the CT series they refer to",
            f"{_PACKAGE}.dicom.segmentation:write_dicom_seg",
            takes="masks in CTs",
            all_truth=True,
            needs=("highdicom", "dicom-seg"),
        ),
        ExportFormat(
            "grand-challenge",
            "CTs as .mha in the folders that a grand-challenge container reads, and masks to score by",
            f"{_PACKAGE}.grand_challenge:write_grand_challenge",
            takes="masks in CTs",
        ),
        ExportFormat(
            "label-studio",
            "tasks for Label Studio: options to choose, places to box, CT slices to brush",
            "overread.build.label_studio.tasks:write_label_studio",
            styles=("blank", "prefilled"),
        ),
    )
}


@dataclass(frozen=True)
class ExportResult:
    """What an export wrote."""

    format: str
    benchmark: str
    out: Path
    cases: dict[str, int]
    left_out: dict[str, str]
    notes: tuple[str, ...]
    files: int

    def as_json(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "ok": not self.left_out,
            "format": self.format,
            "benchmark": self.benchmark,
            "out": str(self.out),
            "cases": self.cases,
            "files": self.files,
            "left_out": self.left_out,
            "notes": list(self.notes),
        }


def find_format(name: str) -> ExportFormat:
    """The format of that name."""
    if name not in FORMATS:
        raise catalog.unknown_name("export format", name, FORMATS)
    return FORMATS[name]


def export_release(
    format_name: str,
    benchmark: str,
    root: str | Path,
    out: str | Path,
    *,
    split: str = "all",
    limit: int | None = None,
    style: str | None = None,
    workflow: str | None = None,
    image_root: str | None = None,
    with_test_truth: bool = False,
    form: str | None = None,
    pictures: str | Path | None = None,
    dicom: str | Path | None = None,
    progress: Progress | None = None,
) -> ExportResult:
    """Write splits of a release to the folder `out`, which appears when all of it is there.

    The truth of the test split is left out unless `with_test_truth` says otherwise: what models
    are trained on should not be what they are tested on. `limit` is the number of cases a split.
    `workflow` is the one whose questions a chat asks. `dicom` names a folder with a DICOM series for
    each case, where there are any. `image_root` is what rows of chats write before the names of their
    pictures: by default nothing, or the whole path of `out` in the styles whose program looks for
    pictures in the folder that it is started in.
    """
    kind = find_format(format_name)
    part = cast(Benchmark, catalog.find("benchmarks", benchmark))
    _check_format(kind, part, style=style, workflow=workflow, dicom=dicom, image_root=image_root)
    splits = _choose_splits(kind, part, Path(root), split, with_test_truth=with_test_truth)
    out = Path(out)
    with staging_folder(out) as folder:
        job = ExportJob(
            benchmark=benchmark,
            root=Path(root),
            out=folder,
            splits=splits,
            name=out.resolve().name,
            limit=limit,
            with_test_truth=with_test_truth,
            style=style or next(iter(kind.styles), ""),
            workflow=workflow or next(iter(kind.workflows), ""),
            final_folder=out.resolve().as_posix(),
            image_root=image_root,
            form=form,
            pictures=None if pictures is None else Path(pictures),
            dicom=None if dicom is None else Path(dicom),
            progress=progress,
        )
        _load_writer(kind)(job)
        job.require_cases()
        _write_description(kind, part, job)
        files = sum(1 for path in folder.rglob("*") if path.is_file())
    return ExportResult(
        kind.name, benchmark, out, job.cases, job.left_out, tuple(dict.fromkeys(job.notes)), files
    )


def _load_writer(kind: ExportFormat) -> Any:
    package, extra = kind.needs
    if package:
        try:
            import_module(package)
        except ImportError:
            raise MissingPart(
                f"the format '{kind.name}' needs the package {package}",
                remedy=f"pip install 'overread[{extra}]'",
            ) from None
    module, _, name = kind.run.partition(":")
    return getattr(import_module(module), name)


def _check_format(
    kind: ExportFormat,
    part: Benchmark,
    *,
    style: str | None,
    workflow: str | None,
    dicom: str | Path | None,
    image_root: str | None,
) -> None:
    if not kind.fits(part):
        raise UsageError(
            f"{part.title} has no {kind.takes}, which the format '{kind.name}' is for",
            remedy=f"export {' or '.join(kind.benchmarks())}, or choose another format",
        )
    if style is not None and style not in kind.styles:
        if not kind.styles:
            raise UsageError(f"the format '{kind.name}' has one style only", remedy="drop --style")
        raise catalog.unknown_name("style", style, kind.styles)
    if workflow is not None and workflow not in kind.workflows:
        if not kind.workflows:
            raise UsageError(f"the format '{kind.name}' asks no questions", remedy="drop --workflow")
        raise catalog.unknown_name("workflow of this format", workflow, kind.workflows)
    if workflow == "ground-cot" and "chains of thought" not in part.holds:
        raise UsageError(
            f"{part.title} has no chains of thought, which the questions of '{workflow}' follow",
            remedy="drop --workflow",
        )
    if image_root is not None and not kind.names_pictures:
        raise UsageError(f"the format '{kind.name}' names no pictures in rows", remedy="drop --image-root")
    if dicom is not None and kind.name != "dicom-seg":
        raise UsageError(f"the format '{kind.name}' reads no DICOM", remedy="drop --dicom")
    if dicom is not None and not Path(dicom).is_dir():
        raise UsageError(f"{dicom} is no folder", remedy="give the folder of the DICOM series")


def _choose_splits(
    kind: ExportFormat, part: Benchmark, root: Path, split: str, *, with_test_truth: bool
) -> tuple[str, ...]:
    """The splits to write; a hidden one that has nothing else to show is not among them."""
    if split != "all" and split not in part.splits:
        raise UsageError(
            f"{part.title} has no split '{split}'",
            remedy=f"it has {', '.join(part.splits)}; 'all' takes all that are there",
        )
    if not root.is_dir():
        raise UsageError(f"{root} is no folder", remedy="give the folder that holds the release")
    there = splits_of(part.name, root) if split == "all" else [split]
    shown = [one for one in there if with_test_truth or not kind.all_truth or one != "test"]
    if not shown:
        raise UsageError(
            f"the format '{kind.name}' is nothing without the truth, and the test split's is not exported",
            remedy="add --with-test-truth, or export another split",
        )
    return tuple(shown)


def _write_description(kind: ExportFormat, part: Benchmark, job: ExportJob) -> None:
    """A page beside the files: what they are, whose, and what is not among them."""
    page = {
        "format": kind.name,
        "style": job.style or None,
        "workflow": job.workflow or None,
        "image_root": job.image_root or None,
        "benchmark": part.name,
        "use": RELEASE_NOTICE,
        "terms": "those of the release that it was made from",
        "made_by": f"overread {__version__}",
        "cases": job.cases,
        "limit": job.limit,
        "test_truth": job.with_test_truth,
        "left_out": job.left_out,
        "notes": list(dict.fromkeys(job.notes)),
    }
    text = json.dumps(page, ensure_ascii=False, indent=1) + "\n"
    write_text(job.out / "export.json", text)
