"""Letters on a film: the side marker, and what the technologist has burned in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from overread.phantom.film.sign import View

MARKER_WORDS: dict[View, tuple[str, ...]] = {
    "PA": ("", "", "PA", "PA ERECT", "ERECT"),
    "AP supine": ("AP SUPINE PORTABLE", "PORTABLE\nAP SUPINE", "SUPINE AP", "AP SUPINE"),
    "lateral": ("", "LAT", "LATERAL", "LEFT LATERAL"),
}
"""What may stand on a film of each kind; a supine one always says so."""


def burn_in_markers(pixels: NDArray[np.uint8], view: View, rng: np.random.Generator) -> None:
    """Put the side marker and the words on a film, in the dark corners above the shoulders."""
    rows, columns = pixels.shape
    words = str(rng.choice(MARKER_WORDS[view]))
    size = rows * float(rng.uniform(0.030, 0.045))
    left_marker = view == "lateral" or bool(rng.random() < 0.6)
    # The patient's left is on the picture's right.
    letter = "L" if left_marker else "R"
    margin = columns * float(rng.uniform(0.03, 0.07))
    down = rows * float(rng.uniform(0.025, 0.06))
    at_right = letter == "L" and view != "lateral"
    _burn_words(pixels, letter, size * 1.25, margin, down, at_right=at_right, level=245)
    if words:
        below = down + size * 2 if words.count("\n") or rng.random() < 0.5 else down
        at_right = (not at_right) if below == down else at_right
        _burn_words(pixels, words, size * 0.62, margin, below, at_right=at_right, level=235)


def _burn_words(
    pixels: NDArray[np.uint8],
    words: str,
    size: float,
    margin: float,
    down: float,
    *,
    at_right: bool,
    level: int,
) -> None:
    """Write words near the upper left or the upper right corner."""
    rows, columns = pixels.shape
    font = ImageFont.load_default(max(8.0, size))
    sheet = Pillow.new("L", (columns, rows))
    pen = ImageDraw.Draw(sheet)
    left, _, right, _ = pen.multiline_textbbox((0, 0), words, font=font)
    across = columns - margin - (right - left) if at_right else margin
    pen.multiline_text((across, down), words, fill=255, font=font, align="right" if at_right else "left")
    ink = np.asarray(sheet, np.float32) / 255
    pixels[:] = np.rint(pixels + (level - pixels.astype(np.float32)) * ink).astype(np.uint8)
