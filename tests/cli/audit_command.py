"""The command line with the readers of the audit's tests; workers import this file again."""

from __future__ import annotations

import sys
from pathlib import Path

from overread import catalog
from overread.cli.main import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that `tests.…` can be imported
catalog.TABLES["readers"]["test-threshold"] = "tests.runs.audit.looking_readers:make_threshold"
catalog.TABLES["workflows"]["test-cite-box"] = "tests.runs.audit.looking_readers:cite_box"

if __name__ == "__main__":
    main()
