"""Every address that docs/openapi.json describes, with ids of things that are really there."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tests.site.served_site import Site

OPENAPI = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
Values = Mapping[str, Sequence[str]]
"""Parameter → what to put there; several are all tried."""


def operations() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """(METHOD, path, parameters) of every operation."""
    for path, methods in json.loads(OPENAPI.read_text("utf-8"))["paths"].items():
        for method, told in methods.items():
            yield method.upper(), path, told.get("parameters", [])


def addresses(path: str, parameters: list[dict[str, Any]], values: Values) -> Iterator[str]:
    """The addresses of one operation: its path filled in, and what its query must have.

    A parameter that has no values here fails the test: say in `values_on` what to put there.
    """
    names = [one["name"] for one in parameters if one["in"] == "path"]
    asked = [one for one in parameters if one["in"] == "query"]
    needed = [one["name"] for one in asked if one.get("required")]
    unknown = {*names, *needed} - set(values)
    assert not unknown, f"{path}: no values to walk with for {unknown}"
    optional = [one["name"] for one in asked if one["name"] in values and not one.get("required")]
    for chosen in itertools.product(*(values[name] for name in (*names, *needed))):
        own = dict(zip((*names, *needed), chosen, strict=True))
        filled = path
        for name in names:
            filled = filled.replace(f"{{{name}}}", quote(own[name], safe=""))
        query = {name: own[name] for name in needed}
        yield filled + (f"?{urlencode(query)}" if query else "")
        for name in optional:
            for value in values[name]:
                yield f"{filled}?{urlencode(query | {name: value})}"


def values_on(site: Site, benchmark: str) -> dict[str, list[str]]:
    """What to put where: the cases, pictures and runs of one dataset; builds and sweeps."""
    shelf = site.get("/api/shelf")
    dataset = next(d["id"] for d in shelf["datasets"] if d["benchmark"] == benchmark)
    runs = [r["id"] for r in shelf["runs"] if r["dataset"] == dataset]
    cases = site.get(f"/api/datasets/{dataset}/test/cases")["ids"]
    seen = [site.get(f"/api/cases/{dataset}/test/{case}") for case in cases]
    pictures = list(dict.fromkeys(p["name"] for one in seen for p in one["pictures"]))
    queries = list(dict.fromkeys(q["id"] for one in seen for q in one["queries"]))
    return {
        "dataset": [dataset],
        "split": ["test"],
        "case": cases,
        "name": [*pictures[:2], "person"],
        "query": queries[:2] or ["0"],
        "run": runs,
        "runs": [",".join(runs[:2])],
        "metric": ["accuracy", "dice"],
        "breakdown": ["category"],
        "build": [one["id"] for one in shelf["builds"]] or ["none"],
        "sweep": [one["id"] for one in shelf["sweeps"]] or ["none"],
        "question": ["item1/verify-trace"],
        "person": ["Ann"],
        "words": ["the a lung no case"],
        "code": ["missing"],
        "index": ["0"],
        "number": ["0", "1"],
        "of": ["steps", "findings"],
        "place": ["0"],
        "picture": ["0"],
        "part": ["cut"],
        "against": ["0"],
    }
