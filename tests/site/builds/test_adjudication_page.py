"""Adjudication in a browser, by keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, expect

from overread.build.adjudication import Queue, verify_log
from tests.site.browser import PageWindow
from tests.site.builds.question_folders import mixed_folder
from tests.site.served_site import Site, serve_site


def seated(window: PageWindow, question_folder: Path, person: str) -> PageWindow:
    """Somebody who has said who they are, by keys."""
    build = window.site.shelf_id("builds", question_folder.name)
    window.go(f"/builds/{build}/adjudicate")
    window.page.get_by_label("Your name or initials").wait_for()
    window.page.locator("input:focus").wait_for()
    window.page.keyboard.type(person)
    window.page.keyboard.press("Enter")
    window.page.get_by_text(f"You are {person}").wait_for()
    return window


def keys(window: PageWindow, *pressed: str) -> None:
    """Press some keys, one after the other."""
    for key in pressed:
        window.page.keyboard.press(key)


def told(window: PageWindow, text: str) -> None:
    """Wait until the line about what was done says so."""
    window.page.locator(".adjudicate-told", has_text=text).wait_for()


def given(question_folder: Path, person: str) -> list[tuple[Any, ...]]:
    """What the log holds of a person."""
    return [
        (one.item, one.verdict, one.reasons, one.note, one.corrected)
        for one in Queue(question_folder).current_verdicts()
        if one.person == person
    ]


def test_a_whole_read_by_keyboard_alone(browser: Browser, writable_site: Site, question_folder: Path) -> None:
    """Every question is read, with reasons, a note, 'cannot judge', putting off and undoing."""
    with PageWindow.open(browser, writable_site) as window:
        seated(window, question_folder, "ann")
        window.wait_for_text("Does trace 1 hold?")
        keys(window, "Enter")
        told(window, "Choose a verdict first")
        keys(window, "2")
        code = window.page.get_by_role("button", name="wrong-side")
        keys(window, str(code.locator("kbd").text_content()), "n")
        window.page.keyboard.type("the other lung; u and s are letters here")
        keys(window, "Control+Enter")
        told(window, "Saved for item1: reject, wrong-side")
        window.wait_for_text("Does trace 2 hold?")
        keys(window, "s")
        told(window, "Skipped: item2")
        window.page.get_by_text("A nodule.").wait_for()
        keys(window, "0", "Enter")
        told(window, "Saved for item3: cannot judge")
        window.page.get_by_text("sarcoid nodules").wait_for()
        keys(window, "1", "Enter")
        told(window, "Saved for item4: leak")
        window.wait_for_text("Does trace 2 hold?")  # the one that was skipped comes back
        keys(window, "u")
        told(window, "Undone: leak, on item4")
        window.page.get_by_text("sarcoid nodules").wait_for()
        keys(window, "2", "Enter")
        told(window, "Saved for item4: none")
        window.wait_for_text("Does trace 2 hold?")
        keys(window, "1", "Enter")
        window.wait_for_text("No questions left for you")
        keys(window, "Control+z")
        told(window, "Undone: accept, on item2")
        window.page.get_by_role("button", name="1 accept", pressed=True).wait_for()
        keys(window, "Enter")
        window.wait_for_text("You have given 4 verdicts")
    note = "the other lung; u and s are letters here"
    assert given(question_folder, "ann") == [
        ("item1", "reject", ("wrong-side",), note, None),
        ("item3", "cannot judge", (), "", None),
        ("item4", "none", (), "", None),
        ("item2", "accept", (), "", None),
    ]
    found = verify_log(question_folder)
    assert found.intact
    assert found.lines == 8  # four, two undone, two given again


def test_other_needs_words_as_at_the_terminal(
    browser: Browser, writable_site: Site, question_folder: Path
) -> None:
    """The refusal is told, nothing is lost, and with words the verdict is taken."""
    with PageWindow.open(browser, writable_site) as window:
        window.expected.append("422")
        seated(window, question_folder, "ann")
        window.wait_for_text("Does trace 1 hold?")
        other = window.page.get_by_role("button", name="other", exact=False).last
        keys(window, "1", str(other.locator("kbd").text_content()))
        window.wait_for_text("“other” needs a note")
        keys(window, "Enter")
        window.wait_for_text("the reason 'other' says nothing")
        assert given(question_folder, "ann") == []
        keys(window, "n")
        window.page.keyboard.type("it is odd")
        keys(window, "Escape", "Enter")
        told(window, "Saved for item1")
    assert given(question_folder, "ann") == [("item1", "accept", ("other",), "it is odd", None)]


def test_a_box_is_corrected_by_keys_as_the_terminal_writes_it(
    browser: Browser, writable_site: Site, question_folder: Path
) -> None:
    """The asked box is taken over, moved and resized by arrows, typed; two are 'boxes'."""
    with PageWindow.open(browser, writable_site) as window:
        seated(window, question_folder, "ann")
        window.wait_for_text("Does trace 1 hold?")
        window.page.locator(".stage-picture").wait_for()
        keys(window, "2", "b")
        window.page.locator('[data-box="draft-1"]:focus').wait_for()
        keys(window, "ArrowRight", "Shift+ArrowDown", "Escape", "Escape")
        window.page.locator(".adjudicate-panel:focus").wait_for()
        shown = window.page.locator(".adjudicate-instead code").text_content()
        left = window.page.get_by_label("left")
        assert int(left.input_value()) > 40, shown
        left.focus()
        keys(window, "Control+a")
        window.page.keyboard.type("44")
        keys(window, "Enter")
        window.page.locator(".adjudicate-instead code", has_text='"box":[44,').wait_for()
        window.save_screenshots("adjudicate-box")
        window.check_accessibility()
        bottom = int(window.page.get_by_label("bottom").input_value())
        right = int(window.page.get_by_label("right").input_value())
        keys(window, "Enter")
        window.wait_for_text("Does trace 2 hold?")
        assert bottom > 120
        assert right > 90
        keys(window, "2", "b", "Escape", "Escape", "b", "Escape", "Escape", "Enter")
        told(window, "Saved for item2")
    one, two = given(question_folder, "ann")
    assert one[4] == {"box": [44, 50, right, bottom]}
    assert two[4] == {"boxes": [[40, 50, 90, 120], [60, 75, 100, 125]]}


def test_a_box_is_drawn_with_the_mouse(browser: Browser, writable_site: Site, question_folder: Path) -> None:
    """After drawing, the keys are the question's again."""
    with PageWindow.open(browser, writable_site) as window:
        seated(window, question_folder, "ann")
        window.wait_for_text("Does trace 1 hold?")
        picture = window.page.locator(".stage-picture")
        picture.wait_for()
        window.page.get_by_role("button", name="Mark a box").click()
        at = picture.bounding_box()
        assert at is not None
        scale = at["width"] / 160
        window.page.mouse.move(at["x"] + 20 * scale, at["y"] + 30 * scale)
        window.page.mouse.down()
        window.page.mouse.move(at["x"] + 70 * scale, at["y"] + 90 * scale, steps=4)
        window.page.mouse.up()
        window.page.locator(".adjudicate-instead").wait_for()
        window.page.locator(".adjudicate-panel:focus").wait_for()
        keys(window, "1", "Enter")
        told(window, "Saved for item1: accept")
    ((_, _, _, _, data),) = given(question_folder, "ann")
    assert data is not None
    assert np.allclose(data["box"], [20, 30, 70, 90], atol=2)


