"""Adjudication in a browser, by keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, expect

from overread.build.adjudication import Queue, verify_log
from tests.site.browser import Eyes
from tests.site.builds.question_folders import mixed_folder
from tests.site.served_site import Site, served


def seated(eyes: Eyes, asked_folder: Path, person: str) -> Eyes:
    """Somebody who has said who they are, by keys."""
    build = eyes.site.shelf_id("builds", asked_folder.name)
    eyes.go(f"/builds/{build}/adjudicate")
    eyes.page.get_by_label("Your name or initials").wait_for()
    eyes.page.locator("input:focus").wait_for()
    eyes.page.keyboard.type(person)
    eyes.page.keyboard.press("Enter")
    eyes.page.get_by_text(f"You are {person}").wait_for()
    return eyes


def keys(eyes: Eyes, *pressed: str) -> None:
    """Press some keys, one after the other."""
    for key in pressed:
        eyes.page.keyboard.press(key)


def told(eyes: Eyes, text: str) -> None:
    """Wait until the line about what was done says so."""
    eyes.page.locator(".adjudicate-told", has_text=text).wait_for()


def given(asked_folder: Path, person: str) -> list[tuple[Any, ...]]:
    """What the log holds of a person."""
    return [
        (one.item, one.verdict, one.reasons, one.note, one.corrected)
        for one in Queue(asked_folder).current_verdicts()
        if one.person == person
    ]


def test_a_whole_read_by_keyboard_alone(browser: Browser, desk: Site, asked_folder: Path) -> None:
    """Every question is read, with reasons, a note, 'cannot judge', putting off and undoing."""
    with Eyes.on(browser, desk) as eyes:
        seated(eyes, asked_folder, "ann")
        eyes.see("Does trace 1 hold?")
        keys(eyes, "Enter")
        told(eyes, "Choose a verdict first")
        keys(eyes, "2")
        code = eyes.page.get_by_role("button", name="wrong-side")
        keys(eyes, str(code.locator("kbd").text_content()), "n")
        eyes.page.keyboard.type("the other lung; u and s are letters here")
        keys(eyes, "Control+Enter")
        told(eyes, "Kept on item1: reject, wrong-side")
        eyes.see("Does trace 2 hold?")
        keys(eyes, "s")
        told(eyes, "Put off: item2")
        eyes.page.get_by_text("A nodule.").wait_for()
        keys(eyes, "0", "Enter")
        told(eyes, "Kept on item3: cannot judge")
        eyes.page.get_by_text("sarcoid nodules").wait_for()
        keys(eyes, "1", "Enter")
        told(eyes, "Kept on item4: leak")
        eyes.see("Does trace 2 hold?")  # the one that was put off comes back
        keys(eyes, "u")
        told(eyes, "Taken back: leak, on item4")
        eyes.page.get_by_text("sarcoid nodules").wait_for()
        keys(eyes, "2", "Enter")
        told(eyes, "Kept on item4: none")
        eyes.see("Does trace 2 hold?")
        keys(eyes, "1", "Enter")
        eyes.see("No questions left for you")
        keys(eyes, "Control+z")
        told(eyes, "Taken back: accept, on item2")
        eyes.page.get_by_role("button", name="1 accept", pressed=True).wait_for()
        keys(eyes, "Enter")
        eyes.see("You have given 4 verdicts")
    note = "the other lung; u and s are letters here"
    assert given(asked_folder, "ann") == [
        ("item1", "reject", ("wrong-side",), note, None),
        ("item3", "cannot judge", (), "", None),
        ("item4", "none", (), "", None),
        ("item2", "accept", (), "", None),
    ]
    found = verify_log(asked_folder)
    assert found.intact
    assert found.lines == 8  # four, two undone, two given again


def test_other_needs_words_as_at_the_terminal(
    browser: Browser, desk: Site, asked_folder: Path
) -> None:
    """The refusal is told, nothing is lost, and with words the verdict is taken."""
    with Eyes.on(browser, desk) as eyes:
        eyes.expected.append("422")
        seated(eyes, asked_folder, "ann")
        eyes.see("Does trace 1 hold?")
        other = eyes.page.get_by_role("button", name="other", exact=False).last
        keys(eyes, "1", str(other.locator("kbd").text_content()))
        eyes.see("“other” needs a note")
        keys(eyes, "Enter")
        eyes.see("the reason 'other' says nothing")
        assert given(asked_folder, "ann") == []
        keys(eyes, "n")
        eyes.page.keyboard.type("it is odd")
        keys(eyes, "Escape", "Enter")
        told(eyes, "Kept on item1")
    assert given(asked_folder, "ann") == [("item1", "accept", ("other",), "it is odd", None)]


def test_a_box_is_corrected_by_keys_as_the_terminal_writes_it(
    browser: Browser, desk: Site, asked_folder: Path
) -> None:
    """The asked box is taken over, moved and resized by arrows, typed; two are 'boxes'."""
    with Eyes.on(browser, desk) as eyes:
        seated(eyes, asked_folder, "ann")
        eyes.see("Does trace 1 hold?")
        eyes.page.locator(".stage-picture").wait_for()
        keys(eyes, "2", "b")
        eyes.page.locator('[data-box="draft-1"]:focus').wait_for()
        keys(eyes, "ArrowRight", "Shift+ArrowDown", "Escape", "Escape")
        eyes.page.locator(".adjudicate-panel:focus").wait_for()
        shown = eyes.page.locator(".adjudicate-instead code").text_content()
        left = eyes.page.get_by_label("left")
        assert int(left.input_value()) > 40, shown
        left.focus()
        keys(eyes, "Control+a")
        eyes.page.keyboard.type("44")
        keys(eyes, "Enter")
        eyes.page.locator(".adjudicate-instead code", has_text='"box":[44,').wait_for()
        eyes.shoot("adjudicate-box")
        eyes.axe()
        bottom = int(eyes.page.get_by_label("bottom").input_value())
        right = int(eyes.page.get_by_label("right").input_value())
        keys(eyes, "Enter")
        eyes.see("Does trace 2 hold?")
        assert bottom > 120
        assert right > 90
        keys(eyes, "2", "b", "Escape", "Escape", "b", "Escape", "Escape", "Enter")
        told(eyes, "Kept on item2")
    one, two = given(asked_folder, "ann")
    assert one[4] == {"box": [44, 50, right, bottom]}
    assert two[4] == {"boxes": [[40, 50, 90, 120], [60, 75, 100, 125]]}


def test_a_box_is_drawn_with_the_mouse(browser: Browser, desk: Site, asked_folder: Path) -> None:
    """After drawing, the keys are the question's again."""
    with Eyes.on(browser, desk) as eyes:
        seated(eyes, asked_folder, "ann")
        eyes.see("Does trace 1 hold?")
        picture = eyes.page.locator(".stage-picture")
        picture.wait_for()
        eyes.page.get_by_role("button", name="Mark a box").click()
        at = picture.bounding_box()
        assert at is not None
        scale = at["width"] / 160
        eyes.page.mouse.move(at["x"] + 20 * scale, at["y"] + 30 * scale)
        eyes.page.mouse.down()
        eyes.page.mouse.move(at["x"] + 70 * scale, at["y"] + 90 * scale, steps=4)
        eyes.page.mouse.up()
        eyes.page.locator(".adjudicate-instead").wait_for()
        eyes.page.locator(".adjudicate-panel:focus").wait_for()
        keys(eyes, "1", "Enter")
        told(eyes, "Kept on item1: accept")
    ((_, _, _, _, data),) = given(asked_folder, "ann")
    assert data is not None
    assert np.allclose(data["box"], [20, 30, 70, 90], atol=2)


