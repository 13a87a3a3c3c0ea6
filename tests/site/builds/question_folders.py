"""Folders of questions for the page: films, a scan and texts, and somebody who posts verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from overread.build.adjudication import write_questions
from overread.build.item import Question
from overread.pixels.image_files import write_image
from overread.pixels.nifti import write_volume
from tests.build.adjudication.sample_questions import question
from tests.build.demo_recipe import scripted_build, write_reports
from tests.site.served_site import Answer, Site
from tests.workflows.scripted_model import Asked, js


def film_question(number: int) -> Question:
    """A question on a film with one box."""
    shown = {"image": "film.png", "report": "An effusion on the left.", "box": [40, 50, 90, 120]}
    return question(number, shown=shown)


def questions_folder(folder: Path, questions: list[Question]) -> Path:
    """A folder of questions, with a film and a scan."""
    folder.mkdir(parents=True)
    grey = np.add.outer(np.arange(200), np.arange(160)) % 256
    write_image(folder / "film.png", grey.astype(np.uint8))
    volume = np.zeros((24, 20, 16), np.int16)
    write_volume(folder / "ct.nii.gz", volume, np.diag([1.0, 1.0, 2.0, 1.0]))
    write_questions(folder, questions)
    return folder


def mixed_folder(folder: Path) -> Path:
    """Two films, a scan and a text."""
    scan = {"scan": "ct.nii.gz", "finding": "A nodule."}
    text = {"caption": "Axial CT shows the sarcoid nodules."}
    return questions_folder(
        folder,
        [
            film_question(1),
            film_question(2),
            question(3, "mask", shown=scan, choices=("drawn", "not visible")),
            question(4, "leak", shown=text, choices=("leak", "none")),
        ],
    )


def demo_build(home: Path) -> Path:
    """Six reports: one is empty, one fails, four wait for people."""
    source = write_reports(home / "source", "a", "b", "c", "d", " ", "raise")

    def script(asked: Asked) -> str:
        return js(answer="disagree" if "Audit" in asked.words else "B")

    built = scripted_build(source, home / "built", script, roles=("reader", "auditor"))
    return built.folder


class Caller:
    """Somebody who reads through the API."""

    def __init__(self, site: Site, build: str, person: str) -> None:
        self.site, self.person = site, person
        self.queue = f"/api/builds/{build}/queue"

    def next(self, **more: str) -> Any:
        """The next question, and how far one is."""
        query = "".join(f"&{name}={quote(value, safe='')}" for name, value in more.items())
        return self.site.get(f"{self.queue}/next?person={quote(self.person)}{query}")

    def give(self, shown: Any, verdict: str, **more: Any) -> Answer:
        """Hand in a verdict on a question that was shown."""
        body = {
            "person": self.person,
            "question": shown["id"],
            "asked": shown["asked"],
            "verdict": verdict,
            **more,
        }
        return self.site.ask(f"{self.queue}/verdicts", method="POST", body=body)

    def undo(self, question: str) -> Answer:
        """Take a verdict back."""
        body = {"person": self.person, "question": question}
        return self.site.ask(f"{self.queue}/undo", method="POST", body=body)
