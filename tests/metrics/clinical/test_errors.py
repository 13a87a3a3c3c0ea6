"""The errors of a report: each kind, what they weigh, what was not read, and files of weights."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from overread.errors import UsageError
from overread.language.compare import compare_statements
from overread.language.unread import read_statements
from overread.language.vocabulary import vocabulary
from overread.metrics import Sample
from overread.metrics.clinical.errors import KINDS, count_errors
from overread.metrics.clinical.rules import measure_rules, rule_metrics
from overread.metrics.clinical.significance import OURS, WeightsFile, load_significance
from overread.ontology.terms import load_toml
from overread.runs.scoring.metric_selection import select_metrics, with_card_settings
from tests.metrics.clinical.test_rules import METRICS, SENTENCES, drawn, subject, value
from tests.timing import cpu_seconds

OUR_WEIGHTS = load_significance()


def both(reference: str, written: str) -> dict[str, Any]:
    """Everything that is counted."""
    one, two = read_statements(reference), read_statements(written)
    return count_errors(compare_statements(one.statements, two.statements), one, two)


def errors(reference: str, written: str) -> dict[str, dict[str, float]]:
    told: dict[str, dict[str, float]] = both(reference, written)["errors"]
    return told


def weighed(reference: str, written: str) -> dict[str, dict[str, float]]:
    """The errors without what weighs nothing: "lungs are clear" also denies any abnormality of a lung."""
    return {kind: told for kind, told in errors(reference, written).items() if kind != "denial"}


def score(reference: str, written: str | None) -> float:
    return value(METRICS["clinical_score"], [(reference, written)])


EACH_KIND = [
    ("presence", "Left pleural effusion.", "No pleural effusion.", "pleural effusion"),
    ("presence", "No pneumothorax.", "Right pneumothorax.", "pneumothorax"),
    ("presence", "Consolidation in the left lower lobe.", "The lungs are clear.", "consolidation"),
    ("omission", "Emphysema. Cardiomegaly.", "Emphysema.", "cardiomegaly"),
    ("addition", "Emphysema.", "Emphysema. Cardiomegaly.", "cardiomegaly"),
    ("omission", "Nodule on the right.", "History: nodule on the right.", "nodule"),
    (
        "finding",
        "Reticulation on the left.",
        "Pulmonary edema on the left.",
        "reticulation / pulmonary edema",
    ),
    ("side", "Right pleural effusion.", "Left pleural effusion.", "pleural effusion"),
    ("side", "Nodule in the right upper lobe.", "Nodule in the left upper lobe.", "nodule"),
    ("place", "Nodule in the right upper lobe.", "Nodule in the right lower lobe.", "nodule"),
    ("severity", "Small left effusion.", "Large left effusion.", "pleural effusion"),
    ("severity", "Small nodule on the left.", "Large nodule on the left.", "nodule"),
    ("size", "A 5 mm nodule.", "A 9 mm nodule.", "nodule"),
    ("number", "Two nodules in the right lung.", "Three nodules in the right lung.", "nodule"),
    ("change", "New left effusion.", "Unchanged left effusion.", "pleural effusion"),
    ("certainty", "Possible pneumonia.", "Pneumonia.", "pneumonia"),
    ("device position", "ETT in good position.", "The ETT is malpositioned.", "endotracheal tube"),
    ("size", "ETT tip 3 cm above the carina.", "ETT tip 4.5 cm above the carina.", "endotracheal tube"),
]


@pytest.mark.parametrize(("kind", "reference", "written", "about"), EACH_KIND)
def test_each_kind_of_error(kind: str, reference: str, written: str, about: str) -> None:
    """One difference is one error, of its own kind, and lowers the score."""
    assert weighed(reference, written) == {kind: {about: 1}}
    assert score(reference, written) < score(reference, reference) == 1.0


def test_a_denial_that_only_one_has_is_counted_and_weighs_nothing() -> None:
    """What the other does not mention it does not contradict."""
    assert errors("Emphysema. No effusion.", "Emphysema.") == {"denial": {"pleural effusion": 1}}
    assert score("Emphysema. No effusion.", "Emphysema.") == 1.0


def test_a_wrong_lobe_on_the_wrong_side_is_two_errors() -> None:
    """The mirrored lobe is the side's doing; another lobe is one more error."""
    told = errors("Nodule in the right upper lobe.", "Nodule in the left lower lobe.")
    assert told == {"side": {"nodule": 1}, "place": {"nodule": 1}}


