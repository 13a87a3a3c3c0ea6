"""`overread demo`: the main job on synthetic cases, with no download."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

_MARK = ".made-by-overread-demo"


def demo(
    out: Annotated[Path, typer.Option(help="Where to write.", metavar="DIR")] = Path(
        "overread-demo"
    ),
    patients: Annotated[int, typer.Option(help="How many.", min=2, max=1000)] = 7,
    seed: Annotated[int, typer.Option(help="Another seed, other patients.", min=0)] = 0,
) -> None:
    """Make synthetic patients, write a release of each of the three layouts, check and show it.

    An earlier demo in the same folder is made anew.
    """
    from overread import catalog, check, load
    from overread.benchmarks import splits_of
    from overread.cli.console import out as console
    from overread.cli.console import progress, safe
    from overread.cli.show import print_case, save_pictures
    from overread.errors import UsageError
    from overread.phantom.making import claim, make_population
    from overread.phantom.visit import Settings

    if out.exists() and not (out / _MARK).exists() and any(out.iterdir()):
        raise UsageError(f"{out} is there already and is not a demo", remedy="choose another --out")
    for folder in (*catalog.names("benchmarks"), "pictures", "sources", ".making"):
        shutil.rmtree(out / folder, ignore_errors=True)
    claim(out)
    (out / _MARK).touch()
    screen = console()
    settings = Settings(seed=seed, mix="illness")
    with progress("making patients", quiet=False) as making:
        outcome = make_population(out, patients, settings, progress=making)
    screen.print("[bold]Synthetic patients[/]: they are no one, and show nothing real")
    for line in str(outcome).splitlines():
        screen.print(f"  {safe(line)}")
    for name in catalog.names("benchmarks"):
        part = catalog.find("benchmarks", name)
        root = out / name
        if not root.exists():
            continue
        screen.print(f"\n[bold]{part.title}[/]: {part.about}")
        splits = splits_of(name, root)
        defects = [defect for split in splits for defect in check(name, root, split)]
        for defect in defects:
            screen.print(f"  {safe(str(defect))}")
        screen.print(f"  checked: {len(defects)} defect(s)")
        release = load(name, root)
        entry = next(iter(release.entries()))
        print_case(release, entry, truth=True)
        for path in save_pictures(release, entry, out / "pictures", truth=True):
            screen.print(f"  picture: {safe(str(path))}")
    screen.print(
        f"\nNow try:  overread show rexgroundingct {safe(str(out))}/rexgroundingct '#1' --truth\n"
        f"          overread check mmrad {safe(str(out))}/mmrad --split all\n"
        "          overread phantom my-patients --patients 20 --seed 7\n"
        "          overread list"
    )
