"""Times runs in this process, and waits until its threads are idle."""

import gc
import sys
import time
from collections.abc import Callable

from hpcfair.measurement.types import Timing

if sys.platform != "win32":
    import resource

_POLL_S = 0.01
#: Share of a poll interval, in processor time, below which the process counts as idle.
_IDLE_SHARE = 0.2
#: Upper bound on waiting: a runtime's threads may be configured to spin for ever.
_LONGEST_WAIT_S = 1.0


def time_runs(run: Callable[[], object], runs: int, warmup: int) -> Timing:
    """Time ``runs`` consecutive calls of ``run``, after ``warmup`` untimed ones."""
    samples_ns = [0] * runs
    # As in timeit, a collection during a run would be charged to it. It takes long enough for
    # caches to be evicted and threads to fall asleep, so the warm-up comes after it.
    gc.collect()
    gc.disable()
    try:
        for _ in range(warmup):
            run()
        before = _involuntary_switches()
        for number in range(runs):
            started = time.perf_counter_ns()
            outputs = run()
            samples_ns[number] = time.perf_counter_ns() - started
            # Freed here: the next assignment would free them within the next run's time.
            del outputs
        after = _involuntary_switches()
    finally:
        gc.enable()
    switches = None if before is None or after is None else after - before
    return Timing(tuple(samples_ns), switches)


def wait_until_idle() -> None:
    """Return once no thread of this process computes, or after one second.

    A runtime's threads poll for more work after a run and take cores from the next timed session:
    those of ONNX Runtime 1.31 for 40 ms, those of TVM 0.27 by default for 150 to 190 ms. On two
    cores, ONNX Runtime took three times as long beside the latter (measured).
    """
    end = time.monotonic() + _LONGEST_WAIT_S
    while time.monotonic() < end:
        before = time.process_time()
        time.sleep(_POLL_S)
        if time.process_time() - before < _IDLE_SHARE * _POLL_S:
            return


def _involuntary_switches() -> int | None:
    if sys.platform == "win32":
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
