"""`overread doctor`: what is installed, what is missing, how to get it."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from typing import Any

from overread.cli.arguments import AsJson

_PURPOSES = {
    "pydantic": "records",
    "pydantic-core": "JSON of records",
    "numpy": "arrays",
    "scipy": "lung segmentation, the phantom",
    "pillow": "PNG and JPEG",
    "nibabel": "NIfTI headers",
    "zlib-ng": "fast gzip",
    "pydicom": "DICOM",
    "python-gdcm": "compressed DICOM",
    "pyarrow": "parquet",
    "huggingface-hub": "fetching releases (overread get)",
    "typer": "the command line",
    "rich": "tables and progress",
    "openai": "models behind an endpoint",
    "httpx2": "connections to an endpoint",
    "fastapi": "the page's server (overread view)",
    "starlette": "the page's server",
    "anyio": "the page's server",
    "uvicorn": "the page's server",
    "torch": "local models",
    "transformers": "local vision-language models",
    "inspect-ai": "the tasks of Inspect AI",
    "highdicom": "DICOM segmentations (overread export)",
}
_PROGRAMS = {
    "node": ("building the page from a checkout", "apt-get install nodejs"),
    "chromium": ("testing the page", "apt-get install chromium"),
}


@dataclass(frozen=True)
class Requirement:
    """One thing that was looked for."""

    name: str
    found: str | None
    purpose: str
    remedy: str
    needed: bool = True


def doctor(as_json: AsJson = False) -> None:
    """Say what is installed, what is missing and how to get it."""
    from overread.cli.console import print_json

    parts = find_requirements()
    if as_json:
        print_json({"ok": _is_complete(parts), "parts": [asdict(part) for part in parts]})
    else:
        _print(parts)
    sys.exit(0 if _is_complete(parts) else 1)


def find_requirements() -> list[Requirement]:
    """Everything the doctor looks at."""
    new_enough = sys.version_info >= (3, 11)
    parts = [
        Requirement(
            name="python",
            found=platform.python_version() if new_enough else None,
            purpose="3.11 or newer",
            remedy="install Python 3.11",
        )
    ]
    declared = _declared_packages()
    parts += [part for part in declared if part.needed]
    remedy = "run `pip install -e .` again in the checkout, or install a wheel"
    parts.append(Requirement("the page", _page_state(), "overread view", remedy, needed=False))
    syntaxes = _decoders()
    able = [name for name, can in syntaxes.items() if can]
    parts.append(Requirement("DICOM syntaxes", f"{len(able)} can be decoded", "compressed pictures", ""))
    for name in syntaxes.keys() - able:
        remedy = "decompress such files first, for example with dcmdjpeg or gdcmconv"
        parts.append(Requirement(name, None, "DICOM transfer syntax", remedy, needed=False))
    parts += [part for part in declared if not part.needed]
    for name, (purpose, remedy) in _PROGRAMS.items():
        parts.append(Requirement(name, shutil.which(name), purpose, remedy, needed=False))
    return parts


def _declared_packages() -> list[Requirement]:
    """What the package's own metadata says that it needs, and what its extras add for users."""
    parts = []
    for line in importlib.metadata.requires("overread") or ():
        requirement, _, condition = line.partition(";")
        name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)", condition)
        if extra and extra[1] == "dev":
            continue
        purpose, remedy = _PURPOSES.get(name, ""), f"pip install '{requirement.strip()}'"
        parts.append(Requirement(name, _version(name), purpose, remedy, needed=extra is None))
    return parts


def _page_state() -> str | None:
    """Whether the built page is there."""
    from importlib.resources import files

    built = files("overread.site").joinpath("assets", "index.html").is_file()
    return "built" if built else None


def _decoders() -> dict[str, bool]:
    try:
        from overread.pixels.dicom.file import decodable_syntaxes
    except ImportError:
        return {}
    return decodable_syntaxes()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_complete(parts: list[Requirement]) -> bool:
    return all(part.found is not None for part in parts if part.needed)


def _print(parts: list[Requirement]) -> None:
    from rich.table import Table

    from overread import __version__
    from overread.cli.console import stdout_console

    table: Any = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("", "part", "found", "for", "how to get it"):
        table.add_column(column, overflow="fold")
    for part in parts:
        there = part.found is not None
        mark = "[green]✓[/]" if there else "[red]✗[/]" if part.needed else "[yellow]–[/]"
        remedy = "" if there else part.remedy
        table.add_row(mark, part.name, part.found or "missing", part.purpose, remedy)
    console = stdout_console()
    console.print(table)
    missing = [part for part in parts if part.needed and part.found is None]
    if missing:
        console.print(f"\noverread {__version__}: {len(missing)} needed part(s) are missing")
    else:
        console.print(f"\noverread {__version__} has all it needs; '–' is optional")
