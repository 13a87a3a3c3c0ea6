"""The trace of a reading: what the server tells of it, and what the page shows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from playwright.sync_api import Browser

from overread.runs.store import last_readings
from tests.site.browser import PageWindow
from tests.site.served_site import Site, serve_site
from tests.site.traces.traced_runs import HOSTILE, STEPS, make_asked


@pytest.fixture(scope="module")
def question_folder(shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with exchanges, on the datasets of the shelf."""
    folder = tmp_path_factory.mktemp("asked")
    make_asked(shelf_folder, folder)
    return folder


@pytest.fixture(scope="module")
def asked(shelf_folder: Path, question_folder: Path) -> Iterator[Site]:
    """The page on these runs."""
    with serve_site([shelf_folder, question_folder], "--read-only") as found:
        yield found


@pytest.fixture
def window(browser: Browser, asked: Site) -> Iterator[PageWindow]:
    """A window on the page of these runs."""
    with PageWindow.open(browser, asked) as found:
        yield found


def of(site: Site, folder: Path, which: int = 0) -> str:
    """The address of a reading: one of the cases of a run."""
    above = f"{folder.parent.name}/" if folder.parent.parent.name == "runs" else ""
    run = site.shelf_id("runs", above + folder.name)
    return f"/runs/{run}/cases/{sorted(last_readings(folder))[which][0]}"


def picture(site: Site, path: str) -> Any:
    """The pixels behind an address."""
    answer = site.ask(path)
    assert answer.status == 200, answer.body[:300]
    with Pillow.open(io.BytesIO(answer.body)) as image:
        return np.asarray(image.convert("RGB"))


def test_steps_come_with_their_exchanges(asked: Site, question_folder: Path) -> None:
    """Words, kinds and places as they were written; the run's own numbers of exchanges."""
    told = asked.get("/api" + of(asked, question_folder / "twi"))
    reading = last_readings(question_folder / "twi")[told["case"], 0]
    assert reading.trace is not None
    assert [(s["kind"], s["text"], s["exchange"]) for s in told["steps"]] == [
        (s.kind, s.text, s.exchange) for s in reading.trace.steps
    ]
    assert told["steps"][0]["regions"][0]["told"] == f"all of {told['pictures'][0]['name']}"
    assert told["choice"] == "B"
    assert (told["place"], told["count"], told["previous"]) == (1, 2, None)
    assert told["judged"]
    problems = [one["problem"] for one in told["exchanges"] if one["problem"]]
    assert len(problems) == 1, "the answer that made no sense is in the log"


def test_an_exchange_tells_all_that_was_said_and_shown(asked: Site, question_folder: Path) -> None:
    """Texts as sent; pictures redrawn byte for byte; the reply raw."""
    path = "/api" + of(asked, question_folder / "twi")
    told = asked.get(f"{path}/exchanges/0")
    reading = last_readings(question_folder / "twi")[path.rsplit("/", 1)[-1], 0]
    kept = reading.exchanges[0]
    said = [p for m in kept.messages for p in m.parts if isinstance(p, str)]
    parts = [part for message in told["messages"] for part in message["parts"]]
    assert [part["text"] for part in parts if part["text"] is not None] == said
    assert told["reply"]["text"] == HOSTILE
    sent = [part["picture"] for part in parts if part["picture"]]
    assert len(sent) == 1
    assert sent[0]["same"], "the bytes are those whose hash the log has"
    assert picture(asked, f"{path}/exchanges/0/pictures/0").shape[:2] == (sent[0]["height"], sent[0]["width"])
    assert "jpg" not in str(told).replace("image/jpg", ""), "no file is named"


def test_verdicts_are_tied_to_the_steps_that_say_the_words(asked: Site, question_folder: Path) -> None:
    """What holds, what does not and why, by the names of the ontology; what was left out."""
    path = "/api" + of(asked, question_folder / "twi")
    (judged,) = asked.get(f"{path}/verdicts")
    assert [v["text"] for v in judged["verdicts"]] == list(STEPS)
    assert [(v["holds"], v["judged"]) for v in judged["verdicts"]] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert judged["verdicts"][0]["critical"]
    assert judged["verdicts"][1]["errors"][0]["name"] == "Image Understanding error"
    steps = {one["index"]: one["text"] for one in asked.get(path)["steps"]}
    assert all(v["text"] in steps[v["step"]] for v in judged["verdicts"])
    assert not judged["stale"]


