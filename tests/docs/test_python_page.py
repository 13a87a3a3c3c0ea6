"""The page of the Python API names all of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import overread

ROOT = Path(__file__).resolve().parents[2]


def test_every_public_name_is_on_the_page() -> None:
    """`overread.__all__` is what docs/python.md describes."""
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    page = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", page))))
    assert set(overread.__all__) - {"__version__"} <= words


def test_names_are_where_type_checkers_look_for_them() -> None:
    """What is imported for type checkers is what a program gets, from the same module."""
    tree = ast.parse(Path(overread.__file__).read_text("utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    named = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert named == overread._PUBLIC
    assert set(overread.__all__) == {*named, "__version__"}
