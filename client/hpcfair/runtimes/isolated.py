"""Runs a build in a confined child process: the hub's own sandbox around any runtime.

The child has no network and no other programs. It reads Python, the system's libraries and the
folder of the build, and writes to a temporary folder only. Arrays travel through pipes.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from hpcfair import errors
from hpcfair.isolation.child import IsolatedChild
from hpcfair.isolation.errors import ChildFailed
from hpcfair.isolation.limits import Limits
from hpcfair.isolation.sandbox import LEVELS
from hpcfair.runtimes.base import Array, Options, TensorInfo
from hpcfair.runtimes.registry import GPU_RUNTIMES

_CHILD = "hpcfair.runtimes.isolated_child"
_WALL_S = 3600.0
_FILE_BYTES = 2**30
#: Errors of a runtime, which the child reports by name.
_ERRORS = {
    error.__name__: error
    for error in (errors.BadConfig, errors.BadInput, errors.MissingPackage, errors.RuntimeFailed)
}
R = TypeVar("R")


class WeakIsolationWarning(UserWarning):
    """The kernel lacks a layer of the sandbox."""


class IsolatedRuntime:
    """A build in a child process; a :class:`~hpcfair.runtimes.base.Runtime`.

    Attributes:
        isolation: How the child is confined, one of :data:`hpcfair.isolation.sandbox.LEVELS`.
    """

    # The runtime's threads are those of the child.
    pins_workers = False

    def __init__(self, name: str, path: Path, options: Options) -> None:
        self.name = name
        # The kernel ends a child when the thread that started it ends: this one lives as long.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hpcfair-isolated")
        self._folder = tempfile.TemporaryDirectory(prefix="hpcfair-")
        self._child: IsolatedChild | None = None
        try:
            self._child = self._do(lambda: self._start(path))
            self.isolation = self._checked(self._child.isolation)
            facts = self._call(
                "open_build", runtime=name, path=str(path.resolve()), options=options
            )
            self.inputs = tuple(map(_tensor, facts["inputs"]))
            self.outputs = tuple(map(_tensor, facts["outputs"]))
            self._version = str(facts["version"])
        except BaseException:
            self.close()
            raise

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        outputs: dict[str, Array] = self._call("run", inputs=dict(inputs))["outputs"]
        return outputs

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            self._do(child.close)
        self._thread.shutdown()
        self._folder.cleanup()

    def version(self) -> str:
        return self._version

    def _start(self, path: Path) -> IsolatedChild:
        limits = Limits(_WALL_S, _memory_bytes(), _FILE_BYTES)
        folder = Path(self._folder.name)
        try:
            return IsolatedChild(limits, folder, [path.parent], gpu=self.name in GPU_RUNTIMES)
        except ChildFailed as failure:
            raise errors.RuntimeFailed(str(failure)) from failure

    def _checked(self, level: str) -> str:
        if level == LEVELS[0]:
            raise errors.NotSupported("This system can confine no process: it lacks seccomp.")
        if level != LEVELS[-1]:
            warnings.warn(
                f"The kernel confines the model by {level} only, not by {LEVELS[-1]}.",
                WeakIsolationWarning,
                stacklevel=2,
            )
        return level

    def _call(self, function: str, **arguments: Any) -> dict[str, Any]:
        child = self._child
        if child is None:
            raise errors.RuntimeFailed("this build has been closed")
        try:
            answer = self._do(lambda: child.call(f"{_CHILD}:{function}", **arguments))
        except ChildFailed as failure:
            raise errors.RuntimeFailed(f"the isolated process failed: {failure}") from failure
        except TypeError as error:
            raise errors.BadInput(f"an input cannot be sent to a process: {error}") from error
        # The build may have taken over the child: its answer is data.
        if not isinstance(answer, dict):
            raise errors.RuntimeFailed("the isolated process gave an invalid answer")
        failed = answer.get("error")
        if failed is not None:
            kind = _ERRORS.get(str(failed.get("kind")), errors.RuntimeFailed)
            raise kind(str(failed.get("detail")), str(failed.get("hint")))
        return answer

    def _do(self, act: Callable[[], R]) -> R:
        return self._thread.submit(act).result()


def _tensor(fact: Mapping[str, Any]) -> TensorInfo:
    return TensorInfo(str(fact["name"]), str(fact["dtype"]), tuple(fact["shape"]))


def _memory_bytes() -> int:
    """Physical memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
