"""docs/metrics.md names every metric of the catalog and every setting of the mask scores."""

from __future__ import annotations

import re
from pathlib import Path

from overread import catalog
from overread.metrics.judged import METRICS as JUDGED
from overread.metrics.masks.settings import MaskSettings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text("utf-8")
_PREFIX = re.compile(r"^(honest_|ceiling_)?(global_only_|findings_)?")


def test_every_metric_is_on_the_page() -> None:
    """Each name of the catalog stands there, but for the prefixes that the page explains."""
    for prefix in ("honest_", "ceiling_", "global_only_", "findings_"):
        assert f"| `{prefix}` |" in PAGE
    missing = [
        name
        for name in catalog.names("metrics")
        if name not in JUDGED and f"`{name}`" not in PAGE and f"`{_PREFIX.sub('', name)}`" not in PAGE
    ]
    assert missing == []


def test_every_mask_setting_is_on_the_page() -> None:
    """What can be set stands in the table of settings."""
    table = PAGE[PAGE.index("| setting | default |") :].split("\n\n")[0]
    for name in MaskSettings().as_settings():
        assert f"`{name}`" in table
