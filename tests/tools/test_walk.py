"""The two walks on the page of the architecture are those that a real run takes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def stations(text: str) -> list[set[str]]:
    """The files of each walk; `runs/{spec, store}` are two."""
    walks = []
    for walk in re.split(r"^\*\*", text, flags=re.M)[1:]:
        files: set[str] = set()
        for folder, several, one in re.findall(
            r"`([\w/]*?)(?:\{([^}]*)\}|([\w.]+))`", walk.split("\n", 1)[1]
        ):
            files.update(folder + name.strip() for name in (several or one).split(","))
        walks.append(files)
    return walks


@pytest.mark.slow
def test_the_page_tells_the_walks_as_they_are() -> None:
    """`python -m tools.walk docs/architecture.md` would write what stands there."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.walk"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    told = page.split("<!-- walks -->")[1].split("<!-- end of walks -->")[0]
    walked, written = stations(done.stdout), stations(told)
    assert len(walked) == len(written) == 2
    assert [len(files) > 50 for files in walked] == [True, True]
    assert walked == written
