"""Writes docs/openapi.json, the description of the page's API; --check only says if it is current.

The page's TypeScript types are made from it (`npm run types` in web/).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from overread.site.access import Access
from overread.site.app import make_api

FILE = Path(__file__).resolve().parents[1] / "docs" / "openapi.json"


def describe_api() -> str:
    """The description as it should stand in the file."""
    told = make_api(None, Access()).openapi()
    return json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Write it, or compare."""
    body = describe_api()
    if "--check" in sys.argv[1:]:
        if not FILE.is_file() or FILE.read_text("utf-8") != body:
            sys.exit("docs/openapi.json is not what the server answers: run tools/write_openapi.py")
        return
    FILE.write_text(body, "utf-8")


if __name__ == "__main__":
    main()
