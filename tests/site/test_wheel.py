"""The package carries the page: a wheel that is installed needs no Node."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.site.served_site import serve_site

HOUSE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from the checkout."""
    out = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    words += ["--disable-pip-version-check", "--wheel-dir", str(out), str(HOUSE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_carries_the_page_and_not_its_source(wheel: Path) -> None:
    """Built files are in it; TypeScript and what it is built with are not."""
    names = zipfile.ZipFile(wheel).namelist()
    assert "overread/site/assets/index.html" in names
    assert any(n.startswith("overread/site/assets/assets/") and n.endswith(".js") for n in names)
    assert not [n for n in names if n.endswith((".ts", ".tsx")) or "node_modules" in n]


def test_the_page_is_not_committed() -> None:
    """Git knows nothing of the built files."""
    if not (HOUSE / ".git").exists():
        pytest.skip("not a checkout")
    done = subprocess.run(
        ["git", "ls-files", "src/overread/site/assets", "web/node_modules"],
        cwd=HOUSE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""


@pytest.mark.slow
def test_an_installed_wheel_serves_the_page_without_node(
    wheel: Path, tmp_path: Path, shelf_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no Node on the path the page is there, from the wheel's own files."""
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    words += ["--disable-pip-version-check", "--target", str(tmp_path / "there"), str(wheel)]
    subprocess.run(words, check=True, capture_output=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "there"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("node", path=os.environ["PATH"]) is None
    monkeypatch.chdir(tmp_path)
    with serve_site([shelf_folder]) as site:
        page = site.ask("/")
        assert page.status == 200
        script = page.body.decode().split('src="', 1)[1].split('"', 1)[0]
        answer = site.ask(script)
        assert answer.status == 200
        assert "javascript" in answer.headers["content-type"]
        assert "immutable" in answer.headers["cache-control"]