def test_both_sides_may_be_told_one_by_one() -> None:
    """Right and left is what bilateral says; one side of the two is an error."""
    both, apart = "Bilateral pleural effusions.", "Right pleural effusion. Left pleural effusion."
    assert errors(both, apart) == errors(apart, both) == {}
    assert errors(both, "Right pleural effusion.") == {"side": {"pleural effusion": 1}}


def test_clear_lungs_deny_only_what_they_can() -> None:
    """Not an effusion, not the other lung, and nothing where there is an exception."""
    opacity = "Opacity in the left lower lobe."
    assert weighed("Left pleural effusion.", "The lungs are clear.") == {"omission": {"pleural effusion": 1}}
    for less in ("The right lung is clear.", "The lungs are otherwise clear."):
        assert weighed(opacity, less) == {"omission": {"lung opacity": 1}}
    assert weighed(opacity, "Left lung is clear.") == {"presence": {"lung opacity": 1}}
    assert weighed("Both lungs are clear.", opacity) == {"presence": {"lung opacity": 1}}


def test_errors_that_repeat_another_of_their_sentence_are_echoes() -> None:
    """One appearance with its explanation is one mistake; things of two kinds, or sentences, are two."""
    told = both("Right lower lobe opacity, likely pneumonia.", "Left lower lobe opacity, likely pneumonia.")
    assert told["errors"] == {"side": {"lung opacity": 1}}
    assert told["echoes"] == {"side": {"pneumonia": 1}}
    told = both("Emphysema. Small effusion with adjacent atelectasis.", "Emphysema.")
    assert told["errors"] == {"omission": {"pleural effusion": 1}}
    assert told["echoes"] == {"omission": {"atelectasis": 1}}
    told = both("Opacity on the left, probably atelectasis.", "Probable atelectasis on the left.")
    assert (told["errors"], told["echoes"]) == ({}, {"omission": {"lung opacity": 1}})
    told = both("Emphysema. Pneumothorax and effusion.", "Emphysema.")
    assert told["errors"] == {"omission": {"pneumothorax": 1, "pleural effusion": 1}}
    told = both("Emphysema. Effusion. Atelectasis.", "Emphysema.")
    assert told["errors"] == {"omission": {"pleural effusion": 1, "atelectasis": 1}}
    side, echo, most = OUR_WEIGHTS.kinds["side"], OUR_WEIGHTS.echo, OUR_WEIGHTS.doubt
    assert OUR_WEIGHTS.error_weight(
        {"errors": {"side": {"nodule": 1}}, "echoes": {"side": {"nodule": 1}}}
    ) == pytest.approx(side + most * side * echo / (most + side * echo))


def test_a_length_without_a_finding_is_compared_too() -> None:
    """Where both texts tell one and they differ; what only one tells is no error."""
    text = "Emphysema. The frobnitz is {} wide."
    assert weighed(text.format("18 mm"), text.format("1.8 cm")) == {}
    assert weighed(text.format("18 mm"), text.format("24 mm"))["size"] == {"": 1}
    assert "size" not in weighed(text.format("18 mm"), "Emphysema.")


def test_a_general_name_is_no_other_finding() -> None:
    """An opacity may be the consolidation; atelectasis is not."""
    place = "{} in the right lower lobe."
    assert list(weighed(place.format("Consolidation"), place.format("Opacity"))) == ["certainty"]
    assert list(weighed(place.format("Consolidation"), place.format("Atelectasis"))) == ["finding"]


def test_what_stays_of_an_operation_may_be_told_as_history() -> None:
    """A finding of the past may not."""
    assert weighed("Status post mastectomy.", "Previous mastectomy.") == {}
    assert weighed("Nodule.", "History of nodule.") == {"omission": {"nodule": 1}}


def test_the_order_that_a_radiologist_would_give() -> None:
    """The same finding with another size, severity, left out, on another side, denied."""
    reference = "A moderate right pleural effusion measuring 30 mm. Emphysema."
    written = [
        "Emphysema. There is a moderate effusion on the right, 3 cm.",
        "A moderate right pleural effusion measuring 40 mm. Emphysema.",
        "A small right pleural effusion measuring 30 mm. Emphysema.",
        "Emphysema.",
        "A moderate left pleural effusion measuring 30 mm. Emphysema.",
        "No pleural effusion. Emphysema.",
    ]
    scores = [score(reference, text) for text in written]
    assert scores[0] == 1.0
    assert scores == sorted(set(scores), reverse=True)


# ---- by brute force ------------------------------------------------------------------------


