"""Requirements of ``make gpu``, from the two ``pyproject.toml``. Needs the standard library only:
it runs before anything is installed."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: Extras of the hub whose backends are compared on a GPU.
_EXTRAS = ("openvino", "tvm", "tensorrt", "cuda")
#: Further packages that the tests of the GPU backends need.
_TEST_TOOLS = ("hypothesis", "pytest", "pytest-django", "pytest-xdist", "httpx2")
_OWN = ("hpcfair", "hpcfair-hub")


def gpu() -> list[str]:
    """Packages that checks and benchmarks of a GPU need, without those of this repository."""
    hub, client = (_project(name) for name in ("pyproject.toml", "client/pyproject.toml"))
    extras = hub["optional-dependencies"]
    listed = [
        *hub["dependencies"],
        *client["dependencies"],
        *(line for name in _EXTRAS for line in extras[name]),
        *_TEST_TOOLS,
    ]
    return sorted({line for line in listed if line.partition("[")[0] not in _OWN})


def _project(name: str) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / name).read_text())["project"]
    return project
