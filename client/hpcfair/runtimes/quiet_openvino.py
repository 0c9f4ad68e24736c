"""Imports OpenVINO without telemetry, and shortens its error messages.

``import openvino`` sends usage data to its maker through the package ``openvino_telemetry``, which
it depends on, unless that package cannot be imported. Always import ``ov`` from here.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import cast

TELEMETRY = "openvino_telemetry"


@contextmanager
def hidden(*modules: str) -> Iterator[None]:
    """Make modules look uninstalled inside the block."""
    loaded = {name: sys.modules.get(name) for name in modules}
    # None makes an import fail (see the reference of sys.modules).
    sys.modules.update(dict.fromkeys(modules, cast("ModuleType", None)))
    try:
        yield
    finally:
        for name, module in loaded.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


with hidden(TELEMETRY):
    import openvino as ov

__all__ = ["TELEMETRY", "hidden", "ov", "reason"]

#: Parts of a message that name a position in OpenVINO's sources.
_POSITION = re.compile(
    r"(Exception from \S+:\d+:|Check '.*?' failed at \S+:\d+:|FrontEnd API failed with \w+:)"
)


def reason(error: Exception) -> str:
    """OpenVINO's message without positions in its sources."""
    return " ".join(_POSITION.sub("", str(error)).split()) or type(error).__name__
