"""What is to be done with an element of a DICOM header: the table, and the rules by kind."""

from __future__ import annotations

import tomllib
from fnmatch import filter as matching
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from pydicom.datadict import dictionary_has_tag, keyword_dict, keyword_for_tag
from pydicom.tag import BaseTag

from overread.build.deid.results import Options

Treatment: TypeAlias = Literal[
    "keep", "remove", "empty", "dummy", "clean", "date", "time", "uid", "age", "into", "look"
]
"""What to do: 'clean' is as text, 'into' goes into a sequence, 'look' keeps what names nobody."""

_STANDARD_UIDS = ("SOPClass", "TransferSyntax", "CodingScheme", "MappingResource", "ContextUID")
_BULK = {"PixelData", "FloatPixelData", "DoubleFloatPixelData", "ICCProfile", "WaveformData"}
_TEXT = {"LO", "LT", "SH", "ST", "UC", "UT"}
_CLEANED_BIRTH = {"PatientBirthTime"}


def choose_treatment(tag: BaseTag, vr: str, options: Options) -> Treatment:
    """What becomes of an element, by its tag and kind of value."""
    keyword = keyword_for_tag(tag)
    if tag.is_private or not dictionary_has_tag(tag) or tag.element == 0:
        return "remove"
    if 0x5000 <= tag.group < 0x5100 or 0x6000 <= tag.group < 0x6100 or tag.group < 0x0008:
        return "remove"
    listed = _load_table().get(keyword)
    if listed == "descriptions":
        return "clean" if options.keep_descriptions and vr in _TEXT else "remove"
    if listed == "characteristics":
        if options.keep_characteristics:
            return "age" if keyword == "PatientAge" else "look"
        return "empty" if keyword.startswith("PatientSex") else "remove"
    if listed in ("remove", "empty", "dummy"):
        return listed  # type: ignore[return-value]
    return _treatment_by_vr(keyword, vr, product=listed == "products")


def _treatment_by_vr(keyword: str, vr: str, *, product: bool) -> Treatment:
    if vr == "SQ":
        return "into"
    if vr in ("DA", "DT"):
        return "date"
    if vr == "TM":
        return "remove" if keyword in _CLEANED_BIRTH else "time"
    if vr == "UI":
        return "keep" if any(word in keyword for word in _STANDARD_UIDS) else "uid"
    if vr == "PN":
        return "empty"
    if vr in ("AE", "UR", "UN"):
        return "remove"
    if vr == "OB" and keyword not in _BULK and "LookupTable" not in keyword:
        return "remove"
    if vr in _TEXT and not product:
        return "clean"
    return "look" if vr in _TEXT or vr in ("CS", "AS") else "keep"


@cache
def _load_table() -> dict[str, str]:
    """Keyword → the list that it stands in."""
    source = files("overread.build.deid") / "data" / "dicom_profile.toml"
    lists = tomllib.loads(source.read_text("utf-8"))
    return {
        keyword: name
        for name, words in lists.items()
        for word in words.split()
        for keyword in (matching(keyword_dict, word) if "*" in word else (word,))
    }
