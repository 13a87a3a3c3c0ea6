"""A shelf, a server and a real browser for the tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.made_once import made_once

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.site.browser import PageWindow
    from tests.site.served_site import Site

ASSETS = Path(__file__).resolve().parents[2] / "src" / "overread" / "site" / "assets"


@pytest.fixture(scope="session")
def shelf_folder(once_folder: Path, request: pytest.FixtureRequest) -> Path:
    """Patients, runs and an audit, made once for all test processes; not to be changed."""
    from tests.site.served_site import make_shelf

    def make(folder: Path) -> None:
        make_shelf(folder, request.getfixturevalue("patients"))

    # The variable spares the making while one works on the page.
    return made_once(Path(os.environ.get("OVERREAD_TEST_SHELF", once_folder), "shelf"), make)


@pytest.fixture
def own_shelf(shelf_folder: Path, tmp_path: Path) -> Path:
    """A copy of the shelf that a test may change; scans are links, to be removed before writing."""

    def copy(file: str, to: str) -> None:
        (os.link if file.endswith(".nii.gz") else shutil.copy2)(file, to)

    return Path(shutil.copytree(shelf_folder, tmp_path / "shelf", copy_function=copy))


@pytest.fixture(scope="session")
def site(shelf_folder: Path) -> Iterator[Site]:
    """The page on the shelf, read-only, so that no test disturbs another."""
    from tests.site.served_site import serve_site

    with serve_site([shelf_folder], "--read-only") as found:
        yield found


@pytest.fixture(scope="session")
def hidden_site(shelf_folder: Path) -> Iterator[Site]:
    """The same page, where the truth is withheld."""
    from tests.site.served_site import serve_site

    with serve_site([shelf_folder], "--hide-truth", "--read-only") as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium; gone after each module, since it keeps an event loop running."""
    from tests.site.browser import launch_browser

    assert (ASSETS / "index.html").is_file(), "the page is not built: npm run build in web/"
    with launch_browser() as found:
        yield found


@pytest.fixture
def window(browser: Browser, site: Site) -> Iterator[PageWindow]:
    """A window on the page; the test fails if the page wrote an error to the console."""
    from tests.site.browser import PageWindow

    with PageWindow.open(browser, site) as found:
        yield found


@pytest.fixture(scope="module")
def writable_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page where verdicts may be given; each test puts a folder of its own on its shelf."""
    from tests.site.builds.question_folders import mixed_folder
    from tests.site.served_site import serve_site

    home = tmp_path_factory.mktemp("writable_site")
    mixed_folder(home / "first")
    with serve_site([home]) as site:
        site.home = home
        yield site


@pytest.fixture
def question_folder(writable_site: Site, request: pytest.FixtureRequest) -> Path:
    """Two films, a scan and a text, read by nobody yet, on the shelf of the writable site."""
    from tests.site.builds.question_folders import mixed_folder

    assert writable_site.home is not None
    made = mixed_folder(writable_site.home / request.node.name[:60])
    writable_site.get("/api/shelf?again=1")
    return made
