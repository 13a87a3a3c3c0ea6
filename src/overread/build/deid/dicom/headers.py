"""DICOM headers: the standard's basic profile, dates moved, UIDs mapped, nothing private left.

What the profile keeps is looked through once more for the words that name this patient: an id in
a field that should not hold one is found where the profile would not look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from pydicom import uid
from pydicom.datadict import keyword_for_tag
from pydicom.dataelem import DataElement
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.multival import MultiValue
from pydicom.sequence import Sequence

from overread.build.deid.dicom.profile import choose_treatment
from overread.build.deid.results import Options, Removal, RemovalKind
from overread.build.deid.secret import DeidSecret
from overread.build.deid.text.clean import clean_text
from overread.build.deid.text.word_lists import fold, is_common

METHOD = "overread: DICOM PS3.15 basic profile and options by code"
_CODES = {
    "113100": "Basic Application Confidentiality Profile",
    "113101": "Clean Pixel Data Option",
    "113105": "Clean Descriptors Option",
    "113107": "Retain Longitudinal Temporal Information Modified Dates Option",
    "113108": "Retain Patient Characteristics Option",
}
_DUMMY = {"PN": "REMOVED", "AE": "REMOVED", "AS": "000Y", "UR": "about:blank"}
_ID_KEYWORDS = ("PatientID", "AccessionNumber", "OtherPatientIDs", "AdmissionID", "StudyID")
_PLACEHOLDER_WORDS = frozenset("patient test unknown anonymous anonym none name doctor physician".split())
_NAME_KEYWORDS = ("InstitutionName", "PatientAddress", "StationName", "InstitutionalDepartmentName")


def clean_dataset(
    dataset: Dataset,
    secret: DeidSecret,
    options: Options | None = None,
    *,
    known: Iterable[str] = (),
    pixels_cleaned: bool = False,
) -> tuple[Dataset, list[Removal]]:
    """A header without what names a person, and what was done; the given one stays as it is.

    `known` are further names to look for. The pixels are passed on as they are: whoever has
    looked through them says so with `pixels_cleaned`, and the method written says so too.
    """
    chosen = options or Options()
    job = _HeaderJob(dataset, secret, chosen, known)
    made = job.clean(dataset, "")
    job.set_patient_code(made)
    made.file_meta = _new_file_meta(dataset, made, job)
    made.preamble = b"\0" * 128
    made.PatientIdentityRemoved = "YES"
    made.DeidentificationMethod = METHOD
    made.LongitudinalTemporalInformationModified = "MODIFIED" if chosen.dates == "shift" else "REMOVED"
    made.DeidentificationMethodCodeSequence = Sequence(_method_codes(chosen, pixels=pixels_cleaned))
    return made, job.removals


def patient_of(dataset: Dataset) -> str:
    """Whose a dataset is: the id, or what else tells one patient from another."""
    own = str(dataset.get("PatientID") or "").strip()
    if own:
        return own
    named = f"{dataset.get('PatientName') or ''}|{dataset.get('PatientBirthDate') or ''}"
    return named if named != "|" else str(dataset.get("StudyInstanceUID") or "")


def find_identifying_words(dataset: Dataset) -> tuple[set[str], set[str]]:
    """Words of names, and ids, that this header tells of its patient and of who treats them."""
    words: set[str] = set()
    ids: set[str] = set()
    for element in dataset.iterall():
        if element.VR == "PN" or element.keyword in _NAME_KEYWORDS:
            for word in re.findall(r"[^\W\d_]{3,}", str(element.value or "")):
                # A patient may be called Stone; a hospital's "Clinic" names nobody.
                plain = fold(word) in _PLACEHOLDER_WORDS if element.VR == "PN" else is_common(word)
                if not plain:
                    words.add(fold(word))
        if element.keyword in _ID_KEYWORDS:
            held = element.value if isinstance(element.value, MultiValue) else [element.value]
            ids |= {fold(str(one).strip()) for one in held if len(str(one or "").strip()) >= 4}
    return words, ids


def shift_date(value: str, days: int) -> str | None:
    """A DICOM date or date with time, moved; None where it cannot be understood.

    >>> shift_date("20200301", -7), shift_date("20200301101500.5+0300", -7), shift_date("x", -7)
    ('20200223', '20200223101500.5', None)
    """
    plain = value.strip().replace(".", "", 2) if re.match(r"\d{4}\.", value) else value.strip()
    match = re.fullmatch(r"(\d{4})(\d\d)?(\d\d)?(\d*(?:\.\d*)?)(?:[+-]\d{4})?", plain)
    if match is None:
        return None
    year, month, day, time = match.groups()
    try:
        moved = date(int(year), int(month or 7), int(day or 15)) + timedelta(days)
    except (ValueError, OverflowError):
        return None
    if month is None:
        return f"{moved.year:04d}"
    return f"{moved.year:04d}{moved.month:02d}" + (f"{moved.day:02d}{time}" if day else "")


class _HeaderJob:
    """One dataset being cleaned: what it is cleaned by, and what was done so far."""

    def __init__(self, dataset: Dataset, secret: DeidSecret, options: Options, known: Iterable[str]) -> None:
        self.secret, self.options = secret, options
        self.patient = patient_of(dataset)
        self.days = secret.shift_days(self.patient)
        self.words, self.ids = find_identifying_words(dataset)
        self.words |= {fold(word) for name in known for word in name.split()}
        self.removals: list[Removal] = []

    def clean(self, dataset: Dataset, path: str) -> Dataset:
        """A new dataset of what may stay."""
        made = Dataset()
        for element in dataset:
            where = f"{path}{element.tag} {keyword_for_tag(element.tag)}".strip()
            what = choose_treatment(element.tag, element.VR, self.options)
            kept = self._treat(element, what, where)
            if kept is not None:
                made[element.tag] = kept
        return made

    def set_patient_code(self, made: Dataset) -> None:
        """One code in place of name and id, so that what belongs together stays together."""
        code = self.secret.patient_code(self.patient)
        made.PatientName = made.PatientID = code

    def _treat(self, element: DataElement, what: str, where: str) -> DataElement | None:
        empty = element.value is None or element.value == "" or element.value == []
        if what == "into":
            items = [self.clean(item, f"{where}[{n}] > ") for n, item in enumerate(element.value or ())]
            return DataElement(element.tag, "SQ", Sequence(items))
        if what == "keep" or (empty and what != "remove"):
            return element
        if what == "remove":
            kind: RemovalKind = "private-tag" if element.tag.is_private else "tag"
            self._record(kind, "removed", where, element, None)
            return None
        if what == "look":
            return element if not self._names_patient(element) else self._empty(element, where, "own-word")
        if what == "empty":
            return self._empty(element, where, "profile")
        if what == "dummy":
            made = DataElement(element.tag, element.VR, _dummy_value(element.VR))
            self._record("tag", "replaced", where, element, made)
            return made
        return self._transform(element, what, where)

    def _transform(self, element: DataElement, what: str, where: str) -> DataElement | None:
        if what in ("date", "time"):
            if self.options.dates == "remove":
                return self._empty(element, where, "dates")
            if what == "time":
                return element
            moved = _map_values(element, lambda value: shift_date(value, self.days))
            if moved is None:
                return self._empty(element, where, "not-a-date")
            self._record("date", "shifted", where, element, moved)
            return moved
        if what == "uid":
            made = _map_values(element, self._uid)
            if made is None or made.value == element.value:
                return element
            self._record("uid", "replaced", where, element, made)
            return made
        if what == "age":
            made = _map_values(element, lambda value: "090Y" if _parse_years(value) > 89 else value)
            return made if made is not None else self._empty(element, where, "age")
        if self._names_patient(element):
            return self._empty(element, where, "own-word")
        made = _map_values(element, self._text)
        if made is not None and made.value != element.value:
            self._record("tag", "replaced", where, element, made, "text")
        return made

    def _uid(self, value: str) -> str:
        return value if value.startswith("1.2.840.10008.") else self.secret.map_uid(value)

    def _text(self, value: str) -> str:
        return clean_text(value, self.secret, self.options, patient=self.patient).text

    def _names_patient(self, element: DataElement) -> bool:
        """Whether a value holds a word that names this patient, or one of the ids."""
        value = fold(str(element.value))
        found = set(re.findall(r"[^\W\d_]{3,}", value))
        return bool(found & self.words) or any(one in value for one in self.ids)

    def _empty(self, element: DataElement, where: str, rule: str) -> DataElement:
        made = DataElement(element.tag, element.VR, [] if element.VR == "SQ" else None)
        if element.VR == "SQ":
            made = DataElement(element.tag, "SQ", Sequence([]))
        self._record("date" if rule == "dates" else "tag", "emptied", where, element, made, rule)
        return made

    def _record(
        self,
        kind: RemovalKind,
        action: Any,
        where: str,
        element: DataElement,
        made: DataElement | None,
        rule: str = "profile",
    ) -> None:
        long = element.VR in ("OB", "OW", "UN", "SQ", "OF", "OD", "OL")
        before = f"{element.VR}" if long else str(element.value)
        after = None if made is None else str(made.value)
        self.removals.append(
            Removal(kind=kind, action=action, where=where, rule=rule, before=before, after=after)
        )


def _map_values(element: DataElement, change: Any) -> DataElement | None:
    """The element with each of its values changed; None where one of them cannot be."""
    value = element.value
    held = list(value) if isinstance(value, MultiValue | list) else [value]
    made = [change(str(one)) if str(one) else "" for one in held]
    if any(one is None for one in made):
        return None
    return DataElement(element.tag, element.VR, made if len(made) > 1 else made[0])


def _parse_years(age: str) -> int:
    match = re.fullmatch(r"\s*(\d{1,3})Y?\s*", age)
    return int(match[1]) if match else 0


def _dummy_value(vr: str) -> Any:
    return Sequence([]) if vr == "SQ" else _DUMMY.get(vr, "REMOVED")


def _new_file_meta(dataset: Dataset, made: Dataset, job: _HeaderJob) -> FileMetaDataset:
    """The meta information anew: what kind of object, how it is written, by whom."""
    given = getattr(dataset, "file_meta", None) or FileMetaDataset()
    meta = FileMetaDataset()
    for element in given:
        kept = element.keyword in ("MediaStorageSOPClassUID", "TransferSyntaxUID")
        if kept:
            meta[element.tag] = element
        elif element.tag.element and element.keyword != "MediaStorageSOPInstanceUID":
            where = f"{element.tag} {element.keyword}"
            job.removals.append(
                Removal(kind="metadata", action="removed", where=where, before=str(element.value))
            )
    if "TransferSyntaxUID" not in meta:
        meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    if "SOPClassUID" in made:
        meta.MediaStorageSOPClassUID = made.SOPClassUID
    if "SOPInstanceUID" in made:
        meta.MediaStorageSOPInstanceUID = made.SOPInstanceUID
    meta.ImplementationClassUID = uid.PYDICOM_IMPLEMENTATION_UID
    return meta


def _method_codes(options: Options, *, pixels: bool) -> list[Dataset]:
    used = ["113100"]
    used += ["113101"] if pixels else []
    used += ["113105"] if options.keep_descriptions else []
    used += ["113107"] if options.dates == "shift" else []
    used += ["113108"] if options.keep_characteristics else []
    items = []
    for code in used:
        item = Dataset()
        item.CodeValue = code
        item.CodingSchemeDesignator = "DCM"
        item.CodeMeaning = _CODES[code]
        items.append(item)
    return items
