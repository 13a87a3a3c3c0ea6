"""Which regions a sentence speaks of: on the phantom's sentences, whose regions are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from overread.build.mmrad.major_regions import core_regions, union_box
from overread.build.mmrad.sentence_regions import group_by_major, regions_of_sentence
from overread.phantom.film.report import write_xray_report
from tests.phantom.film.made_up_sights import sight

HEART = "heart and the mediastinal region"
PLEURA = "pleura and diaphragm region"


def test_every_sentence_of_the_phantom_is_told_in_its_major_region() -> None:
    """Of 600 sentences of all wordings and styles, held out ones too, none goes elsewhere."""
    wrong, seen = [], 0
    for seed in range(80):
        report = write_xray_report(
            sight(seed),
            np.random.default_rng(seed),
            held_out=bool(seed % 2),
            style="translated" if seed % 4 > 1 else "radiologist",
        )
        for one in report.sentences:
            if one.section == "findings":
                seen += 1
                told = regions_of_sentence(one.text)
                if list(told) != [one.group]:
                    wrong.append((one.text, one.group, told))
    assert seen > 550
    assert not wrong


def test_boxes_are_the_generators_wherever_the_words_tell_them() -> None:
    """All denials have the generator's box; findings whose words say where have it, too."""
    same = {True: 0, False: 0}
    other: dict[bool, list[str]] = {True: [], False: []}
    for seed in range(80):
        film = sight(seed)
        report = write_xray_report(film, np.random.default_rng(seed), held_out=bool(seed % 2))
        for one in report.sentences:
            if one.section != "findings":
                continue
            core = core_regions(one.group)
            mine = union_box(film.regions, (*regions_of_sentence(one.text)[one.group], *core))
            denied = not one.keys
            if mine == union_box(film.regions, (*one.regions, *core)):
                same[denied] += 1
            else:
                other[denied].append(one.text)
    assert not other[True]
    # Where fluid, thickening or nodes lie exactly is seen on the film and not said in the words.
    vague = ("pleura", "effusion", "hil", "node", "adenopathy", "costophrenic", "pneumothora")
    assert all(any(word in text.lower() for word in vague) for text in other[False])
    assert len(other[False]) <= 0.1 * same[False]


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        (
            "Heart size is normal, and the left lung is clear.",
            {HEART: ("cardiac silhouette",), "lung region": ("left lung",)},
        ),
        ("Small left apical pneumothorax.", {PLEURA: ("left apical zone",)}),
        ("No free air under the diaphragm.", {"abdominal region": ("abdomen",)}),
        ("In the right hemithorax, there is pleural thickening.", {PLEURA: ("right lung",)}),
        ("A fracture of the left clavicle.", {"bone region": ("left clavicle",)}),
        ("The right hilum is enlarged.", {HEART: ("right hilar structures",)}),
        ("Discussed with the team on the ward.", {}),
        ("Akciğer parankiminde özellik yoktur.", {}),
        ("", {}),
    ],
)
def test_a_sentence_speaks_of_its_regions(sentence: str, told: dict[str, tuple[str, ...]]) -> None:
    """Sides, several majors in one sentence, and sentences that name no region of a film."""
    assert regions_of_sentence(sentence) == told


def test_given_regions_are_sorted_into_major_regions() -> None:
    """Fluid and air of the pleura are told with it, though a lung's box was given."""
    assert group_by_major("No pneumothorax.", ["right lung", "left lung"]) == {
        PLEURA: ("right lung", "left lung")
    }
    assert group_by_major("The lung is clear.", ["left lung"]) == {"lung region": ("left lung",)}


def test_regions_of_ones_own_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a list that has no bones and no pleura, what they would show is told elsewhere or not."""
    own = tmp_path / "regions.toml"
    own.write_text(
        'title = "Mine"\nsource = "me"\n[[group]]\nname = "chest"\npairs = ["lung"]\n'
        'single = ["cardiac silhouette"]\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("OVERREAD_REGIONS", str(own))
    assert regions_of_sentence("No acute fracture.") == {}
    assert regions_of_sentence("Left pneumothorax.") == {"chest": ("left lung",)}
    assert regions_of_sentence("Pneumoperitoneum.") == {}
    assert regions_of_sentence("Large heart, clear lungs.") == {
        "chest": ("right lung", "left lung", "cardiac silhouette")
    }
    assert core_regions("chest") == ("right lung", "left lung", "cardiac silhouette")
