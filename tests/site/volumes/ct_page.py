"""A CT in the page: opening it, and what is seen on the film."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.site.browser import PageWindow


def opened(window: PageWindow, case: str, *, truth: bool = False) -> None:
    """Open a case and wait until the whole scan is there."""
    datasets = window.site.get("/api/shelf")["datasets"]
    dataset = next(one["id"] for one in datasets if one["benchmark"] == "rexgroundingct")
    window.go(f"/cases/{dataset}/test/{case}")
    window.page.wait_for_selector('.ct-film[data-state="whole"]')
    if truth:
        window.page.get_by_role("button", name="Show the truth").click()
        window.page.wait_for_function(
            "() => !['', 'waiting'].includes(document.querySelector('.ct-film').dataset.marks)"
        )
    settle(window)


def settle(window: PageWindow) -> None:
    """Wait until what was asked for has been drawn."""
    window.page.evaluate(
        "() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(d))))"
    )


def film(window: PageWindow) -> NDArray[Any]:
    """What is seen on the film."""
    settle(window)
    with Image.open(io.BytesIO(window.page.locator(".ct-film canvas").screenshot())) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def voxel(window: PageWindow) -> tuple[int, ...]:
    """Where the crosshair is."""
    settle(window)
    text = window.page.locator("output[data-voxel]").get_attribute("data-voxel") or ""
    return tuple(map(int, text.split()))


def slide(window: PageWindow, plane: str, to: int) -> None:
    """Move a slider, as the keyboard does."""
    window.page.get_by_label(f"{plane} slice").fill(str(to))
