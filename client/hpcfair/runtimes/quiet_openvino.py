"""OpenVINO, imported so that nothing is sent to anybody, and its messages.

``import openvino`` alone reports to its maker's analytics, through the package
``openvino_telemetry`` that it brings along, unless that looks as if it were not installed. Import
``ov`` from here and never the package itself.
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
    """Let modules look as if they were not installed."""
    known = {name: sys.modules.get(name) for name in modules}
    # None makes an import fail (the reference of sys.modules says so).
    sys.modules.update(dict.fromkeys(modules, cast("ModuleType", None)))
    try:
        yield
    finally:
        for name, module in known.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


with hidden(TELEMETRY):
    import openvino as ov

__all__ = ["TELEMETRY", "hidden", "ov", "reason"]

#: Parts of a message that tell where in OpenVINO's sources it was raised.
_WHERE = re.compile(
    r"(Exception from \S+:\d+:|Check '.*?' failed at \S+:\d+:|FrontEnd API failed with \w+:)"
)


def reason(error: Exception) -> str:
    """OpenVINO's message without where in its sources it was raised."""
    return " ".join(_WHERE.sub("", str(error)).split()) or type(error).__name__
