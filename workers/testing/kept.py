"""A device whose children are one confined process that is kept: a library is imported once.

A worker gives each candidate a child of its own. What a test says of the candidate does not depend
on that, and most of its time would go into starting Python and importing the library.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from workers.engine import child_work
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.requests import Limits, TuningRequest


class KeptChild:
    """One child at a time: started when it is first needed, and anew once it has died.

    Args:
        root: The folder it may read and write, in which all of its devices work.
        limits: Of each call and of the process.
    """

    def __init__(self, root: Path, limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._child: Child | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def get(self, code: tuple[Path, ...], *, programs: bool) -> Child:
        """The child; what it may read and start counts when it is started."""
        if self._child is None:
            self._child = Child(self._limits, self._root, code, programs=programs)
        return self._child

    def close(self) -> None:
        """End the process; the next call is answered by another."""
        if self._child is not None:
            self._child.close()
        self._child = None


class KeptDevice(LocalDevice):
    """A local device whose builds and sessions, one after the other, live in a kept child."""

    def __init__(
        self,
        request: TuningRequest,
        backends: Mapping[str, Backend],
        scratch: Path,
        kept: KeptChild,
    ) -> None:
        super().__init__(request, backends, scratch)
        self._kept = kept

    def _child(self, *_: Path, programs: bool = False) -> Child:  # noqa: ARG002
        child = self._kept.get(self._code_folders, programs=any(self._programs.values()))
        self.isolation = child.isolation
        return cast("Child", _Lent(self._kept, child))


class _Lent:
    """What a device uses of a :class:`workers.engine.child.Child`, until it gives it back."""

    def __init__(self, kept: KeptChild, child: Child) -> None:
        self._kept = kept
        self._child = child
        self._opened = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, function: str, /, **arguments: Any) -> Any:
        """See :meth:`workers.engine.child.Child.call`."""
        try:
            result = self._child.call(function, **arguments)
        except CandidateFailed as failure:
            if failure.outcome != "invalid":
                self._kept.close()
                self._opened = False
            raise
        self._opened = self._opened or function.endswith(":open_build")
        return result

    def close(self) -> None:
        """End the session, not the process."""
        if self._opened:
            self._child.call(f"{__name__}:close_session")
        self._opened = False


def close_session() -> None:
    """Runs in the child: its session makes room for the next."""
    child_work._OPEN.pop().session.close()  # noqa: SLF001
