"""The command line with the recipe of the tests: `python tests/build_command.py build demo …`."""

from __future__ import annotations

from overread import catalog
from overread.cli.main import main

catalog.TABLES["recipes"]["demo"] = "build_making:DEMO"

if __name__ == "__main__":
    main()
