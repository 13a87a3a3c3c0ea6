"""The whole recipe: the phantom's release is rebuilt from its sources, with rules and with models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overread.benchmarks import check
from overread.build.plan import BuildOutcome
from overread.build.reader_pool import RoleSpec
from overread.build.rexgroundingct import RECIPE
from overread.build.runner import run_build
from overread.errors import UsageError
from overread.phantom.generator import make_population
from overread.phantom.patient import PatientSettings
from tests.build.demo_recipe import scripted_build, table
from tests.workflows.scripted_model import Asked

SETTINGS = {
    "cts": "../../rexgroundingct/images",
    "masks": "../../rexgroundingct/segmentations",
    "organs": "../../rexgroundingct/anatomy",
    "others": "keep",
    "protocol": "protocol2",  # the phantom marks everything, in train too
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three patients of the phantom, one of each split, with their sources."""
    folder = tmp_path_factory.mktemp("phantom")
    make_population(folder, [1, 2, 3], PatientSettings(seed=5), exams=["rexgroundingct"], workers=1)
    return folder


@pytest.fixture(scope="module")
def built(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same patients, built from their reports, CTs and masks."""
    out = tmp_path_factory.mktemp("built") / "out"
    outcome = run_build(RECIPE, source(made), out, settings=SETTINGS)
    assert outcome.problem is None
    assert (outcome.waiting, outcome.failed, len(outcome.items)) == (0, 0, 3)
    return out / "release"


def source(made: Path) -> Path:
    """Where the reports are."""
    return made / "sources" / "rexgroundingct"


def rows(root: Path) -> dict[str, Any]:
    """The list of a release."""
    found: dict[str, Any] = json.loads((root / "dataset.json").read_text())
    return found


def test_the_rebuilt_release_equals_the_generators_own(made: Path, built: Path) -> None:
    """Sentences, categories, entities, voxels, shapes, splits, CTs and masks are the same."""
    own = made / "rexgroundingct"
    assert rows(built) == rows(own)
    for path in [*(own / "segmentations").iterdir(), *(own / "images").iterdir()]:
        assert (built / path.relative_to(own)).read_bytes() == path.read_bytes()


def test_the_rebuilt_release_passes_the_check(built: Path) -> None:
    """No defect, not even a warning, in any split."""
    assert [str(d) for split in ("train", "val", "test") for d in check(
        "rexgroundingct", built, split)] == []  # fmt: skip


def test_the_chains_name_the_generators_structures_and_boxes(made: Path, built: Path) -> None:
    """Scan, lungs, lobes, pleura and lesions are the generator's, and boxes lie in each other."""
    own, ours = (json.loads((root / "anatomical_cot.json").read_text())
                 for root in (made / "rexgroundingct", built))  # fmt: skip
    assert own.keys() == ours.keys()

    def places(chain: list[dict[str, Any]]) -> list[tuple[str, list[int]]]:
        return [(s["structure"], s["box"]) for s in chain if s["level"] != "segment"]

    for name, chains in own.items():
        for key, chain in chains.items():
            assert places(ours[name][key]) == places(chain)
            for step in ours[name][key]:
                around = [ours[name][key][n]["box"] for n in step["within"]]
                if around:
                    low = [min(box[a] for box in around) for a in range(3)]
                    high = [max(box[a] for box in around) for a in range(3, 6)]
                    assert all(step["box"][a] >= low[a] for a in range(3))
                    assert all(step["box"][a + 3] <= high[a] for a in range(3))


def test_as_published_scans_with_other_findings_are_dropped(made: Path, tmp_path: Path) -> None:
    """Without settings nothing is released before masks are back, and the choice is strict."""
    outcome = run_build(RECIPE, source(made), tmp_path / "out")
    counts = {step.name: step for step in outcome.steps}
    assert set(counts["choose"].dropped) <= {"something-else"}
    assert counts["masks"].waiting == counts["choose"].kept
    assert not outcome.items


def test_scans_can_be_left_where_they_are(made: Path, tmp_path: Path) -> None:
    """With copy-cts=no the release has masks and no CTs, as the published one."""
    run_build(RECIPE, source(made), tmp_path / "out", settings={**SETTINGS, "copy-cts": "no"}, limit=1)
    release = tmp_path / "out" / "release"
    assert not (release / "images").exists()
    assert len(list((release / "segmentations").iterdir())) == 1
    found = list(check("rexgroundingct", release, "train",
                       pictures=made / "rexgroundingct" / "images"))  # fmt: skip
    assert found == []


# ---- with a model ------------------------------------------------------------------------------


REPORT = (
    "VolumeName,Findings_EN,Impressions_EN\n"
    'train_9_a_1.nii.gz,"The trachea is patent. A 6 mm nodule is seen in the right upper lobe. '
    'No pleural effusion.","Right upper lobe nodule."\n'
)
CODES = "LHMCNBA"


def good(question: Asked) -> str:
    """What a careful model answers to each of the prompts."""
    words = question.words
    if "sort those of the findings" in words:
        told = dict(re.findall(r"^([FI]\d+): (.+)$", words, re.M))
        findings: dict[str, Any] = {code: [] for code in CODES} | {
            "L": [{"from": [c], "text": t} for c, t in told.items() if c[0] == "F"]
        }
        summed = [{"from": [c], "text": t} for c, t in told.items() if c[0] == "I"]
        return json.dumps({"findings": findings, "impressions": summed, "left_out": []})
    if "one finding a phrase" in words:
        return json.dumps({"phrases": {
            "S1": ["6 mm nodule in the right upper lobe", "L1,I0", "Y", "N"],
            "S2": ["No pleural effusion", "L2", "N", "N"]}})  # fmt: skip
    assert "Give each finding the one code" in words
    return json.dumps({"categories": {"P1": "2d"}})


def spoilt(when: str, spoil: Callable[[str], str], *, always: bool = False) -> Any:
    """The good answers, with those to one kind of question spoilt, the first time or always."""
    done: list[str] = []

    def script(question: Asked) -> str:
        answer = good(question)
        if when in question.words and (always or not done):
            done.append(answer)
            return spoil(answer)
        return answer

    return script


def outcome_of(tmp_path: Path, script: Any) -> tuple[BuildOutcome, Path]:
    """A build of one report with a model that follows a script."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "reports.csv").write_text(REPORT)
    out = tmp_path / "out"
    return scripted_build(folder, out, script, recipe=RECIPE).outcome, out


def problems(out: Path) -> list[str]:
    """What was wrong with the answers, as the ledger has it."""
    return [row[0] for row in table(out, "SELECT problem FROM attempts WHERE problem != ''")]


def data_of(out: Path, step: str) -> dict[str, Any]:
    """What a step added."""
    ((data,),) = table(
        out, f"SELECT e.data FROM flow f JOIN entries e ON e.id = f.entry WHERE e.step = '{step}'"
    )
    found: dict[str, Any] = json.loads(data)
    return found


def test_a_careful_model_is_taken_at_its_word(tmp_path: Path) -> None:
    """Three questions, no repair, and its phrase goes on to annotation."""
    outcome, out = outcome_of(tmp_path, good)
    assert problems(out) == []
    assert outcome.waiting == 1
    assert data_of(out, "choose")["targets"]["0"] == {
        "from": "P1", "text": "6 mm nodule in the right upper lobe", "category": "2d",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("when", "spoil", "problem"),
    [
        ("sort those", lambda _: "I cannot do that.", "no JSON"),
        ("sort those", lambda a: a.replace("6 mm", "9 mm"), "6 mm became 9 mm"),
        ("sort those", lambda a: a.replace('"N": [], ', ""), "the region N is missing"),
        ("sort those", lambda a: re.sub(r'\{"from": \["F2"\].*?\}', "", a).replace(", ]", "]"),
         "F2 is missing"),
        ("one finding a phrase", lambda a: a.replace("6 mm", "16 mm"), "S1 tells 16 mm"),
        ("one finding a phrase", lambda a: a.replace("L1,I0", "L0"), "L1 tells a finding"),
        ("Give each finding", lambda a: a.replace("2d", "2z"), "'2z' of P1 is no category"),
    ],
)  # fmt: skip
def test_a_bad_answer_is_caught_and_asked_again_with_the_reason(
    tmp_path: Path, when: str, spoil: Callable[[str], str], problem: str
) -> None:
    """The second answer is taken, and the ledger has the first and what was wrong with it."""
    outcome, out = outcome_of(tmp_path, spoilt(when, spoil))
    (told,) = problems(out)
    assert problem in told
    assert outcome.waiting == 1
    assert data_of(out, "categorise")["categories"] == {"P1": "2d"}


def test_what_a_model_leaves_out_and_merges_is_in_the_ledger_with_the_reason(tmp_path: Path) -> None:
    """A quality remark goes, a repeated finding is one: no repair is asked for, and both are on record."""
    folder = tmp_path / "source"
    folder.mkdir()
    more = "The study is limited by motion artifacts. Right upper lobe nodule of 6 mm."
    (folder / "reports.csv").write_text(
        REPORT.replace("No pleural effusion.", f"No pleural effusion. {more}")
    )

    def script(question: Asked) -> str:
        answer = good(question)
        if "sort those" not in question.words:
            return answer
        told = json.loads(answer)
        told["findings"]["L"] = [one for one in told["findings"]["L"] if one["from"] not in (["F3"], ["F4"])]
        return json.dumps(told | {"left_out": {"F3": "quality of the scan", "F4": "same nodule as F1"}})

    out = tmp_path / "out"
    scripted_build(folder, out, script, recipe=RECIPE)
    assert problems(out) == []
    assert data_of(out, "sort")["left_out"].keys() == {"F3", "F4"}
    ((changes,),) = table(out, "SELECT changes FROM entries WHERE step = 'sort'")
    assert "left out: about the quality" in changes
    assert "told again: F1 tells all of it" in changes
    assert "same nodule as F1" in changes
    ((changes,),) = table(out, "SELECT changes FROM entries WHERE step = 'extract'")
    assert "told more than once: merged into S1" in changes
    assert "left out: no finding is told in it" in changes


STEPS = {"sort those": "sort", "one finding a phrase": "extract", "Give each finding": "categorise"}


def test_each_step_has_its_own_model_and_another_voids_only_its_own_step(tmp_path: Path) -> None:
    """Three models, one a step; a new extractor is asked once, and where it says the same nobody else is."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "reports.csv").write_text(REPORT)

    def build(answer: Callable[[Asked], str] = good, **models: str) -> list[str]:
        made = scripted_build(
            folder, tmp_path / "out", answer, recipe=RECIPE, roles=tuple(STEPS.values()), models=models
        )
        return [next(step for words, step in STEPS.items() if words in one.words) for one in made.asked]

    assert build() == ["sort", "extract", "categorise"]
    who = table(tmp_path / "out", "SELECT role, reader FROM attempts ORDER BY entry")
    assert [(role, reader.split()[-1]) for role, reader in who] == [(s, s) for s in STEPS.values()]
    assert build() == []
    assert build(extract="newer") == ["extract"]

    def otherwise(question: Asked) -> str:
        return good(question).replace("6 mm nodule in the right", "Nodule of 6 mm in the right")

    assert build(otherwise, extract="third") == ["extract", "categorise"]


def test_a_step_that_asks_nobody_takes_no_model(tmp_path: Path) -> None:
    """One sentence, before anything is built."""
    (tmp_path / "reports.csv").write_text(REPORT)
    for role, told in (("split", "asks no reader"), ("sortt", "no step of rexgroundingct")):
        with pytest.raises(UsageError, match=told):
            run_build(RECIPE, tmp_path, tmp_path / "out", readers={role: RoleSpec("openai", {"model": "x"})})


def test_a_model_that_never_answers_well_is_replaced_by_the_rules(tmp_path: Path) -> None:
    """After all repairs the rules' result stands, and the ledger says why."""
    script = spoilt("sort those", lambda a: a.replace("6 mm", "9 mm"), always=True)
    outcome, out = outcome_of(tmp_path, script)
    assert len(problems(out)) == 3
    assert outcome.waiting == 1
    assert data_of(out, "sort")["coded"]["L1"] == "A 6 mm nodule is seen in the right upper lobe."
    ((changes,),) = table(out, "SELECT changes FROM entries WHERE step = 'sort'")
    assert "no answer of" in changes
    assert "became 9 mm" in changes
