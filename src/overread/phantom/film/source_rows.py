"""Source rows for the MMRad recipe: a raw report and the boxes of the regions."""

from __future__ import annotations

from typing import Any

from overread.phantom.film.report import XrayReport
from overread.phantom.film.sign import FilmContents


def make_source_row(
    film: str, patient: str, image: str, sight: FilmContents, report: XrayReport
) -> dict[str, Any]:
    """One film as the sources have it: the report as a hospital writes it, and no sign named."""
    return {
        "id": film,
        "patient": patient,
        "image": image,
        "view": sight.view,
        "width": sight.columns,
        "height": sight.rows,
        "report": report.text,
        "regions": [{"name": name, "box": list(box)} for name, box in sight.regions.items()],
    }
