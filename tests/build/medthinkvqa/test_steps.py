"""Single steps of the recipe `medthinkvqa`: options, letters, splits, probes, discussion, ICD, times."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from overread.build.item import Drop, Item, Keep, StepResult
from overread.build.medthinkvqa.discussion import prune_discussion
from overread.build.medthinkvqa.fields import differential_of
from overread.build.medthinkvqa.icd import classify, code_list, place_category
from overread.build.medthinkvqa.modality import modality_of_caption
from overread.build.medthinkvqa.options import assign_letters, choose_five
from overread.build.medthinkvqa.probes import run_probes
from overread.build.medthinkvqa.splits import assign_splits
from overread.build.medthinkvqa.timepoints import combine_markers, find_markers, find_timepoints
from overread.build.step_context import LiveStepContext
from overread.errors import UsageError
from overread.language.diagnoses.names import bundled_names


def context(settings: Mapping[str, str] | None = None, *, seed: int = 0) -> LiveStepContext:
    """A context without models."""
    return LiveStepContext(Path.cwd(), settings=settings, seed=seed)


def item(name: str, **data: Any) -> Item:
    """An item with these fields."""
    return Item(id=name, patient=data.pop("patient", None), data=data)


def kept(outcome: StepResult) -> Mapping[str, Any]:
    """The data of an item that went on."""
    assert isinstance(outcome, Keep), outcome
    return outcome.data


# ---- options and letters -----------------------------------------------------------------------


def listing(number: int, *, lengths: list[int], key: int) -> Item:
    """A case whose diagnoses have these lengths."""
    texts = [f"{chr(97 + n)}{number}".ljust(length, "x") for n, length in enumerate(lengths)]
    return item(f"c{number}", differential=texts, final_diagnosis=texts[key])


def test_the_right_option_is_no_longer_than_chance() -> None:
    """Where the key was always the second longest of nine, it becomes the longest in a fifth."""
    cases = [listing(n, lengths=[50, 45, 30, 28, 26, 24, 22, 20, 18], key=1) for n in range(200)]
    cases += [listing(n, lengths=[20, 21, 22, 23, 30, 31, 32, 33, 34], key=4) for n in range(200, 600)]
    outcomes = asyncio.run(choose_five(cases, context()))
    ranks: Counter[int] = Counter()
    for case in cases:
        options = kept(outcomes[case.id])["options"]
        right = case.data["final_diagnosis"]
        assert len(options) == 5
        assert right in options
        ranks[sum(len(text) > len(str(right)) for text in options)] += 1
    assert all(110 <= ranks[rank] <= 130 for rank in range(5)), ranks


def test_exactly_five_stay_as_they_are_and_the_tempting_one_stays() -> None:
    """Of five none goes; of nine the model's wrong pick is always among the options."""
    five = listing(1, lengths=[5, 6, 7, 8, 9], key=0)
    nine = [listing(n, lengths=[9] * 9, key=0) for n in range(2, 40)]
    tempted = [
        one.model_copy(update={"data": {**one.data, "tempting": one.data["differential"][5]}})  # type: ignore[index]
        for one in nine
    ]
    outcomes = asyncio.run(choose_five([five, *tempted], context()))
    assert kept(outcomes["c1"])["options"] == five.data["differential"]
    for one in tempted:
        assert one.data["tempting"] in kept(outcomes[one.id])["options"]


def test_options_hang_on_the_seed_and_on_nothing_else() -> None:
    """The same seed gives the same options in whatever order cases come; another seed others."""
    cases = [listing(n, lengths=[9, 9, 9, 9, 9, 9, 9, 9], key=0) for n in range(30)]
    first = asyncio.run(choose_five(cases, context()))
    again = asyncio.run(choose_five(cases[::-1], context()))
    assert first == again
    assert first != asyncio.run(choose_five(cases, context(seed=1)))


def test_letters_are_dealt_evenly_in_each_split() -> None:
    """Counts of right letters differ by one at most, and the option at the letter is the key."""
    cases = [
        item(
            f"c{n}",
            split="test" if n % 3 else "train",
            final_diagnosis="k",
            differential=list("kabcd"),
            options=list("kabcd"),
        )
        for n in range(58)
    ]
    outcomes = asyncio.run(assign_letters(cases, context()))
    for split in ("train", "test"):
        here = [kept(outcomes[c.id]) for c in cases if c.data["split"] == split]
        counts = Counter(str(data["answer"]) for data in here)
        assert max(counts.values()) - min(counts.values()) <= 1
        assert len(counts) == 5
        for data in here:
            assert data["lettered"][data["answer"]] == "k"
            assert sorted(data["lettered"].values()) == list("abcdk")


