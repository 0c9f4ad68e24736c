"""A session in a child process of this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.measurement.types import Timing
from workers.engine.child import Child
from workers.engine.handover import protocol_error, remove
from workers.engine.ports import Array
from workers.engine.types import SampleQuery

#: Module of the functions that children run.
WORK = "workers.engine.child_work"


class LocalSession:
    """A :class:`~workers.engine.ports.RunningSession` in a child process."""

    def __init__(self, child: Child, folder: Path) -> None:
        self.is_closed = False
        self._child = child
        self._folder = folder

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        return arrays_of(self._child.call(f"{WORK}:run", inputs=inputs))

    def time(self, runs: int, warmup: int) -> Timing:
        timed = self._child.call(f"{WORK}:time", runs=runs, warmup=warmup)
        try:
            timing = Timing(
                tuple(map(int, timed["samples_ns"])),
                int(timed["involuntary_switches"]),
                int(timed["peak_rss_bytes"]),
                bool(timed["caller_placed"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise protocol_error(error) from error
        if len(timing.samples_ns) != runs or not all(0 < n < 2**63 for n in timing.samples_ns):
            raise protocol_error("impossible times")
        return timing

    def query(self, query: SampleQuery) -> None:
        self._child.call(f"{WORK}:query", query=query)

    def answer(self) -> list[dict[str, Array]]:
        batches = self._child.call(f"{WORK}:answer")
        if not isinstance(batches, list | tuple):
            raise protocol_error(type(batches).__name__)
        return [arrays_of(batch) for batch in batches]

    def rest(self) -> None:
        self._child.call(f"{WORK}:rest")

    def close(self) -> None:
        self.is_closed = True
        self._child.close()
        remove(self._folder)


def arrays_of(value: Any) -> dict[str, Array]:
    """Arrays by name, as a child returned them; raises CandidateFailed for other values."""
    if not isinstance(value, dict) or not all(isinstance(v, np.ndarray) for v in value.values()):
        raise protocol_error(type(value).__name__)
    return value
