"""Reports of films: all that is seen, nothing that is hidden, no denial of what is there."""

from __future__ import annotations

import re

import numpy as np
import pytest

from overread.errors import UsageError
from overread.language.statements import find_statements
from overread.ontology import xray_regions
from overread.phantom.film.lexicon import find_sign_words, list_film_wording_texts, sign_kind
from overread.phantom.film.negatives import present_by_side
from overread.phantom.film.report import ALWAYS_REPORTED, XrayReport, regions_of, write_xray_report
from overread.phantom.film.sign import FilmContents, Sign, Visibility
from overread.phantom.film.zones import sign_sides
from overread.phantom.words.lexicon import STYLES, Style, is_held_out
from tests.phantom.film.made_up_sights import ALL_KINDS, BEYOND_KINDS, regions, sight, sign

MANY = 240
DENIALS = {
    "2e:effusion": {"pleural effusion"},
    "2g:pneumothorax": {"pneumothorax"},
    "2b:consolidation": {"consolidation", "lung opacity"},
    "2b:atelectasis": {"atelectasis"},
    "2c:ground-glass": {"lung opacity", "ground-glass opacity"},
    "2d": {"nodule", "lung mass"},
    "1e": {"nodule", "micronodules"},
    "cardiomegaly": {"cardiomegaly"},
    "pericardial effusion": {"cardiomegaly"},
    "aortic ectasia": {"aneurysm", "mediastinal widening"},
    "lymph nodes": {"lymph node", "mediastinal widening"},
    "rib fracture": {"fracture"},
    "1d:interlobular": {"pulmonary edema"},
}
"""Kind or category of what is there, and observations that no sentence may then deny."""


def report_of(seed: int, *, most: int = 5) -> tuple[FilmContents, XrayReport]:
    """A made-up film and its report."""
    film = sight(seed, most=most)
    style: Style = STYLES[seed % 3 == 2]
    rng = np.random.default_rng(seed)
    return film, write_xray_report(film, rng, style=style, held_out=seed % 5 == 4, lateral=seed % 2 == 0)


@pytest.fixture(scope="module")
def films() -> list[tuple[FilmContents, XrayReport]]:
    """Some hundreds of films with their reports."""
    return [report_of(seed) for seed in range(MANY)]


def only(*signs: Sign, ratio: float = 0.45, view: str = "PA") -> FilmContents:
    """A film with these signs."""
    return FilmContents(view=view, columns=640, rows=560, regions=regions(), signs=signs, heart_ratio=ratio)


def placed(category: str, kind: str, seen: Visibility, side: str | None, *zones: str) -> Sign:
    """A sign on a side, in zones."""
    one = sign(category, kind, seen, np.random.default_rng(1))
    told = one.statement.model_copy(update={"side": side, "count": 1})
    return one.model_copy(update={"statement": told, "zones": zones, "seen": seen})


def test_what_is_seen_is_stated(films: list[tuple[FilmContents, XrayReport]]) -> None:
    """Seen signs are positive sentences and nothing else is; doubtful ones are hedged or left out."""
    hedged = left_out = 0
    for film, report in films:
        states = {one.key: one.seen for one in film.signs}
        positive = {key for s in report.sentences if s.stance == "positive" for key in s.keys}
        doubted = {key for s in report.sentences if s.stance == "hedged" for key in s.keys}
        assert positive == {key for key, seen in states.items() if seen == "seen"}
        assert all(states[key] == "doubtful" for key in doubted)
        findings = [s for s in report.sentences if s.section == "findings"]
        assert positive == {key for s in findings if s.stance == "positive" for key in s.keys}
        hedged += len(doubted)
        left_out += sum(seen == "doubtful" for seen in states.values()) - len(doubted)
        assert all(not s.keys for s in report.sentences if s.stance == "negative")
        assert all(s.keys for s in report.sentences if s.stance != "negative")
    assert 0.6 < hedged / (hedged + left_out) < 0.85


def test_reports_are_read_back(films: list[tuple[FilmContents, XrayReport]]) -> None:
    """Sentence by sentence the rules read what the report means: present, uncertain or absent."""
    wanted = {"positive": {"present"}, "hedged": {"uncertain"}, "negative": {"absent"}}
    silent = negatives = 0
    for _, report in films:
        for one in report.sentences:
            presences = {each.presence for each in find_statements(one.text)}
            assert presences <= wanted[one.stance], one
            assert presences or one.stance == "negative", one
            negatives += one.stance == "negative"
            silent += one.stance == "negative" and not presences
    # "The lungs are clear" names nothing that could be absent.
    assert silent / negatives < 0.5


def test_whole_reports_are_read_back(films: list[tuple[FilmContents, XrayReport]]) -> None:
    """The same of the report as one text: nothing changes its meaning beside its neighbours."""
    for _, report in films:
        read = {each.presence for each in find_statements(report.text)}
        stances = {one.stance for one in report.sentences}
        assert ("present" in read) == ("positive" in stances), report.text
        assert ("uncertain" in read) == ("hedged" in stances), report.text


