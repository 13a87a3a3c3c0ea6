"""The page's source keeps the house's rules: small files, strict types, nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
WEB = HOUSE / "web"
SOURCES = sorted(f for f in (WEB / "src").rglob("*.ts*") if f.name != "schema.ts")
SITE = HOUSE / "src" / "overread" / "site"
STYLES = sorted([*(WEB / "src").rglob("*.css"), SITE / "report" / "report.css"])
ASSETS = SITE / "assets"


def test_there_is_something_to_look_at() -> None:
    """The rules below are not about an empty folder."""
    assert len(SOURCES) > 30
    assert len(STYLES) > 2


@pytest.mark.parametrize("file", SOURCES + STYLES, ids=lambda f: str(f.relative_to(HOUSE)))
def test_files_are_small(file: Path) -> None:
    """No file is over 400 lines."""
    assert len(file.read_text("utf-8").splitlines()) <= 400


@pytest.mark.parametrize("file", SOURCES, ids=lambda f: str(f.relative_to(HOUSE)))
def test_types_are_not_waved_through(file: Path) -> None:
    """No `any`, no silenced checker, and no text that becomes markup."""
    text = file.read_text("utf-8")
    assert not re.search(r"[:<]\s*any\b(?! )|\bas any\b", text)
    assert "@ts-ignore" not in text
    assert "@ts-nocheck" not in text
    if ".test." in file.name:
        return
    for door in ("dangerouslySetInnerHTML", ".innerHTML", ".outerHTML", "insertAdjacentHTML", "eval("):
        assert door not in text, door


@pytest.mark.parametrize("file", STYLES, ids=lambda f: str(f.relative_to(HOUSE)))
def test_colours_are_named_in_one_place(file: Path) -> None:
    """Only tokens.css names a colour, so that light and dark hold everywhere."""
    found = re.findall(
        r"(?<![\w-])#[0-9a-fA-F]{3,8}\b|rgba?\((?!from var)[^)]*\)|hsla?\(", file.read_text("utf-8")
    )
    assert not found


def test_nothing_is_fetched_from_elsewhere() -> None:
    """The built page names no other host that it would load something from."""
    index = (ASSETS / "index.html").read_text("utf-8")
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", index)
    for file in (ASSETS / "assets").glob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", file.read_text("utf-8")), file.name


def test_the_built_page_is_current() -> None:
    """What is served was built from what stands in web/."""
    words = "import build_page as b; from pathlib import Path; assert b.is_built(Path('.').resolve())"
    done = subprocess.run([sys.executable, "-c", words], cwd=WEB, capture_output=True, check=False)
    assert done.returncode == 0, "make page"


def test_the_description_of_the_api_is_current() -> None:
    """docs/openapi.json is what the server answers."""
    words = [sys.executable, str(HOUSE / "tools" / "write_openapi.py"), "--check"]
    assert subprocess.run(words, check=False).returncode == 0
