"""How much of planted identifiers survives de-identification, and what is lost beside them.

    python tools/measure_deid.py [--count 200] [--seed 0] [--real REPORTS.csv COLUMN ...]

Headers, pictures and reports are made up here with names, ids and dates planted in them; half of
the names are in no list of ours. Real reports are cleaned as well, and what their numbers and
findings became is accounted for.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from pydicom import uid
from pydicom.dataset import Dataset, FileMetaDataset

from overread.build.deid.dicom_files import clean_dicom
from overread.build.deid.picture import clean_picture
from overread.build.deid.record import Options
from overread.build.deid.secret import Secret
from overread.build.deid.text import clean_text
from overread.build.deid.words import fold, is_family, is_given, is_town

SECRET = Secret(b"a key for measuring, nothing else")
LISTED_GIVEN = """
Margaret Kevin Deborah Ayşe Mehmet Hüseyin Zeynep Mustafa Elif Jürgen Helga Wolfgang Ursula José
María Carmen Javier François Thérèse Giuseppe Chiara Katarzyna Piotr Svetlana Dmitri Fatima
Mohammed Priya Rajesh Hiroshi Yoko Nguyet Søren Annika João Grace Mark Will Hope Young-ho Ngozi
""".split()
LISTED_FAMILY = """
Smith Johnson O'Connor McKenzie Thompson Yılmaz Kaya Çelik Şahin Öztürk Müller Schröder Weiß
García-López Fernández Ortiz Dubois Lefèvre Rossi Esposito Kowalski Wiśniewska Ivanov Petrova
Khan Hussain Patel Sharma Tanaka Suzuki Nguyen Kim Zhang Jørgensen Lindqvist Oliveira Okafor
Cohen Brown Young Stone
""".split()
UNLISTED_GIVEN = """
Thorgrim Ottoline Percival Isolde Lavinia Cosima Evander Philippa Rosalind Alaric Clementine
Octavia Wilhelmina Ignatius Marguerite Bartholomew Guinevere Eudora Tuğrul Şefika Bedirhan Ümran
Görkem Kıvanç İlayda Feridun Müzeyyen Annelore Friedhelm Siegbert Eusebio Primitivo Macarena
Ludivine Anaïs Enguerrand Bolesław Żaneta Ihor Lyubov Shabnam Zubaida Jagdish Lakshmanan Bhavesh
Yuto Ritsuko Xiuli Thuan Aroha Tamsin Niamh Siobhan Eilidh Oisin Caoimhe
""".split()
UNLISTED_FAMILY = """
Abernathy Thistlewood Pemberton Ravenscroft Featherstone Wigglesworth Vandermeer Quintanilla
Brathwaite Castellanos Hadjipavlou Szczygieł Błaszczykowski Haverkamp Niederhauser Oberländer
Schniedermann Karaosmanoğlu Yeşilyurt Kızılırmak Çamlıbel Gündüzalp Tanrıverdi Uzunoğlu
Etxeberria Zubizarreta Goikoetxea Ferreyra Villavicencio Montesinos Beauregard Delacroix
Chastain Lafontaine Bellincioni Cantalamessa Scognamiglio Pappalardo Venkataraman
Balasubramaniam Chattopadhyay Wickramasinghe Kuroda Tsukamoto Hirayama Zhuang Ouedraogo Nkemelu
Mutombo Achterberg Steenhuis Hjálmarsson Ragnarsdóttir Brixen Kirkeby
""".split()
TOLD = """\
The heart is enlarged. A 12 x 9 mm nodule is seen in the right upper lobe (series 3, image 45).
Small left pleural effusion, unchanged. Kerley B lines at both bases. No pneumothorax.
Findings are in keeping with Hodgkin lymphoma. Bochdalek hernia on the left, 3.5 cm.
Attenuation of the lesion is -12 HU. Swan-Ganz catheter tip in the main pulmonary artery.
Follow-up by the Fleischner Society guidelines. Wegener granulomatosis cannot be excluded.
Coronary calcification, Agatston score 1240. T11-T12 disc narrowing. Grade 2/4 steatosis.""".split(
    "\n"
)
KEPT = (
    "12 x 9 mm|series 3, image 45|Kerley B|Hodgkin lymphoma|3.5 cm|-12 HU|Swan-Ganz|Fleischner|"
    "Wegener|1240|T11-T12|2/4"
).split("|")
NAMED: list[Callable[[str, str], str]] = [
    lambda g, f: f"Patient name: {g} {f}\n",
    lambda g, f: f"Name: {f.upper()}, {g.upper()}\n",
    lambda g, f: f"PATIENT: {g} {f}\n",
    lambda g, f: f"Hasta adı soyadı: {g} {f}\n",
    lambda g, f: f"Patient: {f}, {g}, geb. am 03.04.1950\n",
    lambda g, f: f"Nombre: {g} {f}\n",
    lambda g, f: f"Name: {g.lower()} {f.lower()}\n",
    lambda g, f: f"{g} {f} is a 64-year-old with cough. ",
    lambda g, f: f"CT of the chest for {g} {f} was performed. ",
    lambda g, f: f"The findings were explained to {g} {f} at the bedside. ",
    lambda g, f: f"We thank you for sending us Mrs. {f}. ",
    lambda g, f: f"Mr. {g} {f} complains of dyspnoea. ",
    lambda g, f: f"In comparison with the scan of {g} {f} there is no change. ",
    lambda g, f: f"Her daughter {g} {f} was present. ",
]
SIGNED: list[Callable[[str, str], str]] = [
    lambda g, f: f"Dictated by Dr. {g} {f}. ",
    lambda g, f: f"Electronically signed by {g} {f}, MD ",
    lambda g, f: f"\nReported by: {g[0]}. {f}\n",
    lambda g, f: f"Discussed with Dr. {f} by telephone. ",
    lambda g, f: f"Results were called to nurse {g} {f}. ",
    lambda g, f: f"Prof. Dr. {g} {f} was informed. ",
    lambda g, f: f"Referring physician: {f}, {g}\n",
    lambda g, f: f"\nUzm. Dr. {g} {f.upper()}\n",
    lambda g, f: f"Sehr geehrter Herr Kollege {f}, ",
    lambda g, f: f"Reviewed with Drs. {f} and {g}. ",
    lambda g, f: f"cc: {g} {f}\n",
    lambda g, f: f"{g} {f}, M.D. ",
    lambda g, f: f"Befundet von Dr. med. {g} {f}. ",
    lambda g, f: f"Resident: {g} {f}. Attending: Dr. {f}. ",
]


OTHERS = """\
Spoke with {g} {f} at 3 pm regarding the results.
Report prepared for {g} {f}'s family physician.
Images were compared with those of {g} {f} obtained elsewhere.
This is to certify that {g} {f} underwent CT of the thorax.
Dear Dr {f},|Thank you for referring this gentleman.
Kind regards,|{g} {f}|Consultant Radiologist
{f} {g} - 45 y - F
Pt {f} presented with fever.
Findings discussed by phone with {g} (ICU).
As per Dr {f}'s request, HRCT was added.
Radiology resident {g} {f} performed the preliminary read.
Approved: {f}, {g[0]}.
The patient, {g} {f}, was brought to the department by ambulance.
Sayın {g} {f}'in tetkikinde patoloji saptanmadı.
Hastamız {g} {f} dispne nedeniyle başvurdu.
Raporu hazırlayan: Asist. Dr. {g} {f}
Frau {f} stellte sich mit Husten vor.
Der Befund wurde mit Herrn Dr. {f} besprochen.
Paciente {g} {f} con disnea de esfuerzo.
Dr. {f} a été informé des résultats.
M. {g} {f} présente une toux.
Attn: {g} {f}, Pulmonary Clinic
{g} was seen by {f} yesterday; she wants a copy.
Technologist: {g[0]}. {f}  Radiologist: {f}
Mother ({g} {f}) consented.""".splitlines()
"""Written after the rules, to see what they do with words that nobody had in mind."""


@dataclass
class Planted:
    """One made-up report and what was planted in it."""

    text: str
    names: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    phones: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


def a_name(rng: random.Random, *, listed: bool) -> tuple[str, str]:
    """A given and a family name, of our lists or of none."""
    if listed:
        return rng.choice(LISTED_GIVEN), rng.choice(LISTED_FAMILY)
    return rng.choice(UNLISTED_GIVEN), rng.choice(UNLISTED_FAMILY)


def a_date(rng: random.Random) -> str:
    """A day in one of the ways in which it is written."""
    day = date(2001, 1, 1) + timedelta(rng.randrange(8000))
    forms = [
        "%d.%m.%Y",
        "%m/%d/%Y",
        "%Y-%m-%d",
        "%d/%m/%y",
        "%B %d, %Y",
        "%d %b %Y",
        "%Y%m%d",
        "%d-%b-%Y",
        "%B %Y",
    ]
    return day.strftime(rng.choice(forms))


def an_id(rng: random.Random) -> tuple[str, str]:
    """A number of a hospital, and the words that it stands in."""
    digits = "".join(rng.choice("0123456789") for _ in range(8))
    forms = [
        (digits[:6], "MRN {}"),
        (digits[:5], "MRN: {}"),
        (f"A{digits}", "Accession number {}"),
        (f"{digits[:4]}-{digits[4:]}", "Acc# {}"),
        (f"{rng.randrange(1, 10)}{digits}21", "TC Kimlik No: {}"),
        (f"{digits[:3]}-{digits[3:5]}-{digits[4:]}", "SSN {}"),
        (digits[:7], "Protokol no: {}"),
        (f"CT{digits[:6]}", "Study {}"),
        (digits, "({})"),
        (f"1.2.840.{digits}.{digits[::-1]}.1.2", "UID {}"),
        (digits[:4], "Patient ID: {}"),
    ]
    value, form = rng.choice(forms)
    return value, form.format(value)


def a_report(rng: random.Random) -> Planted:
    """A made-up report with names, ids, dates, a telephone and a hospital in it."""
    report = Planted("")
    for forms in (NAMED, SIGNED):
        listed = rng.random() < 0.5
        given, family = a_name(rng, listed=listed)
        if rng.random() < 0.4:
            other = rng.choice(OTHERS).replace("|", "\n")
            written = f"\n{other.format(g=given, f=family)}\n"
        else:
            written = rng.choice(forms)(given, family)
        held = [
            w
            for w in (given, family)
            if re.search(rf"\b{re.escape(w)}\b", written, re.I) or w.upper() in written
        ]
        report.names += held
        report.unlisted += [] if listed else held
        told = " ".join(rng.sample(TOLD, rng.randint(1, 3)))
        value, number = an_id(rng)
        when = a_date(rng)
        report.ids.append(value)
        report.dates.append(when)
        extra = rng.choice(
            [
                f"{number}. Examination of {when}. ",
                f"Compared with {when}. {number}\n",
                f"{number}; date: {when}\n",
            ]
        )
        report.text += "".join(rng.sample([written, extra], 2)) + "\n" + told + "\n"
    if rng.random() < 0.5:
        phone = rng.choice(
            ["+90 532 {}{}{} {}{} {}{}", "({}{}{}) {}{}5-0142", "555-{}{}{}-0{}{}{}"]
        ).format(*rng.choices("123456789", k=9))
        report.phones.append(phone)
        report.text += f"Call {phone} with questions.\n"
    if rng.random() < 0.5:
        place = rng.choice(
            [
                "St. Agnes Hospital",
                "Ankara Şehir Hastanesi",
                "Klinikum Rosenheim",
                "Hospital de Santa Lucía",
                "Brightwater Medical Center",
            ]
        )
        report.places.append(place)
        report.text += f"Transferred from {place}.\n"
    return report


def survives(value: str, text: str) -> bool:
    """Whether a planted value can still be read."""
    plain = fold(value)
    return re.search(rf"(?<![^\W_]){re.escape(plain)}(?![^\W_])", fold(text)) is not None


def measure_reports(count: int, seed: int) -> dict[str, Any]:
    """What survives of names, ids, dates, telephones and hospitals in made-up reports."""
    rng = random.Random(seed)
    planted: Counter[str] = Counter()
    left: Counter[str] = Counter()
    shown: list[str] = []
    kept = lost = 0
    for _ in range(count):
        report = a_report(rng)
        tags = clean_text(report.text, SECRET, Options(replace="tags"), patient="p").text
        moved = clean_text(report.text, SECRET, Options(), patient="p").text
        groups = {
            "names": report.names,
            "names in no list": report.unlisted,
            "ids": report.ids,
            "dates": report.dates,
            "telephones": report.phones,
            "hospitals": report.places,
        }
        for group, values in groups.items():
            for value in values:
                planted[group] += 1
                gone = not survives(value, tags)
                if group == "dates":
                    gone = gone and not survives(value, moved)
                left[group] += not gone
                if not gone and group != "names in no list":
                    at = report.text.lower().find(value.lower())
                    around = report.text[max(0, at - 60) : at + 60]
                    shown.append(f"{group}: {value} in {around!r}")
        for piece in KEPT:
            if piece in report.text:
                kept += piece in tags
                lost += piece not in tags
    return {
        "planted": dict(planted),
        "left": dict(left),
        "kept": kept,
        "lost": lost,
        "shown": shown,
    }


def a_header(rng: random.Random) -> tuple[bytes, set[str]]:
    """A made-up DICOM file, and every value planted in its header."""
    given, family = a_name(rng, listed=rng.random() < 0.5)
    doctor = a_name(rng, listed=rng.random() < 0.5)
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = rng.choice(
        [uid.ExplicitVRLittleEndian, uid.ImplicitVRLittleEndian]
    )
    dataset.SpecificCharacterSet = "ISO_IR 192"
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
    planted: set[str] = {given, family, *doctor}

    def plant(where: Dataset, keyword: str, value: str) -> None:
        setattr(where, keyword, value)
        planted.add(value)

    numbers = ["".join(rng.choice("0123456789") for _ in range(8)) for _ in range(6)]
    uids = [uid.generate_uid() for _ in range(6)]
    plant(dataset, "SOPInstanceUID", uids[0])
    dataset.file_meta.MediaStorageSOPInstanceUID = uids[0]
    plant(dataset, "StudyInstanceUID", uids[1])
    plant(dataset, "SeriesInstanceUID", uids[2])
    plant(dataset, "FrameOfReferenceUID", uids[3])
    dataset.PatientName = f"{family}^{given}"
    dataset.ReferringPhysicianName = f"{doctor[1]}^{doctor[0]}"
    plant(dataset, "PatientID", numbers[0])
    plant(dataset, "AccessionNumber", numbers[1])
    days = [date(1990, 1, 1) + timedelta(rng.randrange(12000)) for _ in range(4)]
    for keyword, day in zip(
        ("StudyDate", "SeriesDate", "PatientBirthDate", "AcquisitionDate"), days, strict=True
    ):
        plant(dataset, keyword, day.strftime("%Y%m%d"))
    plant(dataset, "AcquisitionDateTime", days[3].strftime("%Y%m%d") + "101500.5")
    dataset.StudyTime = "101500"
    optional = {
        "InstitutionName": "St. Agnes Hospital",
        "InstitutionAddress": "12 Oak Street, Springfield",
        "StationName": "CTAGNES2",
        "OperatorsName": f"{doctor[0]}",
        "PatientAddress": "Rosenweg 4",
        "PatientTelephoneNumbers": "555-123-0142",
        "OtherPatientIDs": numbers[2],
        "StudyID": numbers[3],
        "DeviceSerialNumber": numbers[4],
        "ImageComments": f"repeat for {given} {family}",
        "StudyDescription": f"CT CHEST {family.upper()}",
        "ProtocolName": f"CHEST {given}",
        "PatientComments": f"daughter {doctor[0]}, tel 555-123-0142",
        "RequestedProcedureDescription": f"CT {numbers[1]}",
        "AdditionalPatientHistory": f"seen by Dr. {doctor[1]}",
        "AcquisitionProtocolDescription": f"for {family}",
        "ContrastBolusAgent": f"given to {family}",
        "BodyPartExamined": re.sub(r"[^A-Z]", " ", fold(family).upper())[:16],
        "SeriesDescription": f"AX {numbers[0]}",
        "PatientMotherBirthName": f"{doctor[1]}",
        "PerformedProcedureStepID": numbers[5],
        "DerivationDescription": f"window by {given}",
        "ManufacturerModelName": f"Scanner of {family}",
        "AcquisitionDeviceProcessingDescription": f"{family} {given}",
        "ScheduledProcedureStepDescription": f"{family}",
        "IssuerOfPatientID": "AGNES",
        "ReasonForStudy": f"follow-up {given}",
        "TextComments": f"{doctor[0]} {doctor[1]}",
        "ScanOptions": "HELICAL",
    }
    chosen = rng.sample(sorted(optional), rng.randint(8, 20))
    for keyword in chosen:
        plant(dataset, keyword, optional[keyword])
    planted -= {"HELICAL"}
    item = Dataset()
    plant(item, "ReferencedSOPInstanceUID", uids[4])
    item.ReferencedSOPClassUID = uid.CTImageStorage
    item.PerformingPhysicianName = f"{doctor[1]}^{doctor[0]}"
    deep = Dataset()
    plant(deep, "PatientID", numbers[0])
    deep.PersonName = f"{family}^{given}"
    plant(deep, "ContentDate", days[0].strftime("%Y%m%d"))
    item.PurposeOfReferenceCodeSequence = [deep]
    dataset.ReferencedImageSequence = [item]
    request = Dataset()
    request.RequestedProcedureID = numbers[5]
    planted.add(numbers[5])
    dataset.RequestAttributesSequence = [request]
    block = dataset.private_block(0x0019, "MAKER OF SCANNERS", create=True)
    block.add_new(0x01, "LO", f"{given} {family}")
    block.add_new(0x02, "UN", f"{numbers[0]}".encode())
    dataset.file_meta.SourceApplicationEntityTitle = "AGNESPACS"
    planted.add("AGNESPACS")
    pixels = (
        np.random.default_rng(rng.randrange(1 << 30)).integers(0, 200, (32, 32)).astype(np.uint16)
    )
    dataset.Modality, dataset.Rows, dataset.Columns = "CT", 32, 32
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = (
        16,
        16,
        15,
        0,
    )
    dataset.PixelData = pixels.tobytes()
    dataset["PixelData"].VR = "OW"
    out = BytesIO()
    dataset.preamble = f"{family}".encode().ljust(128, b"\0")
    dataset.save_as(out, enforce_file_format=True)
    return out.getvalue(), planted


def measure_headers(count: int, seed: int) -> dict[str, Any]:
    """What survives of planted values in headers: every byte of the cleaned file is searched."""
    rng = random.Random(seed)
    planted = left = 0
    shown: list[str] = []
    for _ in range(count):
        data, values = a_header(rng)
        made = clean_dicom(data, SECRET, Options())
        pixels = made.data.rfind(b"\xe0\x7f\x10\x00")
        text = fold(made.data[:pixels].decode("utf-8", errors="replace"))
        for value in values:
            planted += 1
            if fold(value) in text:
                left += 1
                shown.append(value)
    return {"planted": planted, "left": left, "shown": shown}


def a_picture(rng: random.Random) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], str]:
    """A made-up picture with print on it, where its ink is, and how it is written."""
    seeds = np.random.default_rng(rng.randrange(1 << 30))
    rows, columns = rng.choice([(512, 512), (640, 512), (760, 900)])
    y, x = np.mgrid[:rows, :columns]
    inside = ((x / columns - 0.5) / 0.42) ** 2 + ((y / rows - 0.5) / 0.45) ** 2 < 1
    waves = sum(
        np.sin(x / seeds.uniform(15, 70) + seeds.uniform(0, 6)) * np.cos(y / seeds.uniform(15, 70))
        for _ in range(6)
    )
    base = np.where(inside, 90 + 18 * waves, 8) + seeds.normal(0, 3, (rows, columns))
    grey = np.clip(base, 0, 235).astype(np.uint8)
    coloured = rng.random() < 0.3
    picture = Image.fromarray(grey).convert("RGB") if coloured else Image.fromarray(grey)
    draw = ImageDraw.Draw(picture)
    size = rng.choice([12, 14, 18, 24, 30])
    font = ImageFont.load_default(size=size)
    given, family = a_name(rng, listed=rng.random() < 0.5)
    text = rng.choice(
        [
            f"{family}, {given}",
            f"ID: {rng.randrange(10**6, 10**7)}",
            a_date(rng),
            "ST AGNES HOSPITAL",
            f"{family.upper()}^{given.upper()}",
        ]
    )
    bold = rng.choice([0, 0, 1])
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font, stroke_width=bold)
    wide, high = right - left, bottom - top
    place = rng.choice(["top left", "top right", "bottom left", "bottom right", "anywhere"])
    at_x = 8 if "left" in place else columns - wide - 10
    at_y = 8 if "top" in place else rows - high - 14
    if place == "anywhere":
        at_x, at_y = (
            rng.randint(4, int(max(5, columns - wide - 6))),
            rng.randint(4, int(rows - high - 14)),
        )
    style = rng.choice(
        ["bright", "bright", "dark on a bar"] + (["coloured"] * 4 if coloured else [])
    )
    fill: Any = {"bright": rng.choice([255, 230]), "dark on a bar": 0}.get(style, 0)
    if style == "coloured":
        fill = rng.choice([(255, 255, 0), (0, 255, 0), (255, 60, 60)])
    elif coloured:
        fill = (fill, fill, fill)
    if style == "dark on a bar":
        draw.rectangle(
            (at_x - 5, at_y - 5, at_x + wide + 6, at_y + high + 12),
            fill=(255, 255, 255) if coloured else 255,
        )
    draw.text((at_x, at_y), text, font=font, fill=fill, stroke_width=bold)
    ink = Image.new("L", picture.size)
    ImageDraw.Draw(ink).text((at_x, at_y), text, font=font, fill=255, stroke_width=bold)
    return np.asarray(picture), np.asarray(ink) > 128, f"{style}, {place}, {size} px"


def measure_pictures(count: int, seed: int) -> dict[str, Any]:
    """How much planted print is covered, and how much else."""
    rng = random.Random(seed)
    whole = half = 0
    beside: list[float] = []
    shown: list[str] = []
    for _ in range(count):
        pixels, ink, how = a_picture(rng)
        mask = np.zeros(ink.shape, dtype=bool)
        for box in clean_picture(pixels).boxes:
            mask[box.top : box.bottom, box.left : box.right] = True
        share = float(mask[ink].mean())
        whole += share > 0.98
        half += share > 0.5
        rows, columns = np.nonzero(ink)
        near = np.zeros(ink.shape, dtype=bool)
        near[
            max(0, rows.min() - 25) : rows.max() + 25,
            max(0, columns.min() - 25) : columns.max() + 25,
        ] = True
        beside.append(float((mask & ~near).mean()))
        if share <= 0.98:
            shown.append(f"{share:.2f} of the ink: {how}")
    return {
        "planted": count,
        "covered": whole,
        "more than half": half,
        "beside": float(np.mean(beside)),
        "shown": shown,
    }


def measure_real(texts: list[str]) -> dict[str, Any]:
    """What real reports lose: removals by kind, numbers and findings that are gone."""
    from overread.language.accounting import account
    from overread.language.numerals import numerals

    kinds: Counter[str] = Counter()
    numbers = findings = total = 0
    for text in texts:
        made = clean_text(text, SECRET, Options(replace="tags"), patient="p")
        kinds.update(one.kind for one in made.removals)
        total += sum(one.unit not in ("date",) for one in numerals(text))
        if made.changed:
            told = account(text, made.text)
            cleaned = [one.before or "" for one in made.removals if one.kind == "date"]
            lost = [
                one
                for one in told.lost
                if one.kind == "number"
                and not any(one.span.of(text) in c or c in one.span.of(text) for c in cleaned)
            ]
            numbers += len(lost)
            findings += sum(one.kind == "finding" for one in told.lost)
    return {
        "reports": len(texts),
        "removals": dict(kinds),
        "numbers": total,
        "numbers lost": numbers,
        "findings lost": findings,
    }


def held_out() -> list[str]:
    """Names said to be in no list that are in one; for the test of this very tool."""
    return [
        n for n in UNLISTED_GIVEN + UNLISTED_FAMILY if is_given(n) or is_family(n) or is_town(n)
    ]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument(
        "--real", nargs="+", metavar="FILE COLUMN", help="a CSV of real reports and its columns"
    )
    given = parser.parse_args()
    reports = measure_reports(given.count, given.seed)
    print(f"reports: {given.count}")
    for group, planted in reports["planted"].items():
        left = reports["left"][group]
        print(f"  {group:18} {planted:5} planted, {left:3} left ({1 - left / planted:.1%} gone)")
    print(f"  measurements and eponyms: {reports['kept']} kept, {reports['lost']} lost")
    headers = measure_headers(given.count, given.seed)
    print(f"headers: {headers['planted']} values planted, {headers['left']} left")
    pictures = measure_pictures(given.count, given.seed)
    print(
        f"pictures: {pictures['covered']} of {pictures['planted']} prints covered whole, "
        f"{pictures['more than half']} by more than half; "
        f"{pictures['beside']:.2%} of the rest covered"
    )
    for line in [
        *reports["shown"][: given.show],
        *headers["shown"][: given.show],
        *pictures["shown"][: given.show],
    ]:
        print("   ", line[:300])
    if given.real:
        with Path(given.real[0]).open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))[: given.count]
        texts = ["\n".join(row[c] or "" for c in given.real[1:]) for row in rows]
        print("real reports:", measure_real(texts))


if __name__ == "__main__":
    main()
