"""Readers, workflows and releases for the tests of the audit: who looks, who does not, who doubts."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from pydantic import JsonValue

from overread.core import (
    Box,
    Case,
    DrawnMask,
    Finding,
    Mask,
    Pictures,
    Reader,
    Reading,
    Region,
    ReleaseRef,
    Reply,
    Request,
    SentImage,
    Slices,
    Step,
    Trace,
    Volume,
    Whole,
)
from overread.pixels.edits.control_regions import find_tissues
from overread.prompts.replies import letter_parser
from overread.runs.case_runner import Workflow
from overread.session import Session
from tests.runs.medthinkvqa_cases import write_cases

SIDE = 64
BOX = Box(picture="image-1", x1=8, y1=8, x2=24, y2=24)

FILM = Box(picture="xray", x1=60, y1=100, x2=100, y2=140)


def paint_films(root: Path) -> Path:
    """A bright square on each film of a copied release, where `FILM` is."""
    for path in root.rglob("problem_image_1.jpg"):
        with Pillow.open(path) as image:
            grey = np.asarray(image.convert("L")).copy()
        grey[98:142, 58:102] = 90
        grey[100:140, 60:100] = 250
        Pillow.fromarray(grey).save(path, quality=95)
    return root


def write_marked(folder: Path, count: int, *, pictures: int = 3) -> Path:
    """Cases of three grainy pictures; in the first a bright square lies where `BOX` is."""
    write_cases(folder, count, pictures=pictures)
    for number in range(1, count + 1):
        dice = np.random.default_rng(number)
        for slot in range(1, pictures + 1):
            grey = dice.normal(90, 6, (SIDE, SIDE)) + (40 if slot == 2 else 0)
            if slot == 1:
                grey[8:24, 8:24] += 110
            path = folder / f"images/case{number:05d}/{number:05d}{slot:02d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Pillow.fromarray(grey.clip(0, 255).astype(np.uint8)).save(path)
    return folder


def opened(data: bytes) -> NDArray[Any]:
    """The pixels of a picture that was sent."""
    with Pillow.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("L"), np.float64)


def sent_pictures(told: Mapping[str, Any]) -> list[NDArray[Any]]:
    """The pictures in a request to a chat-completions endpoint, in their order."""
    parts = [part for m in told["messages"] if isinstance(m["content"], list) for part in m["content"]]
    addresses = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [opened(base64.b64decode(address.partition(",")[2])) for address in addresses]


def said(choice: str) -> str:
    """An answer as models give it."""
    return json.dumps({"answer": choice, "explanation": "So it is."})


# ---- what a model makes of pictures --------------------------------------------------------

Eye = Callable[[Sequence[NDArray[Any]]], str]


def sees_square(pictures: Sequence[NDArray[Any]]) -> str:
    """Answers from what is inside the box that it cites, and from nothing else."""
    return "A" if pictures[0][8:24, 8:24].mean() > 150 else "B"


def sees_second(pictures: Sequence[NDArray[Any]]) -> str:
    """Answers from whether the second picture is grainy, or flat and so hidden."""
    return "C" if pictures[1].std() > 3 else "D"


def sees_anything(pictures: Sequence[NDArray[Any]]) -> str:
    """Answers from every pixel of every picture: whatever is hidden moves it."""
    told = hashlib.sha256(b"".join(p.astype(np.uint8).tobytes() for p in pictures)).digest()
    return "ABCDE"[told[0] % 5]


def sees_nothing(pictures: Sequence[NDArray[Any]]) -> str:
    """Answers whatever it is shown."""
    return "E"


class Model(Reader):
    """A model of words and pictures, scripted; with `noise` it says something else that often."""

    skills = frozenset(("words", "pictures"))

    def __init__(self, eye: Eye, *, noise: float = 0.0) -> None:
        """`eye` makes a letter of the pictures in their order."""
        self.name = eye.__name__
        self.identity = {"model": self.name, "noise": noise}
        self._eye = eye
        self._noise = noise
        self.asked = 0
        self.closed = 0

    async def read(self, request: Request) -> Reply:
        """A letter."""
        self.asked += 1
        shown = [p for m in request.messages for p in m.parts if isinstance(p, SentImage)]
        choice = self._eye([opened(request.images[part.sha256]) for part in shown])
        lots = "".join(part.sha256 for part in shown) + f"{request.case.history} {request.sample}"
        dice = np.random.default_rng(list(hashlib.sha256(lots.encode()).digest()))
        if dice.random() < self._noise:
            choice = "ABCDE"[int(dice.integers(5))]
        return Reply(text=said(choice))

    async def close(self) -> None:
        """Count it."""
        self.closed += 1


def citing(*regions: Region) -> Workflow:
    """The way of reading that asks once and concludes with these regions."""

    async def cites(case: Case, session: Session) -> Reading:
        options = "\n".join(f"{option.letter}. {option.text}" for option in case.options)
        values = {"history": case.history or "", "options": options}
        shown = await session.show_async()
        choice = await session.ask("choose", values, letter_parser(case.options), task="choose", show=shown)
        session.add_step("conclude", f"It is {choice}.", regions)
        return session.reading(choice=choice)

    return cites


async def cite_box(case: Case, session: Session) -> Reading:
    """`citing` the box, by name."""
    return await citing(BOX)(case, session)


# ---- volumes -------------------------------------------------------------------------------


async def draw_all(case: Case, session: Session) -> Reading:
    """A mask for every sentence."""
    found = [session.finding_for(query, await session.draw(query)) for query in case.queries]
    return session.reading(findings=tuple(found))


RANGE = Slices(picture="ct", first=20, last=29)


async def look_and_draw(case: Case, session: Session) -> Reading:
    """The same, after a look at some slices."""
    session.add_step("look", "These slices.", [RANGE])
    return await draw_all(case, session)


def dense_in_lungs(hu: NDArray[Any], space: Any) -> NDArray[np.bool_]:
    """What is dense within the lungs: the lesions of a sketched chest."""
    lungs, _ = find_tissues(hu, space)
    return np.asarray(lungs & (hu > -300))


class Drawing(Reader):
    """A reader that draws, scripted: a function of the CT and its geometry to a mask."""

    skills = frozenset(("masks",))

    def __init__(self, hand: Callable[[NDArray[Any], Any], NDArray[np.bool_]]) -> None:
        """`hand` draws the mask."""
        self.name = hand.__name__
        self.identity = {"hand": self.name}
        self._hand = hand

    async def read(self, request: Request) -> DrawnMask:
        """The mask of one sentence, the same for all of them."""
        ct = request.case.pictures[0]
        return DrawnMask(self._hand(request.pictures.pixels(ct), request.pictures.geometry(ct)))


def fixed_ball(hu: NDArray[Any], space: Any) -> NDArray[np.bool_]:
    """The same place in every CT, whatever is there."""
    mask = np.zeros(hu.shape, bool)
    middle = tuple(slice(n // 2 - 4, n // 2 + 4) for n in hu.shape)
    mask[middle] = True
    return mask


# ---- a computing reader of whole cases -----------------------------------------------------


class Threshold(Reader):
    """Reads whole cases by thresholds, in workers; every conclusion names its region."""

    name = "test-threshold"
    skills = frozenset(("whole",))
    computes = True
    identity: Mapping[str, JsonValue] = {"reader": "threshold"}

    def compute_reading(self, case: Case, pictures: Pictures, *, seed: int) -> tuple[Reading, list[Any]]:
        """A letter from the box, a mask for each sentence, or a report."""
        first = case.pictures[0]
        if isinstance(first, Volume):
            return self._found(case, first, pictures)
        grey = pictures.pixels(first).astype(float)
        if case.options:
            choice = sees_square([grey])
            steps = (Step(kind="conclude", text=f"It is {choice}.", regions=(BOX,)),)
            chances = {"A": 0.75, "B": 0.25} if choice == "A" else {"A": 0.25, "B": 0.75}
            trace = Trace(steps=steps)
            parts: dict[str, Any] = {"choice": choice, "probabilities": chances, "trace": trace}
            return Reading(case_id=case.id, reader=self.name, **parts), []
        place = FILM.model_copy(update={"picture": first.name})
        bright = grey[100:140, 60:100].mean() > 200
        words = "Small right pleural effusion." if bright else "No pleural effusion."
        finding = Finding(text=words, regions=(place,))
        return Reading(case_id=case.id, reader=self.name, findings=(finding,), report=words), []

    def _found(self, case: Case, ct: Volume, pictures: Pictures) -> tuple[Reading, list[Any]]:
        hu, space = pictures.pixels(ct), pictures.geometry(ct)
        mask = dense_in_lungs(hu, space)
        lungs = find_tissues(hu, space)[0]
        asked = len(case.queries)
        findings = tuple(Finding(text=query.text, query=query.id) for query in case.queries)
        step = Step(
            kind="say",
            text=f"The lungs have {int(lungs.sum())} voxels.",
            regions=(Mask(picture=ct.name, file="", channel=asked),),
        )
        reading = Reading(case_id=case.id, reader=self.name, findings=findings, trace=Trace(steps=(step,)))
        return reading, [*([mask] * asked), lungs]


def make_threshold(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Threshold:
    """The computing reader."""
    return Threshold()


WHOLE_SECOND = Whole(picture="image-2")