def test_slices_are_marked_on_a_scan(browser: Browser, desk: Site, asked_folder: Path) -> None:
    """First and last slice, by keys, are the slices between them."""
    with Eyes.on(browser, desk) as eyes:
        seated(eyes, asked_folder, "ann")
        eyes.see("Does trace 1 hold?")
        keys(eyes, "s")
        eyes.see("Does trace 2 hold?")
        keys(eyes, "s")
        eyes.see("axial 8 of 0–15")
        keys(eyes, "ArrowDown", "ArrowDown", "f", "ArrowUp", "ArrowUp", "ArrowUp", "l")
        eyes.see("axial 9 of 0–15 · marked")
        keys(eyes, "p", "w", "+")
        eyes.see("coronal 10 of 0–19")
        keys(eyes, "p", "p")
        eyes.shoot("adjudicate-scan")
        eyes.axe()
        keys(eyes, "1", "Enter")
        told(eyes, "Kept on item3: drawn")
    assert given(asked_folder, "ann") == [("item3", "drawn", (), "", {"slices": [6, 7, 8, 9]})]


def test_two_people_at_once_and_nothing_of_the_other(
    browser: Browser, desk: Site, asked_folder: Path
) -> None:
    """Two windows read the same questions in turn; neither shows anything of the other's read."""
    seen: list[str] = []
    with Eyes.on(browser, desk) as one, Eyes.on(browser, desk) as other:
        other.page.on("response", lambda answer: seen.append(_body(answer)))
        seated(one, asked_folder, "ann")
        seated(other, asked_folder, "bob")
        for number in (1, 2):
            for eyes in (one, other):
                eyes.see(f"Does trace {number} hold?")
            keys(one, "2", "n")
            one.page.keyboard.type("zebra")
            keys(one, "Control+Enter")
            told(one, f"Kept on item{number}: reject")
            assert "zebra" not in str(other.page.content())
            keys(other, "1", "Enter")
            told(other, f"Kept on item{number}: accept")
            assert "ann" not in other.page.locator("main").inner_text().split()
    assert len(seen) > 5
    assert not any("zebra" in body or '"ann"' in body for body in seen)
    assert len(given(asked_folder, "ann")) == len(given(asked_folder, "bob")) == 2
    assert verify_log(asked_folder).lines == 4