def plain_count(reference: str, written: str) -> tuple[float, float]:
    """Weighed errors and weighed matches, counted from what `compare` lists, one by one."""
    text = load_toml("overread.metrics", "clinical", WeightsFile, "significance.toml")

    def level(name: str) -> float:
        for grade in ("urgent", "minor"):
            if name in text.observations.get(grade, ()):
                return text.levels[grade]
        return text.levels["significant"]

    one, two = read_statements(reference), read_statements(written)
    told = compare_statements(one.statements, two.statements)
    wrong = matched = doubt = 0.0
    for finding in told.omissions:
        wrong += text.kinds["omission"] * level(finding.statement.observation)
    for finding in told.additions:
        wrong += text.kinds["addition"] * level(finding.statement.observation)
    for finding in told.minor_omissions + told.minor_additions:
        wrong += text.kinds["denial"] * level(finding.statement.observation)
    for match in told.matches:
        names = [conflict.name for conflict in match.conflicts]
        a, b = match.reference.statement, match.other.statement
        if "observation" in names:
            wrong += text.kinds["finding"] * max(level(a.observation), level(b.observation))
            continue
        both = match.reference.is_there and match.other.is_there
        matched += level(a.observation) * (both and "side" not in names)
        if "presence" in names and "absent" in (a.presence, b.presence):
            wrong += text.kinds["presence"] * level(a.observation)
            continue
        for name in ("side", "severity", "size"):
            wrong += text.kinds[name] * level(a.observation) * (name in names)
        doubt += text.kinds["certainty"] * level(a.observation) * ("presence" in names)
        same_lobe = {lobe[1:] for lobe in a.lobes} & {lobe[1:] for lobe in b.lobes}
        if "lobes" in names and not ("side" in names and same_lobe):
            wrong += text.kinds["place"] * level(a.observation)
        wrong += text.kinds["number"] * level(a.observation) * ("count" in names)
    most = text.score["doubt"]
    return wrong + most * doubt / (most + doubt), matched


@pytest.mark.parametrize("seed", range(8))
def test_errors_by_plain_counting(seed: int) -> None:
    """The mean of weighed errors, and of matched over matched and errors."""
    pairs = [(a, b) for a, b in drawn(seed, n=10) if b]
    pairs = [(a.replace("Lungs are clear.", "No nodule."), b) for a, b in pairs]
    counted = [plain_count(a, b) for a, b in pairs]
    expected = sum(wrong for wrong, _ in counted) / len(pairs)
    assert value(METRICS["clinical_errors"], list(pairs)) == pytest.approx(expected)
    prior = OUR_WEIGHTS.prior
    scores = [(matched + prior) / (matched + prior + wrong) for wrong, matched in counted]
    assert value(METRICS["clinical_score"], list(pairs)) == pytest.approx(sum(scores) / len(scores))


