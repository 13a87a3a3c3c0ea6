"""Chains of thought: `anatomical_cot.json` becomes the truth's trace, and is written back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overread
from overread.benchmarks.rexgroundingct.chains import read_chains
from overread.build.release.publication import finish_release
from overread.core import Defect, Step, Trace, VoxelBox

Copy = Callable[[str], Path]
FILE = "anatomical_cot.json"


def make_chain(structure: str = "right upper lobe") -> list[dict[str, Any]]:
    """A chain in our own layout, as the phantom and the builder write it."""
    return [
        {"level": "scan", "structure": "whole scan", "text": "Looked for: a nodule.", "box": [0, 0, 0, 20, 20, 10], "within": []},
        {"level": "lung", "structure": "right lung", "text": "It lies in the right lung.", "box": [1, 2, 1, 12, 18, 9], "within": [0]},
        {"level": "lobe", "structure": structure, "text": f"The {structure} holds it.", "within": [1]},
        {
            "level": "lesion", "structure": "lesion", "text": "Here it is.", "box": [3, 4, 2, 8, 7, 4],
            "within": [2], "entities": [[3, 4, 2, 5, 7, 4], [6, 4, 2, 8, 7, 3]],
        },
    ]  # fmt: skip


def names(root: Path, split: str) -> list[str]:
    return [row["name"] for row in json.loads((root / "dataset.json").read_text())[split]]


def two_findings(root: Path) -> tuple[int, str]:
    """A train scan with two findings: its place and its name."""
    rows = json.loads((root / "dataset.json").read_text())["train"]
    return next((n, row["name"]) for n, row in enumerate(rows) if len(row["findings"]) == 2)


def put(root: Path, data: object) -> Path:
    (root / FILE).write_text(json.dumps(data), "utf-8")
    return root


def trace(root: Path, split: str = "train", case: int = 0) -> Trace | None:
    entry = list(overread.load("rexgroundingct", root, split).entries())[case]
    assert entry.truth is not None
    return entry.truth.trace


def defects(root: Path, split: str = "train") -> list[Defect]:
    found = overread.check("rexgroundingct", root, split)
    return [defect for defect in found if "chain" in defect.code or defect.file == FILE]


def test_a_chain_becomes_the_trace_of_the_truth(copy: Copy) -> None:
    """Each step says its finding, its level and its structure, and its boxes are regions of the CT."""
    root = copy("rexgroundingct")
    place, name = two_findings(root)
    put(root, {name: {"1": make_chain()}})
    told = trace(root, case=place)
    assert told is not None
    assert [step.link.level for step in told.steps if step.link] == ["scan", "lung", "lobe", "lesion"]
    assert {step.link.query for step in told.steps if step.link} == {"1"}
    _, lung, lobe, lesion = told.steps
    assert lung.text == "It lies in the right lung."
    assert lung.regions == (VoxelBox(picture="ct", low=(1, 2, 1), high=(12, 18, 9), label="right lung"),)
    assert lobe.link is not None
    assert (lobe.regions, lobe.link.structures, lobe.link.within) == ((), ("right upper lobe",), (1,))
    assert [region.kind for region in lesion.regions] == ["voxels"] * 3
    assert trace(root, case=1 - place) is None
    assert [d.code for d in defects(root)] == []


def test_chains_are_written_back_as_they_were(copy: Copy, tmp_path: Path) -> None:
    """Split by split into one file, with keys that no record holds."""
    root = copy("rexgroundingct")
    chain = make_chain()
    chain[1]["made_by"] = "a model of theirs"
    data = {name: {"0": chain} for split in ("train", "test") for name in names(root, split)}
    put(root, data)
    for split in ("train", "test"):
        overread.write(overread.load("rexgroundingct", root, split), tmp_path / "out")
    assert json.loads((tmp_path / "out" / FILE).read_text()) == data
    assert trace(tmp_path / "out") == trace(root)


def test_chains_are_published_for_train_and_withheld_for_test(copy: Copy, tmp_path: Path) -> None:
    """The public file has the train scans alone; the private one has those of test."""
    root = copy("rexgroundingct")
    every = {split: names(root, split) for split in ("train", "test")}
    put(root, {name: {"0": make_chain()} for own in every.values() for name in own})
    done = finish_release(root, "rexgroundingct", out=tmp_path / "public", private=tmp_path / "private")
    public = json.loads((tmp_path / "public" / FILE).read_text())
    assert public == {name: {"0": make_chain()} for name in every["train"]}
    assert list(json.loads((tmp_path / "private" / FILE).read_text())) == every["test"]
    hidden = overread.load("rexgroundingct", tmp_path / "public", "test").entries()
    assert [entry.truth for entry in hidden] == [None] * len(every["test"])
    assert not any(FILE in note for note in done.notes)


def test_what_may_be_the_official_layouts_is_read(copy: Copy) -> None:
    """By split, as rows with a name, names without an ending; chains of sentences tell their levels."""
    root = copy("rexgroundingct")
    first = names(root, "train")[0]
    words = "Whole scan → Left lung → Left lower lobe → a structure of theirs → Nodule of 4 mm"
    wanted = ["scan", "lung", "lobe", "segment", "lesion"]
    for data in (
        {first.removesuffix(".nii.gz"): {"0": words}},
        {"train": [{"name": first, "findings": {"0": "text"}, "anatomical_cot": {"0": words}}]},
        {"train": {first: {"0": words.split(" → ")}}, "test": {}},
        [{"name": first, "cot": {"0": words.replace(" → ", "\n")}}],
    ):
        told = trace(put(root, data))
        assert told is not None
        assert [step.link.level for step in told.steps if step.link] == wanted
        assert told.steps[2].link is not None
        assert told.steps[2].link.structures == ("left lower lobe",)
        assert defects(root) == []


def test_a_layout_that_nobody_knows_is_one_warning_and_is_kept(copy: Copy, tmp_path: Path) -> None:
    """It is named once, however many scans have it, and is copied as it is."""
    root = copy("rexgroundingct")
    data = {name: {"0": [{"step": 1, "bbox": [1]}]} for name in names(root, "train")}
    put(root, data)
    (one,) = defects(root)
    assert (one.code, one.severity) == ("unread-chain", "warning")
    assert "keys step, bbox" in one.found
    overread.write(overread.load("rexgroundingct", root, "train"), tmp_path)
    assert json.loads((tmp_path / FILE).read_text()) == data


def step(**changes: object) -> list[dict[str, Any]]:
    chain = make_chain()
    chain[1] |= changes
    return chain


@pytest.mark.parametrize(
    ("chain", "field", "expected"),
    [
        (7, "0", "a list of steps"),
        ([], "0", "1 to 200 steps"),
        ([7], "0[0]", "a step"),
        (step(level="toe"), "0[1].level", "one of scan, pleura, lung, lobe, segment, lesion"),
        (step(text=None), "0[1].text", "a text of at most"),
        (step(text=" "), "0[1].text", "a text of at most"),
        (step(structure=[1]), "0[1].structure", "a text of at most"),
        (step(box=[1, 2, 3]), "0[1].box", "six whole numbers"),
        (step(box=[1, 2, 1, 12, 18, True]), "0[1].box", "six whole numbers"),
        (step(box=[1, 2, 1, 1, 18, 9]), "0[1].box", "a box that ends after it begins"),
        (step(box=[1, 2, 1, 12, 18, 10**30]), "0[1].box", "a box that ends after it begins"),
        (step(box=[-1, 2, 1, 12, 18, 9]), "0[1].box", "a box that ends after it begins"),
        (step(within=[1]), "0[1].within", "a list of numbers of earlier steps"),
        (step(within="x"), "0[1].within", "a list of numbers of earlier steps"),
        (step(entities=3), "0[1].entities", "a list of boxes"),
        (make_chain() * 60, "0", "1 to 200 steps"),
    ],
)  # fmt: skip
def test_a_damaged_chain_is_left_out_and_named(chain: Any, field: str, expected: str) -> None:
    """One sentence says where and what was expected; the chains of other findings stay."""
    chains = {"0": chain, "1": make_chain()}
    told, (one,) = read_chains(chains, ("0", "1"), picture="ct", shape=(20, 20, 10), case="train_2")
    assert told is not None
    assert {s.link.query for s in told.steps if s.link} == {"1"}
    assert (one.code, one.severity, one.file, one.field) == ("bad-chain", "error", FILE, field)
    assert one.expected.startswith(expected)
    assert one.case == "train_2"


def test_a_damaged_file_is_named_and_the_cases_stay(copy: Copy) -> None:
    """No JSON, no mapping, a wrong encoding, chains of findings and of scans that are not there."""
    root = copy("rexgroundingct")
    first = names(root, "train")[0]
    for raw, code in (
        (b"{", "bad-row"),
        (b"7", "bad-chain"),
        (b"null", "bad-chain"),
        (b'{"a": "\xff"}', "wrong-encoding"),
        (json.dumps({first: {"9": make_chain()}}).encode(), "bad-chain"),
        (json.dumps({first: {"0": step(box="here")}}).encode(), "bad-chain"),
        (json.dumps({"no_such_scan": {"0": make_chain()}}).encode(), "unused-chain"),
        (json.dumps({first: 7}).encode(), "unread-chain"),
    ):
        (root / FILE).write_bytes(raw)
        assert [d.code for d in defects(root)] == [code], raw
        assert trace(root) is None
    (root / FILE).unlink()
    (root / FILE).symlink_to("/etc/hostname")
    assert [d.code for d in defects(root)] == ["refused-file"]


def test_a_trace_that_the_file_cannot_hold_is_refused(copy: Copy, tmp_path: Path) -> None:
    """A look without a chain has no place in this layout."""
    from overread.benchmarks.memory_release import MemoryRelease
    from overread.errors import UsageError

    release = overread.load("rexgroundingct", copy("rexgroundingct"), "train")
    entry = next(iter(release.entries()))
    assert entry.truth is not None
    truth = entry.truth.model_copy(update={"trace": Trace(steps=(Step(kind="say", text="hm"),))})
    made = MemoryRelease(
        "rexgroundingct", "train", [entry.model_copy(update={"truth": truth})], release.source
    )
    with pytest.raises(UsageError, match=r"truth\.trace"):
        overread.write(made, tmp_path)
