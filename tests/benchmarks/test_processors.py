"""Processor time of processes, of those below them, and of those that have ended."""

import subprocess
import sys

from benchmarks.processors import BusyShare, ProcessorTime
from tests.programs import needs

pytestmark = needs("linux")

_WORK = "import time\nwhile time.process_time() < 0.3: pass"
#: Works in a child that ends, then waits for its own end.
_PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {_WORK!r}], check=True)
print("done", flush=True)
sys.stdin.read()
"""


def test_children_that_have_ended_are_counted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        used = ProcessorTime({"work": [process.pid], "nothing": []})
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        used.stop()
        assert process.stdin is not None
        process.stdin.close()
    # The kernel counts in ticks of 10 ms, rounded down for each process and kind of time.
    assert 0.25 < used.seconds["work"] < 5
    assert used.seconds["nothing"] == 0
    assert used.run_s > 0


def test_the_share_of_busy_processors_counts_work() -> None:
    share = BusyShare()
    subprocess.run([sys.executable, "-c", _WORK], check=True)
    assert 0 < share.read() <= 1
