"""The supervisor, over real processes."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from hub.supervisor import Service, StartFailed, Supervisor

    folder = Path(sys.argv[1])
    child = "import os, sys, time; open(sys.argv[1], 'a').write(f'{os.getpid()}\\\\n'); "
    child += "print('at work', flush=True); time.sleep(600)"

    def service(name, limit_s=120, extra=""):
        path = folder / name
        command = (sys.executable, "-c", extra + child, str(path))
        return Service(name, command, ready=path.exists, ready_timeout_s=limit_s, grace_s=3)

    services = [service("one"), service("two", float(sys.argv[2]), sys.argv[3])]
    def say(name, line):
        print(f"{name}: {line}", flush=True)
    try:
        Supervisor(services, say).run(on_ready=lambda: say("hub", "ready"))
    except StartFailed as error:
        say("hub", str(error))
        sys.exit(3)
    """
)

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def run(timeout_s: float = 120, extra: str = "") -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), str(timeout_s), extra],
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def pids(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_child_that_dies_is_started_again(start: Start, tmp_path: Path) -> None:
    start()
    until(lambda: len(pids(tmp_path / "two")) == 1)
    os.kill(pids(tmp_path / "one")[0], signal.SIGKILL)
    until(lambda: len(pids(tmp_path / "one")) == 2)
    assert alive(pids(tmp_path / "one")[1])
    assert len(pids(tmp_path / "two")) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    process = start()
    until(lambda: len(pids(tmp_path / "two")) == 1)
    process.send_signal(number)
    assert process.wait(120) == 0
    assert not any(alive(pid) for name in ("one", "two") for pid in pids(tmp_path / name))


def test_a_killed_supervisor_leaves_no_orphan(start: Start, tmp_path: Path) -> None:
    process = start()
    until(lambda: len(pids(tmp_path / "two")) == 1)
    process.kill()
    until(lambda: not any(alive(pid) for name in ("one", "two") for pid in pids(tmp_path / name)))


def test_a_service_that_never_gets_ready_ends_the_start(start: Start, tmp_path: Path) -> None:
    process = start(timeout_s=15, extra="import sys; sys.exit('out of luck'); ")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "two: out of luck" in output
    assert "two was not ready within 15 s" in output
    assert not alive(pids(tmp_path / "one")[0])
