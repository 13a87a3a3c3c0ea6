"""The clinical scores without models: plain counting, edge cases, and what is listed."""

from __future__ import annotations

import json
import math
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import f1_score

from overread.core import Case, Entry, Finding, Image, Reading, Truth, Whole
from overread.language.compare import compare_reports
from overread.language.findings import merge_statements
from overread.language.labels import chexpert_labels
from overread.language.statements import THERE, find_statements
from overread.metrics import Metric, Sample, Subject
from overread.metrics.clinical import rules
from overread.metrics.clinical.chexbert import CLASSES, FIVE
from overread.metrics.clinical.findings import MAX_DISAGREEMENTS, count_findings
from overread.metrics.clinical.rules import rule_metrics

METRICS = rule_metrics("report")
SENTENCES = [
    "A 12 mm nodule in the right upper lobe.",
    "A 5 mm nodule in the left lower lobe.",
    "Nodule in the right lower lobe measuring 2 cm.",
    "Small left pleural effusion.",
    "Bilateral pleural effusions.",
    "No pleural effusion.",
    "No pneumothorax.",
    "Possible consolidation in the middle lobe.",
    "Consolidation of the left lung base.",
    "Cardiomegaly.",
    "Heart size is normal.",
    "Linear atelectasis in the lingula.",
    "Emphysema in both upper lobes.",
    "Pulmonary edema cannot be excluded.",
    "Endotracheal tube in place.",
]


def subject(reference: str | None, written: str | None, **more: Any) -> Subject:
    case = Case(id="c", benchmark="mmrad", split="test")
    reading = None if written is None else Reading(case_id="c", reader="r", report=written, **more)
    return Subject(Entry(case=case, truth=Truth(report=reference)), reading)


def value(metric: Metric, pairs: list[tuple[str, str | None]]) -> float:
    rows = [row for a, b in pairs for row in metric.measure(subject(a, b)).values()]
    return float(metric.combine(Sample(rows))[0])


def drawn(seed: int, n: int = 6) -> list[tuple[str, str]]:
    dice = random.Random(seed)
    texts = [" ".join(dice.sample(SENTENCES, dice.randint(0, 6))) for _ in range(2 * n)]
    return [(a or "Lungs are clear.", b) for a, b in zip(texts[:n], texts[n:], strict=True)]


def tells(finding: Any, name: str) -> bool:
    told = finding.statement
    if name == "location":
        return bool(told.lobes) or bool(told.segments) or bool(told.zones)
    return (told.side if name == "side" else told.size_mm) is not None


@pytest.mark.parametrize("seed", range(5))
def test_found_findings_are_those_of_compare_added_up(seed: int) -> None:
    """Precision, recall and F1 over cases, from the sums of compare's own numbers."""
    pairs = drawn(seed)
    told = [compare_reports(a, b) for a, b in pairs]
    found = sum(c.found_count for c in told)
    ours = sum(f.statement.presence in THERE for a, _ in pairs for f in merge_statements(find_statements(a)))
    theirs = sum(
        f.statement.presence in THERE for _, b in pairs for f in merge_statements(find_statements(b))
    )
    precision, recall = found / theirs, found / ours
    assert value(rules.METRICS["clinical_precision"], list(pairs)) == pytest.approx(precision)
    assert value(rules.METRICS["clinical_recall"], list(pairs)) == pytest.approx(recall)
    expected = 2 * precision * recall / (precision + recall)
    assert value(rules.METRICS["clinical_f1"], list(pairs)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["side", "location", "size"])
