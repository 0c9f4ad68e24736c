"""Build hook: the wheel of the agent carries manual pages, for ``man hpcfair-agent``."""

import sys
import tempfile
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface[Any]):
    """Writes the pages from the commands, which are imported from this folder."""

    @property
    def _client(self) -> Path:
        """The client in a checkout, which no package index has in this version."""
        return Path(self.root).parent / "client"

    def dependencies(self) -> list[str]:
        """What the commands import."""
        needed = list(self.metadata.core.dependencies)
        project = self._client / "pyproject.toml"
        if not project.exists():
            return needed
        client: list[str] = tomllib.loads(project.read_text("utf-8"))["project"]["dependencies"]
        return [each for each in needed if each != "hpcfair"] + client

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the pages to the data of the wheel."""
        # Removed when the wheel is written and the process of the build ends.
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        # The folder is the package, whatever its name is.
        (folder / "workers").symlink_to(self.root)
        sys.path[:0] = [str(folder), str(self._client)]
        app = import_module("workers.agent.cli").app
        statuses = import_module("workers.agent.exitstatus").EXIT_STATUSES
        manpages = import_module("hpcfair.commands.manpages")
        pages = manpages.pages(app, self.metadata.name, self.metadata.version, statuses)
        for name, text in pages.items():
            path = folder / name
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = f"share/man/man1/{name}"
