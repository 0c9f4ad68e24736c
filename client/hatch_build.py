"""Build hook: the wheel carries manual pages, for ``man hpcfair`` where it is installed."""

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface[Any]):
    """Writes the pages from the commands, which are imported from this folder."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the pages to the data of the wheel."""
        sys.path.insert(0, self.root)
        try:
            app = import_module("hpcfair.cli").app
            statuses = import_module("hpcfair.commands.exitstatus").EXIT_STATUSES
            manpages = import_module("hpcfair.commands.manpages")
        finally:
            sys.path.remove(self.root)
        pages = manpages.pages(app, self.metadata.name, self.metadata.version, statuses)
        # Removed when the wheel is written and the process of the build ends.
        self._folder = tempfile.TemporaryDirectory()
        for name, text in pages.items():
            path = Path(self._folder.name, name)
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = f"share/man/man1/{name}"