def test_no_report_contradicts_itself() -> None:
    """Nothing is read as there, or perhaps there, and as absent from a place that takes it in."""
    for seed in range(1000, 1000 + MANY):
        _, report = report_of(seed, most=4)
        read = find_statements(report.findings) + find_statements(report.impression)
        absent = [(one.observation, one.side) for one in read if one.presence == "absent"]
        for one in read:
            if one.presence != "absent":
                for denied, side in absent:
                    apart = None not in (one.side, side) and {one.side, side} == {"right", "left"}
                    assert denied != one.observation or apart, report.text


def test_places_follow_nouns_that_end_in_a_place_or_begin_small() -> None:
    """Nobody writes of a left air in the pleural space, or of a left upper lung tiny nodules."""
    odd = re.compile(
        r"\b(right|left|right-sided|left-sided|lung|zone|apical|basilar) "
        r"(air in|area of|areas of|thickening of|fracture of|tiny|small|dilated|thickened|clustered)"
    )
    for seed in range(2000, 2000 + MANY):
        _, report = report_of(seed)
        for one in report.sentences:
            assert not odd.search(one.text), one.text


def test_a_film_grades_no_heart_by_the_scan() -> None:
    """The ratio is on the film, and the scan's grade would often not go with it."""
    large = sign("8d", "cardiomegaly", "seen", np.random.default_rng(0))
    told = large.statement.model_copy(update={"severity": "severe"})
    film = only(large.model_copy(update={"statement": told}), ratio=0.52)
    for seed in range(40):
        report = write_xray_report(film, np.random.default_rng(seed))
        assert not re.search("severe|marked|extensive|massive", report.text.lower()), report.text


def test_an_impression_leaves_out_small_things_that_are_doubtful() -> None:
    """Spurs that cannot be excluded are no impression."""
    film = only(placed("4b", "osteophytes", "doubtful", None, "spine"))
    for seed in range(40):
        report = write_xray_report(film, np.random.default_rng(seed))
        summed = [one for one in report.sentences if one.section == "impression"]
        assert [one.stance for one in summed] == ["negative"], report.text


def test_nothing_there_is_denied(films: list[tuple[FilmContents, XrayReport]]) -> None:
    """What is seen or doubtful is denied nowhere; hidden fluid and air are not on their side."""
    for film, report in films:
        for one in film.signs:
            kind = sign_kind(one.statement)
            forbidden = DENIALS.get(kind, DENIALS.get(one.statement.category, set()))
            if one.seen == "hidden" and kind not in ("2e:effusion", "2g:pneumothorax"):
                continue
            for line in report.sentences:
                for read in find_statements(line.text):
                    apart = read.side is not None and read.side not in sign_sides(one)
                    apart = apart and one.statement.side != "both"
                    denied = read.presence == "absent" and read.observation in forbidden
                    assert apart or not denied, (kind, one.seen, line.text)


def test_lungs_with_a_sign_are_not_clear(films: list[tuple[FilmContents, XrayReport]]) -> None:
    """A lung is called clear only where nothing of it is seen or doubtful, or 'otherwise'."""
    for film, report in films:
        there = {
            side
            for one in film.signs
            if one.seen != "hidden" and find_sign_words(sign_kind(one.statement)).group == ALWAYS_REPORTED[0]
            for side in ("right", "left")
            if one.statement.side in (side, "both")
        }
        for line in report.sentences:
            low = line.text.lower()
            if not re.search(r"\bclear\b|well aerated|normally aerated", low) or "angle" in low:
                continue
            if re.search("otherwise|elsewhere|remain(ing|der)|rest of", low):
                continue
            named = {side for side in ("right", "left") if side in low} or {"right", "left"}
            assert not named & there, (low, there)


