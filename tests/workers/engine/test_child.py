"""A child process answers, or says why not; its worker survives whatever happens."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hpcfair.isolation.limits import Limits
from hpcfair.isolation.process import peak_bytes_here
from tests.programs import needs
from workers.engine import child as child_module
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.ports import Array
from workers.engine.types import TensorSpec

TESTS = Path(__file__).parents[2]
FUNCTIONS = "tests.workers.engine.child_functions"
LIMITS = Limits(wall_s=60, memory_bytes=2**31, file_bytes=2**24)


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    with Child(LIMITS, tmp_path, [TESTS]) as started:
        yield started


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """A child that outlives every test which it survives."""
    with Child(LIMITS, tmp_path_factory.mktemp("lasting"), [TESTS]) as started:
        yield started


def failure_of(child: Child, function: str, **arguments: object) -> CandidateFailed:
    with pytest.raises(CandidateFailed) as caught:
        child.call(f"{FUNCTIONS}:{function}", **arguments)
    return caught.value


def test_a_function_is_called_by_name(lasting: Child) -> None:
    assert lasting.call(f"{FUNCTIONS}:add", left=1, right=2.5) == 3.5


def test_one_call_needs_one_line(tmp_path: Path) -> None:
    answer = child_module.call(
        f"{FUNCTIONS}:add", limits=LIMITS, workspace=tmp_path, readable=[TESTS], left=1, right=1
    )
    assert answer == 2


def test_a_session_keeps_its_state_between_calls(lasting: Child) -> None:
    first, *others = (lasting.call(f"{FUNCTIONS}:count") for _ in range(3))
    assert others == [first + 1, first + 2]


def test_arrays_cross_both_ways(lasting: Child) -> None:
    arrays: dict[str, Array] = {
        "big": np.arange(3e6, dtype=np.float32),
        "none": np.zeros((0, 3), np.float16),
    }
    doubled = lasting.call(f"{FUNCTIONS}:double", arrays=arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(doubled[name], np.add(array, array))
        assert doubled[name].dtype == array.dtype
    doubled["big"][0] = 1  # the caller's own


def test_dataclasses_and_paths_arrive_as_plain_data(lasting: Child) -> None:
    spec = TensorSpec("x", "float32", ("N", 3))
    assert lasting.call(f"{FUNCTIONS}:echo", value=[spec, Path("/a")]) == [
        {"name": "x", "dtype": "float32", "shape": ["N", 3]},
        "/a",
    ]


def test_what_libraries_print_never_reaches_the_protocol(lasting: Child) -> None:
    assert lasting.call(f"{FUNCTIONS}:chatter", lines=20_000) == 20_000
    assert lasting.call(f"{FUNCTIONS}:add", left=1, right=1) == 2


def test_standard_input_is_empty(lasting: Child) -> None:
    assert lasting.call(f"{FUNCTIONS}:read_standard_input") == ""


def test_the_environment_is_scrubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    with Child(LIMITS, tmp_path, [TESTS]) as child:
        found = child.call(f"{FUNCTIONS}:environment")
    assert "secret" not in str(found)
    assert found["HOME"] == str(tmp_path)


@pytest.mark.parametrize(
    ("function", "arguments", "outcome", "cause", "said"),
    [
        ("refuse", {"reason": "Loop: no such kernel"}, "invalid", "exception", "Loop: no such"),
        ("divide", {}, "invalid", "exception", "ZeroDivisionError"),
        ("exit_loudly", {}, "invalid", "exception", "enough"),
        ("no_such_function", {}, "invalid", "exception", "no_such_function"),
        ("unsendable", {}, "invalid", "exception", "cannot cross a process boundary"),
        ("lack_a_package", {}, "infrastructure", "unavailable", "pip install abacus"),
        ("lack_a_module", {}, "infrastructure", "unavailable", "no_such_module"),
        ("fill_disk_error", {}, "infrastructure", "disk", "No space left"),
        ("allocate", {"size_bytes": 2**32}, "crash", "memory", "MemoryError"),
        ("write_file", {"path": "big", "size_bytes": 2**25}, "crash", "file-size", "too large"),
    ],
)
def test_an_exception_is_classed_and_the_child_goes_on(
    lasting: Child, function: str, arguments: dict[str, object], outcome: str, cause: str, said: str
) -> None:
    failure = failure_of(lasting, function, **arguments)
    assert (failure.outcome, failure.cause) == (outcome, cause)
    assert said in str(failure)
    assert lasting.call(f"{FUNCTIONS}:add", left=1, right=1) == 2


def test_one_killed_while_it_held_much_was_killed_for_its_memory(tmp_path: Path) -> None:
    # Just more than this process ever held, which a child's peak memory begins with.
    holding = max(peak_bytes_here(), 2**28) + 2**27
    limits = replace(LIMITS, memory_bytes=2 * holding - 2**26)
    with Child(limits, tmp_path, [TESTS]) as child:
        failure = failure_of(child, "kill_itself", number=9, holding=holding)
    assert (failure.outcome, failure.cause) == ("crash", "memory")
    assert "for its memory" in str(failure)


@pytest.mark.parametrize(
    ("function", "arguments", "outcome", "cause", "said"),
    [
        ("segfault", {}, "crash", "signal", "SIGSEGV"),
        ("abort", {}, "crash", "signal", "the reason"),
        ("exit_quietly", {}, "crash", "exit", "status 0"),
        ("kill_itself", {"number": 9}, "infrastructure", "memory", "machine ran out of memory"),
        ("kill_itself", {"number": int(signal.SIGTERM)}, "infrastructure", "signal", "SIGTERM"),
        ("kill_itself", {"number": int(signal.SIGXCPU)}, "timeout", "cpu-time", "processor"),
    ],
)
def test_the_end_of_a_child_is_classed_and_final(
    child: Child,
    tmp_path: Path,
    function: str,
    arguments: dict[str, object],
    outcome: str,
    cause: str,
    said: str,
) -> None:
    failure = failure_of(child, function, **arguments)
    assert (failure.outcome, failure.cause) == (outcome, cause)
    assert said in str(failure)
    assert str(tmp_path) not in str(failure), "it tells where on this machine it ran"
    assert failure_of(child, "count").cause == "exit"


@pytest.mark.parametrize("function", ["burn", "sleep"])
def test_a_call_that_takes_too_long_is_killed(tmp_path: Path, function: str) -> None:
    arguments = {"seconds": 3600} if function == "sleep" else {}
    with Child(Limits(wall_s=0.5), tmp_path, [TESTS]) as child:
        assert child._process is not None
        number = child._process.pid
        failure = failure_of(child, function, **arguments)
    assert (failure.outcome, failure.cause) == ("timeout", "wall-clock")
    assert not Path(f"/proc/{number}").exists()


@pytest.mark.parametrize(
    "message",
    [
        "00" * 7 + "02" + b"[]".hex(),
        "ff" * 8,
        "00" * 7 + "02" + b"{}".hex(),
        "00" * 7 + "1c" + b'{"body": 1, "buffers": [-1]}'.hex(),
        "00" * 7 + "19" + b'{"body": 1, "buffers": []}'.hex()[:50],
        "00" * 7 + "1a" + b'{"body": 1, "buffers": []}'.hex(),
        "00" * 7 + "1b" + b'{"body": {}, "buffers": []}'.hex(),
    ],
)
def test_nonsense_in_the_pipe_ends_the_child_not_the_worker(child: Child, message: str) -> None:
    failure = failure_of(child, "lie", message=message)
    assert (failure.outcome, failure.cause) == ("crash", "protocol")


def test_a_failure_can_be_kept_in_any_database(lasting: Child) -> None:
    said = str(failure_of(lasting, "refuse", reason="a\0b\ud800c"))
    assert "\0" not in said
    assert said.encode().decode() == said


def test_a_closed_child_takes_no_calls(child: Child) -> None:
    number = child.call(f"{FUNCTIONS}:pid")
    child.close()
    child.close()
    assert not Path(f"/proc/{number}").exists()
    assert failure_of(child, "count").outcome == "infrastructure"


def test_a_child_that_cannot_start_is_the_machines_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(CandidateFailed, match="did not start") as caught:
        Child(LIMITS, tmp_path)
    assert (caught.value.outcome, caught.value.cause) == ("infrastructure", "start")


@needs("linux")
def test_no_child_outlives_a_killed_worker(tmp_path: Path) -> None:
    script = f"""
import sys, time
from pathlib import Path
from workers.engine.child import Child
from hpcfair.isolation.limits import Limits
child = Child(Limits(), Path({str(tmp_path)!r}), [Path({str(TESTS)!r})])
print(child.call("{FUNCTIONS}:pid"), flush=True)
child.call("{FUNCTIONS}:burn")
"""
    worker = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        text=True,
    )
    assert worker.stdout is not None
    with worker.stdout:
        number = int(worker.stdout.readline())
    assert Path(f"/proc/{number}").exists()
    worker.kill()
    worker.wait()
    deadline = time.monotonic() + 60
    while _runs(number) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(number)


def _runs(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
