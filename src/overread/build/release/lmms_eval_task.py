"""What lmms-eval calls for the questions beside this file: pictures, words, and whether a reply is right.

overread copies this file into what `overread export lmms-eval` writes. It needs Pillow and nothing of
overread.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from PIL import Image

_FOLDER = Path(__file__).resolve().parent


def doc_to_visual(doc: dict[str, Any]) -> list[Image.Image]:
    """The pictures of a case, in order."""
    shown = []
    for file in doc["images"]:
        with Image.open(_FOLDER / file) as image:
            shown.append(image.convert("RGB"))
    return shown


def doc_to_text(doc: dict[str, Any], lmms_eval_specific_kwargs: dict[str, Any] | None = None) -> str:
    """The question, as overread itself asks it; what a model's settings add goes around it."""
    added = lmms_eval_specific_kwargs or {}
    return f"{added.get('pre_prompt', '')}{doc['question']}{added.get('post_prompt', '')}"


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """1 where the letter is the right one; a reply without a letter is wrong."""
    return {"accuracy": float(find_letter(results[0], doc["letters"]) == doc["answer"])}


def find_letter(reply: str, letters: list[str]) -> str | None:
    """The letter a reply names: in the JSON that was asked for, else the last that stands alone."""
    told = re.search(r'"answer"\s*:\s*("(?:[^"\\]|\\.)*")', reply)
    if told is not None:
        try:
            named = json.loads(told[1])
        except ValueError:
            named = told[1]
        found = re.findall(r"\b[A-Z]\b", str(named).upper())
    else:
        found = re.findall(r"(?<![A-Za-z'’])[A-Z](?![A-Za-z'’])", reply)
    known = [letter for letter in found if letter in letters]
    return known[-1] if known else None
