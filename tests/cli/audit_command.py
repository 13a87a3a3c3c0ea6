"""The command line with the readers of the audit's tests; workers import this file again."""

from __future__ import annotations

from overread import catalog
from overread.cli.main import main

catalog.TABLES["readers"]["test-threshold"] = "tests.runs.audit.looking_readers:make_threshold"
catalog.TABLES["workflows"]["test-cite-box"] = "tests.runs.audit.looking_readers:cite_box"

if __name__ == "__main__":
    main()