@pytest.mark.parametrize(("category", "kind"), [*ALL_KINDS, *BEYOND_KINDS])
def test_every_kind_can_be_reported(category: str, kind: str) -> None:
    """Alone and seen it is stated, doubtful it is never denied, hidden it is not mentioned."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        one = sign(category, kind, "seen", rng)
        for seen in ("seen", "doubtful", "hidden"):
            film = only(one.model_copy(update={"seen": seen}), view=("PA", "AP supine")[seed % 2])
            report = write_xray_report(film, rng, held_out=seed % 3 == 0)
            told = {s.stance for s in report.sentences if s.keys}
            assert told <= {"seen": {"positive"}, "doubtful": {"hedged"}, "hidden": set()}[seen]
            if seen == "seen":
                assert told == {"positive"}
                assert "Normal" not in report.impression


def test_hidden_fluid_is_not_denied_on_its_side() -> None:
    """With a hidden effusion on the left only the right side may be called free of fluid."""
    hidden = placed("2e", "effusion", "hidden", "left")
    reports = [write_xray_report(only(hidden), np.random.default_rng(seed)) for seed in range(60)]
    texts = " ".join(one.findings for one in reports)
    assert not re.search(
        r"No pleural effusion[. ](?!on the right|is seen on the right|is identified on the right)", texts
    )
    assert not re.search(r"costophrenic angles are (sharp|clear|free)", texts)
    assert "left pleural effusion" not in texts
    assert re.search(r"right costophrenic angle is|on the right", texts)
    assert not any(re.search("No acute|Normal", one.impression) for one in reports)


def test_other_side() -> None:
    """Beside a consolidation on the right the left lung may be called clear, never the right."""
    one = placed("2b", "consolidation", "seen", "right", "right lower lung zone")
    texts = [write_xray_report(only(one), np.random.default_rng(seed)).findings for seed in range(60)]
    assert any(re.search("left lung[^.]* clear|[Cc]lear left lung", text) for text in texts)
    assert not any(re.search("right lung[^.]* clear|[Cc]lear right lung", text) for text in texts)


def test_a_wide_heart_is_not_called_normal() -> None:
    """Above the limit nothing normal is said of the heart's size, even where no sign is listed."""
    for seed in range(40):
        film = only(ratio=0.53)
        text = write_xray_report(film, np.random.default_rng(seed)).findings
        assert not any(each.observation == "cardiomegaly" for each in find_statements(text)), text
    assert "wide heart" in present_by_side(only(ratio=0.53), omits_doubtful=False)["right"]
    assert (
        "wide heart" not in present_by_side(only(ratio=0.53, view="AP supine"), omits_doubtful=False)["right"]
    )


def test_the_ratio_is_said_of_upright_films_only() -> None:
    """A ratio that is said is the film's; an AP film has none and names its projection."""
    big = placed("8d", "cardiomegaly", "seen", None, "cardiac silhouette")
    said = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        upright = write_xray_report(only(big, ratio=0.57), rng).text
        numbers = re.findall(r"0\.\d\d", upright)
        said += bool(numbers)
        assert set(numbers) <= {"0.57"}
        supine = write_xray_report(only(big, ratio=0.61, view="AP supine"), rng)
        assert not re.search(r"0\.\d\d", supine.text)
        assert "AP" in supine.technique
        assert "heart" in supine.technique
        assert "supine" in supine.technique.lower()
    assert said > 10


def test_the_lateral_film_is_named() -> None:
    """Two views are told only where there are two."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        with_one = write_xray_report(only(), rng, lateral=True).technique.lower()
        assert re.search("lateral|two", with_one)
        assert "lateral" not in write_xray_report(only(), rng).technique.lower()


def test_a_report_is_well_formed(films: list[tuple[FilmContents, XrayReport]]) -> None:
    """Sections, whole sentences, regions of the ontology, the three main regions always."""
    groups = {group.name: group for group in xray_regions().groups}
    for film, report in films:
        assert re.fullmatch(
            r"TECHNIQUE: .+\.\n\nFINDINGS: .+\.\n\nIMPRESSION:[ \n].+\.", report.text, re.DOTALL
        )
        assert all(report.group_sentences(group) for group in ALWAYS_REPORTED)
        lines = [one for one in report.sentences if one.section == "impression"]
        assert 1 <= len(lines) <= 6
        assert len({one.text for one in lines}) == len(lines)
        for one in report.sentences:
            assert re.fullmatch(r"[A-Z0-9][^{}\[\]|]*[a-z0-9)]\.", one.text), one.text
            assert not re.search(r"  | [,.]", one.text)
            assert one.regions
            assert set(one.regions) <= set(film.regions)
            assert one.group in groups or (one.group == "" and one.section == "impression")
        order = [list(groups).index(s.group) for s in report.sentences if s.section == "findings"]
        assert order == sorted(order)


def test_a_sentence_is_about_the_zones_of_its_sign(films: list[tuple[FilmContents, XrayReport]]) -> None:
    """Positive sentences are about all zones of the sign that they state."""
    for film, report in films:
        signs = {one.key: one for one in film.signs}
        for line in report.sentences:
            for key in line.keys:
                assert line.regions == regions_of(signs[key])
                assert set(signs[key].zones) <= set(line.regions)


def test_held_out_wordings_stay_apart() -> None:
    """A report takes all its findings from the held-out fifth, or none of them."""
    for seed in range(60):
        film = sight(seed)
        for held in (True, False):
            report = write_xray_report(film, np.random.default_rng(seed), held_out=held)
            for one in report.sentences:
                if one.section == "findings":
                    assert is_held_out(one.wording) == held, one
    assert {is_held_out(text) for text in list_film_wording_texts("2b:consolidation")} == {True, False}


def test_the_same_chance_gives_the_same_report() -> None:
    """A report hangs on the film and the chance, and on nothing else."""
    assert report_of(3)[1] == report_of(3)[1]
    assert len({report_of(seed, most=0)[1].findings for seed in range(30)}) > 20


def test_what_is_refused() -> None:
    """A style that nobody has words for, and a film that has no report of its own."""
    with pytest.raises(UsageError, match="no style 'shouted'"):
        write_xray_report(only(), np.random.default_rng(0), style="shouted")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="lateral film has no report"):
        write_xray_report(only(view="lateral"), np.random.default_rng(0))
