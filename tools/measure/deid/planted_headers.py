"""Made-up DICOM headers with values planted in them, and what survives of these."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from io import BytesIO
from typing import Any

import numpy as np
from pydicom import uid
from pydicom.dataset import Dataset, FileMetaDataset

from overread.build.deid.dicom.files import clean_dicom
from overread.build.deid.results import Options
from overread.build.deid.text.word_lists import fold
from tools.measure.deid.planted_reports import SECRET, draw_name


def make_header(rng: random.Random) -> tuple[bytes, set[str]]:
    """A made-up DICOM file, and every value planted in its header."""
    given, family = draw_name(rng, listed=rng.random() < 0.5)
    doctor = draw_name(rng, listed=rng.random() < 0.5)
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = rng.choice([uid.ExplicitVRLittleEndian, uid.ImplicitVRLittleEndian])
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
    pixels = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 200, (32, 32)).astype(np.uint16)
    dataset.Modality, dataset.Rows, dataset.Columns = "CT", 32, 32
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = (16, 16, 15, 0)
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
        data, values = make_header(rng)
        made = clean_dicom(data, SECRET, Options())
        pixels = made.data.rfind(b"\xe0\x7f\x10\x00")
        text = fold(made.data[:pixels].decode("utf-8", errors="replace"))
        for value in values:
            planted += 1
            if fold(value) in text:
                left += 1
                shown.append(value)
    return {"planted": planted, "left": left, "shown": shown}
