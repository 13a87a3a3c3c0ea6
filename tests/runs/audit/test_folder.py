"""The folder of an audit: its arms are runs, it goes on, and what cannot be audited is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overread.core import Box, Region, SentImage, Whole
from overread.errors import OverreadError, UsageError
from overread.runs.audit.runner import ARMS, Audit, AuditPlan, audit, estimate_audit
from overread.runs.engine import RunPlan, run
from overread.runs.spec import read_spec
from overread.runs.store import last_readings
from overread.session import SessionSettings
from tests.runs.audit.audited_runs import audited, moved
from tests.runs.audit.looking_readers import (
    BOX,
    Model,
    citing,
    opened,
    sees_nothing,
    sees_square,
    write_marked,
)

CASES = 12


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dozen cases of three pictures; in the first of each lies a bright square."""
    return write_marked(tmp_path_factory.mktemp("marked") / "release", CASES)


# ---- the folder ----------------------------------------------------------------------------


def test_arms_are_runs(marked: Path, tmp_path: Path) -> None:
    """Each says what it is, asks for another sample, and can be opened again."""
    out = tmp_path / "run"
    found = audited(Model(sees_square), out, marked, workflow=citing(BOX))
    for arm in ARMS:
        spec = read_spec(out / "audit" / arm)
        assert spec.purpose == {"audit": arm, "is": ARMS[arm], "seed": 0}
        assert {sample for _, sample in last_readings(out / "audit" / arm)} == {1}
    told = json.loads((out / "audit" / "audit.json").read_text())
    assert told == json.loads(json.dumps(found.as_dict()))
    assert told["shares"]["rests"]["value"] == 1.0
    assert len(told["answers"]) == CASES * len(ARMS)
    with pytest.raises(UsageError, match="an arm of an audit"):
        audit(AuditPlan(out / "audit" / "hidden"))


def test_going_on_asks_nothing_twice(marked: Path, tmp_path: Path) -> None:
    """The same audit again asks nobody; a larger limit and more arms ask what is left."""
    out, way = tmp_path / "run", citing(BOX)
    reader = Model(sees_square)
    plan = RunPlan("medthinkvqa", marked, reader, workflow=way, use_cache=False)
    run(plan, out)

    def again(**more: Any) -> Audit:
        return audit(AuditPlan(out, reader=reader, workflow=way, use_cache=False, **more))

    asked = reader.asked
    assert len(again(limit=4, arms=("hidden",)).audited) == 4
    assert reader.asked - asked == 2 * 4
    again(limit=6, arms=("hidden", "other"))
    assert reader.asked - asked == 3 * 6
    first = again(limit=6, arms=("hidden", "other")).as_dict()["shares"]
    assert reader.asked - asked == 3 * 6
    assert again(limit=6, arms=("hidden", "other")).as_dict()["shares"] == first
    fewer = again(limit=2, arms=("hidden",))
    assert (len(fewer.audited), moved(fewer)["hidden"]) == (2, 1.0)
    assert reader.asked - asked == 3 * 6
    with pytest.raises(UsageError, match="begun with --seed 0"):
        again(seed=1)
    again()
    assert reader.asked - asked == 5 * CASES
    assert reader.closed == 8  # after the run, and after each of seven audits


def test_the_null_finds_its_answers_in_the_cache(marked: Path, tmp_path: Path) -> None:
    """What a repeated run asked before is the null, and nobody is asked again."""

    class Known(Model):
        cached = True

    reader, way = Known(sees_square), citing(BOX)
    kept = {"cache": tmp_path / "replies.sqlite", "workflow": way}
    run(RunPlan("medthinkvqa", marked, reader, repeat=2, **kept), tmp_path / "run")  # type: ignore[arg-type]
    found = audit(AuditPlan(tmp_path / "run", reader=reader, arms=("hidden",), **kept))  # type: ignore[arg-type]
    assert found.outcomes["null"].tally.spent.calls == 0
    assert found.outcomes["null"].tally.spent.cached == CASES
    assert found.outcomes["hidden"].tally.spent.calls == CASES


def test_only_pictures_that_were_shown_are_hidden(marked: Path, tmp_path: Path) -> None:
    """With a third of the pictures, the other picture is never one that nobody sees."""
    settings = SessionSettings(image_ratio=34)
    found = audited(Model(sees_nothing), tmp_path / "run", marked, settings=settings)
    assert len(found.without["other"]) == CASES
    lines = (tmp_path / "run" / "audit" / "edits.jsonl").read_text().splitlines()[1:]
    assert {len(json.loads(line)["cited"]) for line in lines} == {1}


