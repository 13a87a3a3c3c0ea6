"""The modality of each picture: from DICOM tags, the source, the words of its caption, a model."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, JsonValue

from overread.build.item import Change, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import SourcePicture, pictures_of
from overread.build.medthinkvqa.settings import read_choice
from overread.build.source_pictures import picture_path
from overread.build.step import StepContext
from overread.errors import BadReply, PictureError
from overread.ontology import modalities
from overread.pixels.formats import sniff_format
from overread.prompts.replies import json_parser

_TAGS: dict[str, tuple[str, str | None]] = {
    "CT": ("CT", None),
    "MR": ("MRI", None),
    "CR": ("X-ray", "Plain radiography"),
    "DX": ("X-ray", "Plain radiography"),
    "MG": ("X-ray", "Mammography"),
    "RF": ("X-ray", "Fluoroscopy"),
    "XA": ("X-ray", "Conventional angiography"),
    "PX": ("X-ray", "Panoramic radiography"),
    "US": ("Ultrasound", None),
    "IVUS": ("Ultrasound", None),
    "PT": ("Nuclear medicine & Molecular imaging", "PET"),
    "NM": ("Nuclear medicine & Molecular imaging", "Scintigraphy"),
    "ES": ("Endoscopy", None),
    "SM": ("Pathology", "Histopathology"),
    "GM": ("Pathology", None),
    "XC": ("Clinical photography", None),
    "SC": ("Non-modality / Workflow / Post-processing", None),
}
"""DICOM's (0008,0060) → level 1 and, where it tells, level 2."""

# In the order they are tried: the first that a caption speaks of in its opening words wins.
_WORDS: tuple[tuple[str, str, str | None], ...] = (
    (r"PET[-/ ]?CT|FDG", "Nuclear medicine & Molecular imaging", "PET-CT"),
    (r"SPECT", "Nuclear medicine & Molecular imaging", "SPECT"),
    (r"bone scan|bone scintigra\w+", "Nuclear medicine & Molecular imaging", "Bone scintigraphy"),
    (r"scintigra\w+", "Nuclear medicine & Molecular imaging", "Scintigraphy"),
    (r"PET", "Nuclear medicine & Molecular imaging", "PET"),
    (r"3D (?:reconstruction|reformat\w*)|volume[- ]render\w+|diagram|schematic|flow ?chart",
     "Non-modality / Workflow / Post-processing", None),
    (r"histopatholog\w+|histolog\w+|h(?:a?ematoxylin|&e)\b|photomicrograph", "Pathology",
     "Histopathology"),
    (r"immunohistochem\w+", "Pathology", "Immunohistochemistry"),
    (r"cytolog\w+", "Pathology", "Cytology"),
    (r"bronchoscop\w+", "Endoscopy", "Bronchoscopy"),
    (r"colonoscop\w+", "Endoscopy", "Colonoscopy"),
    (r"gastroscop\w+", "Endoscopy", "Gastroscopy"),
    (r"cystoscop\w+", "Endoscopy", "Cystoscopy"),
    (r"endoscop(?:y|ic (?:image|view|picture))", "Endoscopy", None),
    (r"HRCT|high[- ]resolution CT|thin[- ]slice CT", "CT", "HRCT / Thin-slice CT"),
    (r"CT angiogra\w+|CTA|angio-?CT", "CT", "CT angiography"),
    (r"cone[- ]beam CT|CBCT", "CT", "Cone-beam CT"),
    (r"contrast[- ]enhanced (?:\w+ )?CT|CECT", "CT", "Contrast-enhanced CT"),
    (r"(?:non-?contrast|unenhanced|non-?enhanced|plain) (?:\w+ )?CT|NCCT", "CT",
     "Non-contrast CT"),
    (r"MRCP", "MRI", "MRCP"),
    (r"MR angiogra\w+|MRA|TOF", "MRI", "MR angiography"),
    (r"DWI|diffusion[- ]weighted|ADC map", "MRI", "Diffusion-weighted MRI"),
    (r"MRS|MR spectroscop\w+", "MRI", "MR spectroscopy"),
    (r"(?:post-?contrast|contrast[- ]enhanced|gadolinium[- ]enhanced) (?:\w+ )?(?:MRI?|T1\w*)",
     "MRI", "Contrast-enhanced MRI"),
    (r"MRI|MR (?:image|scan|imaging|sequence)|magnetic resonance|T[12]w?(?:[- ]weighted|WI?)?\b"
     r"|FLAIR|STIR|SWI|HASTE", "MRI", "Conventional MRI"),
    (r"CT|computed tomogra\w+|CAT scan", "CT", None),
    (r"echocardiogra\w+", "Ultrasound", "Echocardiography"),
    (r"(?:colou?r |power )?doppler", "Ultrasound", "Doppler ultrasound"),
    (r"endoscopic ultrasound|EUS", "Ultrasound", "Endoscopic ultrasound"),
    (r"transvaginal (?:ultrasound|sonogra\w+)", "Ultrasound", "Transvaginal ultrasound"),
    (r"ultrasound|ultrasonogra\w+|sonogra\w+|US (?:image|scan)|B-mode", "Ultrasound", None),
    (r"mammogra\w+", "X-ray", "Mammography"),
    (r"tomosynthesis", "X-ray", "Tomosynthesis"),
    (r"digital subtraction angiogra\w+|DSA", "X-ray", "Digital subtraction angiography"),
    (r"angiogra(?:m|phy)|arteriogra\w+|venogra\w+", "X-ray", "Conventional angiography"),
    (r"barium (?:\w+ )?(?:swallow|meal|enema|study)", "X-ray", "Barium study"),
    (r"fluoroscop\w+", "X-ray", "Fluoroscopy"),
    (r"orthopantomogra\w+|panoramic (?:radiograph|view)|OPG", "X-ray", "Panoramic radiography"),
    (r"hysterosalpingogra\w+|HSG", "X-ray", "Hysterosalpingography"),
    (r"(?:chest|thorax) (?:X-?rays?|films?|radiographs?|radiography)|CXR"
     r"|(?:X-?rays?|films?|radiographs?) of the (?:chest|thorax)", "X-ray", "Chest radiography"),
    (r"abdominal (?:X-?rays?|films?|radiographs?)", "X-ray", "Abdominal radiography"),
    (r"X-?rays?|radiogra(?:ph|phs|phy|m)|plain films?|films?|roentgenogra\w+", "X-ray", None),
    (r"(?:clinical |intra-?operative )?photogra\w+|skin lesions? (?:on|of)",
     "Clinical photography", None),
)  # fmt: skip
_PATTERNS = tuple(
    (re.compile(rf"(?<![\w-])(?:{words})(?![A-Za-z])", re.I), level, sub) for words, level, sub in _WORDS
)
_OPENING = 90
"""Characters of a caption in which it says what the picture is."""


