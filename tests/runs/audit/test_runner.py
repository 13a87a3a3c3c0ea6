"""The audit tells readers apart: who looks where he says, who looks elsewhere, who does not look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread.core import Box, Mask, SentImage
from overread.pixels.masks import read_channel
from overread.runs.audit.runner import AuditPlan, audit
from overread.runs.engine import RunPlan, run
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.comparison import compare
from overread.runs.scoring.from_run import score
from overread.runs.store import last_readings
from tests.runs.audit.audited_runs import audited, moved, rests
from tests.runs.audit.looking_readers import (
    BOX,
    RANGE,
    WHOLE_SECOND,
    Drawing,
    Model,
    Threshold,
    citing,
    dense_in_lungs,
    draw_all,
    fixed_ball,
    look_and_draw,
    opened,
    paint_films,
    sees_anything,
    sees_nothing,
    sees_second,
    sees_square,
    write_marked,
)

CASES = 12


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dozen cases of three pictures; in the first of each lies a bright square."""
    return write_marked(tmp_path_factory.mktemp("marked") / "release", CASES)


# ---- boxes ---------------------------------------------------------------------------------


def test_a_reader_that_looks_where_it_says(marked: Path, tmp_path: Path) -> None:
    """Hiding the cited box moves every answer, nothing else does, and the box alone is enough."""
    found = audited(Model(sees_square), tmp_path / "run", marked, workflow=citing(BOX))
    assert found.cited == {"box": CASES}
    share = moved(found)
    assert share.pop("swapped") is not None
    assert share == {"null": 0.0, "hidden": 1.0, "other": 0.0, "only": 0.0}
    assert (rests(found).value, rests(found).n) == (1.0, CASES)
    assert found.null_equal == CASES
    assert found.shares is not None
    apart = found.shares.cited_over_other_moved
    assert apart is not None
    assert apart.difference.value == 1.0


def test_arms_are_scored_as_what_they_are(marked: Path, tmp_path: Path) -> None:
    """Their readings have another number than those of the run, and pair with them all the same."""
    audited(Model(sees_square), tmp_path / "run", marked, workflow=citing(BOX))
    cards = {
        name: score(tmp_path / "run" / name, bootstrap=BootstrapSettings(draws=10))
        for name in ("", "audit/null", "audit/hidden")
    }
    right = {name: card.scores["accuracy"].value for name, card in cards.items()}
    assert right[""] == right["audit/null"] != right["audit/hidden"]
    assert {(card.cases, card.missing, card.readings) for card in cards.values()} == {(CASES, 0, CASES)}
    assert not any("was not read" in told for card in cards.values() for told in card.problems)
    found = compare([cards[""], cards["audit/null"]], metrics=("accuracy",), names=("run", "null"))
    assert found.metrics["accuracy"].differences["null"].difference.value == 0


def test_a_reader_that_ignores_its_pictures(marked: Path, tmp_path: Path) -> None:
    """No arm moves anything, whatever it cites."""
    found = audited(Model(sees_nothing), tmp_path / "run", marked, workflow=citing(BOX))
    assert set(moved(found).values()) == {0.0}
    assert rests(found).value == 0.0


def test_a_reader_that_looks_elsewhere(marked: Path, tmp_path: Path) -> None:
    """It cites a corner and answers from the square: hiding what it cites moves nothing."""
    corner = Box(picture="image-1", x1=40, y1=40, x2=56, y2=56)
    found = audited(Model(sees_square), tmp_path / "run", marked, workflow=citing(corner))
    share = moved(found)
    assert (share["hidden"], share["only"]) == (0.0, 1.0)
    assert rests(found).value <= 0.0


def test_a_reader_that_every_pixel_moves(marked: Path, tmp_path: Path) -> None:
    """It moves as much for the other box: its answers rest on the pictures, not on what it cites."""
    found = audited(Model(sees_anything), tmp_path / "run", marked, workflow=citing(BOX))
    share = moved(found)
    assert share["null"] == 0.0
    assert min(share["hidden"] or 0, share["other"] or 0) >= 0.5
    assert rests(found).low <= 0.0 <= rests(found).high
    assert found.shares is not None
    assert found.shares.rests_on_shown is not None
    assert (found.shares.rests_on_shown.low or 0) > 0.3


