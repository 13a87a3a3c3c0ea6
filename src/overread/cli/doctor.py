"""`overread doctor`: what is installed, what is missing, how to get it."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from overread.cli.arguments import AsJson

if TYPE_CHECKING:
    from overread.metrics.clinical.models.weights import WeightFiles

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
    "simplejpeg": "damage in the middle of JPEGs",
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
    "pandas": "results as a table (card.to_pandas)",
    "polars": "results as a table (card.to_polars)",
    "mlflow": "results to MLflow (--log-to)",
    "wandb": "results to Weights & Biases (--log-to)",
    "tensorboard": "results to TensorBoard (--log-to)",
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

    parts, weights = find_requirements(), find_metric_weights()
    if as_json:
        print_json(
            {
                "ok": _is_complete(parts),
                "parts": [asdict(part) for part in parts],
                "weights": [asdict(own) for own in weights],
            }
        )
    else:
        _print(parts)
        _print_weights(weights)
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


@dataclass(frozen=True)
class MetricWeights:
    """The weights of one model that metrics ask."""

    model: str
    folder: str
    """Where they lie, or where they are looked for."""
    lacking: str | None
    """What is to be put there; None where they are there."""
    source: str
    metrics: list[str]
    """Those that cannot be scored without them."""


def find_metric_weights() -> list[MetricWeights]:
    """The weights that metrics ask for, those of several metrics once."""
    from overread import catalog
    from overread.errors import MissingPart

    users: dict[WeightFiles, list[str]] = {}
    for name in catalog.names("metrics"):
        for weights in catalog.find("metrics", name).weights:
            users.setdefault(weights, []).append(name)
    found = []
    for weights, metrics in users.items():
        folder, lacking = "", None
        try:
            folder = str(weights.find())
        except MissingPart as missing:
            folder, lacking = missing.where, missing.remedy
        found.append(MetricWeights(weights.model, folder, lacking, weights.source, metrics))
    return found


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


def _print_weights(weights: list[MetricWeights]) -> None:
    """One line for each model: whether its weights are there, where, and for which metrics."""
    from rich.table import Table

    from overread.cli.console import safe, stdout_console

    table: Any = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("", "weights", "folder", "from", "for the metrics"):
        table.add_column(column, overflow="fold")
    for own in weights:
        mark = "[yellow]–[/]" if own.lacking else "[green]✓[/]"
        # Those of the findings need what those of the report need, and ceilings come with them.
        shown = [name for name in own.metrics if not name.startswith(("ceiling_", "findings_"))]
        table.add_row(mark, safe(own.model), safe(own.folder), safe(own.source), ", ".join(shown))
    console = stdout_console()
    console.print()
    console.print(table)
    console.print(
        "\n'–': the folder lacks files, and these metrics, also as findings_…, are said to be missing; "
        "OVERREAD_MODELS names another folder of models"
    )
