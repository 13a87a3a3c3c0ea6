"""The Dockerfile, its script and the compose file, without a Docker engine: what they name is there, and
the script serves the page.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.cli.overread_command import run

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docker" / "serve-demo"


def instructions() -> list[tuple[str, str]]:
    """(instruction, its words) of the Dockerfile, lines that go on joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def words_of(instruction: str) -> list[str]:
    return [rest for word, rest in instructions() if word == instruction]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    """Every source of a COPY exists, is let through, and is all that a wheel needs."""
    passed = [
        line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line[:1] == "!"
    ]
    copied = set()
    for rest in words_of("COPY"):
        words = [word for word in shlex.split(rest) if not word.startswith("--chmod")]
        if words[0].startswith("--from="):
            continue
        for source in words[:-1]:
            assert (ROOT / source).exists(), source
            assert any(source == name or source.startswith(f"{name}/") for name in passed), source
            copied.add(source)
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {"pyproject.toml", told["project"]["readme"], *told["project"]["license-files"]}
    needed |= {
        told["tool"]["hatch"]["build"]["hooks"]["custom"]["path"].partition("/")[0],
        "docs/openapi.json",
    }
    assert needed | {"src"} <= copied


def test_the_image_runs_as_a_user_with_a_volume_a_port_and_a_health_check() -> None:
    """None of them is forgotten, and they fit the compose file and each other."""
    (user,), (volume,), (port,), (health,) = (
        words_of(w) for w in ("USER", "VOLUME", "EXPOSE", "HEALTHCHECK")
    )
    assert user != "root"
    assert any(f"useradd --create-home --uid 1000 {user}" in rest for rest in words_of("RUN"))
    assert words_of("WORKDIR")[-1] == volume
    assert f"http://127.0.0.1:{port}/login" in health
    assert f":-{port}}}" in SCRIPT.read_text("utf-8")
    composed = (ROOT / "compose.yaml").read_text("utf-8")
    assert f'"127.0.0.1:{port}:{port}"' in composed
    assert f"data:{volume}" in composed
    python = {rest.split()[0] for rest in words_of("FROM")}
    (version,) = (re.fullmatch(r"python:(3\.\d+)-slim", name) for name in python)
    assert version is not None
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    assert f"Programming Language :: Python :: {version[1]}" in classifiers


def test_every_command_of_the_script_exists() -> None:
    """Each verb and option that it calls is one that overread has."""
    calls = re.findall(r"overread ((?:password|demo|view|\w+)\b[^|\n]*)", SCRIPT.read_text("utf-8"))
    calls = [call for call in calls if not call.startswith("demo is")]
    assert len(calls) == 3
    for call in calls:
        verb, *rest = shlex.split(call)
        code, out, _ = run(verb, "--help")
        assert code == 0
        for option in (word for word in rest if word.startswith("--")):
            assert option in out, f"{verb} {option}"


@pytest.mark.slow
def test_the_script_serves_the_page_to_whoever_has_the_password(sketch: Path, tmp_path: Path) -> None:
    """With the demo made already: it sets the password once, is healthy, and asks for the password."""
    shutil.copytree(sketch, tmp_path / "overread-demo")
    (tmp_path / "demo-is-made").touch()
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "overread").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m overread "$@"\n')
    (tools / "overread").chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join((str(tools), str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PATH": path, "OVERREAD_PORT": str(port), "OVERREAD_PASSWORD": "correct horse"}
    served = subprocess.Popen(["sh", str(SCRIPT)], cwd=tmp_path, env={**os.environ, **own})
    try:
        (health,) = words_of("HEALTHCHECK")
        check = re.findall(r'"((?:[^"\\]|\\.)*)"', health)[-1].replace(":8000", f":{port}")
        for _ in range(600):
            if (
                subprocess.run([sys.executable, "-c", check], capture_output=True, check=False).returncode
                == 0
            ):
                break
            assert served.poll() is None
            time.sleep(0.2)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/shelf", timeout=60)
        assert (tmp_path / "passwords").read_text("utf-8").startswith("demo:")
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(60)
