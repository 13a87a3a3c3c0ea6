"""The tasks of a build against the types of RedBrick's SDK; its server is nobody's to run here."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from overread.build.rexgroundingct.tasks import write_tasks
from overread.pixels.nifti import write_volume
from tests.build.rexgroundingct.test_masks import AFFINE, NAME, SHAPE, context, item

PYTHON = os.environ.get("OVERREAD_REDBRICK_PYTHON") or (sys.executable if find_spec("redbrick") else None)
"""A Python that has redbrick-sdk and pydantic, an environment of their own."""

CHECK = """
import json, sys, typing, typing_extensions
from typing import get_type_hints
from pydantic import TypeAdapter
typing.TypedDict = typing_extensions.TypedDict  # pydantic asks for this one before Python 3.12
from redbrick.types.task import InputTask, Series

tasks = TypeAdapter(list[InputTask]).validate_python(json.load(sys.stdin), strict=True)
unknown = [key for task in tasks for key in task if key not in get_type_hints(InputTask)]
unknown += [key for task in tasks for one in task["series"] for key in one if key not in get_type_hints(Series)]
print(json.dumps([len(tasks), unknown, tasks]))
"""


@pytest.mark.slow
@pytest.mark.skipif(PYTHON is None, reason="redbrick-sdk is not here, nor named by OVERREAD_REDBRICK_PYTHON")
def test_tasks_are_input_tasks_of_the_sdk(tmp_path: Path) -> None:
    """Each task is an `InputTask`, checked strictly, with no key that the types do not have."""
    assert PYTHON is not None
    write_volume(tmp_path / "source/images" / NAME, np.zeros(SHAPE, np.int16), AFFINE)
    (tmp_path / "build").mkdir()
    asyncio.run(write_tasks([item()], context(tmp_path)))
    sent = (tmp_path / "build/annotation/redbrick.json").read_text()
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    told = subprocess.run(
        [PYTHON, "-c", CHECK], input=sent, capture_output=True, text=True, check=False, env=own
    )
    assert told.returncode == 0, told.stderr
    count, unknown, tasks = json.loads(told.stdout.splitlines()[-1])
    assert (count, unknown) == (1, [])
    assert tasks == json.loads(sent)
