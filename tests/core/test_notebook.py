"""Records and releases show themselves in a notebook."""

from __future__ import annotations

from pathlib import Path

import overread
from overread import Case, Image, Option
from overread.core.notebook import html_table


def test_a_record_is_a_table_of_its_filled_fields() -> None:
    """Empty fields and handles that are never printed stay out, and every text is escaped."""
    case = Case(
        id="c1",
        benchmark="mine",
        split="test",
        patient="p7",
        history="<script>alert(1)</script> & cough",
        options=(Option(letter="A", text="Pneumonia"),),
        pictures=(Image(name="image-1", file="secret-name.png"),),
    )
    shown = case._repr_html_()
    assert "<caption>Case</caption>" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; cough" in shown
    assert "Pneumonia" in shown
    assert "instruction" not in shown
    assert "p7" not in shown
    assert "secret-name" not in shown


def test_zero_and_false_are_values() -> None:
    """A count of 0 is something to show; an absent one is not."""
    assert "<td>channel</td><td>0</td>" in overread.Mask(picture="ct", file="m.nii")._repr_html_()


def test_a_release_shows_its_first_cases_without_their_truth(sketch: Path) -> None:
    """The table names the cases and holds neither answers nor captions."""
    release = overread.load("medthinkvqa", sketch / "medthinkvqa")
    shown = release._repr_html_()  # type: ignore[attr-defined]
    entries = list(release.entries())
    assert entries[0].case.id in shown
    for entry in entries:
        assert entry.truth is not None
        assert entry.truth.discussion is None or entry.truth.discussion not in shown
        assert all(finding.text not in shown for finding in entry.truth.findings)


def test_long_texts_are_cut() -> None:
    """A report of ten pages does not fill the screen."""
    assert len(html_table("t", [("a", "x" * 10_000)])) < 1000
