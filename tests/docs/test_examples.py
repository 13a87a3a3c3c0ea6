"""The examples in README and docs/ are run: what they print is what the page says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.M | re.S)


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text("utf-8"))]


def commands(text: str) -> list[tuple[str, list[str]]]:
    """(command, the lines it should print) of a console block."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line.rstrip())
    return found


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Line by line; `…` stands for any lines, and within a line for any part of it."""
    if not expected:
        return True
    pattern = ""
    for line in expected:
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            # " …" at a line's end may also stand for nothing.
            parts = line.removesuffix(" …").split("…")
            rest = ".*" if line.endswith(" …") else "[ ]*"
            pattern += ".+?".join(map(re.escape, parts)) + rest + r"\n"
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed)) is not None


def draws_patients(page: Path) -> bool:
    """Whether its examples make patients with pictures, of which each takes seconds."""
    started = [c for kind, text in blocks(page) if kind == "console" for c, _ in commands(text)]
    return any(
        command.startswith(("overread demo", "overread phantom")) and "--text-only" not in command
        for command in started
    )


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] if draws_patients(p) else []) for p in PAGES],
    ids=lambda page: page.name,
)
def test_examples_run_and_print_what_they_say(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a page, from top to bottom, in one fresh folder."""
    monkeypatch.chdir(tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    names: dict[str, object] = {}
    for kind, text in blocks(page):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, page.name, "exec"), names)
            continue
        for command, expected in commands(text):
            done = subprocess.run(
                ["bash", "-c", command],
                env={k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert "Traceback" not in done.stderr, command
            printed = done.stdout.splitlines()
            assert agrees(expected, printed), f"{command}\n" + "\n".join(printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links of a page point at files that are there."""
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_architecture_names_every_room() -> None:
    """Every folder and module of the package has its line in the picture of the house."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    package = ROOT / "src" / "overread"
    for path in package.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            assert f"{path.name}/ " in text, path.name
        elif path.suffix == ".py" and not path.stem.startswith("__"):
            assert path.name in text


def test_every_defect_is_explained() -> None:
    """No defect code in the source is without its meaning in the table."""
    from overread.core.defects import KINDS

    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    used = set(re.findall(r'code="([a-z-]+)"', source))
    assert used <= set(KINDS)
    for code in KINDS:
        assert source.count(f'"{code}"') >= 2, f"{code} is never used"
