"""The command line with the readers of the tests: `python tests/run_command.py run …`.

Workers import this file again, so that they know those readers too.
"""

from __future__ import annotations

from overread import catalog
from overread.cli.main import app, main
from overread.cli.run import run

catalog.TABLES["readers"].setdefault("openai", "overread.readers.openai:make")
catalog.TABLES["readers"]["test-echo"] = "fake_readers:make_echo"
catalog.TABLES["readers"]["test-drawer"] = "fake_readers:make_drawer"
catalog.TABLES["workflows"].setdefault("direct", "overread.workflows.direct:direct")
catalog.TABLES["workflows"]["test-plain"] = "fake_readers:plain"
catalog.TABLES["workflows"]["test-thrice"] = "fake_readers:thrice"
catalog.TABLES["workflows"]["test-draw"] = "fake_readers:draw_all"
if "run" not in {command.name for command in app.registered_commands}:
    app.command("run")(run)

if __name__ == "__main__":
    main()
