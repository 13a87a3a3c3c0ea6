"""Names, ids, dates and places in texts; what must stay stays."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.build.deid import DeidSecret, Options, clean_text
from overread.build.deid.text.clean import find_identifiers, make_surrogate, why_unsupported
from overread.build.deid.text.dates import find_dates
from overread.build.deid.text.spans import resolve_overlaps
from overread.build.deid.text.word_lists import fold, is_given_name

SECRET = DeidSecret(b"a key for the tests, nothing else")
TAGS = Options(replace="tags")


def tagged(text: str) -> str:
    return clean_text(text, SECRET, TAGS).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Patient name: mehmet yılmaz\nHeart normal.", "Patient name: [NAME]\nHeart normal."),
        ("Name: KOWALSKI, PIOTR", "Name: [NAME]"),
        ("Dictated by Dr. Zorblat Kirkeby.", "Dictated by Dr. [NAME]."),
        ("Discussed with Dr. van der Berg at 14:32.", "Discussed with Dr. [NAME] at 14:32."),
        ("Reviewed with Drs. Kaya and Larsen.", "Reviewed with Drs. [NAME] and [NAME]."),
        ("Uzm. Dr. Ümran FEATHERSTONE", "Uzm. Dr. [NAME]"),
        ("Yarrow Quillfeather, M.D.", "[NAME], M.D."),
        ("The scan of Torvin Brixen is normal.", "The scan of [NAME] is normal."),
        ("Grace Young was informed.", "[NAME] was informed."),
        ("Reported by: A. Karaosmanoğlu", "Reported by: [NAME]"),
        ("Prof. Dr. Uğur Şanlıtürk'ün isteği", "Prof. Dr. [NAME] isteği"),
        ("DICTATED BY JANE DOE. THE HEART IS NORMAL.", "DICTATED BY [NAME]. THE HEART IS NORMAL."),
    ],
)
def test_names_go(text: str, expected: str) -> None:
    """Names behind labels, titles and verbs, in lists and in none, become tags."""
    assert tagged(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Known Hodgkin lymphoma. Kerley B lines. Swan-Ganz catheter in place.",
        "Ivor Lewis esophagectomy. Wegener granulomatosis. Langerhans cell histiocytosis.",
        "Bochdalek hernia, Morgagni hernia, Zenker diverticulum.",
        "By the Fleischner Society 2017 guidelines follow-up in 12 months is suggested.",
        "A 12 x 15 mm nodule in the right upper lobe (series 3, image 145), 120 HU.",
        "Agatston score 12345. Volume 15000 ml. T11-T12 disc. COVID-19. SARS-CoV-2.",
        "Grade 2/4. Ratio 3/5. 2.5 x 3.1 cm. Segments 4/5. Window 1500/-600.",
        "The patient may have improved. Mark the lesion. Long lines. Small effusion.",
        "A 64-year-old woman with a T4 N2 tumour; creatinine 1.2 mg/dl, 512x512 matrix.",
        "Boston type III. Glasgow coma scale 15. Atlanta classification.",
    ],
)
def test_medicine_stays(text: str) -> None:
    """Eponyms, measurements, levels, scores and words that are also names are left alone."""
    assert tagged(text) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("4471", "MRN: 4471"),
        ("A64759382", "Accession number A64759382."),
        ("7470-1539", "Acc# 7470-1539"),
        ("12345678901", "TC Kimlik No: 12345678901"),
        ("419-74-4366", "SSN 419-74-4366"),
        ("76984564", "Seen before (76984564)."),
        ("1.2.840.113619.2.55.3", "UID 1.2.840.113619.2.55.3"),
        ("532 123 45 67", "Call +90 532 123 45 67 please."),
        ("555-123-4567", "Phone 555-123-4567"),
        ("4471", "pager 4471"),
        ("someone@hospital.org", "Mail someone@hospital.org now"),
        ("Oak Street", "Lives at 12 Oak Street, Springfield, IL 62704"),
        ("Rosenweg", "Wohnt Rosenweg 4."),
        ("Agnes", "Transferred from St. Agnes Hospital."),
        ("Ankara", "Ankara Şehir Hastanesi"),
        ("92", "A 92-year-old man."),
    ],
)
def test_numbers_and_places_go(value: str, text: str) -> None:
    """Ids, telephones, mail, streets, hospitals and ages over 89 cannot be read any more."""
    assert value in text
    assert value not in tagged(text)
    assert value not in clean_text(text, SECRET).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("03/20/2021", "03/13/2021"),
        ("20.03.2021", "13.03.2021"),
        ("2021-03-20T10:15", "2021-03-13T10:15"),
        ("20210320", "20210313"),
        ("March 20, 2021", "March 13, 2021"),
        ("20 Mart 2021", "13 Mart 2021"),
        ("3 de marzo de 2021", "24 de febrero de 2021"),
        ("20-MAR-2021", "13-MAR-2021"),
        ("20/03/21", "13/03/21"),
        ("March 2021", "March 2021"),
    ],
)
def test_dates_move_in_their_own_form(text: str, expected: str) -> None:
    """A date moved by a week is written as it was: order, zeros, language, capitals."""
    (found,) = find_dates(text, -7)
    assert text[: found.start] + (found.replacement or "") + text[found.end :] == expected


def test_intervals_and_weekdays_stay() -> None:
    """Two dates of a patient move by the same whole number of weeks, those of another do not."""
    text = "CT of 05.01.2020, prior of 20.12.2019."

    def days(patient: str) -> list[date]:
        made = clean_text(text, SECRET, patient=patient).text
        found = re.findall(r"(\d\d)\.(\d\d)\.(\d{4})", made)
        return [date(int(y), int(m), int(d)) for d, m, y in found]

    one, two = days("4471"), days("4472")
    assert (one[0] - one[1]).days == (two[0] - two[1]).days == 16
    assert one != two
    assert one[0].weekday() == date(2020, 1, 5).weekday()
    assert (date(2020, 1, 5) - one[0]).days > 365
    assert days("04471") == one


def test_a_date_that_is_none_becomes_a_tag() -> None:
    """What looks like a date and cannot be one is not left, and a birth date is not moved."""
    assert clean_text("Seen 31/02/2020.", SECRET).text == "Seen [DATE]."
    assert clean_text("DOB: 03/04/1950", SECRET).text == "DOB: [DATE]"


def test_stand_ins_are_the_same_everywhere() -> None:
    """One name has one stand-in, whatever its letters, and other secrets have others."""
    first = clean_text("Dr. Ayla Tekin called. TEKIN agrees.", SECRET).text
    name = re.fullmatch(r"Dr\. (\w+) (\w+) called\. (\w+) agrees\.", first)
    assert name is not None
    assert name[2].upper() == name[3]
    assert is_given_name(name[1])
    assert "Tekin" not in first
    assert clean_text("Dr. Ayla Tekin called. TEKIN agrees.", DeidSecret(b"another")).text != first
    assert make_surrogate("van Tekin", SECRET).startswith("van ")


def test_known_names_are_found_without_any_cue() -> None:
    """A name that a header told is found in small letters too; a plain word only with a capital."""
    known = ("quillfeather", "Stone")
    made = clean_text("quillfeather improved; stone in the kidney of Stone.", SECRET, TAGS, known=known)
    assert made.text == "[NAME] improved; stone in the kidney of [NAME]."


def test_the_record_tells_no_values() -> None:
    """Removals say what and where; their dump and repr hold no value."""
    made = clean_text("Dr. Zorblat, MRN 447102, 03/20/2021", SECRET, place="row 2,")
    assert {one.kind for one in made.removals} == {"name", "id", "date"}
    for one in made.removals:
        for value in ("Zorblat", "447102", "03/20/2021"):
            assert value not in one.model_dump_json()
            assert value not in repr(one)
    assert made.removals[0].before == "Zorblat"
    assert made.removals[0].where.startswith("row 2, characters")


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    """No text breaks it, finds never overlap, and tags are stable under a second cleaning."""
    found = find_identifiers(text, SECRET, TAGS)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert resolve_overlaps(found, text) == found
    clean_text(text, SECRET)


def test_a_long_text_takes_no_forever() -> None:
    """Half a million characters are cleaned, with the same result piece by piece."""
    piece = "No effusion. Seen by Dr. Zorblat on 03/20/2021, MRN 447102. "
    made = clean_text(piece * 2000, SECRET, TAGS).text
    assert made == tagged(piece) * 2000


def test_other_alphabets_are_refused() -> None:
    """A text that our rules cannot read is told, one with a few Greek letters is not."""
    assert why_unsupported("Пациент Иванов, без патологии")
    assert why_unsupported("a\0b")
    assert why_unsupported("β-blocker, 3 µm, normal heart") is None


def test_folding_knows_turkish() -> None:
    """Dotted and dotless i are one letter to the lists."""
    assert fold("YILDIZ") == fold("Yıldız") == fold("yildiz")
