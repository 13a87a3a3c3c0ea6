"""A CT in the page: opening it, and what is seen on the film."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.site.browser import Eyes


def opened(eyes: Eyes, case: str, *, truth: bool = False) -> None:
    """Open a case and wait until the whole scan is there."""
    datasets = eyes.site.get("/api/shelf")["datasets"]
    dataset = next(one["id"] for one in datasets if one["benchmark"] == "rexgroundingct")
    eyes.go(f"/cases/{dataset}/test/{case}")
    eyes.page.wait_for_selector('.ct-film[data-state="whole"]')
    if truth:
        eyes.page.get_by_role("button", name="Show the truth").click()
        eyes.page.wait_for_function(
            "() => !['', 'waiting'].includes(document.querySelector('.ct-film').dataset.marks)"
        )
    settle(eyes)


def settle(eyes: Eyes) -> None:
    """Wait until what was asked for has been drawn."""
    eyes.page.evaluate(
        "() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(d))))"
    )


def film(eyes: Eyes) -> NDArray[Any]:
    """What is seen on the film."""
    settle(eyes)
    with Image.open(io.BytesIO(eyes.page.locator(".ct-film canvas").screenshot())) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def voxel(eyes: Eyes) -> tuple[int, ...]:
    """Where the crosshair is."""
    settle(eyes)
    text = eyes.page.locator("output[data-voxel]").get_attribute("data-voxel") or ""
    return tuple(map(int, text.split()))


def slide(eyes: Eyes, plane: str, to: int) -> None:
    """Move a slider, as the keyboard does."""
    eyes.page.get_by_label(f"{plane} slice").fill(str(to))
