"""The functions that :mod:`hpcfair.runtimes.isolated` calls in its child process."""

from pathlib import Path
from typing import Any

from hpcfair.errors import HpcfairError
from hpcfair.measurement.placement import SHORTEST_RUN_NS, CallerPlacement
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Array, Options, Runtime

#: The build of this process.
_OPEN: list[tuple[Runtime, CallerPlacement]] = []


def open_build(*, runtime: str, path: str, options: Options) -> dict[str, Any]:
    """Open a build; returns its signature and the version of its runtime."""
    try:
        opened = registry.open(runtime, Path(path), options)
    except HpcfairError as error:
        return _error(error)
    _OPEN.append((opened, CallerPlacement(opened, SHORTEST_RUN_NS, only_unrestricted=True)))
    return {
        "inputs": [_fact(tensor) for tensor in opened.inputs],
        "outputs": [_fact(tensor) for tensor in opened.outputs],
        "version": opened.version(),
    }


def run(*, inputs: dict[str, Array]) -> dict[str, Any]:
    """Run the build once."""
    opened, placement = _OPEN[0]
    try:
        with placement:
            return {"outputs": opened.run(inputs)}
    except HpcfairError as error:
        return _error(error)


def _fact(tensor: Any) -> dict[str, Any]:
    return {"name": tensor.name, "dtype": tensor.dtype, "shape": list(tensor.shape)}


def _error(error: HpcfairError) -> dict[str, Any]:
    kind = type(error).__name__
    return {"error": {"kind": kind, "detail": error.detail, "hint": error.hint}}
