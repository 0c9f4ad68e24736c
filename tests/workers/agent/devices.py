"""Devices of a real hub, and their agents as processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from registry.services.work.devicecode import device_code_issue
from registry.states import JobKind
from registry.tables import Job, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from workers.jobs.run import drain

#: Seconds that a test waits; machines that run several suites at once are slow.
PATIENCE_S = 600.0


def agent_command(state: Path, *arguments: str) -> list[str]:
    """The command ``hpcfair-agent`` with a state folder."""
    return [sys.executable, "-m", "workers.agent", "--state", str(state), *arguments]


def join(hub: str, state: Path, *arguments: str, name: str = "bench-1") -> str:
    """Let this machine join a hub; returns what the command printed."""
    code = device_code_issue(actor=None, target=None)
    command = agent_command(state, "join", code, "--hub", hub, "--name", name, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def agent(
    state: Path, *arguments: str, log: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """An agent that runs during the block; its log goes to ``log``."""
    environment = os.environ | {"HPCFAIR_CHILD_MEMORY_MIB": "4096"}
    with (log or state / "log").open("ab") as file:
        process = subprocess.Popen(
            agent_command(state, "run", *arguments), stderr=file, env=environment
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def listening(pid: int) -> list[str]:
    """Local addresses at which a process or one of its descendants accepts connections, in the
    notation of ``/proc/net/tcp``; also bound UDP sockets."""
    addresses: dict[str, str] = {}
    for protocol, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == state:
                addresses[f"socket:[{columns[9]}]"] = f"{protocol} {columns[1]}"
    listeners, waiting = [], [pid]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        # Files and child processes may end while they are read.
        for file in _paths(process / "fd"):
            with suppress(OSError):
                listeners += [
                    addresses[link] for link in [str(file.readlink())] if link in addresses
                ]
        for thread in _paths(process / "task"):
            with suppress(OSError):
                waiting += map(int, (thread / "children").read_text().split())
    return listeners


def _paths(folder: Path) -> list[Path]:
    """The entries of a folder; none if it does not exist."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def until(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def publish(alice: User, name: str = "alice/net") -> None:
    """Publish a small network, which is to be inspected."""
    files = {"README.md": readme(), "model.onnx": tiny_onnx()}
    make_mlmodel(name, actor=alice, files=files)


def queued_search(alice: User, **parameters: Any) -> Job:
    """A search of a published network, which the device does."""
    publish(alice)
    drain([JobKind.INSPECT], here=None)
    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    parameters = {"backends": ["onnxruntime"], **parameters}
    Job.objects.filter(pk=job.pk).update(parameters=parameters)
    return job
