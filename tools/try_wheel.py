"""Try a wheel of overread with another Python: pack what it needs, and run what a newcomer would.

    python tools/try_wheel.py pack FOLDER --wheel overread-….whl --python 3.12
    python3.12 tools/try_wheel.py smoke FOLDER

`pack` unpacks the wheel and the wheels of all it needs, as that Python takes them, into FOLDER (no such
Python need be here; a package without such a wheel is an error). `smoke` runs commands from FOLDER alone
with the Python that runs it, and prints every line of theirs that is not overread's own. It needs
nothing but the standard library, no network and no repository.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = (
    ("--version",),
    ("list", "benchmarks"),
    ("phantom", "words", "--patients", "6", "--text-only", "--workers", "2"),
    ("check", "medthinkvqa", "words/medthinkvqa", "--no-pixels"),
    ("run", "medthinkvqa", "words/medthinkvqa", "--reader", "random", "--out", "runs/random"),
    ("run", "medthinkvqa", "words/medthinkvqa", "--reader", "oracle", "--out", "runs/oracle"),
    ("score", "runs/random"),
    ("score", "runs/oracle"),
    ("compare", "runs/random", "runs/oracle"),
    ("submit", "runs/oracle", "--out", "handed-in.jsonl"),
    ("grade", "medthinkvqa", "words/medthinkvqa", "handed-in.jsonl"),
    ("phantom", "films", "--patients", "2", "--exams", "mmrad", "--workers", "2"),
    ("check", "mmrad", "films/mmrad", "--split", "all"),
    ("run", "mmrad", "films/mmrad", "--reader", "atlas", "--split", "train", "--out", "runs/atlas"),
    ("report", "runs/oracle", "--out", "report.html"),
    ("read-text", "words.txt"),
)
LINUX = [f"manylinux{glibc}_x86_64" for glibc in ("_2_28", "_2_27", "_2_26", "_2_24", "_2_17", "2014")]
ALLOWED: dict[tuple[str, ...], int] = {("check", "medthinkvqa"): 1}
"""Commands that end with another exit code than 0: the words' pictures were never drawn."""


def pack(folder: Path, wheel: Path, python: str, platforms: list[str]) -> None:
    """Fill the folder; pip checks that every package has a wheel for that Python."""
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    words += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    words += [*(f"--platform={name}" for name in platforms), f"--target={folder}"]
    subprocess.run([*words, str(wheel)], check=True)
    print(f"{folder}: {len(list(folder.glob('*.dist-info')))} packages for Python {python}")


def smoke(folder: Path) -> int:
    """Run the commands; the number of those that went wrong."""
    wrong = 0
    noisy = 0
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        Path(place, "words.txt").write_text("There is a 2 cm nodule in the right upper lobe. No effusion.\n")
        own = {
            "PYTHONPATH": str(folder.resolve()),
            "PYTHONWARNINGS": "default",
            "OVERREAD_CACHE": f"{place}/cache",
        }
        for words in COMMANDS:
            done = subprocess.run(
                [sys.executable, "-m", "overread", *words],
                cwd=place,
                env={"PATH": os.defpath, "HOME": place, **own},
                capture_output=True,
                text=True,
                check=False,
            )
            good = done.returncode in (0, ALLOWED.get(words[:2], 0))
            wrong += not good
            noisy += bool(done.stderr.strip())
            print(f"{'ok ' if good else 'NOT'} overread {' '.join(words)}")
            for line in done.stderr.splitlines()[-20:]:
                print(f"      {line}")
    version = ".".join(map(str, sys.version_info[:3]))
    print(
        f"Python {version}: {len(COMMANDS) - wrong} of {len(COMMANDS)} commands went well, "
        f"{noisy} said something beside, {time.monotonic() - begun:.0f} s"
    )
    return wrong


def main() -> None:
    """`pack` here, `smoke` there."""
    asking = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asking.add_argument("what", choices=("pack", "smoke"))
    asking.add_argument("folder", type=Path)
    asking.add_argument("--wheel", type=Path)
    asking.add_argument("--python", default="3.12")
    asking.add_argument("--platform", nargs="*", default=LINUX)
    asked = asking.parse_args()
    if asked.what == "smoke":
        raise SystemExit(smoke(asked.folder))
    if asked.wheel is None:
        asking.error("pack needs --wheel")
    pack(asked.folder, asked.wheel, asked.python, asked.platform)


if __name__ == "__main__":
    main()
