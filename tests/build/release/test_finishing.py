"""Finished releases: cards, Croissant, checksums, and truth that is withheld."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overread
from overread.benchmarks import splits_of
from overread.benchmarks.output import write_once
from overread.build.release.checksums import CHECKSUMS, list_files, verify_checksums
from overread.build.release.provenance import Provenance
from overread.build.release.publication import finish_release
from overread.build.release.staging import staging_folder
from overread.errors import NotThere, OverreadError, UsageError
from tests.jsonl_rows import read_rows, write_rows

BENCHMARKS = ("medthinkvqa", "rexgroundingct", "mmrad")
MADE = Provenance(
    recipe="my-recipe",
    source="reports | of a made-up hospital",
    steps=("sentences 1", "leaks 3"),
    models=("reader: some-model-7b",),
    ledger="ab" * 32,
    seed=7,
    settings={"options": "5"},
)


def errors(benchmark: str, root: Path) -> list[str]:
    """What `overread check` calls wrong."""
    return [
        str(defect)
        for split in splits_of(benchmark, root)
        for defect in overread.check(benchmark, root, split)
        if defect.severity == "error"
    ]


def records(root: Path) -> dict[str, list[dict[str, Any]]]:
    """The record sets of a release as mlcroissant validates and reads them."""
    mlc = pytest.importorskip("mlcroissant")
    data = mlc.Dataset(jsonld=str(root / "croissant.json"))
    assert not data.metadata.ctx.issues.errors
    return {one.id: list(data.records(one.id)) for one in data.metadata.record_sets}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_finished_release_has_card_checksums_and_passes_check(
    benchmark: str, copy: Callable[[str], Path]
) -> None:
    """Finished in place it says what it is, every file has its sum, and check finds nothing."""
    root = copy(benchmark)
    done = finish_release(root, benchmark, provenance=MADE, licence="CC BY 4.0", title='A "small" one')
    card = (root / "README.md").read_text("utf-8")
    assert "For research and education, not for patient care." in card
    assert "license: cc-by-4.0" in card
    for words in ("my-recipe", "some-model-7b", "ab" * 32, "sentences 1, leaks 3", "overread 0."):
        assert words in card
    assert r"reports \| of a made-up hospital" in card  # no cell of the table breaks
    assert "| cases | 2 | 2 |" in card
    assert done.cases == {"train": 2, "test": 2}
    assert not errors(benchmark, root)
    assert not list(verify_checksums(root))
    listed = {line.split("  ")[1] for line in (root / CHECKSUMS).read_text().splitlines()}
    assert listed == set(list_files(root)) - {CHECKSUMS}


def test_the_card_counts_by_category_and_modality(copy: Callable[[str], Path]) -> None:
    """Counts are those of the entries."""
    root = copy("rexgroundingct")
    finish_release(root, "rexgroundingct")
    card = (root / "README.md").read_text("utf-8")
    for split, place in (("train", 1), ("test", 2)):
        entries = list(overread.load("rexgroundingct", root, split).entries())
        found = [f.category for e in entries if e.truth for f in e.truth.findings]
        row = next(line for line in card.splitlines() if line.startswith("| findings: 2d "))
        assert int(row.split("|")[place + 1]) == found.count("2d")
    root = copy("medthinkvqa")
    finish_release(root, "medthinkvqa")
    assert "| pictures: X-ray | 2 | 2 |" in (root / "README.md").read_text("utf-8")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_croissant_is_valid_and_its_records_are_the_rows(benchmark: str, copy: Callable[[str], Path]) -> None:
    """mlcroissant validates the file, checks the sums, and reads each split's rows by it."""
    root = copy(benchmark)
    finish_release(root, benchmark, published="2026-01-31", provenance=MADE)
    found = records(root)
    if benchmark == "rexgroundingct":
        rows = json.loads((root / "dataset.json").read_text("utf-8"))
        for split in ("train", "test"):
            assert [r[f"{split}/name"].decode() for r in found[split]] == [row["name"] for row in rows[split]]
            texts = [text for row in rows[split] for text in row["findings"].values()]
            keyed = found[f"{split}-keyed"]
            assert [r[f"{split}-keyed/findings"].decode() for r in keyed] == texts
        return
    for split in ("train", "test"):
        rows = read_rows(root / f"{split}.jsonl")
        column = "CLINICAL_HISTORY" if benchmark == "medthinkvqa" else "response"
        assert [r[f"{split}/{column}"].decode() for r in found[split]] == [r[column] for r in rows]
        if benchmark == "medthinkvqa":
            options = found[split][0][f"{split}/options"]
            assert options[f"{split}/options/B"].decode() == rows[0]["options"]["B"]
            assert found[split][0][f"{split}/image_count"] == 3
        else:
            images = [image.decode() for image in found[split][0][f"{split}/images"]]
            assert images == rows[0]["images"]


