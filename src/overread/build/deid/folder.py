"""Cleans a whole folder: every file by its kind, with a record of every removal.

Tables and headers are read twice: first to collect names and ids, so that a name in a header is
also found in reports and file names; then to clean them.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from overread.build.deid.results import CleanSummary, Options, Removal, UncleanFile
from overread.build.deid.secret import DeidSecret, open_secret
from overread.build.deid.tables import TableContext, clean_table, find_patient, may_identify, read_rows
from overread.build.deid.text.word_lists import fold, is_also_word, is_eponym, is_family_name, is_given_name
from overread.core import Progress
from overread.errors import OverreadError, UsageError
from overread.storage.atomic import open_atomic, stage
from overread.storage.tables import require_text

RECORD = "deidentification.jsonl"
SUMMARY = "deidentification.json"
_TABLES = ("csv", "tsv", "jsonl", "json", "txt", "md", "text")
_SYSTEM_FILES = re.compile(r"\.DS_Store|Thumbs\.db|desktop\.ini|\._.*", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:im|img|image|slice|i|frame|series|se|s|z)?[-_]?\d{1,4}|(?:im|img|image|i|z)[-_]?\d{1,6}",
    re.IGNORECASE,
)
_LARGEST_TEXT = 1 << 30


def deidentify(
    source: Path,
    out: Path,
    options: Options | None = None,
    *,
    secret: DeidSecret | Path | None = None,
    keep_map: Path | None = None,
    progress: Progress | None = None,
) -> CleanSummary:
    """Clean a file or a folder into another folder, with a record of what was done.

    Files that cannot be cleaned are not written, and `refused` of the result names them; with
    `accept_unclean` they are written as far as they were cleaned. What was removed is told without
    its values, except in `keep_map`, which must lie elsewhere.
    """
    chosen = options or Options()
    _check_paths(source, out, keep_map)
    key = secret if isinstance(secret, DeidSecret) else open_secret(secret, out=out)
    # A kill leaves no folder that looks clean and is not whole: it appears when all of it is written.
    with stage(out, remedy="choose another --out, or remove it") as target:
        target.mkdir()
        cleaned = _clean_folder(_FolderJob(source, target, chosen, key), keep_map, progress)
    return cleaned.model_copy(update={"out": out})


def _clean_folder(job: _FolderJob, keep_map: Path | None, progress: Progress | None) -> CleanSummary:
    with ExitStack() as stack:
        job.record = stack.enter_context((job.out / RECORD).open("w", encoding="utf-8", newline="\n"))
        if keep_map is not None:
            kept = stack.enter_context(open_atomic(keep_map, compress=False, exclusive=True, mode=0o600))
            lines = io.TextIOWrapper(kept, encoding="utf-8", newline="\n")
            stack.callback(lines.detach)  # what it holds is written, and the file stays open
            job.map_file = lines
        job.scan_files()
        # Pictures before tables: these name them by their new names.
        order = [*job.list_files(tables=False), *job.list_files(tables=True)]
        for n, file in enumerate(order):
            job.clean(file)
            if progress is not None:
                progress(n + 1, len(order))
    cleaned = job.summary()
    with open_atomic(job.out / SUMMARY) as stream:
        options = _options_as_json(job.options)
        told = {**cleaned.model_dump(mode="json", exclude={"out"}), "options": options}
        for one in told["unclean"]:
            del one["source"]
        stream.write((json.dumps(told, ensure_ascii=False, indent=2) + "\n").encode())
    return cleaned


def require_clean(cleaned: CleanSummary) -> None:
    """Raise unless every file could be cleaned, or was accepted as it is."""
    if cleaned.refused:
        first = cleaned.refused[0]
        raise OverreadError(
            f"{len(cleaned.refused)} file(s) could not be cleaned and were not written, the first "
            f"because {first.why}",
            where=first.source,
            remedy="look at them, then leave them out or give --accept-unclean",
        )


def _options_as_json(options: Options) -> dict[str, object]:
    """Options for the record; names that were given are names."""
    told = options.model_dump(mode="json")
    told["names"] = len(options.names)
    return told


def _check_paths(source: Path, out: Path, keep_map: Path | None) -> None:
    if not source.exists():
        raise UsageError(
            "there is no such file or folder", where=str(source), remedy="look at the path again"
        )
    if out.exists() and not (out / SUMMARY).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there already", remedy="choose another --out, or remove it")
    real, target = source.resolve(), out.resolve()
    if target.is_relative_to(real) or real.is_relative_to(target):
        raise UsageError(
            "the output folder lies in the source, or around it",
            where=str(out),
            remedy="choose an --out that is neither in the source nor around it",
        )
    if keep_map is not None and keep_map.resolve().is_relative_to(target):
        raise UsageError(
            "the map of removed values would lie in the output folder",
            where=str(keep_map),
            remedy="name a file elsewhere with --keep-map",
        )


@dataclass
class _FolderJob:
    source: Path
    out: Path
    options: Options
    secret: DeidSecret
    record: IO[str] | None = None
    map_file: IO[str] | None = None
    names: dict[str, set[str]] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    kinds: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    files: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    unclean: list[UncleanFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def scan_files(self) -> None:
        """What files there are, who is in them, and what each will be called."""
        for file in _walk(self.source):
            self.kinds[file] = self._kind(self._path(file))
        for file, kind in self.kinds.items():
            if kind == "dicom":
                self._collect_header_names(file)
            elif kind in _TABLES:
                self._collect_table_names(file, kind)
        known = {name for held in self.names.values() for name in held} | self.ids
        new: dict[str, str] = {}
        for file in self.kinds:
            self.paths[file] = self._new_path(file, known)
            if self.paths[file] in new:
                raise OverreadError(
                    "two files would get the same name", where=file, remedy="rename one of them"
                )
            new[self.paths[file]] = file
        # A table may name a file without its folder, where that is clear.
        short = Counter(Path(file).name for file in self.kinds)
        self.paths |= {
            Path(file).name: Path(name).name
            for file, name in list(self.paths.items())
            if short[Path(file).name] == 1
        }

    def list_files(self, *, tables: bool) -> list[str]:
        """Files that are tables or texts, or those that are not."""
        return [file for file, kind in self.kinds.items() if (kind in _TABLES) == tables]

    def clean(self, file: str) -> None:
        """Clean one file into its new place, or put on record why not."""
        kind, new = self.kinds[file], self.paths[file]
        removals: list[Removal] = []
        if new != file:
            removals.append(Removal(kind="path", action="replaced", where="its name", before=file, after=new))
        unclean: list[str] = []
        data: bytes | None = None
        try:
            if kind == "system" or (kind == "dicom" and _is_dicomdir(self._path(file))):
                self.left_out.append(new)
                return
            if kind == "nifti":
                removals += _clean_nifti_file(self._path(file), self.out / new)
            else:
                data, more, unclean = self._clean_data(file, kind)
                removals += more
        except OverreadError as error:
            unclean.append(error.what)
            data = None
        if unclean:
            accepted = self.options.accept_unclean and kind != "link"
            why = "; ".join(unclean)
            self.unclean.append(UncleanFile(source=file, file=new, why=why, accepted=accepted))
            if not accepted:
                return
            if data is None:
                data = self._path(file).read_bytes()
        if data is not None:
            with open_atomic(self.out / new, compress=False) as stream:
                stream.write(data)
        self.files[kind] += 1
        self._record_removals(file, new, removals)

    def summary(self) -> CleanSummary:
        """What became of the whole folder."""
        return CleanSummary(
            out=self.out,
            files=dict(self.files.most_common()),
            removals=dict(self.counts.most_common()),
            unclean=tuple(self.unclean),
            left_out=tuple(self.left_out),
        )

    def _clean_data(self, file: str, kind: str) -> tuple[bytes, list[Removal], list[str]]:
        path = self._path(file)
        if kind == "dicom":
            from overread.build.deid.dicom.files import clean_dicom

            made = clean_dicom(path, self.secret, self.options)
            return made.data, made.removals, made.unclean
        if kind in ("png", "jpeg"):
            from overread.build.deid.picture import clean_picture_file

            data, removals = clean_picture_file(path.read_bytes(), "a picture", self.options)
            return data, removals, []
        if kind in _TABLES:
            sources = TableContext(self.secret, self.options, self.names, self.paths)
            table = clean_table(_read_text(path), kind, sources)
            return table.data.encode(), table.removals, table.unclean
        if kind == "link":
            raise OverreadError("it is a link, which might lead anywhere")
        raise OverreadError("files of this kind are not known, so nobody can say what is in it")

    def _record_removals(self, file: str, new: str, removals: list[Removal]) -> None:
        assert self.record is not None
        for one in removals:
            self.counts[one.kind] += 1
            told = {"file": new, **one.model_dump(mode="json")}
            self.record.write(json.dumps(told, ensure_ascii=False) + "\n")
            if self.map_file is not None:
                row = {"source": file, **told, "before": one.before, "after": one.after}
                self.map_file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _path(self, file: str) -> Path:
        return self.source / file if self.source.is_dir() else self.source

    def _kind(self, path: Path) -> str:
        if path.is_symlink() or not path.is_file():
            return "link"
        if _SYSTEM_FILES.fullmatch(path.name):
            return "system"
        from overread.pixels.formats import sniff_format

        kind = sniff_format(path)
        if kind in ("png", "jpeg", "dicom"):
            return str(kind)
        lower = path.name.lower()
        if kind == "nifti" or (kind == "gzip" and lower.endswith((".nii.gz", ".nii"))):
            return "nifti"
        ending = lower.rpartition(".")[2]
        if ending in _TABLES and kind is None:
            return ending
        return "dicom" if kind is None and _begins_as_dicom(path) else "unknown"

    def _collect_header_names(self, file: str) -> None:
        from overread.build.deid.dicom.headers import find_identifying_words, patient_of
        from overread.pixels.dicom.file import open_dicom, wrap_decoder_errors

        try:
            dataset = open_dicom(self._path(file), pixels=False)
            with wrap_decoder_errors("a DICOM file"):
                words, ids = find_identifying_words(dataset)
                self.names.setdefault(fold(patient_of(dataset)), set()).update(words)
                self.ids |= ids
        except OverreadError:
            return  # told when the file is cleaned

    def _collect_table_names(self, file: str, kind: str) -> None:
        try:
            for row in read_rows(_read_text(self._path(file)), kind):
                patient, names = find_patient(row, self.options)
                self.names.setdefault(fold(patient), set()).update(names)
                if len(patient) > 3:
                    self.ids.add(patient)
        except OverreadError:
            return

    def _new_path(self, file: str, known: set[str]) -> str:
        parts = []
        for n, part in enumerate(Path(file).parts):
            last = n == len(Path(file).parts) - 1
            stem, ending = _split_ending(part) if last else (part, "")
            if not _NUMBERED.fullmatch(stem) and (may_identify(stem, known) or _names_somebody(stem)):
                stem = f"f-{self.secret.code('path', stem)}"
            parts.append(stem + ending)
        return "/".join(parts)


def _walk(source: Path) -> Iterator[str]:
    if not source.is_dir():
        yield source.name
        return
    for folder, below, files in os.walk(source):
        below.sort()
        for name in sorted([*files, *(d for d in below if (Path(folder) / d).is_symlink())]):
            yield (Path(folder) / name).relative_to(source).as_posix()


def _split_ending(name: str) -> tuple[str, str]:
    match = re.search(r"(?:\.nii)?(?:\.[A-Za-z][A-Za-z0-9]{0,6})$", name)
    return (name[: match.start()], match[0]) if match and match.start() else (name, "")


def _names_somebody(stem: str) -> bool:
    words = re.findall(r"[^\W\d_]{3,}", stem)
    sure = [w for w in words if not is_also_word(w) and not is_eponym(w)]
    return any(is_given_name(word) or is_family_name(word) for word in sure)


def _begins_as_dicom(path: Path) -> bool:
    from overread.pixels.dicom.file import open_dicom

    try:
        head = open_dicom(path, pixels=False)
    except OverreadError:
        return False
    return "SOPClassUID" in head


def _is_dicomdir(path: Path) -> bool:
    from overread.build.deid.dicom.files import is_dicomdir

    return is_dicomdir(path)


def _clean_nifti_file(path: Path, out: Path) -> list[Removal]:
    from overread.build.deid.nifti_files import clean_nifti

    return clean_nifti(path, out, name="a volume")


def _read_text(path: Path) -> str:
    if path.stat().st_size > _LARGEST_TEXT:
        raise OverreadError("the text is larger than is read at once (1 GiB)")
    return require_text(path.read_bytes())
