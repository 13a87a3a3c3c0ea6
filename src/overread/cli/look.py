"""`overread look`: any picture file, or a folder of DICOM slices, on its own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AsJson

if TYPE_CHECKING:
    from overread.core import Defect, Geometry


_MAX_SHOWN = 12


def look(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="PNG, JPEG, DICOM, NIfTI, or a folder of slices.")
    ],
    save: Annotated[Path | None, typer.Option(help="Save the view as PNG.", metavar="FILE")] = None,
    window: Annotated[list[str] | None, typer.Option(help="HU window for a volume; repeatable.")] = None,
    series: Annotated[
        str | None, typer.Option(help="Which series, where a folder has several.", metavar="UID")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look at one picture: its size, its place in the patient, what is wrong with its series."""
    from overread.catalog import unknown_name
    from overread.cli.console import print_json, safe, stdout_console
    from overread.errors import UsageError
    from overread.pixels.image_files import write_image
    from overread.pixels.windows import WINDOWS

    windows = window or ["lung", "mediastinum"]
    for name in windows:
        if name not in WINDOWS:
            raise unknown_name("window", name, WINDOWS)
    if save is not None and save.resolve() == path.resolve():
        raise UsageError("the picture would be written over itself", remedy="choose another --save")
    pixels, space, defects = _read_path(path, series)
    told: dict[str, Any] = {
        "shape": list(pixels.shape),
        "type": str(pixels.dtype),
        "range": [_finite_or_none(pixels.min()), _finite_or_none(pixels.max())],
        **({"spacing": space.spacing, "axes": space.axes} if space is not None else {}),
        "defects": [d.model_dump(exclude_none=True) | {"severity": d.severity} for d in defects],
    }
    if as_json:
        print_json(told)
    else:
        console = stdout_console()
        shape = "×".join(str(n) for n in pixels.shape)
        low, high = ("NaN" if n is None else f"{n:g}" for n in told["range"])
        console.print(f"{safe(str(path))}: {shape}, {told['type']}, values {low} to {high}")
        if space is not None:
            spacing = "×".join(f"{n:.3g}" for n in space.spacing)
            console.print(f"  voxels of {spacing} mm, stored {space.axes}")
        ordered = sorted(defects, key=lambda defect: defect.severity)
        for defect in ordered[:_MAX_SHOWN]:
            colour = "red" if defect.severity == "error" else "yellow"
            console.print(f"  [{colour}]{defect.severity}[/] {safe(str(defect))}")
        if len(ordered) > _MAX_SHOWN:
            console.print(f"  … and {len(ordered) - _MAX_SHOWN} more (--json gives all)")
    if save is not None:
        write_image(save, _render(pixels, space, windows))
        if not as_json:
            stdout_console().print(f"  saved {safe(str(save))}")


def _read_path(path: Path, series: str | None) -> tuple[Any, Geometry | None, tuple[Defect, ...]]:
    from overread.errors import NotThere, Refused
    from overread.pixels.formats import VOLUME_FORMATS, read_picture, sniff_format

    if not path.exists():
        raise NotThere("there is no such file or folder", where=str(path))
    if path.is_dir():
        from overread.pixels.dicom.series import read_series

        stack = read_series(path, series=series)
        return stack.volume, stack.geometry, stack.defects
    if not path.is_file():
        raise Refused("this is neither a file nor a folder", where=str(path))
    if sniff_format(path) in VOLUME_FORMATS:
        from overread.pixels.nifti import read_volume

        volume, space = read_volume(path, name=str(path))
        return volume, space, ()
    return read_picture(path, name=str(path)), None, ()


def _finite_or_none(value: Any) -> float | None:
    """A value for JSON, which has no NaN."""
    return float(value) if math.isfinite(value) else None


def _render(pixels: Any, space: Geometry | None, windows: list[str]) -> Any:
    from overread.pixels.case_overlays import draw_planes
    from overread.pixels.draw import to_eight_bit

    return to_eight_bit(pixels) if space is None else draw_planes(pixels, space, settings=windows)