def test_what_would_it_take(marked: Path, tmp_path: Path) -> None:
    """A dry run counts questions arm by arm, asks nobody and writes nothing."""
    out, way = tmp_path / "run", citing(BOX)
    reader = Model(sees_square)
    run(RunPlan("medthinkvqa", marked, reader, workflow=way, use_cache=False), out)
    asked = reader.asked
    found, arms = estimate_audit(AuditPlan(out, reader=reader, workflow=way, use_cache=False))
    assert len(found.audited) == CASES
    assert {arm: own.calls for arm, own in arms.items()} == dict.fromkeys(ARMS, CASES)
    assert reader.asked == asked
    assert not (out / "audit").exists()


# ---- refusals ------------------------------------------------------------------------------


def refusal(out: Path, **more: Any) -> str:
    with pytest.raises(OverreadError) as caught:
        audit(AuditPlan(out, **more))
    return str(caught.value)


def test_refusals_are_one_sentence(sketch: Path, copy: Any, tmp_path: Path) -> None:
    """No run, no readings, a release that is gone, a reader that cannot be asked again."""
    root = copy("medthinkvqa")
    assert "this folder is not a run" in refusal(tmp_path / "nowhere")
    out = tmp_path / "run"
    run(RunPlan("medthinkvqa", root, "longest"), out)
    root.rename(tmp_path / "moved")
    assert "with --root" in refusal(out)
    assert len(audit(AuditPlan(out, root=tmp_path / "moved")).audited) == 2
    (out / "readings.jsonl").write_text("")
    assert "no readings to audit" in refusal(out, root=tmp_path / "moved")
    run(RunPlan("medthinkvqa", sketch / "medthinkvqa", "oracle"), tmp_path / "oracle")
    assert "cannot be asked again" in refusal(tmp_path / "oracle")
    model = Model(sees_nothing)
    run(RunPlan("medthinkvqa", sketch / "medthinkvqa", model), tmp_path / "own")
    assert "the reader 'sees_nothing' is not in the catalog" in refusal(tmp_path / "own")
    other = Model(sees_nothing, noise=0.5)
    assert "reader.identity.noise is 0.5" in refusal(tmp_path / "own", reader=other)
    assert "no arm is called" in refusal(tmp_path / "own", reader=model, arms=("nul",))


def test_replayed_submissions_are_refused(sketch: Path, tmp_path: Path) -> None:
    """What was handed in cannot be asked anything."""
    root = sketch / "medthinkvqa"
    run(RunPlan("medthinkvqa", root, "longest"), tmp_path / "run")
    from overread.runs.submission_export import export_submission

    export_submission(tmp_path / "run", tmp_path / "longest.jsonl")
    arguments = {"file": str(tmp_path / "longest.jsonl")}
    run(RunPlan("medthinkvqa", root, "replay", arguments=arguments), tmp_path / "replayed")
    assert "hands in what is written already" in refusal(tmp_path / "replayed")


def test_what_cannot_be_audited_is_named(marked: Path, tmp_path: Path) -> None:
    """Readings that failed, and those whose citation is no place of the picture."""

    class Careless(Model):
        async def read(self, request: Any) -> Any:
            if request.case.id.endswith("01"):
                raise UserWarning("it broke")
            return await super().read(request)

    async def strange(case: Any, session: Any) -> Any:
        beside = Box(picture="image-1", x1=500, y1=500, x2=600, y2=600)
        nobody = Whole(picture="image-9")
        strangely: dict[str, Region] = {"02": beside, "03": nobody}
        return await citing(strangely.get(case.id[-2:], BOX))(case, session)

    reader = Careless(sees_square)
    plan = RunPlan("medthinkvqa", marked, reader, workflow=strange, limit=5, use_cache=False)
    run(plan, tmp_path / "run")
    found = audit(AuditPlan(tmp_path / "run", reader=reader, workflow=strange, use_cache=False))
    assert [case[-2:] for case in found.failed] == ["01"]
    assert {case[-2:] for case in found.refused} == {"02", "03"}
    assert len(found.audited) == 2
    assert moved(found)["hidden"] == 1.0


def test_an_arm_that_fails_counts_as_moved(marked: Path, tmp_path: Path) -> None:
    """No answer is another answer; it is counted, and can be tried again."""

    class Shy(Model):
        shy = True

        async def read(self, request: Any) -> Any:
            shown = [p for m in request.messages for p in m.parts if isinstance(p, SentImage)]
            grey = opened(request.images[shown[0].sha256])
            if self.shy and grey[8:24, 8:24].mean() < 150:
                raise UserWarning("nothing to be seen")
            return await super().read(request)

    reader, way = Shy(sees_nothing), citing(BOX)
    found = audited(reader, tmp_path / "run", marked, workflow=way, arms=("hidden", "other"))
    assert moved(found) == {"null": 0.0, "hidden": 1.0, "other": 0.0}
    assert found.as_dict()["arms_failed"] == {"null": 0, "hidden": CASES, "other": 0}
    reader.shy = False
    again = AuditPlan(
        tmp_path / "run", reader=reader, workflow=way, arms=("hidden",), use_cache=False,
        retry_failed=True,
    )  # fmt: skip
    assert moved(audit(again))["hidden"] == 0.0
