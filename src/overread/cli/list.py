"""`overread list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from overread.cli.arguments import AsJson

Rows = list[dict[str, Any]]


def list_kinds(
    kind: Annotated[str, typer.Argument(metavar="[KIND]", help="What to list; all kinds without it.")] = "",
    as_json: AsJson = False,
    regions: Annotated[
        Path | None, typer.Option(help="Your own X-ray regions (TOML).", metavar="FILE")
    ] = None,
) -> None:
    """List benchmarks, readers, workflows, recipes, metrics, regions, categories and others."""
    from overread.catalog import unknown_name
    from overread.cli.console import print_json, stdout_console
    from overread.ontology import use_regions

    if regions is not None:
        use_regions(regions)
    if kind and kind not in KINDS:
        raise unknown_name("list", kind, KINDS)
    if as_json:
        print_json(KINDS[kind]() if kind else {name: rows() for name, rows in KINDS.items()})
        return
    if kind:
        _print(KINDS[kind](), empty=f"no {kind} yet")
        return
    console = stdout_console()
    for name, rows in KINDS.items():
        console.print(f"{name:<16}{len(rows()):>4}   overread list {name}")


def _print(rows: Rows, *, empty: str) -> None:
    from rich.table import Table

    from overread.cli.console import safe, stdout_console

    if not rows:
        stdout_console().print(empty)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in rows[0]:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(safe(_cell(value)) for value in row.values()))
    stdout_console().print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _benchmarks() -> Rows:
    from overread import catalog

    parts = [catalog.find("benchmarks", name) for name in catalog.names("benchmarks")]
    return [
        {
            "name": part.name,
            "title": part.title,
            "about": part.about,
            "splits": list(part.splits),
            "forms": list(part.forms),
            "licence": part.licence,
        }
        for part in parts
    ]


def _catalog_rows(kind: Any) -> Callable[[], Rows]:
    def rows() -> Rows:
        from overread import catalog

        return [{"name": name, "about": _describe_part(kind, name)} for name in catalog.names(kind)]

    return rows


def _describe_part(kind: Any, name: str) -> str:
    """One line about a reader, workflow or judge, taken from its docstring.

    For a function called `make` it is the docstring of its module, else that of the function.
    """
    import sys

    from overread import catalog
    from overread.errors import OverreadError

    try:
        part = catalog.find(kind, name)
    except OverreadError as error:  # of another package, which is broken
        return str(error)
    part = getattr(part, "judge", part)
    alone = getattr(part, "__name__", "") == "make"
    text = sys.modules[part.__module__].__doc__ if alone else part.__doc__
    return (text or "").strip().partition("\n")[0]


def _prompts() -> Rows:
    from overread.prompts.templates import find_prompt, prompt_names

    found = [find_prompt(name) for name in prompt_names()]
    return [{"name": p.name, "digest": p.digest, "about": p.about.partition("\n")[0]} for p in found]


def _presets() -> Rows:
    from overread.readers.openai.presets.loading import find_preset, preset_names

    rows: Rows = []
    for name in preset_names():
        preset = find_preset(name).preset
        rows.append(
            {
                "name": name,
                "about": preset.about,
                "boxes": preset.arguments.get("boxes", "shares"),
                "thinking": list(preset.thinking),
                "arguments": [f"{key}={value}" for key, value in preset.arguments.items() if key != "boxes"],
            }
        )
    return rows


def _recipes() -> Rows:
    from overread import catalog
    from overread.errors import OverreadError

    rows: Rows = []
    for name in catalog.names("recipes"):
        try:
            part = catalog.find("recipes", name)
        except OverreadError as error:  # of another package, which is broken
            rows.append({"name": name, "about": str(error), "steps": [], "settings": []})
            continue
        rows.append(
            {
                "name": name,
                "about": part.about,
                "steps": [step.name for step in part.steps],
                "settings": [f"{key}={value}" for key, value in part.settings.items()],
            }
        )
    return rows


def _metrics() -> Rows:
    from overread import catalog

    found = [catalog.find("metrics", name) for name in catalog.names("metrics")]
    return [
        {
            "name": metric.name,
            "better": metric.better,
            "needs": list(metric.needs),
            "about": metric.about,
            "held_to": metric.reference,
        }
        for metric in found
    ]


def _regions() -> Rows:
    from overread.ontology import xray_regions

    return [
        {"region": name, "major_region": group.name}
        for group in xray_regions().groups
        for name in group.members
    ]


def _categories() -> Rows:
    from overread.ontology import finding_tree

    tree = finding_tree()
    return [
        {
            "code": code,
            "category": category.name,
            "focal": bool(category.focal),
            "parent": tree.parent_of(code).name,
            "includes": list(category.includes),
        }
        for code, category in tree.categories.items()
    ]


def _modalities() -> Rows:
    from overread.ontology import modalities

    return [
        {"modality": item.name, "sub_modalities": [*item.published, *item.sub]} for item in modalities().items
    ]


def _terms(name: str) -> Callable[[], Rows]:
    def rows() -> Rows:
        from overread import ontology

        terms = getattr(ontology, name)()
        return [{"code": t.code, "name": t.name, "about": t.about} for t in terms.item]

    return rows


def _windows() -> Rows:
    from overread.pixels.windows import WINDOWS

    return [{"window": n, "centre": w.centre, "width": w.width} for n, w in WINDOWS.items()]


def _defects() -> Rows:
    from overread.core.defects import ERRORS, KINDS

    return [
        {"defect": code, "severity": "error" if code in ERRORS else "warning", "meaning": meaning}
        for code, meaning in KINDS.items()
    ]


def _diagnoses() -> Rows:
    from overread.ontology.diagnoses import diagnoses

    return [
        {
            "names": list(one.names),
            "also": list(one.also),
            "icd": one.icd or "",
            "signs": bool(one.expected or one.possible),
        }
        for one in diagnoses()
    ]


KINDS: dict[str, Callable[[], Rows]] = {
    "benchmarks": _benchmarks,
    "readers": _catalog_rows("readers"),
    "presets": _presets,
    "workflows": _catalog_rows("workflows"),
    "judges": _catalog_rows("judges"),
    "recipes": _recipes,
    "trackers": _catalog_rows("trackers"),
    "prompts": _prompts,
    "metrics": _metrics,
    "regions": _regions,
    "categories": _categories,
    "modalities": _modalities,
    "diagnoses": _diagnoses,
    "step-errors": _terms("step_errors"),
    "education": _terms("education_dimensions"),
    "report-regions": _terms("report_regions"),
    "windows": _windows,
    "defects": _defects,
}