def _body(answer: Any) -> str:
    kind = answer.headers.get("content-type", "")
    return str(answer.text()) if kind.startswith("application/json") else ""


def test_a_verdict_survives_a_server_that_is_gone(
    browser: Browser, desk: Site, asked_folder: Path
) -> None:
    """The draft stays, the page says what is wrong, and the same key sends it again."""
    with Eyes.on(browser, desk) as eyes:
        eyes.expected.append("ERR_")
        seated(eyes, asked_folder, "ann")
        eyes.see("Does trace 1 hold?")
        keys(eyes, "2")
        eyes.page.route("**/queue/verdicts", lambda route: route.abort())
        keys(eyes, "Enter")
        eyes.see("the server does not answer")
        eyes.page.get_by_role("button", name="2 reject", pressed=True).wait_for()
        eyes.page.unroute("**/queue/verdicts")
        expect(eyes.page.get_by_role("button", name="Give")).to_be_enabled()
        keys(eyes, "Enter")
        told(eyes, "Kept on item1: reject")
    assert [one[1] for one in given(asked_folder, "ann")] == ["reject"]


def test_a_read_only_page_says_why_nothing_can_be_given(browser: Browser, tmp_path: Path) -> None:
    """No tools, and the reason."""
    mixed_folder(tmp_path / "asked")
    with served([tmp_path], "--read-only") as site, Eyes.on(browser, site) as eyes:
        build = site.shelf_id("builds", "asked")
        eyes.go(f"/builds/{build}/adjudicate")
        eyes.see("This page is read-only")
        assert eyes.page.get_by_role("textbox").count() == 0
        eyes.go(f"/builds/{build}")
        eyes.see("verdicts cannot be given here")
        assert eyes.page.get_by_role("link", name="Adjudicate").count() == 0
