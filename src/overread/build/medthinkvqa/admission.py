"""Which raw cases are taken: texts that can be read, pictures, enough diagnoses, the right one."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import JsonValue

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import pictures_of, text_of, texts_of
from overread.build.medthinkvqa.settings import least_differentials, read_choice
from overread.build.medthinkvqa.source import TEXTS
from overread.build.source_pictures import picture_path
from overread.build.step import StepContext
from overread.errors import NotThere, PictureError, Refused
from overread.pixels.formats import read_picture, sniff_format
from overread.prompts.replies import normalise_text

MAX_TEXT = 100_000
"""Characters of the longest text that can be a part of a case."""
MAX_DIAGNOSES = 26
"""How many diagnoses can have a letter."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean_text(text: str) -> str:
    r"""A text without control characters, with plain line ends, without blanks around it.

    >>> clean_text("A\x00 cough.\r\n ")
    'A cough.'
    """
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


async def clean_texts(item: Item, context: StepContext) -> StepResult:
    """Clean the texts, and drop a case that lacks its history, its diagnosis or its pictures."""
    data: dict[str, JsonValue] = {}
    changes: list[Change] = []
    for field in TEXTS:
        before = text_of(item, field)
        if len(before) > MAX_TEXT:
            why = f"{field} has {len(before):,} characters, and no text has over {MAX_TEXT:,}"
            return Drop(reason="text-too-long", why=why)
        after = clean_text(before)
        if after != before:
            data[field] = after
            changes.append(_text_change(field, before, after))
    listed = [clean_text(text) for text in texts_of(item, "differential")]
    if listed != list(texts_of(item, "differential")):
        data["differential"] = [*listed]
        before_list: list[JsonValue] = [*texts_of(item, "differential")]
        changes.append(
            Change(
                what="differential",
                before=before_list,
                after=[*listed],
                why="characters that no text has, or blanks, were taken out",
            )
        )
    done = tuple(changes)
    for field, reason, wanted in (
        ("history", "no-history", "a history"),
        ("final_diagnosis", "no-diagnosis", "the final diagnosis"),
    ):
        if not (data[field] if field in data else text_of(item, field)):
            why = f"{wanted} was expected, and there is none"
            return Drop(reason=reason, why=why, changes=done)
    lacking = _check_pictures(item, context)
    if lacking is not None:
        return lacking.model_copy(update={"changes": done})
    return Keep(data=data, changes=done)


def _text_change(field: str, before: str, after: str) -> Change:
    marks = [mark.start() for mark in _CONTROL.finditer(before)][:20]
    why = "control characters were taken out" if marks else "blanks and line ends were made plain"
    old: JsonValue = {"text": _CONTROL.sub("\N{REPLACEMENT CHARACTER}", before), "at": [*marks]}
    return Change(what=field, before=old, after=after, why=why)


def _check_pictures(item: Item, context: StepContext) -> Drop | None:
    pictures = pictures_of(item)
    if not pictures:
        return Drop(reason="no-pictures", why="at least one picture was expected, none is named")
    if read_choice(context, "pictures", ("required", "named")) == "named":
        return None
    for picture in pictures:
        try:
            _verify_picture(picture_path(context.source, picture.file), picture.file)
        except (NotThere, Refused) as error:
            return Drop(reason="picture-missing", why=str(error))
        except PictureError as error:
            return Drop(reason="picture-unreadable", why=str(error))
    return None


def _verify_picture(path: Path, name: str) -> None:
    """Raise an error unless all of a picture can be read: a release must not hold half of one."""
    kind = sniff_format(path, name=name)
    if kind in ("png", "jpeg"):
        from overread.pixels.image_files import verify_image

        verify_image(path, name=name)
    elif kind == "dicom":
        read_picture(path, name=name)
    else:
        raise PictureError(f"{name} is neither PNG nor JPEG nor DICOM")


async def admit(item: Item, context: StepContext) -> StepResult:
    """Keep a case with enough different diagnoses, among them the right one."""
    given = texts_of(item, "differential")
    distinct: dict[str, str] = {}
    for text in given:
        if normalise_text(text):
            distinct.setdefault(normalise_text(text), text)
    listed = tuple(distinct.values())
    changes: list[Change] = []
    if len(listed) < len(given):
        changes.append(
            Change(
                what="differential",
                before=[*given],
                after=[*listed],
                why="empty diagnoses, and those that are the same but for spelling, count once",
            )
        )
    done = tuple(changes)
    least = least_differentials(context)
    if len(listed) < least:
        why = f"{len(listed)} different diagnoses are listed, at least {least} were expected"
        return Drop(reason="too-few-differentials", why=why, changes=done)
    if len(listed) > MAX_DIAGNOSES:
        why = f"{len(listed)} diagnoses are listed, at most {MAX_DIAGNOSES} were expected"
        return Drop(reason="too-many-differentials", why=why, changes=done)
    answer = text_of(item, "final_diagnosis")
    fitting = match_diagnoses(answer, listed)
    if len(fitting) != 1:
        met = "several" if fitting else "none"
        return Drop(
            reason="key-not-listed" if not fitting else "key-ambiguous",
            why=f"the final diagnosis '{answer[:120]}' should be one of the listed; {met} fit",
            changes=done,
        )
    key = fitting[0]
    if key != answer:
        changes.append(
            Change(
                what="final_diagnosis",
                before=answer,
                after=key,
                why="it is written as in the list of diagnoses",
            )
        )
    data: dict[str, JsonValue] = {"final_diagnosis": key, "differential": [*listed]}
    return Keep(data=data, changes=tuple(changes))


def match_diagnoses(answer: str, listed: tuple[str, ...]) -> list[str]:
    """The listed diagnoses that an answer may be: equal but for spelling, else containing it.

    >>> match_diagnoses("sarcoidosis.", ("Sarcoidosis", "Sarcoidosis of the bone"))
    ['Sarcoidosis']
    >>> match_diagnoses("Sarcoidosis", ("Pulmonary sarcoidosis", "Silicosis"))
    ['Pulmonary sarcoidosis']
    """
    wanted = normalise_text(answer)
    same = [text for text in listed if normalise_text(text) == wanted]
    if same or not wanted:
        return same
    return [
        text
        for text in listed
        if f" {wanted} " in f" {normalise_text(text)} " or f" {normalise_text(text)} " in f" {wanted} "
    ]
