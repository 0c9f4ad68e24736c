"""Waits until other guests of the host leave the processors to this one. Waiting and repeating
depend only on the load of others, never on the measured values, so they select the moment and not
the result."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.report import say
from workers.engine.condition import quality_between, read_condition
from workers.engine.confirmation import ConfirmedResult

#: Share of the processors that others may use while we request all of them.
QUIET_SHARE, QUIET_PROBES = 0.05, 3
#: Longest wait; a measurement after it states how disturbed it was.
PATIENCE_S = 900.0
_PROBE_S, _PAUSE_S = 1.0, 2.0
#: Most repetitions of a disturbed measurement, and the share of disturbed rounds that triggers one.
TAKES, DISTURBED_SHARE = 3, 0.3
_SPIN = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pass
"""


def wait(probes: int = QUIET_PROBES) -> float:
    """Wait until this many consecutive probes find the machine quiet; returns the seconds."""
    started = time.monotonic()
    quiet, is_announced = 0, False
    while quiet < probes and time.monotonic() - started < PATIENCE_S:
        others = taken_by_others()
        quiet = quiet + 1 if others <= QUIET_SHARE else 0
        if not quiet:
            if not is_announced:
                say(f"others take {others:.0%} of the processors: waiting until they do not")
            is_announced = True
            time.sleep(_PAUSE_S)
    return time.monotonic() - started


def taken_by_others() -> float:
    """Share of the processors, 0 to 1, that others used or withheld in a second of computing."""
    before = read_condition()
    command = [sys.executable, "-S", "-c", _SPIN, str(_PROBE_S)]
    spinning = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    for process in spinning:
        process.wait()
    return float(quality_between(before, read_condition()).get("cotenant_cpu_share", 0.0))


def undisturbed(take: Callable[[], ConfirmedResult]) -> ConfirmedResult:
    """A measurement with little contention, or the last of a few attempts."""
    for left in reversed(range(TAKES)):
        wait()
        result = take()
        measurement = result.measurement
        lost = len(measurement.quality.get("contended_rounds", ()))
        if lost <= DISTURBED_SHARE * len(measurement.blocks) or not left:
            break
        say(f"{lost} of {len(measurement.blocks)} rounds were disturbed: measuring again")
    return result
