"""Part of the contract of backends: how a build's runtime pins its threads."""

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import numpy as np
import pytest

from hpcfair.measurement.placement import processors_in
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Runtime
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.testset import make_test_set
from workers.engine.types import Network, Options, TargetSpec
from workers.testing.builds import python

#: Seconds of runs in which a runtime that places the calling thread must be seen doing so. With 30,
#: one run beside the rest of the suite did not see it.
_LONGEST_S = 120.0


class PlacementContract:
    """Contract of the threads of the runtime that opens a backend's builds."""

    backend: ClassVar[type[Backend]]

    def device_for(self, network: Network, target: TargetSpec, folder: Path) -> LocalDevice:
        """See :class:`workers.testing.backend_contract.BackendContract`."""
        raise NotImplementedError

    def candidates(self, network: Network, target: TargetSpec) -> list[Options]:
        """See :class:`workers.testing.backend_contract.BackendContract`."""
        raise NotImplementedError

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_the_runtime_states_whether_its_workers_are_pinned(
        self, small: Network, target: TargetSpec, tmp_path: Path
    ) -> None:
        backend = self.backend()
        inputs = tmp_path / "inputs.npz"
        np.savez(inputs, **make_test_set(small, {}, 0).timing)  # type: ignore[arg-type]
        with self.device_for(small, target, tmp_path) as device:
            for options in self.candidates(small, target):
                build = device.build(backend.name, options)
                assert build.directory is not None, build.detail
                if build.runtime in registry.entries():
                    path = str(build.directory / build.entry_point)
                    arguments = (build.runtime, path, build.runtime_options, str(inputs))
                    python(f"from {__name__} import check_pinning; check_pinning(*{arguments!r})")


def check_pinning(name: str, path: str, options: Mapping[str, Any], inputs: str) -> None:
    """Assert that ``pins_workers`` of an opened build is true. Run it in a new process.

    If workers are pinned and the runtime does not say so, it must place the calling thread itself
    during runs. A runtime that pins workers may not create a thread after the first runs, since it
    would inherit the placement of the caller.
    """
    with np.load(inputs) as file:
        arrays = dict(file)
    before = affinities()
    own = before[threading.get_native_id()]
    runtime = registry.open(name, Path(path), options)
    end = monotonic() + _LONGEST_S
    while True:
        runtime.run(arrays)
        workers = {task: allowed for task, allowed in affinities().items() if task not in before}
        pinned = {task: allowed for task, allowed in workers.items() if not allowed >= own}
        # A worker pins itself when it begins, which a busy machine may delay.
        if pinned or not runtime.pins_workers or monotonic() > end:
            break
    placed_itself = _is_placed_by(runtime, arrays) if pinned and not runtime.pins_workers else False
    if runtime.pins_workers:
        runtime.run(arrays)
        is_late = not affinities().keys() <= before.keys() | workers.keys()
        assert not is_late, "a thread was created late"
    if len(own) > 1:
        assert runtime.pins_workers == bool(pinned and not placed_itself), (pinned, placed_itself)
        if runtime.pins_workers:
            assert own - set().union(*pinned.values()), "no processor is left to the caller"


def affinities() -> dict[int, set[int]]:
    """Processors that each thread of this process may run on, as ``proc_pid_status(5)`` lists
    them."""
    result: dict[int, set[int]] = {}
    for task in Path("/proc/self/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        (allowed,) = (line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:"))
        result[int(task.name)] = processors_in(allowed)
    return result


def _is_placed_by(runtime: Runtime, arrays: Mapping[str, Any]) -> bool:
    """Whether the runtime restricts the calling thread during runs, and no longer."""
    own = os.sched_getaffinity(0)
    end = monotonic() + _LONGEST_S
    with _watched(threading.get_native_id()) as seen:
        while len(seen) < 2 and monotonic() < end:
            runtime.run(arrays)
    return len(seen) > 1 and os.sched_getaffinity(0) == own


@contextmanager
def _watched(task: int) -> Iterator[set[frozenset[int]]]:
    """The affinities that a thread has had since."""
    seen: set[frozenset[int]] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            seen.add(frozenset(os.sched_getaffinity(task)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()