def modality_of_caption(caption: str) -> tuple[str, str | None, str] | None:
    """Level 1, level 2 and the words that say so; None where a caption does not tell.

    >>> modality_of_caption("Axial HRCT of the chest. A nodule.")
    ('CT', 'HRCT / Thin-slice CT', 'HRCT')
    >>> modality_of_caption("Post-contrast T1w image of the brain")[0]
    'MRI'
    """
    for stretch in (caption[:_OPENING], caption):
        # Words that stand first say what the picture is; others may be what it is compared with.
        hits = [
            (match.start(), order, level, sub, match.group())
            for order, (pattern, level, sub) in enumerate(_PATTERNS)
            if (match := pattern.search(stretch))
        ]
        if hits:
            first = min(hits)
            near = [hit for hit in hits if hit[0] - first[0] < 25 and hit[2] == first[2]]
            best = min(near, key=lambda hit: hit[1])
            return best[2], best[3], best[4]
    return None


def modality_of_tags(path: Path) -> tuple[str, str | None, str] | None:
    """Level 1, level 2 and the tag of a DICOM file; None where it is none, or says nothing."""
    if sniff_format(path) != "dicom":
        return None
    from overread.pixels.dicom.file import open_dicom

    tag = str(open_dicom(path, pixels=False).get("Modality", "") or "").strip().upper()
    found = _TAGS.get(tag)
    return (*found, f"Modality {tag}") if found else None


class SaidModality(BaseModel):
    """What a model says."""

    modality: str
    sub_modality: str | None = None


async def find_modalities(item: Item, context: StepContext) -> StepResult:
    """Give each picture its modality; what is told by tags wins over what the source says."""
    images: list[JsonValue] = []
    changes: list[Change] = []
    for number, picture in enumerate(pictures_of(item), 1):
        level, sub, by, why = await _find_modality(picture, context)
        if (level, sub) != (picture.modality, picture.sub_modality):
            changes.append(
                Change(
                    what=f"image {number}",
                    before={"modality": picture.modality, "sub_modality": picture.sub_modality},
                    after={"modality": level, "sub_modality": sub},
                    by=by,
                    why=why,
                )
            )
        found = picture.model_copy(update={"modality": level, "sub_modality": sub})
        images.append(found.model_dump(mode="json", exclude_none=True))
    return Keep(data={"images": images}, changes=tuple(changes))


async def _find_modality(
    picture: SourcePicture, context: StepContext
) -> tuple[str | None, str | None, str, str]:
    """Level 1, level 2, who says so and why."""
    given = modalities().find(picture.modality) if picture.modality else None
    if read_choice(context, "pictures", ("required", "named")) == "required":
        tags = modality_of_tags(picture_path(context.source, picture.file))
        if tags is not None:
            same = given is not None and given.name == tags[0]
            sub = picture.sub_modality if same and picture.sub_modality else tags[1]
            return tags[0], sub, "rules", f"DICOM says {tags[2]}"
    if given is not None:
        return given.name, picture.sub_modality, "rules", "the source says so in other words"
    said = modality_of_caption(picture.caption or "")
    if said is not None:
        return said[0], picture.sub_modality or said[1], "rules", f"the caption says '{said[2]}'"
    if context.has("reader"):
        answer = await _ask_model(picture, context)
        if answer is not None:
            level = modalities().find(answer.modality)
            assert level is not None
            return level.name, answer.sub_modality, context.name("reader"), "the model says so"
    return None, picture.sub_modality, "rules", "neither tags nor caption nor a model tell"


async def _ask_model(picture: SourcePicture, context: StepContext) -> SaidModality | None:
    def wrong(said: SaidModality) -> str | None:
        if modalities().find(said.modality) is None:
            return f"'{said.modality[:60]}' is none of the modalities that were given"
        return None

    seen = read_choice(context, "pictures", ("required", "named")) == "required"
    try:
        return await context.ask(
            "build-med-modality",
            {
                "caption": picture.caption or "(none given)",
                "modalities": "\n".join(f"- {one.name}" for one in modalities().items),
            },
            json_parser(SaidModality),
            pictures=[picture.file] if seen else [],
            check=wrong,
        )
    except (BadReply, PictureError):
        return None
