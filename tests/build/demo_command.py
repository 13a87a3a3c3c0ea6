"""The command line with the recipe of the tests: `python tests/build/demo_command.py build demo …`."""

from __future__ import annotations

import sys
from pathlib import Path

from overread import catalog
from overread.cli.main import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that `tests.…` can be imported
catalog.TABLES["recipes"]["demo"] = "tests.build.demo_recipe:DEMO"

if __name__ == "__main__":
    main()