def test_slices_are_marked_on_a_scan(browser: Browser, writable_site: Site, question_folder: Path) -> None:
    """First and last slice, by keys, are the slices between them."""
    with PageWindow.open(browser, writable_site) as window:
        seated(window, question_folder, "ann")
        window.wait_for_text("Does trace 1 hold?")
        keys(window, "s")
        window.wait_for_text("Does trace 2 hold?")
        keys(window, "s")
        window.wait_for_text("axial 8 of 0–15")
        keys(window, "ArrowDown", "ArrowDown", "f", "ArrowUp", "ArrowUp", "ArrowUp", "l")
        window.wait_for_text("axial 9 of 0–15 · marked")
        keys(window, "p", "w", "+")
        window.wait_for_text("coronal 10 of 0–19")
        keys(window, "p", "p")
        window.save_screenshots("adjudicate-scan")
        window.check_accessibility()
        keys(window, "1", "Enter")
        told(window, "Saved for item3: drawn")
    assert given(question_folder, "ann") == [("item3", "drawn", (), "", {"slices": [6, 7, 8, 9]})]


def test_two_people_at_once_and_nothing_of_the_other(
    browser: Browser, writable_site: Site, question_folder: Path
) -> None:
    """Two windows read the same questions in turn; neither shows anything of the other's read."""
    seen: list[str] = []
    with PageWindow.open(browser, writable_site) as one, PageWindow.open(browser, writable_site) as other:
        other.page.on("response", lambda answer: seen.append(_body(answer)))
        seated(one, question_folder, "ann")
        seated(other, question_folder, "bob")
        for number in (1, 2):
            for window in (one, other):
                window.wait_for_text(f"Does trace {number} hold?")
            keys(one, "2", "n")
            one.page.keyboard.type("zebra")
            keys(one, "Control+Enter")
            told(one, f"Saved for item{number}: reject")
            assert "zebra" not in str(other.page.content())
            keys(other, "1", "Enter")
            told(other, f"Saved for item{number}: accept")
            assert "ann" not in other.page.locator("main").inner_text().split()
    assert len(seen) > 5
    assert not any("zebra" in body or '"ann"' in body for body in seen)
    assert len(given(question_folder, "ann")) == len(given(question_folder, "bob")) == 2
    assert verify_log(question_folder).lines == 4


def _body(answer: Any) -> str:
    kind = answer.headers.get("content-type", "")
    return str(answer.text()) if kind.startswith("application/json") else ""


def test_a_verdict_survives_a_server_that_is_gone(
    browser: Browser, writable_site: Site, question_folder: Path
) -> None:
    """The draft stays, the page says what is wrong, and the same key sends it again."""
    with PageWindow.open(browser, writable_site) as window:
        window.expected.append("ERR_")
        seated(window, question_folder, "ann")
        window.wait_for_text("Does trace 1 hold?")
        keys(window, "2")
        window.page.route("**/queue/verdicts", lambda route: route.abort())
        keys(window, "Enter")
        window.wait_for_text("the server does not answer")
        window.page.get_by_role("button", name="2 reject", pressed=True).wait_for()
        window.page.unroute("**/queue/verdicts")
        expect(window.page.get_by_role("button", name="Submit")).to_be_enabled()
        keys(window, "Enter")
        told(window, "Saved for item1: reject")
    assert [one[1] for one in given(question_folder, "ann")] == ["reject"]


def test_a_read_only_page_says_why_nothing_can_be_given(browser: Browser, tmp_path: Path) -> None:
    """No tools, and the reason."""
    mixed_folder(tmp_path / "asked")
    with serve_site([tmp_path], "--read-only") as site, PageWindow.open(browser, site) as window:
        build = site.shelf_id("builds", "asked")
        window.go(f"/builds/{build}/adjudicate")
        window.wait_for_text("This page is read-only")
        assert window.page.get_by_role("textbox").count() == 0
        window.go(f"/builds/{build}")
        window.wait_for_text("verdicts cannot be given here")
        assert window.page.get_by_role("link", name="Adjudicate").count() == 0
