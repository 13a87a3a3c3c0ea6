"""The habits of the house, held by tests."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import overread
from overread import core, ontology
from overread.core import Record

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    "numpy",
    "scipy",
    "torch",
    "nibabel",
    "pydicom",
    "PIL",
    "pyarrow",
    "huggingface_hub",
    "pydantic",
    "openai",
    "httpx2",
    "sqlite3",
)


NEEDED = {"overread.bridges.inspect_tasks": "inspect_ai"}
"""Modules that are adapters to a package, and cannot be imported without it."""


def modules() -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(overread.__path__, "overread.")]
    absent = {name for name, package in NEEDED.items() if not importlib.util.find_spec(package)}
    return [name for name in found if name not in {"overread.__main__", *absent}]


@pytest.mark.parametrize(
    "code", ["import overread", "import sys; sys.argv[1:] = ['--help']; from overread.cli.main import app"]
)
def test_start_up_loads_no_heavy_package(code: str) -> None:
    """Importing overread, or its command line, loads none of the heavy packages."""
    told = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(eval(told.stdout))
    assert not loaded & set(HEAVY)


def test_help_loads_no_heavy_package() -> None:
    """`overread --help` itself, run to its end, loads none of them either."""
    code = (
        "import sys\n"
        "from overread.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", [core, ontology], ids=["core", "ontology"])
def test_every_field_of_every_record_is_explained_in_one_line(module: object) -> None:
    """A record's fields each have a docstring, and it fits on a line."""
    package = module.__name__  # type: ignore[attr-defined]
    records = {
        value
        for name in modules()
        if name.startswith(package)
        for value in vars(importlib.import_module(name)).values()
        if inspect.isclass(value) and issubclass(value, Record) and value is not Record
    }
    assert records
    for record in records:
        for name, field in record.model_fields.items():
            assert field.description, f"{record.__name__}.{name} has no docstring"
            assert "\n" not in field.description, f"{record.__name__}.{name}"
        assert record.model_config["frozen"]


def test_the_package_tests_is_ours() -> None:
    """No installed package of that name stands before the helpers that tests import."""
    assert list(importlib.import_module("tests").__path__) == [str(ROOT / "tests")]


def test_every_package_that_is_imported_is_declared() -> None:
    """No import rests on what another package happens to bring along."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*told["dependencies"], *(n for g in told["optional-dependencies"].values() for n in g)]
    declared = {re.split(r"[^\w.-]", need)[0].lower().replace("_", "-") for need in needed}
    owners = importlib.metadata.packages_distributions()
    imported = {
        name.partition(".")[0]
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    others = {name for name in imported if name in owners} - {"overread"}
    assert len(others) > 10
    undeclared = {
        name for name in others if not {owner.lower().replace("_", "-") for owner in owners[name]} & declared
    }
    assert not undeclared


def test_no_file_is_called_utils() -> None:
    """A file is named by its subject."""
    assert not [path for path in (ROOT / "src").rglob("*.py") if "util" in path.stem]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_run(name: str) -> None:
    """The examples in a module's docstrings print what they say."""
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


@pytest.mark.parametrize("name", modules())
def test_public_functions_have_docstrings(name: str) -> None:
    """Every public function and class says what it is for."""
    module = importlib.import_module(name)
    assert module.__doc__
    for word, value in vars(module).items():
        own = getattr(value, "__module__", None) == name
        if own and not word.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value)):
            assert value.__doc__, f"{name}.{word}"


def test_versions_agree() -> None:
    """The package says the version that its metadata says."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert overread.__version__ == project["version"]


def test_public_names_are_there() -> None:
    """Every name of overread.__all__ can be had, and another one gives an AttributeError."""
    for name in overread.__all__:
        assert getattr(overread, name) is not None
    with pytest.raises(AttributeError):
        _ = overread.nothing
