"""Runs with a whole log for the tests of the trace view: asked over a socket, failed, judged."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from overread.core import Box, Finding, Mask, Reading, Slices, Step, Trace, Whole
from overread.runs.judging.runner import JudgePlan, judge
from overread.runs.spec import ReaderSpec, RunSpec, WorkflowSpec, write_spec
from overread.runs.store import ReadingStore
from tests.workflows.scripted_judges import Scripted, split, verdict, verdicts
from tests.workflows.scripted_model import Asked, js, scripted

HOSTILE = "<img src=x onerror=alert(1)> a mass."
STEPS = ("The mass is round.", "It enhances like a ring.", "Nothing else fits.")
_EDGES = {"left": 0.1, "top": 0.2, "right": 0.6, "bottom": 0.7}


class Doctor:
    """A model that does as it is asked, asks to be asked again once, and fails on one case."""

    def __init__(self, lost: str) -> None:
        self._lost = lost
        self._stumbled = False

    def __call__(self, asked: Asked) -> str:
        """One answer."""
        words = asked.words
        if "Say what this picture shows" in words:
            return HOSTILE
        if "Write one summary" in words:
            return "All in all, a mass."
        if "Weigh every one of them" in words:
            if self._lost in words:
                return "I cannot say."
            if not self._stumbled:
                self._stumbled = True
                return "Hm."
            return js(
                differential=[
                    {"candidate": letter, "supports": "", "against": "", "probability": 20}
                    for letter in "ABCDE"
                ],
                answer="B",
                explanation=" ".join(STEPS),
            )
        if "Give the box that holds it" in words:
            return js(boxes=[_EDGES])
        if "one to three sentences" in words:
            return "Nothing abnormal. No effusion."
        return "Normal chest."


def make_asked(shelf: Path, folder: Path) -> None:
    """Runs `twi`, `interleaved` and `broken` on the datasets of a shelf."""
    # In a thread of its own: the browser of the tests keeps a loop running in this one.
    with ThreadPoolExecutor(1) as hands:
        hands.submit(_make, shelf, folder).result()


def _make(shelf: Path, folder: Path) -> None:
    import overread

    first, last = overread.load("medthinkvqa", shelf / "medthinkvqa")
    assert last.history
    settings = {"discussion": False}
    root = shelf / "medthinkvqa"
    scripted("medthinkvqa", root, folder / "twi", Doctor(last.history), "twi", settings=settings)
    judging = Scripted(
        {
            "split steps": [split(STEPS)],
            "judge steps": [
                verdicts(
                    verdict(1, explanation="Seen on picture 1.", critical=True),
                    verdict(2, factual=False, errors=["image-understanding"], explanation="No."),
                )
            ],
        }
    )
    judge(JudgePlan(run=folder / "twi", judge="steps", reader=judging, use_cache=False, limit=1))
    root = shelf / "mmrad"
    scripted("mmrad", root, folder / "interleaved", Doctor("none"), "interleaved", limit=1)
    _write_broken(shelf, folder)
    assert first.id != last.id


def _write_broken(shelf: Path, folder: Path) -> None:
    """Readings that name places which are not there."""
    import overread

    film = next(iter(overread.load("mmrad", shelf / "mmrad")))
    ct = next(iter(overread.load("rexgroundingct", shelf / "rexgroundingct")))
    name = film.pictures[0].name
    edges = ((5000, 5000, 6000, 6000), (300, 300, 100, 100), (-40, 10, 200, 200))
    boxes = [Box(picture=name, x1=a, y1=b, x2=c, y2=d) for a, b, c, d in edges]
    far = Box(picture=name, x1=-1e300, y1=-1e300, x2=1e300, y2=1e300, label="everything")
    places = (*boxes, far, Whole(picture="elsewhere"), Slices(picture=name, first=0, last=3))
    _write(folder / "broken-film", "mmrad", shelf, film.id, places)
    lost = Mask(picture="ct", file="arrays/none.nii.gz", channel=0, channels=1)
    out = Mask(picture="ct", file="../../../etc/passwd", channel=0, channels=1)
    beyond = Slices(picture="ct", first=0, last=100_000)
    box = Box(picture="ct", x1=1, y1=1, x2=9, y2=9)
    _write(folder / "broken-ct", "rexgroundingct", shelf, ct.id, (lost, out, beyond, box))


def _write(folder: Path, benchmark: str, shelf: Path, case: str, places: tuple[object, ...]) -> None:
    folder.mkdir(parents=True)
    spec = RunSpec(
        benchmark=benchmark,
        root=str(shelf / benchmark),
        split="test",
        reader=ReaderSpec(name="clumsy"),
        workflow=WorkflowSpec(name="direct"),
    )
    write_spec(folder, spec)
    step = Step.model_validate({"kind": "look", "text": "There.", "regions": places})
    finding = Finding.model_validate({"text": "It.", "regions": places})
    with ReadingStore(folder) as store:
        store.append(Reading(case_id=case, reader="clumsy", trace=Trace(steps=(step,)), findings=(finding,)))