# ---- splits ------------------------------------------------------------------------------------


def test_splits_go_by_patient_and_stay_when_others_come() -> None:
    """Cases of a patient are together; more patients, in any order, change nobody's split."""
    cases = [item(f"c{n}", patient=f"p{n // 2}") for n in range(400)]
    first = asyncio.run(assign_splits(cases[:100], context({"test-share": "0.25"})))
    later = asyncio.run(assign_splits(cases[::-1], context({"test-share": "0.25"})))
    splits = {name: str(kept(one)["split"]) for name, one in later.items()}
    assert all(kept(first[name])["split"] == splits[name] for name in first)
    assert all(splits[f"c{2 * n}"] == splits[f"c{2 * n + 1}"] for n in range(200))
    assert 0.17 < sum(split == "test" for split in splits.values()) / 400 < 0.33


@pytest.mark.parametrize("share", ["half", "1.5", "-1", "nan"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    """One sentence says what it may be."""
    with pytest.raises(UsageError, match="from 0 to 1"):
        asyncio.run(assign_splits([item("a")], context({"test-share": share})))


# ---- probes ------------------------------------------------------------------------------------

OPTIONS = ["Sarcoidosis", "Silicosis", "Heart failure", "Pneumocystis pneumonia", "Lung abscess"]


def probed(history: str, key: str, **settings: str) -> StepResult:
    """What the step makes of a history without models."""
    case = item("a", history=history, differential=OPTIONS, options=OPTIONS, final_diagnosis=key)
    return asyncio.run(run_probes(case, context(settings)))


def test_what_all_but_settles_the_key_is_removed_with_its_place() -> None:
    """A telling sentence for the right option drops the case; for a wrong one it does not."""
    history = "She coughs. The ejection fraction was 20 per cent."
    solved = probed(history, "Heart failure")
    assert isinstance(solved, Drop)
    assert solved.reason == "solved-by-text"
    place = solved.changes[0].before
    assert place == {"text": history[12:], "start": 12, "end": len(history)}
    assert isinstance(probed(history, "Silicosis"), Keep)


def test_a_result_that_proves_is_removed_unless_told_otherwise() -> None:
    """Histology in the history drops the case, whatever it says; pending and negative do not."""
    history = "A biopsy of the node showed granulomas."
    proof = probed(history, "Silicosis")
    assert isinstance(proof, Drop)
    assert proof.reason == "proof-in-history"
    assert isinstance(probed(history, "Silicosis", proof="keep"), Keep)
    for harmless in (
        "A biopsy was planned.",
        "Blood cultures were pending.",
        "Sputum culture was negative.",
        "The lavage showed nothing and was sterile.",
        "The cough grew worse and he grew up on a farm.",
    ):
        assert isinstance(probed(harmless, "Silicosis"), Keep), harmless


def test_rules_do_not_guess() -> None:
    """A plain history is answered by nobody, and the answers are kept."""
    data = kept(probed("A cough for three weeks.", "Silicosis"))
    assert data["probes"] == {"rules": None, "groups": []}
    assert data["clues"] == []


# ---- the discussion ----------------------------------------------------------------------------


def pruned(text: str, options: list[str] | None = None) -> tuple[str, Keep]:
    """The discussion after the step, and the outcome."""
    listed = [*OPTIONS, "Lymphoma", "Tuberculosis"]
    case = item(
        "a", discussion=text, differential=listed, options=options or OPTIONS, final_diagnosis="Sarcoidosis"
    )
    outcome = asyncio.run(prune_discussion(case, context()))
    assert isinstance(outcome, Keep)
    for change in outcome.changes:
        place = change.before
        assert isinstance(place, dict)
        assert text[int(place["start"]) : int(place["end"])] == place["text"]  # type: ignore[arg-type]
    return str(outcome.data.get("discussion", text)), outcome


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Nodes are large. TB would cavitate. Sarcoidosis fits.", "Nodes are large. Sarcoidosis fits."),
        ("Outcome\nLymphoma is treated.\n\nTake-home points\nThink of it.", "Take-home points\nThink of it."),
        ("Nodes (Fig. 1a, b) are large. See Fig. 2.", "Nodes are large."),
        ("Nodes are large. See also Eurorad case 1234.", "Nodes are large."),
        ("Tuberculosis cavitates; silicosis calcifies; all scar.", "silicosis calcifies; all scar."),
        ("Sarcoidosis, unlike tuberculosis, is sterile.", "Sarcoidosis, unlike tuberculosis, is sterile."),
        ("Nothing to cut here.", "Nothing to cut here."),
    ],
)
def test_only_what_is_no_option_and_references_are_cut(before: str, after: str) -> None:
    """Sentences, clauses and references go, each a change with its place; nothing is added."""
    assert pruned(before)[0] == after


