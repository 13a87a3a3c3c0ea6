"""The workflow `interleaved`: look, crop, say over the regions, then the report; four arms."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

import overread
from overread import catalog
from overread.bridges.eval_task import EvalTask
from overread.core import Box, Reading, ReleaseRef, Reply, Request, Trace, Whole
from overread.errors import BadReply
from overread.metrics.traces.looks import collect_looks
from overread.ontology import xray_regions
from overread.pixels.draw import crop
from overread.pixels.relative_boxes import RelativeBox
from overread.prompts.interleaved import REPORT_CUE, join_response, neutralise_marks
from overread.prompts.interleaved import parse_interleaved as read_response
from overread.runs.engine import RunPlan
from overread.runs.estimate import estimate
from overread.runs.scoring.from_run import score
from overread.runs.submission_export import export_submission
from overread.workflows.interleaved import parse_location
from tests.runs.sketch_runs import questions
from tests.workflows.scripted_model import Asked, Record, js, kinds, same_pixels, scripted

GROUPS = [group.name for group in xray_regions().groups]
EDGES = {name: (0.1 * n, 0.05, 0.4 + 0.1 * n, 0.9) for n, name in enumerate(GROUPS)}


def task_of(asked: Asked) -> str:
    """Which step a question is, by what it asks for."""
    if "Give the box that holds it" in asked.words:
        return "where"
    if "one to three sentences" in asked.words:
        return "say"
    return "answer" if '"answer"' in asked.words else "report"


def region_of(asked: Asked) -> str:
    """The region that a question is about."""
    found = re.search(r"look at the (.+?) \(", asked.words)
    assert found
    return found[1]


def answered(asked: Asked) -> str:
    """A model that does as it is asked."""
    task = task_of(asked)
    if task == "where":
        edges = zip(("left", "top", "right", "bottom"), EDGES[region_of(asked)], strict=True)
        return js(boxes=[dict(edges)])
    if task == "say":
        return f"The {region_of(asked)} is normal. No effusion."
    return js(answer="No", explanation="None.") if task == "answer" else "Normal chest."


def answered_in_words(asked: Asked) -> str:
    """A model that sees the film once."""
    if "You see it once" not in asked.words:
        return answered(asked)
    return js(regions=[{"region": name, "words": f"The {name} is fine."} for name in GROUPS])


def read(root: Path, out: Path, script: Any = answered, **more: Any) -> Record:
    return scripted("mmrad", root, out, script, "interleaved", **{"limit": 1, **more})


def film_of(root: Path) -> Any:
    release = overread.load("mmrad", root)
    return release.pictures.pixels(next(iter(release)).pictures[0])


def boxes_of(film: Any) -> list[Box]:
    """Where the regions are in the stored film."""
    height, width = film.shape[:2]
    found = []
    for name, edges in EDGES.items():
        x1, y1, x2, y2 = RelativeBox(*edges).to_pixels(width, height)
        found.append(Box(picture="xray", x1=x1, y1=y1, x2=x2, y2=y2, label=name))
    return found


def test_look_crop_say_and_report(sketch: Path, tmp_path: Path) -> None:
    """For each region the film, then film and cut-out; at last film and all cut-outs, in order."""
    root = sketch / "mmrad"
    film = film_of(root)
    cuts = [crop(film, box) for box in boxes_of(film)]
    done = read(root, tmp_path / "run")
    assert [task_of(asked) for asked in done.asked] == [*["where", "say"] * 6, "report"]
    assert [region_of(asked) for asked in done.asked[:-1:2]] == GROUPS
    wanted: list[list[Any]] = []
    for cut in cuts:
        wanted += [[film], [film, cut]]
    wanted.append([film, *cuts])
    for asked, pictures in zip(done.asked, wanted, strict=True):
        assert len(asked.pictures) == len(pictures)
        assert all(same_pixels(a, b) for a, b in zip(asked.pictures, pictures, strict=True))
    assert "Said so far of other regions:\nnothing yet" in done.asked[1].words
    for name in GROUPS:
        assert f"- {name} (left" in done.asked[-1].words
        assert f"The {name} is normal." in done.asked[-1].words


def test_the_trace_has_the_benchmarks_own_form(sketch: Path, tmp_path: Path) -> None:
    """Read back as a response it is the same trace, box by box; its cut-outs are in the run."""
    root = sketch / "mmrad"
    film = film_of(root)
    reading = read(root, tmp_path / "run").reading
    assert kinds(reading) == [*["say", "look", "say"] * 6, "conclude"]
    assert reading.trace is not None
    boxes = boxes_of(film)
    looks = collect_looks(reading.trace)
    assert [look.box for look in looks] == boxes
    assert [look.place for look in looks] == GROUPS
    response = join_response(reading.trace, reading.report)
    crops = [f"{n}.jpg" for n in range(6)]
    parsed = read_response(response, crops, picture="xray")
    assert (parsed.oddities, parsed.report) == ((), "Normal chest.")
    assert bare(parsed.trace) == bare(reading.trace)
    assert reading.findings is not None
    assert [(f.text, f.regions) for f in reading.findings] == [
        (f"The {box.label} is normal. No effusion.", (box,)) for box in boxes
    ]
    for look, box in zip(looks, boxes, strict=True):
        assert look.crop is not None
        with Pillow.open(tmp_path / "run" / look.crop) as image:
            assert same_pixels(np.asarray(image), crop(film, box))
    steps = reading.trace.steps
    assert [step.exchange for step in steps[1::3]] == [0, 2, 4, 6, 8, 10]
    assert [step.exchange for step in steps[2::3]] == [1, 3, 5, 7, 9, 11]
    assert steps[-1].exchange == 12


def bare(trace: Trace) -> list[Any]:
    return [(step.kind, step.text, step.regions) for step in trace.steps]


def test_arms_differ_in_the_evidence_and_in_nothing_else(sketch: Path, tmp_path: Path) -> None:
    """The same words but for the evidence; boxes are told in two arms and cut out in one."""
    root = sketch / "mmrad"
    runs = {
        arm: read(root, tmp_path / arm, settings={"evidence": arm}) for arm in ("multimodal", "boxes", "text")
    }
    say = {arm: [a for a in run.asked if task_of(a) == "say"] for arm, run in runs.items()}
    for one, two, three in zip(*say.values(), strict=True):
        assert [len(a.pictures) for a in (one, two, three)] == [2, 1, 1]
        assert all(same_pixels(a.pictures[0], one.pictures[0]) for a in (two, three))
        told = [re.sub(r" \(left [^)]+\)", "", a.words) for a in (one, two, three)]
        marked = re.search(r" It is marked by a box, .*?bottom 0.900\.", told[0])
        shown = re.search(r" The second picture above .*?radiograph\.", told[0])
        assert marked
        assert shown
        assert told[1] == told[0].replace(shown[0], "")
        assert told[2] == told[1].replace(marked[0], " It is not marked.")
    reports = [run.asked[-1] for run in runs.values()]
    assert [len(asked.pictures) for asked in reports] == [7, 1, 1]
    assert reports[0].words == reports[1].words
    assert re.sub(r" \(left [^)]+\)", "", reports[1].words) == reports[2].words
    assert [len(run.asked) for run in runs.values()] == [13, 13, 7]
    wheres = [[a.words for a in run.asked if task_of(a) == "where"] for run in runs.values()]
    assert wheres[0] == wheres[1]
    assert wheres[2] == []


def test_what_the_arms_leave(sketch: Path, tmp_path: Path) -> None:
    """All have looks at the same regions; boxes has no cut-out, and text neither box nor cut-out."""
    root = sketch / "mmrad"
    found = {}
    for arm in ("multimodal", "boxes", "text"):
        reading = read(root, tmp_path / arm, settings={"evidence": arm}).reading
        looks = collect_looks(reading.trace)
        assert [look.place for look in looks] == GROUPS
        assert all("is normal" in look.words for look in looks)
        found[arm] = (
            sum(look.crop is not None for look in looks),
            sum(look.box is not None for look in looks),
            len(list((tmp_path / arm).glob("arrays/*"))),
        )
    assert found == {"multimodal": (6, 6, 6), "boxes": (0, 6, 0), "text": (0, 0, 0)}
    assert reading.trace is not None
    assert reading.trace.steps[1].regions == (Whole(picture="xray"),)


@pytest.mark.parametrize("arm", ["multimodal", "boxes", "text"])
def test_score_and_submit_read_it(sketch: Path, tmp_path: Path, arm: str) -> None:
    """The run is scored and handed in, and read back from the submission it is the same reading."""
    root = sketch / "mmrad"
    done = read(root, tmp_path / "run", limit=None, settings={"evidence": arm})
    names = ["trace_coverage_recall", "trace_box_iou", "trace_crop_agreement", "trace_findings_f1"]
    card = score(tmp_path / "run", metrics=names)
    values = {name: card.scores[name].value or 0.0 for name in names if name in card.scores}
    assert values["trace_coverage_recall"] == 1
    assert (values["trace_box_iou"] > 0) == (arm != "text")
    assert values.get("trace_crop_agreement", 0.0) == (1 if arm == "multimodal" else 0)
    export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    release = overread.load("mmrad", root)
    submission = catalog.find("benchmarks", "mmrad").read_submission(release, tmp_path / "mine.jsonl")
    for case, reading in done.readings.items():
        again: Reading = submission.readings[case]
        assert again.report == "Normal chest."
        if arm == "text":
            assert not collect_looks(again.trace)
            continue
        assert reading.trace is not None
        assert again.trace is not None
        assert bare(again.trace) == bare(reading.trace)
        crops = [look.crop for look in collect_looks(again.trace)]
        assert all(crops) == (arm == "multimodal")


def test_a_region_that_is_not_there_is_passed_over(sketch: Path, tmp_path: Path) -> None:
    """It is not looked at and nothing is said of it; the others keep their order."""

    def without(asked: Asked) -> str:
        gone = task_of(asked) == "where" and region_of(asked) == GROUPS[1]
        return js(boxes=[]) if gone else answered(asked)

    done = read(sketch / "mmrad", tmp_path / "run", without)
    places = [look.place for look in collect_looks(done.reading.trace)]
    assert places == [name for name in GROUPS if name != GROUPS[1]]
    assert len(done.asked) == 12
    assert len(done.reading.exchanges) == 12
    assert done.reading.trace is not None
    assert done.reading.trace.steps[3].text.startswith("Second, I need to analyze the heart")


def test_a_picture_that_is_turned(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """Boxes are given on the film as it is shown, and lie in the film as it is stored."""
    root = copy("mmrad")
    release = overread.load("mmrad", root)
    path = release.pictures.data(next(iter(release)).pictures[0])
    assert isinstance(path, Path)
    with Pillow.open(path) as image:
        stored = image.copy()
    tags = Pillow.Exif()
    tags[0x0112] = 6
    stored.save(path, quality=95, exif=tags.tobytes())
    pixels = overread.load("mmrad", root).pictures.pixels(next(iter(release)).pictures[0])
    upright = np.rot90(pixels, -1)
    done = read(root, tmp_path / "run")
    shown, cut = done.asked[1].pictures
    assert same_pixels(shown, upright)
    assert same_pixels(cut, RelativeBox(*EDGES[GROUPS[0]]).crop(upright))


def test_a_question_is_answered(tmp_path: Path) -> None:
    """Question rows end in an answer in words, after the same looks."""
    root = questions(tmp_path / "asked")
    (root / "films").mkdir()
    for number in range(3):
        noise = np.random.default_rng(number).integers(0, 255, (64, 48), dtype=np.uint8)
        Pillow.fromarray(noise).save(root / f"films/{number}.jpg")
    done = read(root, tmp_path / "run")
    assert (done.reading.choice, done.reading.report) == ("No", None)
    assert len(done.asked) == 13
    assert "Is there an effusion on the right?" in done.asked[-1].words
    assert len(collect_looks(done.reading.trace)) == 6
    once = read(root, tmp_path / "once", answered_in_words, settings={"evidence": "words"})
    assert [len(asked.pictures) for asked in once.asked] == [1, 0]
    assert once.reading.choice == "No"


@pytest.mark.parametrize("step", ["where", "say", "report"])
def test_a_bad_answer_at_any_step(sketch: Path, tmp_path: Path, step: str) -> None:
    """It is asked for again with the same pictures; one that stays bad fails the case."""
    bad = {"where": js(boxes=[{"left": 5, "top": 0, "right": 80, "bottom": 90}])}

    def once(asked: Asked) -> str:
        wrong = task_of(asked) == step and asked.turns == 1
        return bad.get(step, "<think>so") if wrong else answered(asked)

    def never(asked: Asked) -> str:
        return bad.get(step, "<think>so") if task_of(asked) == step else answered(asked)

    done = read(sketch / "mmrad", tmp_path / "run", once)
    assert done.reading.error is None
    good = read(sketch / "mmrad", tmp_path / "good")
    assert bare(_trace(done.reading)) == bare(_trace(good.reading))
    crops = [look.crop for look in collect_looks(done.reading.trace)]
    assert crops == [look.crop for look in collect_looks(good.reading.trace)]
    for number, asked in enumerate(done.asked):
        if asked.turns == 3:
            before = done.asked[number - 1]
            assert len(asked.pictures) == len(before.pictures)
    failed = read(sketch / "mmrad", tmp_path / "not", never).reading
    assert (failed.error or "").startswith("the answer could not be used: ")
    assert failed.report is None
    # The cut-outs that its steps name are there.
    for look in collect_looks(failed.trace):
        assert (tmp_path / "not" / str(look.crop)).is_file()


def _trace(reading: Reading) -> Trace:
    assert reading.trace is not None
    return reading.trace


@pytest.mark.parametrize(
    "said",
    [
        "In summary: no mass [1, 2, 3, 4] is seen.",
        "See <image> and <image> [0.1, 0.2].",
        "The report reads as follows: normal.\n\nTo sum up: normal. Summarizing: normal",
        "A\n\n\nB: [ ] ]][[",
        "…",
    ],
)
def test_hostile_words_do_not_break_the_form(sketch: Path, tmp_path: Path, said: str) -> None:
    """Whatever is said of a region, the trace reads back as it is and the report stays whole."""

    def hostile(asked: Asked) -> str:
        return said if task_of(asked) in ("say", "report") else answered(asked)

    reading = read(sketch / "mmrad", tmp_path / "run", hostile).reading
    trace = _trace(reading)
    parsed = read_response(join_response(trace, reading.report), [""] * 6, picture="xray")
    assert bare(parsed.trace) == bare(trace)
    assert parsed.report == reading.report
    assert reading.findings is not None
    assert reading.findings[0].text == said
    assert neutralise_marks(neutralise_marks(said)) == neutralise_marks(said)


def test_boxes_of_a_reply() -> None:
    """Several are joined, swapped edges put right, a line is none, nothing is nowhere."""
    one = {"left": 0.5, "top": 0.4, "right": 0.1, "bottom": 0.2}
    two = {"left": 0.6, "top": 0.1, "right": 0.9, "bottom": 0.3}
    found = parse_location(js(boxes=[one, two])).value
    assert found is not None
    assert tuple(vars(found).values()) == (0.1, 0.1, 0.9, 0.4)
    assert parse_location(js(boxes=[])).value is None
    for bad in ([one | {"left": 0.1}], [one | {"right": 1.2}], [{"left": 0}], None):
        with pytest.raises(BadReply):
            parse_location(json.dumps({"boxes": bad}))


def test_cases_of_another_kind_fail_alone(sketch: Path, tmp_path: Path) -> None:
    """A CT and a case of several pictures are told in one sentence."""
    for benchmark in ("rexgroundingct", "medthinkvqa"):
        out = tmp_path / benchmark
        done = scripted(benchmark, sketch / benchmark, out, answered, "interleaved")
        assert {reading.error for reading in done.readings.values()} == {
            "the workflow 'interleaved' needs cases with exactly one 2D image"
        }


@pytest.mark.parametrize(("arm", "calls", "shown"), [("multimodal", 13, 25), ("text", 7, 7)])
def test_what_it_would_take(sketch: Path, arm: Any, calls: int, shown: int) -> None:
    """A dry run follows it to its end."""
    from overread.session import SessionSettings

    arguments = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    plan = RunPlan(
        "mmrad", sketch / "mmrad", "openai", arguments=arguments, workflow="interleaved",
        use_cache=False, limit=1, settings=SessionSettings(evidence=arm),
    )  # fmt: skip
    found = estimate(plan)
    assert (found.calls, found.pictures, found.at_least) == (calls, shown, False)


def test_the_conclusion_is_announced(sketch: Path, tmp_path: Path) -> None:
    """The last step is the cue, word for word as the benchmark has it."""
    trace = _trace(read(sketch / "mmrad", tmp_path / "run").reading)
    reference = next(iter(overread.load("mmrad", sketch / "mmrad").entries())).truth
    assert reference is not None
    assert reference.trace is not None
    assert trace.steps[-1].text == REPORT_CUE == reference.trace.steps[-1].text.lstrip()


def test_another_engine_scores_the_cut_outs_too(sketch: Path) -> None:
    """Who asks the questions elsewhere gets the numbers of a run of ours, crops included."""
    place = ReleaseRef("mmrad", sketch / "mmrad", "test")
    exam = EvalTask(place, workflow="interleaved", metrics=["trace_crop_agreement"])

    async def ask(request: Request) -> Reply:
        words = "\n".join(p for m in request.messages for p in m.parts if isinstance(p, str))
        return Reply(text=answered(Asked(words, (), None, 1)))

    case = next(iter(exam.cases.values()))
    for _ in range(2):  # a second reading of the same case names its files anew
        reading, files = asyncio.run(exam.read(case, ask, key="one"))
        assert exam.score_reading(case.id, reading, files).values == {"trace_crop_agreement": 1.0}
        assert len(files) == 6


def test_the_arm_of_words_looks_once(sketch: Path, tmp_path: Path) -> None:
    """Two questions: all regions from the film, then the report from these words and no picture."""
    root = sketch / "mmrad"
    done = read(root, tmp_path / "run", answered_in_words, settings={"evidence": "words"})
    once, report = done.asked
    assert [len(asked.pictures) for asked in done.asked] == [1, 0]
    assert same_pixels(once.pictures[0], film_of(root))
    assert "do not see it again" in report.words
    for name in GROUPS:
        assert f"- {name} (" in once.words
        assert f"- {name}: The {name} is fine." in report.words
    reading = done.reading
    assert reading.report == "Normal chest."
    assert kinds(reading) == ["look", *["say"] * len(GROUPS), "conclude"]
    assert reading.trace is not None
    assert [len(step.regions) for step in reading.trace.steps if step.kind == "look"] == [1]
    assert len(reading.findings or ()) == len(GROUPS)
    card = score(done.folder, metrics=("rougeL", "trace_consistency_f1"))
    assert set(card.scores) == {"rougeL", "trace_consistency_f1"}