@pytest.mark.parametrize("seed", range(4))
def test_kinds_are_counted_without_weights(seed: int) -> None:
    """Omissions and additions are those of compare, whatever they weigh."""
    pairs = [(a, b) for a, b in drawn(seed, n=10) if b and a != "Lungs are clear."]
    told = [
        compare_statements(read_statements(a).statements, read_statements(b).statements) for a, b in pairs
    ]
    for name, lists in (("omission", "omissions"), ("addition", "additions")):
        expected = sum(len(getattr(one, lists)) for one in told) / len(pairs)
        assert value(METRICS[f"clinical_errors_{name}"], list(pairs)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_changing_places_changes_no_error(seed: int) -> None:
    """Omissions become additions, which weigh the same; everything else is as it was."""
    for a, b in drawn(seed):
        if not b:
            continue
        there, back = errors(a, b), errors(b, a)
        assert (there.get("omission"), there.get("addition")) == (back.get("addition"), back.get("omission"))
        assert value(METRICS["clinical_errors"], [(a, b)]) == pytest.approx(
            value(METRICS["clinical_errors"], [(b, a)])
        )


@pytest.mark.parametrize("seed", range(4))
def test_one_more_error_never_raises_the_score(seed: int) -> None:
    """Leaving a sentence out, or adding one that the reference denies by silence, costs."""
    dice = random.Random(seed)
    chosen = dice.sample(SENTENCES, 6)
    whole = " ".join(chosen)
    for n in range(6):
        fewer = " ".join(chosen[:n] + chosen[n + 1 :])
        assert score(whole, fewer) <= 1.0
        assert value(METRICS["clinical_errors"], [(whole, fewer)]) >= 0.0


# ---- silence, and what was not read --------------------------------------------------------


@pytest.mark.parametrize("reference", ["No effusion. No pneumothorax.", "The lungs are clear.", "Nodule."])
def test_silence_is_worse_than_a_wrong_report(reference: str) -> None:
    """Also of a normal report, which leaves nothing out."""
    for nothing in (None, "", " \n"):
        assert score(reference, nothing) == 0.0
        assert value(METRICS["clinical_errors"], [(reference, nothing)]) >= 3.0
    assert score(reference, "Right pneumothorax. Large left effusion.") > 0.0


def test_what_was_not_read_costs_and_is_told() -> None:
    """A sentence without a known word does not pass silently unless both texts have it."""
    strange = "The frobnitz is elevated on the right."
    (row,) = measure_rules(subject(f"Emphysema. {strange}", "Emphysema."), "report").values()
    assert (row["unread_reference"], row["unread_other"]) == (1, 0)
    assert (row["sentences_reference"], row["sentences_other"]) == (2, 1)
    assert "not read: 1 of 2 sentences of the reference, 0 of 1 of the reading" in row["disagreements"]
    assert METRICS["clinical_unread_share"].combine(Sample([row]))[0] == pytest.approx(1 / 3)
    assert METRICS["ceiling_clinical_unread_share"].combine(Sample([row]))[0] == pytest.approx(1 / 2)
    left_out = score(f"Emphysema. {strange}", "Emphysema.")
    turned = score(f"Emphysema. {strange}", f"Emphysema. {strange.replace('right', 'left')}")
    assert turned < left_out < score(f"Emphysema. {strange}", f"{strange} Emphysema.") == 1.0


def test_what_is_not_read_weighs_less_than_a_finding() -> None:
    """It may be another wording of something else, and all that may be so weighs less than a rounded size."""
    pair = ("Emphysema. The frobnitz is elevated.", "Emphysema. Nodule.")
    whole = OUR_WEIGHTS.error_weight({"errors": {"unread": errors(*pair)["unread"]}})
    plain, most = OUR_WEIGHTS.kinds["unread"] * OUR_WEIGHTS.levels["minor"], OUR_WEIGHTS.doubt
    assert whole == most * plain / (most + plain)
    many = OUR_WEIGHTS.error_weight({"errors": {"unread": {"": 1000}, "certainty": {"nodule": 1000}}})
    assert whole < many < OUR_WEIGHTS.kinds["rounding"] * OUR_WEIGHTS.levels["minor"]
    assert whole < OUR_WEIGHTS.kinds["omission"] * OUR_WEIGHTS.levels["minor"]


def test_what_is_plainly_gone_is_left_out_read_or_not() -> None:
    """Where the rest stands as it was, nothing can say it in other words."""
    strange = "The frobnitz is elevated."
    assert errors(f"Emphysema. {strange}", "Emphysema.") == {"omission": {"": 1}}
    assert errors("Emphysema.", f"Emphysema. {strange}") == {"addition": {"": 1}}
    two = "Fracture of the fourth rib. Fracture of the scapula. Emphysema."
    assert errors(two, "Fracture of the fourth rib. Emphysema.") == {"omission": {"fracture": 1}}


@pytest.mark.parametrize(
    ("kind", "reference", "written"),
    [
        ("side", "The frobnitz is elevated on the right.", "The frobnitz is elevated on the left."),
        ("side", "Large right flump, small left.", "Large left flump, small right."),
        ("presence", "No frobnitz of the flump.", "Frobnitz of the flump."),
        ("presence", "LVAD outflow graft patent.", "LVAD outflow graft occluded."),
        ("presence", "Liver normal.", "Liver metastases."),
        ("severity", "Mild flump of the frobnitz.", "Severe flump of the frobnitz."),
        ("size", "Flump of the frobnitz, 22 mm.", "Flump of the frobnitz, 31 mm."),
    ],
)
def test_a_changed_word_tells_its_error_in_a_sentence_that_is_not_read(
    kind: str, reference: str, written: str
) -> None:
    """The word itself tells what was changed."""
    told = errors(f"Emphysema. {reference}", f"Emphysema. {written}")
    assert told[kind]
    assert not {"presence", "side", "severity", "size"}.difference({kind}) & set(told)


def test_the_same_in_other_words_is_no_change() -> None:
    """A denial of another thing, another order of the sides, another unit."""
    for reference, written in [
        ("No pneumothorax or effusion.", "No pneumothorax and no effusion."),
        ("Nondisplaced fracture of the right 4th rib.", "Right fourth rib fracture without displacement."),
        ("Normal left adrenal and right kidney.", "Right kidney and left adrenal are normal."),
        ("Nodule of 12 mm.", "1.2 cm nodule."),
    ]:
        assert weighed(reference, written) == {}


def test_a_region_that_is_called_normal_denies_what_the_other_has_there() -> None:
    """Whichever of the two texts says so."""
    sound, lesion = "Emphysema. Bony thorax intact.", "Emphysema. Destructive lesion of the sternum."
    assert weighed(sound, lesion) == weighed(lesion, sound) == {"presence": {"bone lesion": 1}}


def test_a_measurement_that_differs_little_costs_little() -> None:
    """Two measurements of one thing differ by as much; beyond that it is an error of size."""
    assert errors("Nodule of 12 mm.", "Nodule of 13 mm.") == {"rounding": {"": 1}}
    assert 1 > score("Nodule of 12 mm.", "Nodule of 13 mm.") > score("Nodule of 12 mm.", "Nodule of 16 mm.")


def test_one_thing_under_two_names_is_joined_by_its_size_or_place() -> None:
    """A general name is a matter of certainty; another finding is another."""
    lesion = ("Lesion of 21 mm in the left upper lobe.", "Nodule of 21 mm in the left upper lobe.")
    assert set(weighed(*lesion)) <= {"certainty"}
    told = weighed("Opacity in the right upper lobe.", "Nodule in the right upper lobe.")
    assert set(told) == {"certainty"}


# ---- weights -------------------------------------------------------------------------------


def test_every_kind_and_every_observation_is_known() -> None:
    """Our file weighs every kind, and names no observation that the vocabulary does not have."""
    ours = load_toml("overread.metrics", "clinical", WeightsFile, "significance.toml")
    assert set(ours.kinds) == set(KINDS)
    assert set(ours.levels) == {"urgent", "significant", "minor"}
    named = [name for names in ours.observations.values() for name in names]
    assert len(named) == len(set(named))
    assert set(named) <= set(vocabulary().observations)


def test_ones_own_weights(tmp_path: Path) -> None:
    """A file of the user's changes what it names, is carried in the settings, and needs no new reading."""
    file = tmp_path / "mine.toml"
    file.write_text('[kinds]\nside = 5\n[observations]\nurgent = ["nodule"]\n[levels]\nurgent = 3\n')
    mine = {m.name: m for m in select_metrics(["clinical_errors", "clinical_f1"], {"weights": str(file)})}
    theirs = METRICS["clinical_errors"]
    pair = [("Right nodule. Left effusion.", "Left nodule.")]
    assert value(theirs, list(pair)) == OUR_WEIGHTS.kinds["side"] + OUR_WEIGHTS.kinds["omission"]
    assert value(mine["clinical_errors"], list(pair)) == 5 * 3 + 1.0
    assert mine["clinical_errors"].measure is mine["clinical_f1"].measure is theirs.measure
    told = mine["clinical_errors"].settings
    assert told["weights"] == str(file)
    assert told["weights_digest"] != theirs.settings["weights_digest"]
    again = with_card_settings(theirs, json.loads(json.dumps(dict(told))))
    assert value(again, list(pair)) == 16.0
    assert theirs.settings["weights"] == OURS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[kinds]\nsides = 2\n", "kinds.sides"),
        ("[kinds]\nside = -1\n", "kinds.side"),
        ("[levels]\nurgent = 'much'\n", "levels.urgent"),
        ('[observations]\nurgent = ["nodule"]\nminor = ["nodule"]\n', "'nodule' has two levels"),
        ("kinds = [", "not a TOML file"),
    ],
)
def test_a_bad_file_of_weights_is_refused_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        load_significance(str(file))
    assert caught.value.remedy
    with pytest.raises(UsageError, match="no such file of weights"):
        load_significance(str(tmp_path / "none.toml"))


