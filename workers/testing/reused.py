"""A device that reuses one confined child process, so that a library is imported only once.

Workers start a child process per candidate. Tests of candidates do not depend on that, and would
spend most of their time starting Python and importing the library.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, cast

from hpcfair.isolation.limits import Limits
from workers.engine import child_work
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.othermachine import OtherMachine
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest


class ReusedChild:
    """A child process that is started on first use, and again after it has died.

    It may read and write the folder ``root``, which contains the scratch folders of all devices.
    ``limits`` apply to each call and to the process.
    """

    def __init__(self, root: Path, limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._child: Child | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, code: tuple[Path, ...], *, programs: bool) -> Child:
        """The child; the arguments apply only if it has to be started."""
        if self._child is None:
            self._child = Child(self._limits, self._root, code, programs=programs)
        return self._child

    def close(self) -> None:
        """End the process; the next use starts another."""
        if self._child is not None:
            self._child.close()
        self._child = None


class ReusedDevice(LocalDevice):
    """A local device whose builds and sessions run one by one in a reused child."""

    def __init__(
        self,
        request: TuningRequest,
        backends: Mapping[str, Backend],
        scratch: Path,
        reused: ReusedChild,
    ) -> None:
        super().__init__(request, backends, scratch)
        self._reused = reused

    def _child(
        self,
        *_: Path,
        programs: bool = False,  # noqa: ARG002
        other: OtherMachine | None = None,  # noqa: ARG002
    ) -> Child:
        child = self._reused.get(self._code_folders, programs=any(self._programs.values()))
        self.isolation = child.isolation
        return cast("Child", _BorrowedChild(self._reused, child))


class _BorrowedChild:
    """The interface of :class:`workers.engine.child.Child` for devices; closes the session only."""

    def __init__(self, reused: ReusedChild, child: Child) -> None:
        self._reused = reused
        self._child = child
        self._opened = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, function: str, /, **arguments: Any) -> Any:
        try:
            result = self._child.call(function, **arguments)
        except CandidateFailed as failure:
            if failure.outcome != "invalid":
                self._reused.close()
                self._opened = False
            raise
        self._opened = self._opened or function.endswith(":open_build")
        return result

    def close(self) -> None:
        """End the session but not the process."""
        if self._opened:
            self._child.call(f"{__name__}:close_session")
        self._opened = False


def close_session() -> None:
    """Close the open session. Runs in the child."""
    child_work._OPEN.pop().session.close()  # noqa: SLF001