def test_attributes_by_plain_counting(seed: int, name: str) -> None:
    """Told in the reference → recall, told in the reading → precision, both and in accord → hit."""
    pairs = drawn(seed, n=10)
    conflicts = {"side": ["side"], "location": ["lobes", "segments", "zones"], "size": ["size"]}
    hit = ours = theirs = 0
    for a, b in pairs:
        for text, is_reference in ((a, True), (b, False)):
            n = sum(f.is_there and tells(f, name) for f in merge_statements(find_statements(text)))
            ours, theirs = (ours + n, theirs) if is_reference else (ours, theirs + n)
        for match in compare_reports(a, b).matches:
            if not (match.both_present and tells(match.reference, name) and tells(match.other, name)):
                continue
            if [c for c in match.conflicts if c.name in conflicts[name]]:
                continue
            hit += 1
    precision, recall = hit / theirs, hit / ours
    expected = 2 * precision * recall / (precision + recall) if hit else 0.0
    assert value(METRICS[f"clinical_{name}_f1"], list(pairs)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_presence_counts_denials_too(seed: int) -> None:
    """Every finding tells a presence; a hit is the same finding with the same presence."""
    pairs = drawn(seed)
    ours = sum(len(merge_statements(find_statements(a))) for a, _ in pairs)
    theirs = sum(len(merge_statements(find_statements(b))) for _, b in pairs)
    hit = sum(
        match.reference.statement.presence == match.other.statement.presence
        and not any(c.name == "observation" for c in match.conflicts)
        for a, b in pairs
        for match in compare_reports(a, b).matches
    )
    expected = 2 * hit / (ours + theirs)
    assert value(rules.METRICS["clinical_presence_f1"], list(pairs)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("classes", [14, 5])
def test_labels_by_rules_are_scored_as_scikit_learn_scores_them(seed: int, classes: int) -> None:
    """Micro and macro F1 of overread.language's CheXpert labels."""
    pairs = [(a, b) for a, b in drawn(seed, n=12) if b]
    names = CLASSES if classes == 14 else FIVE
    marks = [[[chexpert_labels(find_statements(t))[n] for n in names] for t in pair] for pair in pairs]
    a, b = [m[0] for m in marks], [m[1] for m in marks]
    micro = f1_score(a, b, average="micro")
    macro = f1_score(a, b, average="macro", zero_division=math.nan)
    assert value(METRICS[f"chexpert_f1_rules_{classes}"], list(pairs)) == pytest.approx(micro)
    assert value(METRICS[f"chexpert_f1_rules_{classes}_macro"], list(pairs)) == pytest.approx(macro)


@pytest.mark.parametrize("name", METRICS)
def test_a_perfect_reading_is_best_and_none_is_worst(name: str) -> None:
    """The reference itself gets the best; a missing, failed, empty or blank reading the worst."""
    metric = METRICS[name]
    texts = [" ".join(SENTENCES[0:1] + SENTENCES[3:4] + SENTENCES[6:10]), " ".join(SENTENCES[1:4])]
    counts = metric.better == "lower"
    assert value(metric, [(text, text) for text in texts]) == metric.best == (0.0 if counts else 1.0)
    silence = [value(metric, [(text, nothing) for text in texts]) for nothing in (None, "", "  \n")]
    failed = metric.measure(subject(texts[0], texts[0], error="cut off"))
    if counts:
        assert len(set(silence)) == 1
        assert math.isnan(metric.worst)
        return
    assert silence == [metric.worst] * 3 == [0.0] * 3
    assert float(metric.combine(Sample(list(failed.values())))[0]) == 0.0


@pytest.mark.parametrize("name", METRICS)
def test_where_nothing_is_to_be_judged(name: str) -> None:
    """No reference text gives no unit; no cases give NaN."""
    metric = METRICS[name]
    assert metric.measure(subject(None, "Nodule.")) == {}
    assert metric.measure(subject("  ", "Nodule.")) == {}
    assert metric.measure(Subject(Entry(case=subject("x", None).entry.case, truth=None))) == {}
    assert math.isnan(metric.combine(Sample([]))[0])


def test_a_normal_report_is_undefined_unless_something_is_added() -> None:
    """Without any finding on both sides F1 is NaN; an invented finding makes precision 0."""
    normal = "No effusion. No pneumothorax."
    for name in ("clinical_precision", "clinical_recall", "clinical_f1", "clinical_side_f1"):
        assert math.isnan(value(METRICS[name], [(normal, normal)]))
    assert value(METRICS["clinical_presence_f1"], [(normal, normal)]) == 1.0
    assert value(METRICS["clinical_presence_f1"], [(normal, None)]) == 0.0
    assert value(METRICS["clinical_precision"], [(normal, "Left effusion.")]) == 0.0
    assert value(METRICS["clinical_f1"], [(normal, "Left effusion.")]) == 0.0


def test_silence_is_not_the_label_no_finding() -> None:
    """A missing reading of a normal report does not score as a normal one."""
    normal = "No effusion. No pneumothorax."
    assert value(METRICS["chexpert_f1_rules_14"], [(normal, normal)]) == 1.0
    assert value(METRICS["chexpert_f1_rules_14"], [(normal, None)]) == 0.0


def test_disagreements_are_listed_in_words() -> None:
    """Conflicts, omissions, additions and lone denials, the gravest first."""
    told = count_findings(
        compare_reports(
            "A 12 mm nodule in the right upper lobe. Small left effusion. Possible edema. "
            "No pneumothorax. Moderate cardiomegaly.",
            "A 9 mm nodule in the left upper lobe. Right effusion. Mild cardiomegaly. Emphysema. "
            "No fracture.",
        )
    )
    assert told["disagreements"] == [
        "nodule: side is right in the reference, left in the reading",
        "nodule: lobes are RUL in the reference, LUL in the reading",
        "nodule: size is 12 mm in the reference, 9 mm in the reading",
        "pleural effusion: side is left in the reference, right in the reading",
        "cardiomegaly: severity is moderate in the reference, mild in the reading",
        "the reading leaves out possible pulmonary edema",
        "the reading adds emphysema",
        "only the reference denies pneumothorax",
        "only the reading denies fracture",
    ]
    assert told["further_disagreements"] == 0


def test_presence_and_name_conflicts_read_well() -> None:
    """A denied finding, and another finding at the same place."""
    told = count_findings(compare_reports("No effusion.", "Left effusion."))
    assert told["disagreements"] == ["pleural effusion: absent in the reference, present in the reading"]
    told = count_findings(compare_reports("Reticulation on the left.", "Pulmonary edema on the left."))
    assert told["disagreements"] == ["the reference has reticulation where the reading has pulmonary edema"]
    assert [told[name] for name in ("found", "presence_hit", "side_both", "side_hit")] == [0] * 4
    assert count_findings(compare_reports("Nodule.", "Nodule."))["disagreements"] == []


def test_many_disagreements_are_cut_and_counted() -> None:
    """No more are kept than stated, and the rest is a number."""
    sides = ("right", "left")
    lobes = ("upper", "lower")
    many = " ".join(
        f"A {3 * n} mm nodule in the {sides[n % 2]} {lobes[n // 2 % 2]} lobe." for n in range(1, 60)
    )
    told = count_findings(compare_reports(many, ""))
    assert len(told["disagreements"]) == MAX_DISAGREEMENTS
    assert told["further_disagreements"] == told["reference"] - MAX_DISAGREEMENTS > 0


def test_findings_are_scored_picture_by_picture() -> None:
    """For part 'findings', each picture is a unit, named by the picture."""
    metrics = rule_metrics("findings")
    assert metrics["clinical_f1"].name == "findings_clinical_f1"
    assert metrics["clinical_f1"].needs == ("findings",)
    truth = Truth(
        findings=tuple(
            Finding(text=text, regions=(Whole(picture=picture),))
            for picture, text in (("a", "Left effusion."), ("b", "Nodule."))
        )
    )
    case = Case(
        id="c",
        benchmark="medthinkvqa",
        split="test",
        pictures=tuple(Image(name=n, file=f"{n}.png") for n in "ab"),
    )
    reading = Reading(
        case_id="c", reader="r", findings=(Finding(text="Left effusion.", regions=(Whole(picture="a"),)),)
    )
    measured = metrics["clinical_f1"].measure(Subject(Entry(case=case, truth=truth), reading))
    assert {unit: row["found"] for unit, row in measured.items()} == {"a": 1, "b": 0}
    assert metrics["clinical_recall"].combine(Sample(list(measured.values())))[0] == 0.5


def test_all_share_one_measure_and_travel() -> None:
    """One measure for all metrics of a part; metrics can be pickled; statistics are plain JSON."""
    assert len({id(metric.measure) for metric in METRICS.values()}) == 1
    assert pickle.loads(pickle.dumps(METRICS["clinical_f1"])).name == "clinical_f1"
    for name, metric in METRICS.items():
        assert rules.METRICS[name] is metric
        assert metric.name == name
    measured = METRICS["clinical_f1"].measure(subject("Left effusion.", "Nodule, 5 mm."))
    assert json.loads(json.dumps(measured)) == measured


@pytest.mark.shared
def test_real_reports_agree_with_themselves(shared: Path) -> None:
    """150 reports of Open-i: each gets 1 against itself, and nothing is listed."""
    rows = (shared / "reports" / "openi_reports.jsonl").read_text("utf-8").splitlines()[::20][:150]
    told = [json.loads(row) for row in rows]
    texts = [f"{row['findings'] or ''} {row['impression'] or ''}" for row in told]
    pairs = [(text, text) for text in texts if text.strip()]
    measured = [row for a, b in pairs for row in METRICS["clinical_f1"].measure(subject(a, b)).values()]
    assert sum(row["reference"] for row in measured) > 150
    assert not any(row["disagreements"] for row in measured)
    for metric in METRICS.values():
        if "unread" in metric.name:
            continue
        got = metric.combine(Sample(measured))[0]
        assert got == metric.best or (math.isnan(got) and metric.name == "clinical_size_f1")


def test_draws_follow_their_weights() -> None:
    """A draw of one case twice scores as that case alone."""
    rows = [
        row
        for a, b in (("Left effusion.", "Left effusion."), ("Left nodule.", "Right nodule. Edema."))
        for row in METRICS["clinical_f1"].measure(subject(a, b)).values()
    ]
    drawn_twice = Sample(rows, [[2, 0], [0, 2], [1, 1]])  # type: ignore[arg-type]
    assert METRICS["clinical_side_f1"].combine(drawn_twice).tolist() == [1.0, 0.0, 0.5]
    assert METRICS["clinical_precision"].combine(drawn_twice).tolist() == [1.0, 0.5, 2 / 3]