def test_urgent_findings_weigh_more() -> None:
    """A pneumothorax left out costs more than an effusion, that more than a hiatal hernia."""
    costs = [
        value(METRICS["clinical_errors"], [(f"Emphysema. {text}", "Emphysema.")])
        for text in ("Right pneumothorax.", "Right effusion.", "Hiatal hernia.")
    ]
    assert costs == sorted(set(costs), reverse=True)


def test_rows_of_old_cards_have_no_errors_and_are_no_number() -> None:
    """A card that was stored before errors were counted opens; its new scores are undefined."""
    old: dict[str, Any] = {"found": 1, "reference": 1, "other": 1}
    for name in ("clinical_score", "clinical_errors", "clinical_errors_side", "clinical_unread_share"):
        assert math.isnan(METRICS[name].combine(Sample([old]))[0])
    assert METRICS["clinical_f1"].combine(Sample([old]))[0] == 1.0


def test_parts_have_their_own_names() -> None:
    """As the other scores by rules."""
    metric = rule_metrics("findings")["clinical_score"]
    assert (metric.name, metric.needs) == ("findings_clinical_score", ("findings",))
    share = rule_metrics("findings")["clinical_unread_share"]
    assert share.ceiling == "ceiling_findings_clinical_unread_share"


@pytest.mark.parametrize(
    "unit", ["frobnitz. ", "lungs are clear. ", "right lung is ", "no no no. ", "A 5 mm nodule. "]
)
def test_counting_takes_linear_time(unit: str) -> None:
    """Four times the text takes about four times as long: sixteen would be quadratic."""

    def work(size: int) -> float:
        text = unit * (size // len(unit))
        return cpu_seconds(lambda: measure_rules(subject(text, text + "Nodule."), "report"))

    assert work(12_000) < 10 * work(3_000) + 0.05


@pytest.mark.parametrize(
    ("reference", "reading"),
    [
        ("Mild gaseous distension of the stomach.", "The stomach contains slightly more gas than usual."),
        ("New hydronephrosis of the right kidney.", "The right kidney has become hydronephrotic."),
        ("Round nodules in both lungs.", "Rounded deposits are numerous bilaterally."),
        ("Generator in the left chest wall.", "Device in the left chest wall."),
    ],
)
def test_other_words_for_the_same_are_a_doubt_and_no_omission(reference: str, reading: str) -> None:
    """Where the other text has a sentence of the same organ and thing, nobody knows that it is left out."""
    for one, two in ((reference, reading), (reading, reference)):
        told = errors(f"Emphysema. {one}", f"{two} Emphysema.")
        assert not {"omission", "addition", "presence"} & set(told), told


@pytest.mark.parametrize(
    "reading",
    ["The left kidney has become hydronephrotic.", "No frobnitz of the kidney.", "The spleen is frobnitzed."],
)
def test_another_side_a_denial_or_another_organ_is_no_wording(reading: str) -> None:
    """What is left out stays left out."""
    told = errors("Emphysema. New hydronephrosis of the right kidney.", f"Emphysema. {reading}")
    assert {"omission", "presence", "side"} & set(told), told


def test_a_sentence_that_stands_in_both_says_nothing_of_another() -> None:
    """Only what is new in the other text can be another wording."""
    told = errors(
        "Hydronephrosis of the right kidney. The kidney is frobnitzed.", "The kidney is frobnitzed."
    )
    assert told == {"omission": {"renal lesion": 1}}


def test_no_opacity_denies_a_nodule() -> None:
    """A general word that is denied denies the closer one; in one lobe it says nothing of the others."""
    assert "presence" in errors("Nodule in the right lung.", "No focal opacity.")
    assert "omission" in errors("Nodule in the right lung.", "No opacity in the left lower lobe.")


def test_what_lies_on_the_other_side_is_no_part_of_what_was_found() -> None:
    """One of two things of a sentence left out is left out, though both make the lung white."""
    told = errors(
        "The left lower lobe is consolidated and a small right pleural effusion has developed.",
        "A small right pleural effusion has developed.",
    )
    assert told == {"omission": {"consolidation": 1}}


def test_letters_tell_sides() -> None:
    """R and L are right and left, but for a vertebra or the lumbar spine."""
    assert set(errors("Small L effusion.", "Small R effusion.")) == {"side"}
    assert errors("Small L effusion.", "Small left effusion.") == {}
    assert errors("Small effusion. L4 fracture.", "Small effusion. Fracture of L4.") == {}


def test_a_denial_that_goes_is_an_error_whatever_it_denied() -> None:
    """Two sentences that are the same but for "no" contradict each other, understood or not."""
    told = errors("Lobectomy with no local frobnitz.", "Lobectomy with local frobnitz.")
    assert "presence" in told


def test_a_share_that_differs_is_another_number() -> None:
    """A ratio has no unit; where nothing else is changed it counts as a size does."""
    assert set(errors("Cardiomegaly, CTR 0.65.", "Cardiomegaly, CTR 0.66.")) == {"size"}
    assert errors("Cardiomegaly, CTR 0.65.", "Cardiomegaly, CTR 65%.") == {}
