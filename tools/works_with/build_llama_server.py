"""Builds llama.cpp's own server into an environment: `python -m tools.works_with.build_llama_server VENV`.

PyPI has no wheel of it, but the source: within that of llama-cpp-python. Only the server is compiled, without
its page and without HTTPS; about ten minutes of two cores. VENV/bin gets `llama-server`, and VENV the
package `gguf`, with which `tools/works_with/tiny_gguf.py` writes models for it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SOURCE = "llama-cpp-python==0.3.36"
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    # Compiling is what takes time here, not the tiny models.
    "CMAKE_C_FLAGS_RELEASE": "-O1 -DNDEBUG",
    "CMAKE_CXX_FLAGS_RELEASE": "-O1 -DNDEBUG",
    "BUILD_SHARED_LIBS": "OFF",
    "GGML_OPENMP": "OFF",
    "LLAMA_OPENSSL": "OFF",
    "LLAMA_BUILD_UI": "OFF",
    "LLAMA_USE_PREBUILT_UI": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
    "LLAMA_BUILD_EXAMPLES": "OFF",
    "LLAMA_BUILD_APP": "OFF",
}


def build(venv: Path) -> Path:
    """The server, built where it is not there yet."""
    server = venv.resolve() / "bin" / "llama-server"
    if server.exists():
        return server
    python = venv.resolve() / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([*pip, "install", "gguf", "cmake", "ninja"], check=True)
    with tempfile.TemporaryDirectory(prefix="llama-server-") as made:
        place = Path(made)
        fetch = ["download", "--no-binary=llama-cpp-python", "--no-deps", f"--dest={place}", SOURCE]
        subprocess.run([*pip, *fetch], check=True)
        (packed,) = place.glob("*.tar.gz")
        with tarfile.open(packed) as archive:
            archive.extractall(place, filter="data")
        (source,) = place.glob("*/vendor/llama.cpp")
        _compile(source, place / "build", venv.resolve() / "bin")
        shutil.copy2(place / "build/bin/llama-server", server)
    return server


def _compile(source: Path, folder: Path, programs: Path) -> None:
    """`llama-server` alone, by the environment's cmake and ninja."""
    own = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    settings = [f"-D{name}={value}" for name, value in OPTIONS.items()]
    begin = ["cmake", "-S", str(source), "-B", str(folder), "-G", "Ninja", *settings]
    subprocess.run(begin, check=True, env=own, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cmake", "--build", str(folder), "--target", "llama-server", "--parallel", "2"], check=True, env=own
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("venv", type=Path, help="environment of the server; made where it is not there")
    print(build(parser.parse_args().venv))
