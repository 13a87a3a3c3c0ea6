"""The command line with the readers of the tests: `python tests/runs/run_command.py run …`.

Workers import this file again, so that they know those readers too.
"""

from __future__ import annotations

import sys
from pathlib import Path

from overread import catalog
from overread.cli.main import app, main
from overread.cli.run import run

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that `tests.…` can be imported
catalog.TABLES["readers"].setdefault("openai", "overread.readers.openai.reader:make")
catalog.TABLES["readers"]["test-echo"] = "tests.runs.fake_readers:make_echo"
catalog.TABLES["readers"]["test-drawer"] = "tests.runs.fake_readers:make_drawer"
catalog.TABLES["workflows"].setdefault("direct", "overread.workflows.direct:direct")
catalog.TABLES["workflows"]["test-plain"] = "tests.runs.fake_readers:plain"
catalog.TABLES["workflows"]["test-thrice"] = "tests.runs.fake_readers:thrice"
catalog.TABLES["workflows"]["test-draw"] = "tests.runs.fake_readers:draw_all"
if "run" not in {command.name for command in app.registered_commands}:
    app.command("run")(run)

if __name__ == "__main__":
    main()