def test_croissant_names_sizes_and_sums(copy: Callable[[str], Path]) -> None:
    """Every file of rows with its size and SHA-256; pictures as sets of files."""
    root = copy("medthinkvqa")
    finish_release(root, "medthinkvqa")
    told = json.loads((root / "croissant.json").read_text("utf-8"))
    by_id = {one["@id"]: one for one in told["distribution"]}
    assert by_id["train.jsonl"]["contentSize"] == f"{(root / 'train.jsonl').stat().st_size} B"
    sums = (root / CHECKSUMS).read_text()
    assert f"{by_id['train.jsonl']['sha256']}  train.jsonl\n" in sums
    assert by_id["images-jpg"]["includes"] == "images/**/*.jpg"


def test_a_linked_folder_is_not_handed_on_in_silence(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """Checksums without the files behind it would pass, and the folder would be missing elsewhere."""
    root = copy("rexgroundingct")
    (root / "segmentations").rename(tmp_path / "other-disk")
    (root / "segmentations").symlink_to(tmp_path / "other-disk")
    with pytest.raises(UsageError, match="segmentations is a link to a folder"):
        finish_release(root, "rexgroundingct")


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_checksums_are_those_of_sha256sum(copy: Callable[[str], Path]) -> None:
    """`sha256sum --check` agrees, and a changed or lost file is named by ours."""
    root = copy("mmrad")
    finish_release(root, "mmrad")
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", CHECKSUMS], cwd=root, capture_output=True, check=False
    )
    assert done.returncode == 0
    film = next(root.rglob("problem_image_1.jpg"))
    film.write_bytes(film.read_bytes() + b"\0")
    (root / "test.jsonl").unlink()
    found = {(one.code, one.file) for one in verify_checksums(root)}
    assert found == {("changed-file", film.relative_to(root).as_posix()), ("missing-file", "test.jsonl")}
    (root / CHECKSUMS).write_text(f"{'0' * 64}  ../outside\n")
    assert [one.code for one in verify_checksums(root)] == ["bad-row"]