def test_noise_is_taken_off(tmp_path: Path) -> None:
    """Answers that move anyway are no evidence; of a noisy reader that looks, all the rest is."""
    root = write_marked(tmp_path / "release", 40)
    way: dict[str, Any] = {"workflow": citing(BOX), "arms": ("hidden", "other")}
    blind = audited(Model(sees_nothing, noise=0.4), tmp_path / "blind", root, **way)
    assert (moved(blind)["null"] or 0) > 0.2
    assert (moved(blind)["hidden"] or 0) > 0.2
    assert rests(blind).low <= 0.0 <= rests(blind).high
    assert blind.null_equal is not None
    assert blind.null_equal < 40
    keen = audited(Model(sees_square, noise=0.3), tmp_path / "keen", root, **way)
    assert (moved(keen)["null"] or 0) > 0.15
    assert rests(keen).low > 0.5
    assert rests(keen).high > 0.85


def test_what_each_arm_shows(marked: Path, tmp_path: Path) -> None:
    """The reader is sent exactly the pictures that the arm says, and not told."""
    sent: dict[tuple[str, int], list[Any]] = {}
    words: set[str] = set()

    class Watched(Model):
        async def read(self, request: Any) -> Any:
            parts = [part for message in request.messages for part in message.parts]
            shown = [part for part in parts if isinstance(part, SentImage)]
            key = (request.case.id, self.asked)
            sent[key] = [opened(request.images[part.sha256]) for part in shown]
            words.update(part for part in parts if isinstance(part, str) and "case" in key[0])
            return await super().read(request)

    way = citing(BOX)
    reader = Watched(sees_square)
    plan = RunPlan("medthinkvqa", marked, reader, workflow=way, cases=("#1",), use_cache=False)
    run(plan, tmp_path / "run")
    audit(AuditPlan(tmp_path / "run", reader=reader, workflow=way, use_cache=False))
    base, null, hidden, other, swapped, only = sent.values()
    place = np.zeros((64, 64), bool)
    place[8:24, 8:24] = True
    assert all((one == two).all() for one, two in zip(base, null, strict=True))
    for arm in (hidden, other, swapped):
        assert all((one == two).all() for one, two in zip(base[1:], arm[1:], strict=True))
    assert (hidden[0][~place] == base[0][~place]).all()
    assert (swapped[0][~place] == base[0][~place]).all()
    assert abs(hidden[0][place].mean() - 90) < 5
    changed = other[0] != base[0]
    assert not (changed & place).any()
    assert place.sum() * 0.8 < changed.sum() <= place.sum()
    assert (only[0][place] == base[0][place]).all()
    assert len(np.unique(only[0][~place])) == 1
    assert all(set(picture.ravel()) == {128} for picture in only[1:])
    assert len(words) == 2  # the same system's and user's words in all of them


# ---- whole pictures ------------------------------------------------------------------------


def test_single_images_of_a_case(marked: Path, tmp_path: Path) -> None:
    """A cited picture is hidden, and another of the case in its stead."""
    way = citing(WHOLE_SECOND)
    found = audited(Model(sees_second), tmp_path / "run", marked, workflow=way)
    assert found.cited == {"whole": CASES}
    share = moved(found)
    assert share.pop("swapped") == 0.0  # another's picture is as grainy
    assert share == {"null": 0.0, "hidden": 1.0, "other": 0.0, "only": 0.0}
    assert rests(found).value == 1.0


def test_who_cites_everything_has_nothing_to_be_compared_with(marked: Path, tmp_path: Path) -> None:
    """The plain workflow concludes from all pictures: it is said, and no share is made up."""
    found = audited(Model(sees_second), tmp_path / "run", marked, workflow=None)
    assert set(found.without["other"].values()) == {"it cites everything"}
    assert len(found.without["other"]) == CASES
    assert set(moved(found)) == {"null", "hidden", "swapped"}
    assert rests(found) is None
    assert found.shares is not None
    assert found.shares.rests_on_shown is not None
    assert found.shares.rests_on_shown.value == 1.0


def test_majority_never_moves(sketch: Path, tmp_path: Path) -> None:
    """It cites nothing, which is said; with all its pictures hidden it says the same."""
    for benchmark in ("medthinkvqa", "rexgroundingct", "mmrad"):
        out = tmp_path / benchmark
        run(RunPlan(benchmark, sketch / benchmark, "majority"), out)
        found = audit(AuditPlan(out))
        assert found.shares is None
        assert found.uncited == found.audited
        assert len(found.uncited) == 2
        assert found.shares_uncited is not None
        assert {own.moved.value for own in found.shares_uncited.arms.values()} == {0.0}
        assert {own.far.value for own in found.shares_uncited.arms.values()} == {0.0}
        assert set(found.shares_uncited.arms) == {"null", "hidden", "swapped"}
        assert found.null_equal == 2