def test_places_that_are_not_there_are_told(asked: Site, question_folder: Path) -> None:
    """Outside, the wrong way round, beyond the edge, no such picture or mask: a sentence each."""
    film = "/api" + of(asked, question_folder / "broken-film")
    regions = asked.get(film)["steps"][0]["regions"]
    told = [(r["drawable"], r["problem"]) for r in regions]
    assert [drawable for drawable, _ in told] == [False, False, True, True, False, False]
    assert "outside" in told[0][1]
    assert "invalid box" in told[1][1]
    assert "beyond" in told[2][1]
    assert "no picture" in told[4][1]
    ct = "/api" + of(asked, question_folder / "broken-ct")
    regions = asked.get(ct)["steps"][0]["regions"]
    assert not any(r["drawable"] for r in regions)
    assert "is missing" in regions[0]["problem"]
    assert "passwd" not in str(asked.get(ct)), "no file is named"
    for path, count in ((film, 6), (ct, 4)):
        for place in range(count):
            for part in ("whole", "cut"):
                answer = asked.ask(f"{path}/steps/0/look/{place}?part={part}")
                assert answer.status in (200, 404, 422), (path, place, part, answer.body)


@pytest.mark.parametrize(
    "rest",
    [
        "exchanges/999999",
        "exchanges/0/pictures/77",
        "steps/999/look/0",
        "steps/0/look/999",
        "steps/99999999999999999999/look/0",
        "steps/0/look/0?part=other",
        "steps/0/look/0?window=x",
        "exchanges/0?sample=5",
        "reference/steps/0/look/9",
        "verdicts?sample=-1",
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(asked: Site, rest: str, question_folder: Path) -> None:
    """Numbers out of range, words that mean nothing: 4xx with a sentence."""
    answer = asked.ask(f"/api{of(asked, question_folder / 'twi')}/{rest}")
    assert answer.status in (404, 422), answer.body
    assert answer.json()["what"]


def test_the_reference_stays_where_truth_is_withheld(shelf_folder: Path, question_folder: Path) -> None:
    """Reference, its looks and verdicts are refused; the reading itself is not."""
    with serve_site([shelf_folder, question_folder], "--hide-truth") as site:
        path = "/api" + of(site, question_folder / "twi")
        assert site.ask(path).status == 200
        assert site.ask(f"{path}/exchanges/0").status == 200
        for rest in ("reference", "verdicts", "reference/steps/0/look/0"):
            assert site.ask(f"{path}/{rest}").status == 403, rest


def test_counterparts_are_honest(site: Site, shelf_folder: Path) -> None:
    """The same name or place or sentence, with how far boxes overlap; else none."""
    told = site.get("/api" + of(site, shelf_folder / "runs/mmrad/oracle") + "/reference")
    assert told["is_trace"]
    pairs = told["counterparts"]
    assert pairs
    assert all(p["reference"] is not None and p["overlap"] == 1 for p in pairs)
    told = site.get("/api" + of(site, shelf_folder / "runs/rexgroundingct/atlas") + "/reference")
    by_sentence = [p for p in told["counterparts"] if p["why"] == "the same sentence"]
    assert {p["reference"] for p in by_sentence} == {
        s["index"] for s in told["steps"] if s["kind"] == "conclude"
    }
    others = [p for p in told["counterparts"] if p not in by_sentence]
    assert others
    assert all(p["reference"] is None for p in others)


def test_looks_show_the_place(site: Site, shelf_folder: Path) -> None:
    """A cut-out is smaller than its picture; a mask is outlined in colour on a grey slice."""
    path = "/api" + of(site, shelf_folder / "runs/mmrad/atlas")
    step = next(s for s in site.get(path)["steps"] if s["regions"])
    whole = picture(site, f"{path}/steps/{step['index']}/look/0?part=whole")
    cut = picture(site, f"{path}/steps/{step['index']}/look/0?part=cut")
    assert cut.shape[0] < whole.shape[0]
    assert cut.shape[1] < whole.shape[1]
    path = "/api" + of(site, shelf_folder / "runs/rexgroundingct/atlas")
    masks = [s for s in site.get(path)["steps"] if any(r["kind"] == "mask" for r in s["regions"])]
    for part in ("whole", "cut"):
        shown = picture(site, f"{path}/steps/{masks[0]['index']}/look/0?part={part}")
        assert (shown.max(axis=2) - shown.min(axis=2) > 60).any(), "an outline in colour"


def test_a_chain_of_thought_is_shown_level_by_level(site: Site, shelf_folder: Path) -> None:
    """Each link tells its finding, level and structure; its box is outlined on the middle slice."""
    path = "/api" + of(site, shelf_folder / "runs/rexgroundingct/atlas")
    steps = site.get(f"{path}/reference")["steps"]
    own = [step for step in steps if step["query"] == "0"]
    levels = [step["level"] for step in own]
    assert (levels[0], levels[-1]) == ("scan", "lesion")
    link = own[levels.index("lobe")]
    lobe = link["regions"][0]
    assert (lobe["kind"], lobe["axis"], lobe["drawable"]) == ("voxels", "axial", True)
    assert lobe["told"].endswith("lobe")
    for part in ("whole", "cut"):
        shown = picture(site, f"{path}/reference/steps/{link['index']}/look/0?part={part}")
        assert (shown.max(axis=2) - shown.min(axis=2) > 60).any(), "an outline in colour"


def test_the_page_shows_a_reading_step_by_step(window: PageWindow, question_folder: Path) -> None:
    """Keys lead through the steps; the prompt and the reply open; nothing said is run."""
    window.go(of(window.site, question_folder / "twi"))
    window.page.get_by_role("heading", name="The reading").wait_for()
    page = window.page
    page.keyboard.press("j")
    page.wait_for_url("**step=1**")
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**step=2**")
    page.keyboard.press("k")
    page.wait_for_url("**step=1**")
    page.keyboard.press("Enter")
    window.wait_for_text("raw reply")
    window.wait_for_text("Exactly as it was sent.")
    assert page.get_by_text(HOSTILE).count() >= 2, "in the step and in the raw reply, as words"
    page.keyboard.press("v")
    window.wait_for_text("Image Understanding error")
    window.wait_for_text("2 of 3 wrong")
    window.check_accessibility()
    window.save_screenshots("trace-twi", full=False)


def test_the_reference_is_shown_only_when_asked_for(window: PageWindow, question_folder: Path) -> None:
    """Hidden, then shown by its key, then carried to the next case."""
    window.go(of(window.site, question_folder / "twi"))
    window.page.get_by_role("heading", name="The reading").wait_for()
    page = window.page
    assert page.get_by_role("heading", name="The reference").count() == 0
    page.keyboard.press("t")
    page.get_by_role("heading", name="The answer").wait_for()
    page.keyboard.press("n")
    window.wait_for_text("This reading failed.")
    window.wait_for_text("case 2 of 2")
    page.get_by_role("heading", name="The answer").wait_for()
    window.wait_for_text("the answer could not be used")
    page.get_by_role("button", name="choose").last.click()
    window.wait_for_text("I cannot say.")
    window.check_accessibility()
    window.save_screenshots("trace-failed", full=False)


def test_cut_outs_stand_in_the_words(window: PageWindow, question_folder: Path) -> None:
    """Where an interleaved text has an image mark, the cut-out is shown, and no mark."""
    window.go(of(window.site, question_folder / "interleaved") + "?step=2")
    window.page.get_by_role("heading", name="The reading").wait_for()
    page = window.page
    cut = page.locator(".trace-chosen .trace-words .trace-cutout img")
    cut.wait_for()
    assert cut.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    assert page.get_by_text("<image>").count() == 0
    page.keyboard.press("t")
    page.get_by_role("heading", name="The reference", exact=True).wait_for()
    window.check_accessibility()
    window.save_screenshots("trace-interleaved", full=False)


def test_broken_places_are_told_beside_the_step(window: PageWindow, question_folder: Path) -> None:
    """What cannot be drawn is said, and asked of nobody: the console stays quiet."""
    for run in ("broken-film", "broken-ct"):
        window.go(of(window.site, question_folder / run) + "?step=1")
        window.page.get_by_text("cannot be drawn", exact=True).first.wait_for()
    window.wait_for_text("the mask file is missing")
    window.check_accessibility()


def test_masks_of_a_ct_are_shown(window: PageWindow, shelf_folder: Path) -> None:
    """The slice with the mask, and the reference's slice when it is asked for."""
    path = of(window.site, shelf_folder / "runs/rexgroundingct/atlas")
    steps = window.site.get(f"/api{path}")["steps"]
    number = next(n for n, s in enumerate(steps, 1) if s["regions"] and s["regions"][0]["kind"] == "mask")
    window.go(f"{path}?step={number}&truth=1")
    window.wait_for_text("the slice where the mask is largest")
    slices = window.page.locator(".trace-slice img")
    slices.nth(1).wait_for()
    for n in range(2):
        assert slices.nth(n).evaluate("i => i.decode().then(() => i.naturalWidth)") > 0
    window.check_accessibility()
    window.save_screenshots("trace-ct", full=False)
