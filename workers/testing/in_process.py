"""A device without child processes, for backends whose library takes seconds to import.

Arguments and results are encoded as for a child process. Confinement and crashes are not covered,
so at least one test of a backend must use :class:`workers.engine.local.LocalDevice`.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Self, cast

from hpcfair.isolation import child_serve, wire
from workers.engine import child_work
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.othermachine import OtherMachine


class InProcessDevice(LocalDevice):
    """A local device that builds and runs in this process."""

    def _child(
        self,
        folder: Path,
        *readable: Path,
        programs: bool = False,  # noqa: ARG002
        other: OtherMachine | None = None,  # noqa: ARG002
    ) -> Child:
        self.isolation = "rlimits"
        return cast("Child", _InProcessChild((folder, *readable)))


class _InProcessChild:
    """The interface of :class:`workers.engine.child.Child` that devices use."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._paths = paths
        self._session: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, function: str, /, **arguments: Any) -> Any:
        module, _, name = function.partition(":")
        child_work._OPEN[:] = self._session  # noqa: SLF001  one per child
        try:
            result = getattr(import_module(module), name)(**_over_the_wire(arguments))
            return _over_the_wire(result)
        except Exception as error:
            described = child_serve.describe(error)
            outcome = cast("Any", described["outcome"])
            raise CandidateFailed(
                outcome, self._presentable(described["detail"]), described["cause"]
            ) from error
        finally:
            self._session = child_work._OPEN.copy()  # noqa: SLF001

    def close(self) -> None:
        for opened in self._session:
            opened.session.close()
        self._session = []

    def _presentable(self, text: str) -> str:
        for path in self._paths:
            text = text.replace(str(path), f"<{path.name}>")
        return text


def _over_the_wire(value: Any) -> Any:
    decoder = wire.Decoder()
    rest = b"".join(bytes(piece) for piece in wire.encode(value))
    while not decoder.feed(rest[: (taken := decoder.missing)]):
        rest = rest[taken:]
    return decoder.value()
