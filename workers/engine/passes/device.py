"""A device that times compilers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

from workers.engine.handover import nonsense, remove
from workers.engine.local import LocalDevice
from workers.engine.ports import Device
from workers.engine.types import Options

_MOST_DETAIL = 4000


@dataclass(frozen=True, slots=True)
class Compiled:
    """One candidate of a sequence.

    Attributes:
        seconds: That the compiler took, imports left out.
        fingerprint: Equal for those that make the same code; empty where that was not asked.
        detail: Why it cannot be compiled; empty where it can.
    """

    seconds: float
    fingerprint: str
    detail: str = ""


class CompilingDevice(Device, Protocol):
    """A :class:`~workers.engine.ports.Device` that also compiles without keeping."""

    def rehearse_each(
        self, backend: str, sequence: Sequence[Options], *, timed: bool
    ) -> list[Compiled]:
        """Compile candidates one after another in one child process.

        Args:
            timed: Whether the seconds count; else only the fingerprints do.

        Raises:
            CandidateFailed: the child ended badly; carries the failure class.
        """
        ...


class LocalCompiler(LocalDevice):
    """This machine as a :class:`CompilingDevice`."""

    def rehearse_each(
        self, backend: str, sequence: Sequence[Options], *, timed: bool
    ) -> list[Compiled]:
        """See :meth:`CompilingDevice.rehearse_each`."""
        folder = self._new_folder()
        out = folder / "artefact"
        out.mkdir()
        readable = [self._network.model_path.parent]
        if self._network.samples_path:
            readable.append(self._network.samples_path)
        try:
            with self._child(folder, *readable, programs=self._programs[backend]) as child:
                told = child.call(
                    "workers.engine.passes.child_work:rehearse_each",
                    backend=self._paths[backend],
                    network=self._network,
                    target=self._target,
                    sequence=list(sequence),
                    timed=timed,
                    out=out,
                )
        finally:
            remove(folder)
        if not isinstance(told, list) or len(told) != len(sequence):
            raise nonsense("builds of another sequence")
        return [_compiled(each) for each in told]


def _compiled(told: Any) -> Compiled:
    try:
        seconds = float(told["seconds"])
        fingerprint, detail = str(told["fingerprint"])[:128], str(told["detail"])[:_MOST_DETAIL]
    except (KeyError, TypeError, ValueError) as error:
        raise nonsense(error) from error
    if not isfinite(seconds) or (seconds <= 0 and not (detail or fingerprint)):
        raise nonsense("a compile time that cannot be")
    return Compiled(seconds, fingerprint, detail)
