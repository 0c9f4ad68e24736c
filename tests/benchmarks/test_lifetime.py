"""Processes that a benchmark starts end with it, also if it is killed."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.servers import ROOT
from tests.programs import needs

pytestmark = needs("linux")

_SLEEP = "import time; time.sleep(600)"
_PARENT = f"""
import subprocess, sys, time
from benchmarks.lifetime import ending_with_us
process = subprocess.Popen(ending_with_us(sys.executable, "-c", {_SLEEP!r}))
print(process.pid, flush=True)
time.sleep(600)
"""
_BLOCK = """
import sys, time
from benchmarks.lifetime import exit_on_sigterm
exit_on_sigterm()
try:
    print("ready", flush=True)
    # A signal just before a long sleep would be noticed at its end.
    while True:
        time.sleep(0.1)
finally:
    print("left", flush=True)
"""


def start(program: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_ends_with_its_parent(number: signal.Signals) -> None:
    with start(_PARENT) as parent:
        child = int(line_of(parent))
        until_it_runs(child, _SLEEP)
        descriptor = os.pidfd_open(child)
        parent.send_signal(number)
    try:
        ended, _, _ = select.select([descriptor], [], [], 60.0)
    finally:
        os.close(descriptor)
    assert ended


def test_sigterm_exits_context_managers() -> None:
    with start(_BLOCK) as process:
        assert line_of(process) == "ready"
        process.terminate()
        assert line_of(process) == "left"
    assert process.returncode == 128 + signal.SIGTERM


def until_it_runs(pid: int, command: str) -> None:
    """Wait until a process has asked the kernel to end with its parent, and runs its command."""
    file = Path("/proc") / str(pid) / "cmdline"
    deadline = time.monotonic() + 60.0
    while b"lifetime" in (line := file.read_bytes()) or command.encode() not in line:
        assert time.monotonic() < deadline
        time.sleep(0.02)
