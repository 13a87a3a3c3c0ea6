"""DICOM headers by the standard's basic profile."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom import uid
from pydicom.datadict import keyword_dict
from pydicom.dataset import Dataset

from overread.build.deid import DeidSecret, Options, clean_dataset, open_secret
from overread.build.deid.dicom.files import clean_dicom, is_dicomdir
from overread.build.deid.dicom.profile import _load_table
from overread.errors import PictureError, UsageError
from overread.pixels.dicom.file import open_dicom, read_dicom
from tests.pixels.dicom.dicom_files import RAMP, bundled, grey, stored

SECRET = DeidSecret(b"a key for the tests, nothing else")


def person(**elements: object) -> Dataset:
    dataset = grey(RAMP)
    dataset.PatientName = "Quillfeather^Yarrow"
    dataset.PatientID = "4471023"
    dataset.StudyInstanceUID, dataset.SeriesInstanceUID = uid.generate_uid(), uid.generate_uid()
    dataset.StudyDate, dataset.StudyTime = "20200301", "101500"
    dataset.PatientBirthDate = "19500403"
    for keyword, value in elements.items():
        setattr(dataset, keyword, value)
    return dataset


def again(data: bytes) -> Dataset:
    return pydicom.dcmread(BytesIO(data))


def test_the_table_knows_only_words_of_the_standard() -> None:
    """Every keyword of the profile is in the dictionary, and none stands in two lists."""
    assert len(_load_table()) > 350
    assert set(_load_table()) <= set(keyword_dict)


def test_the_patient_is_gone_and_the_picture_stays() -> None:
    """Name, id, birth date go, dates move, UIDs change, pixels and modality stay; it is written."""
    made, removals = clean_dataset(person(PatientSex="F", PatientAge="070Y"), SECRET)
    assert str(made.PatientName) == made.PatientID == SECRET.patient_code("4471023")
    assert not made.PatientBirthDate
    assert not made.PatientSex
    assert "PatientAge" not in made
    assert made.StudyDate != "20200301"
    assert made.StudyTime == "101500"
    assert made.Modality == "CT"
    assert made.PixelData == RAMP.tobytes()
    assert made.PatientIdentityRemoved == "YES"
    assert made.LongitudinalTemporalInformationModified == "MODIFIED"
    codes = [item.CodeValue for item in made.DeidentificationMethodCodeSequence]
    assert codes == ["113100", "113107"]
    assert not any("4471023" in one.model_dump_json() for one in removals)


def test_uids_stay_consistent() -> None:
    """The same UID is mapped alike in every file and in references; UIDs of the standard stay."""
    one, two = person(), person()
    two.StudyInstanceUID = one.StudyInstanceUID
    item = Dataset()
    item.ReferencedSOPClassUID, item.ReferencedSOPInstanceUID = (uid.CTImageStorage, one.SOPInstanceUID)
    two.SourceImageSequence = [item]
    first, second = clean_dataset(one, SECRET)[0], clean_dataset(two, SECRET)[0]
    assert first.StudyInstanceUID == second.StudyInstanceUID != one.StudyInstanceUID
    reference = second.SourceImageSequence[0]
    assert reference.ReferencedSOPInstanceUID == first.SOPInstanceUID
    assert reference.ReferencedSOPClassUID == uid.CTImageStorage
    assert first.file_meta.MediaStorageSOPInstanceUID == first.SOPInstanceUID
    assert uid.UID(first.SOPInstanceUID).is_valid
    assert clean_dataset(one, DeidSecret(b"another"))[0].StudyInstanceUID != first.StudyInstanceUID


def test_private_nested_overlays_and_meta_go() -> None:
    """Private elements, overlays, nested names, the preamble and meta information are cleaned."""
    dataset = person()
    dataset.private_block(0x0019, "MAKER", create=True).add_new(1, "LO", "Quillfeather")
    dataset.add_new(0x60000010, "US", 4)
    dataset.add_new(0x60003000, "OW", b"\1\2")
    inner = Dataset()
    inner.OperatorsName, inner.ContentDate = "Zorblat^Vex", "20200301"
    inner.private_block(0x0021, "MAKER", create=True).add_new(1, "LO", "Quillfeather")
    outer = Dataset()
    outer.PurposeOfReferenceCodeSequence = [inner]
    dataset.ReferencedImageSequence = [outer]
    dataset.file_meta.SourceApplicationEntityTitle = "QUILLPACS"
    dataset.preamble = b"Quillfeather".ljust(128, b"\0")
    data = clean_dicom(stored(dataset), SECRET, Options()).data
    assert not any(word in data for word in (b"Quillfeather", b"Zorblat", b"QUILLPACS", b"MAKER"))
    made = again(data)
    assert not any(element.tag.is_private or element.tag.group == 0x6000 for element in made.iterall())
    below = made.ReferencedImageSequence[0].PurposeOfReferenceCodeSequence[0]
    assert below.ContentDate == made.StudyDate


def test_words_of_the_patient_are_found_where_they_do_not_belong() -> None:
    """A name in a field that the profile keeps is emptied; the same field without it stays."""
    told = clean_dataset(
        person(ManufacturerModelName="Box of Quillfeather", BodyPartExamined="CHEST"), SECRET
    )
    assert not told[0].ManufacturerModelName
    assert told[0].BodyPartExamined == "CHEST"
    assert clean_dataset(person(ManufacturerModelName="Box 3"), SECRET)[0].ManufacturerModelName == "Box 3"
    stone = person(PatientName="Stone^Ann", ManufacturerModelName="Stone 3")
    assert not clean_dataset(stone, SECRET)[0].ManufacturerModelName


def test_options_keep_what_was_asked_for() -> None:
    """Descriptions are cleaned as texts, characteristics kept up to 89, dates removed."""
    dataset = person(SeriesDescription="AX 5 mm for Dr. Zorblat", PatientAge="093Y", PatientSex="F")
    options = Options(keep_descriptions=True, keep_characteristics=True, dates="remove", replace="tags")
    made, _ = clean_dataset(dataset, SECRET, options)
    assert made.SeriesDescription == "AX 5 mm for Dr. [NAME]"
    assert (made.PatientAge, made.PatientSex) == ("090Y", "F")
    assert not made.StudyDate
    assert not made.StudyTime
    assert made.LongitudinalTemporalInformationModified == "REMOVED"
    assert "SeriesDescription" not in clean_dataset(dataset, SECRET)[0]


def test_the_given_dataset_stays_as_it_is() -> None:
    """Cleaning makes a new dataset."""
    dataset = person()
    before = dataset.to_json()
    clean_dataset(dataset, SECRET)
    assert dataset.to_json() == before


@pytest.mark.parametrize(
    "name", ["CT_small.dcm", "MR_small.dcm", "JPEG2000.dcm", "examples_palette.dcm", "ExplVR_BigEnd.dcm"]
)
def test_real_files_come_out_whole(name: str, tmp_path: Path) -> None:
    """Files of scanners are cleaned and still show the same picture, whatever their syntax."""
    path = bundled(name)
    made = clean_dicom(path, SECRET, Options())
    file = tmp_path / "made.dcm"
    file.write_bytes(made.data)
    own = str(open_dicom(path, pixels=False).get("PatientID", "no such id"))
    assert own not in made.data.decode("latin-1")
    if not any(one.kind == "burned-in" for one in made.removals):
        assert np.array_equal(read_dicom(path), read_dicom(file))
    assert again(made.data).PatientIdentityRemoved == "YES"


def test_bits_beside_the_pixels_are_cleared() -> None:
    """An old overlay in the unused high bits of the pixels goes, the pixels stay."""
    pixels = (RAMP & 0x0FFF).copy()
    pixels[10:20, 10:20] |= 0x8000
    dataset = person(BitsStored=12, HighBit=11)
    dataset.PixelData = pixels.tobytes()
    made = again(clean_dicom(stored(dataset), SECRET, Options()).data)
    assert np.array_equal(np.frombuffer(made.PixelData, "<u2").reshape(64, 64), pixels & 0x0FFF)


def test_the_secret_is_ones_own(tmp_path: Path) -> None:
    """It is made with rights for its owner alone, read again alike, and refused where it is open."""
    file = tmp_path / "keys" / "secret"
    first = open_secret(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert open_secret(file).patient_code("1") == first.patient_code("1")
    assert first.key.hex() not in repr(first)
    with pytest.raises(UsageError, match="would lie in the output folder"):
        open_secret(tmp_path / "out" / "secret", out=tmp_path / "out")
    if os.name == "posix":
        file.chmod(0o644)
        with pytest.raises(UsageError, match="readable by other users"):
            open_secret(file)
    short = tmp_path / "short"
    short.touch(mode=0o600)
    short.write_text("abc")
    with pytest.raises(UsageError, match="guessed"):
        open_secret(short)


def test_odd_values_of_a_header_are_no_noise() -> None:
    """What pydicom would warn of: a UID that is none, in what tells the kind of file and in the header."""
    told = person(PatientID="", PatientName="", PatientBirthDate="")
    data = stored(told)
    odd = data.replace(b"1.2.840.10008.5.1.4", b"1.2.840.\x00\x030UI@\x00.4")
    odd = odd.replace(told.StudyInstanceUID.encode()[:12], b"1.2.840 zebr")
    assert odd != data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not is_dicomdir(odd)
        with suppress(PictureError):
            clean_dicom(odd, SECRET, Options())