def test_a_sentence_on_both_stays_and_is_told() -> None:
    """What rules cannot part is listed for whoever looks it over."""
    text = "Sarcoidosis, unlike tuberculosis, is sterile."
    assert pruned(text)[1].data["discussion_unsettled"] == [text]


# ---- ICD-10 ------------------------------------------------------------------------------------


def classified(diagnosis: str, **more: Any) -> Keep:
    """The outcome of the step."""
    settings = more.pop("settings", {})
    outcome = asyncio.run(classify(item("a", final_diagnosis=diagnosis, **more), context(settings)))
    assert isinstance(outcome, Keep)
    return outcome


def test_block_and_chapter_are_looked_up() -> None:
    """From the name of a diagnosis, and from a code of the source, which wins."""
    told: Any = classified("Thoracic sarcoidosis").data["icd_placed"]
    assert told["category"] == "D86 - Sarcoidosis"
    assert told["block"].startswith("D80-D89 - ")
    assert told["chapter"].startswith("Chapter III - ")
    given: Any = classified("Thoracic sarcoidosis", icd="J18.9").data["icd_placed"]
    assert given["category"].startswith("J18 - ")


def test_every_category_of_the_list_of_diagnoses_is_one_of_icd10() -> None:
    """A diagnosis that is known has a place."""
    for known in bundled_names().known:
        assert known.icd is None or place_category(known.icd) is not None, known.names


@pytest.mark.parametrize(
    ("diagnosis", "category"),
    [
        ("Candidiasis", "B37 - Candidiasis"),  # a title
        ("Pulmonary candidiasis", "B37 - Candidiasis"),  # a part of it
        ("Abscess of spleen", "D73 - Diseases of spleen"),  # what it includes
        ("spleen abscess", None),  # rules read no meaning
    ],
)
def test_titles_and_what_they_hold_are_known_without_a_file(diagnosis: str, category: str | None) -> None:
    """The house's list has every category, and the names that stand under it."""
    placed: Any = classified(diagnosis).data.get("icd_placed")
    assert (placed and placed["category"]) == category


def test_a_code_list_of_ones_own_stands_in_place_of_the_houses(tmp_path: Path) -> None:
    """Its titles are given, what it lacks is no category, and a four-character title is none."""
    file = tmp_path / "codes.csv"
    file.write_text("code,title\nB37,Thrush\nB37.1,Pulmonary candidiasis\n")
    for diagnosis in ("Thrush", "Pulmonary candidiasis"):
        told: Any = classified(diagnosis, settings={"icd": str(file)}).data["icd_placed"]
        assert told["category"] == "B37 - Thrush"
        assert told["block"] == "B35-B49 - Mycoses"
    assert "icd_placed" not in classified("Cholera", settings={"icd": str(file)}).data


@pytest.mark.parametrize(
    "raw",
    [
        b"B37;Candidiasis\n",
        b"B37\tCandidiasis\n",
        b'B36,"Mycoses; of skin; other"\nB37,Candidiasis\n',
        b'code,title\nB36,"Other\nmycoses"\n"B37","Candidiasis"\n',
        "B37,Candidiasis\n".encode("utf-16"),
    ],
    ids=["semicolons", "tabs", "titles with semicolons", "titles on two lines", "UTF-16"],
)
def test_a_code_list_may_be_any_table(tmp_path: Path, raw: bytes) -> None:
    """What ends the first cell is the delimiter; cells may hold line ends."""
    file = tmp_path / "codes.csv"
    file.write_bytes(raw)
    assert code_list(str(file))["B37"] == "Candidiasis"