def test_finished_twice_is_the_same(copy: Callable[[str], Path]) -> None:
    """Finishing again changes no byte, and a card by somebody else is left alone."""
    root = copy("mmrad")
    finish_release(root, "mmrad", provenance=MADE)
    before = {file: (root / file).read_bytes() for file in list_files(root)}
    finish_release(root, "mmrad", provenance=MADE)
    assert {file: (root / file).read_bytes() for file in list_files(root)} == before
    (root / "README.md").write_text("Our own words.")
    done = finish_release(root, "mmrad")
    assert (root / "README.md").read_text() == "Our own words."
    assert any("somebody else" in note for note in done.notes)
    assert not list(verify_checksums(root))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_withheld_truth_is_nowhere_in_the_release(
    benchmark: str, sketch: Path, copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """Public: no truth of test, check passes, train whole. Private: test, equal to the original."""
    root, out, private = copy(benchmark), tmp_path / "public", tmp_path / "private"
    done = finish_release(root, benchmark, out=out, private=private, provenance=MADE)
    assert done.root == out
    assert done.private == private
    before = {file: (root / file).read_bytes() for file in list_files(root)}
    assert before == {
        file: (sketch / benchmark / file).read_bytes() for file in list_files(sketch / benchmark)
    }
    whole = {split: list(overread.load(benchmark, root, split).entries()) for split in ("train", "test")}
    assert list(overread.load(benchmark, out, "train").entries()) == whole["train"]
    hidden = list(overread.load(benchmark, out, "test").entries())
    assert [entry.case for entry in hidden] == [entry.case for entry in whole["test"]]
    assert all(entry.truth is None for entry in hidden)
    assert list(overread.load(benchmark, private, "test").entries()) == whole["test"]
    assert splits_of(benchmark, private) == ["test"]
    for folder in (out, private):
        assert not errors(benchmark, folder)
        assert not list(verify_checksums(folder))
    texts = [
        (out / file).read_text("utf-8")
        for file in list_files(out)
        if file.endswith((".jsonl", ".json", ".md"))
    ]
    for entry in whole["test"]:
        assert entry.truth is not None
        shown = {query.text for query in entry.case.queries} | {o.text for o in entry.case.options}
        secrets = [entry.truth.report, entry.truth.discussion, entry.truth.title]
        secrets += [finding.text for finding in entry.truth.findings]
        train = json.dumps([one.model_dump(mode="json") for one in whole["train"]])
        for secret in secrets:
            if secret and secret not in shown and secret not in train:
                assert not any(secret in text for text in texts)
        for file in _truth_files(entry):
            assert not (out / file).exists()
            assert (private / file).is_file()
    assert "withheld" in (out / "README.md").read_text("utf-8")
    assert "Do not hand it on" in (private / "README.md").read_text("utf-8")
    public = (out / "README.md").read_text("utf-8")
    assert "| findings |" in public
    assert next(line for line in public.splitlines() if "| findings |" in line).endswith("– |")


def _truth_files(entry: Any) -> list[str]:
    steps = entry.truth.trace.steps if entry.truth.trace else ()
    files = [step.crop for step in steps if step.crop]
    regions = [region for finding in entry.truth.findings for region in finding.regions]
    return files + [region.file for region in regions if region.kind == "mask"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_croissant_of_a_withheld_release_is_valid(
    benchmark: str, copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """The withheld columns are not described, and what is there can be read."""
    out = tmp_path / "public"
    finish_release(copy(benchmark), benchmark, out=out, private=tmp_path / "private")
    found = records(out)
    assert len(found["test"]) == 2
    names = {key for row in found["test"] for key in row}
    assert not names & {"test/correct_answer", "test/response", "test/protocol", "test/title"}


def test_what_may_tell_stays_behind_and_is_named(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """Extra columns of test, sidecars and strange files do not go out unless they are asked for."""
    root = copy("mmrad")
    rows = [row | {"solution": "xanadu"} for row in read_rows(root / "test.jsonl")]
    write_rows(root / "test.jsonl", rows)
    (root / "answers.json").write_text('{"all": "xanadu"}')
    (root / "LICENCE.txt").write_text("free")
    (root / "IVLImage/sketch00001/lateral.jpg").write_bytes(b"xanadu")
    done = finish_release(
        root, "mmrad", out=tmp_path / "public", private=tmp_path / "private", keep=["LICENCE.txt"]
    )
    assert "columns of test that stayed behind: solution" in done.notes
    assert "files that stayed behind: answers.json" in done.notes
    lateral = "1 file(s) that no case names stayed behind, such as IVLImage/sketch00001/lateral.jpg"
    assert lateral in done.notes
    assert (tmp_path / "public/LICENCE.txt").read_text() == "free"
    for file in list_files(tmp_path / "public"):
        assert b"xanadu" not in (tmp_path / "public" / file).read_bytes()
    entry = next(iter(overread.load("mmrad", tmp_path / "private", "test").entries()))
    assert entry.extra["solution"] == "xanadu"


def test_an_odd_prompt_comes_through(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """A prompt with its picture first is a column of nobody's, and says only what the case shows."""
    root = copy("mmrad")
    rows = read_rows(root / "test.jsonl")
    rows[0]["prompt"] = "<image>\nReport this film."
    write_rows(root / "test.jsonl", rows)
    finish_release(root, "mmrad", out=tmp_path / "public", private=tmp_path / "private")
    assert read_rows(tmp_path / "public/test.jsonl")[0]["prompt"] == "<image>\nReport this film."


def test_folders_within_each_other_are_refused(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """A private folder inside the public one would be handed on with it."""
    root = copy("mmrad")
    with pytest.raises(UsageError, match="lies in"):
        finish_release(root, "mmrad", out=tmp_path / "p", private=tmp_path / "p" / "truth")
    with pytest.raises(UsageError, match="lies in"):
        finish_release(root, "mmrad", out=root / "public", private=tmp_path / "truth")
    with pytest.raises(UsageError, match="a separate folder"):
        finish_release(root, "mmrad", out=tmp_path / "p")
    with pytest.raises(UsageError, match="no split 'val'"):
        finish_release(root, "mmrad", out=tmp_path / "p", private=tmp_path / "t", withheld=("val",))
    assert not (tmp_path / "p").exists()
    assert not (tmp_path / "t").exists()


def test_a_release_that_cannot_be_copied_whole_leaves_nothing(
    copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """A missing film ends it with one sentence; neither folder appears."""
    root = copy("mmrad")
    next(root.rglob("problem_image_1.jpg")).unlink()
    with pytest.raises(OverreadError) as caught:
        finish_release(root, "mmrad", out=tmp_path / "p", private=tmp_path / "t")
    assert isinstance(caught.value, NotThere)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mmrad"]


def test_what_a_kill_left_beside_a_whole_folder_goes_when_it_is_refused(tmp_path: Path) -> None:
    """The folder took its place, and what it was made in was not yet removed."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").touch()
    (tmp_path / ".out.unfinished").mkdir()
    with pytest.raises(UsageError, match="already exists"), staging_folder(tmp_path / "out"):
        raise AssertionError("nothing may be written")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_kill_left_of_a_comparison_goes_with_the_next(tmp_path: Path) -> None:
    """A target that is there is written once more beside it and compared; a kill leaves that copy."""
    target = tmp_path / "train.jsonl"
    target.write_text("{}\n", "utf-8")
    (tmp_path / f".{'0af1' * 8}.train.jsonl").touch()

    def write(path: Path) -> None:
        path.write_text("{}\n", "utf-8")

    write_once(target, write)
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]
