"""Hatch calls this for wheels and editable installs: it builds the page, if need be."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from build_page import WHEEL, build, is_built, system_node


class PageBuild(BuildHookInterface[Any]):
    """Builds the page, unless it is built already."""

    PLUGIN_NAME = "page"

    def dependencies(self) -> list[str]:
        """What the build needs of PyPI: Node, where the system has none that is new enough."""
        return [] if is_built(self._web) or system_node() else [WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build it before files are collected."""
        if not is_built(self._web):
            self.app.display_info("building the page with Node")
            build(self._web)

    @property
    def _web(self) -> Path:
        return Path(self.root) / "web"