def test_an_unknown_diagnosis_is_kept_and_told() -> None:
    """No category is invented; the ledger says that none was found."""
    outcome = classified("Susac syndrome")
    assert outcome.data == {}
    assert "no category is known" in outcome.changes[0].why


@pytest.mark.parametrize("content", [None, b"", b"a,b\n", b"\xff\xfe"])
def test_a_broken_code_list_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    """A file that is not there, empty, without codes, or not UTF-8."""
    file = tmp_path / "codes.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match="list of codes"):
        code_list(str(file))


# ---- time points and modalities ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "text", "count", "interval"),
    [
        ("history", "Fever for 8 days. An antibiotic had been given for 4 days.", 1, None),
        ("history", "Cough of 3 years. CT and MRI were done.", 1, None),
        ("history", "A follow-up CT is recommended after six months.", 1, None),
        ("history", "She was treated 5 months ago; the scan was done at once.", 1, None),
        ("history", "A second examination followed after six weeks.", 2, "six weeks"),
        ("history", "CT was repeated after 2 weeks.", 2, "2 weeks"),
        ("history", "Imaging was done twice, with an interval of one year.", 2, "one year"),
        ("imaging_findings", "On follow-up three months later, the nodule has grown.", 2, "three months"),
        (
            "imaging_findings",
            "After 6 weeks the mass is smaller. Two years later it was gone.",
            3,
            "Two years",
        ),
        ("caption 1", "Follow-up CT: unchanged.", 2, "unknown"),
        ("imaging_findings", "Compared with the previous CT the node is larger.", 2, "unknown"),
    ],
)
def test_time_points_need_words_that_say_so(where: str, text: str, count: int, interval: str | None) -> None:
    """Complaints, modalities and plans are none; markers are, with their quotes in the text."""
    markers = find_markers(where, text)
    times = combine_markers(markers)
    assert (times.timepoints, times.interval) == (count, interval)
    assert times.longitudinal == (count > 1)
    assert all(text[m.start : m.end] == m.quote for m in markers)


def test_pictures_get_the_time_that_their_caption_tells() -> None:
    """With two time points, captions tell the first and the second; others tell nothing."""
    images = [
        {"file": "a.png", "caption": "CT at presentation."},
        {"file": "b.png", "caption": "CT six weeks later."},
        {"file": "c.png", "caption": "A film."},
    ]
    case = item("a", history="Cough.", imaging_findings="", images=images, interval="six weeks")
    data = kept(asyncio.run(find_timepoints(case, context())))
    assert [image.get("timepoint") for image in data["images"]] == [1, 2, None]
    assert (data["times"]["timepoints"], data["times"]["interval"]) == (2, "six weeks")


@pytest.mark.parametrize(
    ("caption", "level", "sub"),
    [
        ("Axial CT of the chest in the lung window.", "CT", None),
        ("Contrast-enhanced chest CT, arterial phase.", "CT", "Contrast-enhanced CT"),
        ("FDG PET-CT shows uptake.", "Nuclear medicine & Molecular imaging", "PET-CT"),
        ("T2-weighted axial image.", "MRI", "Conventional MRI"),
        ("Colour Doppler ultrasound of the neck.", "Ultrasound", "Doppler ultrasound"),
        ("PA chest radiograph; compare the CT.", "X-ray", "Chest radiography"),
        ("Lateral chest film.", "X-ray", "Chest radiography"),
        ("Histopathology (H&E).", "Pathology", "Histopathology"),
        ("Bronchoscopic view of the carina.", "Endoscopy", "Bronchoscopy"),
        ("3D reconstruction from CT.", "Non-modality / Workflow / Post-processing", None),
    ],
)
def test_captions_tell_the_modality(caption: str, level: str, sub: str | None) -> None:
    """The words that stand first say what a picture is."""
    told = modality_of_caption(caption)
    assert told is not None
    assert told[:2] == (level, sub)
    assert told[2] in caption


def test_a_caption_that_does_not_tell_gives_nothing() -> None:
    """'Distracted' holds no CT, and 'USA' no ultrasound."""
    assert modality_of_caption("A distracted patient from the USA, with arrows.") is None


def test_fields_of_an_item_stand_for_all_listed_before_options_are_chosen() -> None:
    """Before the choice nothing is left out."""
    told = differential_of(item("a", differential=["x", "y"], final_diagnosis="x"))
    assert told.offered == ("x", "y")
    assert told.left_out == ()
