"""A device that also compiles without keeping the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

from workers.engine.handover import protocol_error, remove
from workers.engine.local import LocalDevice
from workers.engine.normalform import read_paths
from workers.engine.ports import Device
from workers.engine.types import Options

_MOST_DETAIL = 4000


@dataclass(frozen=True, slots=True)
class CompileOutcome:
    """The compilation of one candidate of a sequence.

    Attributes:
        seconds: Duration, without imports.
        fingerprint: Equal for equal code; empty if unknown or not requested.
        detail: Why it cannot be compiled; empty on success.
    """

    seconds: float
    fingerprint: str
    detail: str = ""


class CompilingDevice(Device, Protocol):
    """A :class:`~workers.engine.ports.Device` that also compiles without keeping the result."""

    def rehearse_each(
        self, backend: str, sequence: Sequence[Options], *, timed: bool
    ) -> list[CompileOutcome]:
        """Compile candidates one after another in one child process. All of them are made from the
        same file, the normal form or the published one.

        ``timed`` requests the durations; otherwise only the fingerprints are needed. Raises
        CandidateFailed, with the failure class, if the child ended badly.
        """
        ...


class LocalCompiler(LocalDevice):
    """This machine as a :class:`CompilingDevice`."""

    def rehearse_each(
        self, backend: str, sequence: Sequence[Options], *, timed: bool
    ) -> list[CompileOutcome]:
        folder = self._new_folder()
        out = folder / "artefact"
        out.mkdir()
        network = self._shared.read_by(backend, sequence[0])
        try:
            with self._builder(backend, folder, *read_paths(network)) as child:
                results = child.call(
                    "workers.engine.passes.child_work:rehearse_each",
                    backend=self._paths[backend],
                    network=network,
                    target=self._target,
                    sequence=list(sequence),
                    timed=timed,
                    out=out,
                )
        finally:
            remove(folder)
        if not isinstance(results, list) or len(results) != len(sequence):
            raise protocol_error("builds of another sequence")
        return [_outcome(each) for each in results]


def _outcome(described: Any) -> CompileOutcome:
    try:
        seconds = float(described["seconds"])
        fingerprint, detail = (
            str(described["fingerprint"])[:128],
            str(described["detail"])[:_MOST_DETAIL],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise protocol_error(error) from error
    if not isfinite(seconds) or (seconds <= 0 and not (detail or fingerprint)):
        raise protocol_error("an impossible compile time")
    return CompileOutcome(seconds, fingerprint, detail)
