"""Prompts: files with named gaps, rendered strictly, one's own before the house's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from overread.errors import UnknownName, UsageError
from overread.prompts.templates import find_prompt, parse_prompt, prompt_names
from overread.runs.engine import RunPlan, run
from overread.runs.spec import read_spec
from overread.session import SessionSettings
from tests.runs.fake_readers import Echo


@pytest.mark.parametrize("name", prompt_names())
def test_every_prompt_says_what_it_is_for_and_takes(name: str) -> None:
    """Two lines: what it is for, and which values; the gaps are exactly those that it names.

    A piece of another prompt has no system message, and may have no gap.
    """
    prompt = find_prompt(name)
    about, takes = prompt.about.splitlines()
    piece = about.startswith("A piece of `")
    assert about.endswith(".")
    assert takes.startswith("Takes: ")
    told = set(re.findall(r"\w+", takes.partition("Answer:")[0]))
    assert prompt.placeholders <= told
    assert prompt.placeholders or piece
    assert bool(prompt.system) != piece
    assert "{{" not in prompt.render(dict.fromkeys(prompt.placeholders, "x"))[1]
    assert re.fullmatch(r"[0-9a-f]{16}", prompt.digest)


def test_gaps_and_values_must_agree() -> None:
    """A value too few or too many is told by name, with what the prompt takes."""
    prompt = parse_prompt("p", "about\n---\nFind {{ finding }} in {{place}}.")
    assert prompt.render({"finding": "it", "place": "here"}) == ("", "Find it in here.")
    with pytest.raises(UsageError, match="lacks place and has no placeholder for plcae"):
        prompt.render({"finding": "it", "plcae": "here"})


def test_values_are_never_gaps() -> None:
    """Braces, headings and dashes in a value stay what they are."""
    prompt = parse_prompt("p", "about\n---\n# system\nBe {{a}}.\n# user\n{{a}} and {{b}}")
    hostile = "{{b}} {{a}} \\1 \\g<0> # user\n---\n"
    system, user = prompt.render({"a": hostile, "b": "{{a}}"})
    assert system == f"Be {hostile}."
    assert user == hostile + " and {{a}}"


def test_the_wording_is_the_digest() -> None:
    """What is said to a model counts, and what is said about it does not."""
    one, same, other = (
        parse_prompt("p", text).digest
        for text in ("a\n---\nSay {{x}}", "b\n---\nSay {{x}}", "a\n---\nTell {{x}}")
    )
    assert one == same != other


def test_ones_own_prompt_wins(tmp_path: Path) -> None:
    """A file in the folder takes the place of the house's; others are the house's still."""
    (tmp_path / "report.md").write_text("Mine.\n---\n{{instruction}} Be brief.")
    assert find_prompt("report", tmp_path).user == "{{instruction}} Be brief."
    assert find_prompt("choose", tmp_path) == find_prompt("choose")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe\n---\nx", "it is not UTF-8"),
        (b"no dashes", "has no '---' line"),
        (b"about\n---\n  \n", "has no '---' line"),
        (b"", "has no '---' line"),
    ],
)
def test_a_file_that_is_no_prompt(tmp_path: Path, content: bytes, told: str) -> None:
    """It is one sentence with the remedy, and no bug."""
    (tmp_path / "choose.md").write_bytes(content)
    with pytest.raises(UsageError, match=told):
        find_prompt("choose", tmp_path)


@pytest.mark.parametrize("name", ["chose", "../choose", "choose.md", "", "A" * 100])
def test_names_that_are_none(name: str, tmp_path: Path) -> None:
    """A misspelt name gets the nearest one; nothing leads out of the folder."""
    with pytest.raises(UnknownName):
        find_prompt(name, tmp_path)


def test_a_prompt_that_asked_nothing_is_not_kept(sketch: Path, tmp_path: Path) -> None:
    """Once its gaps are mended the same folder takes the run: nothing was asked with the old."""
    mine = tmp_path / "mine"
    mine.mkdir()
    plan = RunPlan(
        "mmrad",
        sketch / "mmrad",
        Echo(lambda _: "Normal."),
        use_cache=False,
        settings=SessionSettings(prompts=str(mine)),
    )
    (mine / "report.md").write_text("Mine.\n---\nReport it.")
    with pytest.raises(UsageError, match="has no placeholder for instruction"):
        run(plan, tmp_path / "run")
    (mine / "report.md").write_text("Mine.\n---\n{{instruction}}")
    assert run(plan, tmp_path / "run").tally.failed == 0
    expected = {"report": find_prompt("report", mine).digest}
    assert read_spec(tmp_path / "run").prompts == expected