# ---- volumes -------------------------------------------------------------------------------


def test_masks_of_a_reader_that_looks(sketch: Path, tmp_path: Path) -> None:
    """What it marked is gone when that is hidden, stays when another place is, and stands alone."""
    found = audited(
        Drawing(dense_in_lungs), tmp_path / "run", sketch / "rexgroundingct",
        benchmark="rexgroundingct", workflow=draw_all,
    )  # fmt: skip
    share = moved(found)
    assert (share["null"], share["hidden"], share["other"]) == (0.0, 1.0, 0.0)
    assert rests(found).value == 1.0
    assert found.shares is not None
    far = {arm: own.far.value or 0.0 for arm, own in found.shares.arms.items()}
    assert far["hidden"] > 0.6
    assert far["other"] < 0.2
    assert found.rules == ["masks: Dice under 0.5; how far: 1 − Dice"]


def test_masks_of_a_reader_that_does_not_look(sketch: Path, tmp_path: Path) -> None:
    """The same ball in every arm."""
    found = audited(
        Drawing(fixed_ball), tmp_path / "run", sketch / "rexgroundingct",
        benchmark="rexgroundingct", workflow=draw_all,
    )  # fmt: skip
    assert set(moved(found).values()) == {0.0}
    assert rests(found).value == 0.0


def test_slices(sketch: Path, tmp_path: Path) -> None:
    """Who marks nothing cites the slices it looked at; hiding these moves who looks there."""

    def blurred_slices(hu: Any, space: Any) -> Any:
        # The sketched CTs are stored with their slices last, from the feet.
        detail = np.abs(np.diff(hu[:, :, RANGE.first : RANGE.last + 1].astype(float), axis=0))
        mask = np.zeros(hu.shape, bool)
        mask[:5, :5, :5] = np.percentile(detail, 99.5) < 300
        return mask

    found = audited(
        Drawing(blurred_slices), tmp_path / "run", sketch / "rexgroundingct",
        benchmark="rexgroundingct", workflow=look_and_draw,
    )  # fmt: skip
    assert found.cited == {"slices": 2}
    share = moved(found)
    assert (share["null"], share["hidden"], share["other"], share["only"]) == (0, 1, 0, 0)
    assert rests(found).value == 1.0


# ---- a computing reader of whole cases -----------------------------------------------------


def test_a_computing_reader_of_whole_cases(sketch: Path, tmp_path: Path) -> None:
    """Handed in ready-made it computes here; its masks are written, those of steps beside them."""
    root = sketch / "rexgroundingct"
    found = audited(Threshold(), tmp_path / "run", root, benchmark="rexgroundingct")
    share = moved(found)
    assert (share["null"], share["hidden"], share["other"]) == (0.0, 1.0, 0.0)
    release = overread.load("rexgroundingct", root)
    for case in release:
        reading = last_readings(tmp_path / "run")[case.id, 0]
        hu = release.pictures.pixels(case.pictures[0])
        space = release.pictures.geometry(case.pictures[0])
        for number, finding in enumerate(reading.findings or ()):
            [region] = finding.regions
            assert isinstance(region, Mask)
            assert (region.channel, region.channels) == (number, len(case.queries))
            mask = read_channel(tmp_path / "run" / region.file, number, space.shape, region.channels)
            assert ((mask > 0) == dense_in_lungs(hu, space)).all()
        assert reading.trace is not None
        [lungs] = reading.trace.steps[0].regions
        assert isinstance(lungs, Mask)
        assert (lungs.file, lungs.channel, lungs.channels) == (f"arrays/{case.id}+1.nii.gz", 0, 1)
        assert (tmp_path / "run" / lungs.file).exists()


def test_reports_and_probabilities(copy: Callable[[str], Path], marked: Path, tmp_path: Path) -> None:
    """A report moves by its labels, a choice by its probabilities."""
    films = paint_films(copy("mmrad"))
    found = audited(Threshold(), tmp_path / "films", films, benchmark="mmrad")
    share = moved(found)
    assert (share["null"], share["hidden"], share["other"], share["only"]) == (0, 1, 0, 0)
    assert found.shares is not None
    assert found.shares.arms["hidden"].words is not None
    assert (found.shares.arms["hidden"].words.value or 0) > 0
    cases = audited(Threshold(), tmp_path / "cases", marked)
    assert cases.shares is not None
    assert cases.shares.arms["hidden"].moved.value == 1.0
    assert cases.shares.arms["hidden"].far.value == pytest.approx(0.5)
