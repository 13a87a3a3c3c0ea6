"""A judge against people: scikit-learn's numbers, and CSV files that are not what they should be."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix, matthews_corrcoef

from overread.core.verdicts import StepVerdict, StepVerdicts
from overread.errors import OverreadError
from overread.metrics.human.agreement import human_agreement
from overread.metrics.human.verdicts import HumanVerdict, rating_sheet, read_human_verdicts
from overread.ontology import step_errors

CODES = [error.code for error in step_errors().item]


def judged(seed: int, cases: int = 12) -> list[StepVerdicts]:
    """A run of random verdicts, one step in ten without."""
    lots = random.Random(seed)
    found = []
    for case in range(cases):
        steps = []
        for n in range(lots.randint(1, 6)):
            factual = lots.random() < 0.6
            errors = () if factual else tuple(lots.sample(CODES, lots.randint(1, 2)))
            told = StepVerdict(
                text=f"Step {n}.", factual=factual, critical=lots.random() < 0.4, errors=errors
            )
            steps.append(StepVerdict(text=f"Step {n}.", judged=False) if lots.random() < 0.1 else told)
        found.append(StepVerdicts(case_id=f"c{case}", judge="j", about="", steps=tuple(steps)))
    return found


def people(seed: int, verdicts: list[StepVerdicts], rater: str, noise: float) -> list[HumanVerdict]:
    """Somebody who mostly says what the judge says."""
    lots = random.Random(seed)
    found: list[HumanVerdict] = []
    for told in verdicts:
        for n, step in enumerate(told.steps, 1):
            factual = step.factual != (lots.random() < noise)
            critical = step.critical != (lots.random() < noise)
            errors = () if factual else tuple(sorted(lots.sample(CODES, 1)))
            found.append(HumanVerdict(len(found) + 2, told.case_id, 0, n, factual, critical, errors, rater))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_scikit_learns(seed: int) -> None:
    """Share, kappa, MCC and confusion of judge and rater and of two raters; counts by hand."""
    verdicts = judged(seed)
    ann, bob = people(seed, verdicts, "ann", 0.2), people(seed + 50, verdicts, "bob", 0.3)[:-3]
    found = human_agreement(verdicts, [*ann, *bob], draws=50)
    assert found.raters == ("ann", "bob")
    assert [(p.first, p.second) for p in found.with_judge] == [("judge", "ann"), ("judge", "bob")]
    assert [(p.first, p.second) for p in found.between_humans] == [("ann", "bob")]
    said = {(told.case_id, n): step for told in verdicts for n, step in enumerate(told.steps, 1)}
    raters: dict[str, dict[tuple[str, int], Any]] = {
        "judge": {k: (s.judged and s.factual, s.judged and s.critical, s.errors) for k, s in said.items()},
        "ann": {(v.case_id, v.step): (v.factual, v.critical, v.errors) for v in ann},
        "bob": {(v.case_id, v.step): (v.factual, v.critical, v.errors) for v in bob},
    }
    for pair in (*found.with_judge, *found.between_humans):
        one, other = raters[pair.first], raters[pair.second]
        keys = sorted(one.keys() & other.keys())
        assert (pair.steps, pair.cases) == (len(keys), len({case for case, _ in keys}))
        for place, part in enumerate(("factual", "critical")):
            ours = getattr(pair, part)
            a, b = [one[k][place] for k in keys], [other[k][place] for k in keys]
            assert ours.share.value == pytest.approx(sum(x == y for x, y in zip(a, b, strict=True)) / len(a))
            assert ours.kappa.value == pytest.approx(cohen_kappa_score(a, b))
            assert ours.mcc.value == pytest.approx(matthews_corrcoef(a, b))
            assert [list(line) for line in ours.confusion] == confusion_matrix(
                a, b, labels=[False, True]
            ).tolist()
            assert ours.kappa.clusters == pair.cases
        for name in (pair.first, pair.second):
            ratio = sum(bool(raters[name][k][1]) for k in keys) / len(keys)
            assert pair.critical_ratio[name].value == pytest.approx(ratio)
        for code in CODES:
            first, second = ({k for k in keys if code in rater[k][2]} for rater in (one, other))
            assert pair.errors[code] == {
                "first": len(first), "second": len(second), "both": len(first & second),
            }  # fmt: skip


def test_what_was_not_asked_is_not_compared() -> None:
    """Without critical and errors there is nothing about them; a missing verdict is 'no'."""
    told = StepVerdicts(
        case_id="c",
        judge="j",
        about="",
        steps=(StepVerdict(text="A.", factual=True), StepVerdict(text="B.", judged=False)),
    )
    found = human_agreement(
        [told],
        [
            HumanVerdict(2, "c", 0, 1, True),
            HumanVerdict(3, "c", 0, 2, False),
            HumanVerdict(4, "d", 0, 1, True),
        ],
        draws=0,
    )
    (pair,) = found.with_judge
    assert pair.factual.confusion == ((1, 0), (0, 1))
    assert (pair.critical, pair.critical_ratio, pair.errors) == (None, {}, {})
    assert (found.left_out, found.not_judged, found.between_humans) == (1, 1, ())
    assert found.notes == (
        "1 verdicts on cases that were not judged: d",
        "the judge gave no verdict on 1 of these steps: not factual",
    )


def test_intervals_draw_whole_cases() -> None:
    """With one case there is nothing to draw; with many the interval holds the number."""
    verdicts = judged(1, cases=30)
    (pair,) = human_agreement(verdicts, people(2, verdicts, "ann", 0.2), draws=300).with_judge
    kappa = pair.factual.kappa
    assert kappa.low is not None
    assert kappa.low < kappa.value < kappa.high  # type: ignore[operator]
    one = judged(1, cases=1)
    (pair,) = human_agreement(one, people(2, one, "ann", 0.2), draws=300).with_judge
    assert pair.factual.share.low is None or pair.factual.share.low == pair.factual.share.high


def csv(folder: Path, text: str) -> Path:
    path = folder / "human.csv"
    path.write_text(text, "utf-8")
    return path


def test_a_csv_is_read(tmp_path: Path) -> None:
    """Order of columns, case, yes and no, blanks, errors by name, unrated lines, semicolons."""
    text = (
        "\ufeffRater, CASE ,step,factual,critical,errors,note\r\n"
        "ann,c1,1,YES,0,,fine\r\n"
        "ann,c1,2,0,,Reasoning error|medical-knowledge,\r\n"
        "\r\n"
        "ann,c1,3,,,,\r\n"
        ",c2,1,true,n,,\r\n"
    )
    assert read_human_verdicts(csv(tmp_path, text)) == [
        HumanVerdict(2, "c1", 0, 1, True, False, (), "ann"),
        HumanVerdict(3, "c1", 0, 2, False, None, ("reasoning", "medical-knowledge"), "ann"),
        HumanVerdict(6, "c2", 0, 1, True, False, (), "human"),
    ]
    (one,) = read_human_verdicts(csv(tmp_path, "case;step;factual\nc1;2;no\n"))
    (tmp_path / "wide.csv").write_bytes("case\tstep\tfactual\nc1\t2\tno\n".encode("utf-16"))
    assert read_human_verdicts(tmp_path / "wide.csv") == [one]
    assert one == HumanVerdict(2, "c1", 0, 2, False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1): the first line must name case, step and factual"),
        ("case,factual\nc,1\n", "there is no column step (in"),
        ("case,step,factual,factual\n", "there are two columns 'factual' (in"),
        ("case,step,factual\nc,1,maybe\n", "'factual' is 'maybe' (in HERE, line 2): write 1, 0, yes or no"),
        ("case,step,factual\nc,0,1\n", "'step' is '0' (in HERE, line 2): write a whole number, counted from 1"),
        ("case,step,factual\nc,1,1\nc,two,1\n", "'step' is 'two' (in HERE, line 3)"),
        ("case,step,factual\n,1,1\n", "the case is not named (in HERE, line 2)"),
        ("case,step,factual\nc,1,1\nc,1,0\n", "rater 'human' judged step 1 of c twice, first on line 2 (in HERE, line 3)"),
        ("case,step,factual\nc,1,1,1\n", "there are 4 cells under 3 columns (in HERE, line 2)"),
        ("case,step,factual,errors\nc,1,0,typo\n", "there is no step error 'typo' (in HERE, line 2)"),
        ("case,step,factual,errors\nc,1,1,reasoning\n", "the step is factual and has errors (in HERE, line 2)"),
        ("case,step,factual,critical\nc,1,1,2\n", "'critical' is '2' (in HERE, line 2)"),
        ("case,step,factual\nc,1,\n", "no step has a verdict (in HERE)"),
        ('case,step,factual\nc,1,"1\n', "this is not CSV"),
    ],
)  # fmt: skip
def test_a_bad_csv_is_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    """File, line, what was found and what was expected."""
    path = csv(tmp_path, text)
    with pytest.raises(OverreadError) as caught:
        read_human_verdicts(path)
    assert told in str(caught.value).replace(str(path), "HERE")
    assert "\n" not in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    """Not there, a folder, another encoding: one sentence each."""
    for path in (tmp_path / "nothing.csv", tmp_path):
        with pytest.raises(OverreadError, match="cannot be read"):
            read_human_verdicts(path)
    latin = tmp_path / "latin.csv"
    latin.write_bytes("case,step,factual\nfäll,1,1\n".encode("latin-1"))
    with pytest.raises(OverreadError, match="UTF-8"):
        read_human_verdicts(latin)


def test_ratings_of_another_cut_are_refused() -> None:
    """A step beyond the last, another wording, or no case of the run: one sentence with the line."""
    told = StepVerdicts(case_id="c", judge="j", about="", steps=(StepVerdict(text="A mass."),))
    with pytest.raises(OverreadError, match=r"step 2 of c was rated.*has 1 steps \(in h.csv, line 7\)"):
        human_agreement([told], [HumanVerdict(7, "c", 0, 2, True)], where="h.csv")
    with pytest.raises(OverreadError, match=r"called 'judge', as the model is \(in line 7\)"):
        human_agreement([told], [HumanVerdict(7, "c", 0, 1, True, rater="judge")])
    with pytest.raises(OverreadError, match="reads differently"):
        human_agreement([told], [HumanVerdict(7, "c", 0, 1, True, text="A cyst.")])
    with pytest.raises(OverreadError, match=r"no case .* was judged in this run \(x\)"):
        human_agreement([told], [HumanVerdict(7, "x", 0, 1, True)])


def test_a_sheet_comes_back_as_it_went(tmp_path: Path) -> None:
    """A sheet that was filled in is read, formulas made harmless, and matches the steps."""
    texts = ("=HYPERLINK(1)", 'A "ring", 4 cm.', "-no change")
    told = StepVerdicts(
        case_id="c", sample=1, judge="j", about="", steps=tuple(StepVerdict(text=t) for t in texts)
    )
    sheet = rating_sheet([told])
    assert "\nc,1,1,'=HYPERLINK(1),,,," in sheet
    path = csv(tmp_path, sheet)
    with pytest.raises(OverreadError, match="no step has a verdict"):
        read_human_verdicts(path)
    filled = read_human_verdicts(csv(tmp_path, sheet.replace(",,,,", ",1,0,,ann")))
    assert len(filled) == 3
    (pair,) = human_agreement([told], filled, draws=0).with_judge
    assert pair.factual.confusion == ((0, 3), (0, 0))
