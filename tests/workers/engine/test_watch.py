"""What a child and its programs use together is bounded, and none of them outlives its worker."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.isolation.limits import Limits
from hpcfair.isolation.sandbox import LAYERS
from tests.programs import needs
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed

TESTS = Path(__file__).parents[2]
FUNCTIONS = "tests.workers.engine.child_functions"
LIMITS = Limits(wall_s=60, memory_bytes=2**29, file_bytes=2**24)

pytestmark = needs("linux")


def stopped(
    workspace: Path,
    function: str,
    limits: Limits = LIMITS,
    *,
    programs: bool = False,
    layers: Sequence[str] = LAYERS,
    **arguments: object,
) -> CandidateFailed:
    """The failure of a child that is stopped long before its deadline."""
    started = time.monotonic()
    with (
        Child(limits, workspace, [TESTS], programs=programs, layers=layers) as child,
        pytest.raises(CandidateFailed) as caught,
    ):
        child.call(f"{FUNCTIONS}:{function}", **arguments)
    assert time.monotonic() - started < limits.wall_s
    assert caught.value.outcome == "crash"
    return caught.value


def test_shared_memory_counts_as_memory(tmp_path: Path) -> None:
    failure = stopped(tmp_path, "share_memory", size_bytes=2**30)
    assert failure.cause == "memory"
    assert "the limit is 512 MiB" in str(failure)


@needs("seccomp")
def test_there_are_no_files_in_memory(tmp_path: Path) -> None:
    with Child(LIMITS, tmp_path, [TESTS]) as child, pytest.raises(CandidateFailed) as caught:
        child.call(f"{FUNCTIONS}:make_memory_file")
    assert "Function not implemented" in str(caught.value)


@needs("seccomp")
def test_programs_share_one_limit_of_memory(tmp_path: Path) -> None:
    code = "import time; held = b'x' * (200 * 2**20); time.sleep(60)"
    arguments = {"count": 3, "code": code}
    failure = stopped(tmp_path, "start_many", programs=True, **arguments)
    assert failure.cause == "memory"


@needs("seccomp")
def test_pages_that_processes_share_count_once(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "held = b'x' * (200 * 2**20)\n"
        "if os.fork() and os.fork():\n"
        "    print('forked', flush=True)\n"
        "time.sleep(1.5)\n"
    )
    with Child(LIMITS, tmp_path, [TESTS], programs=True) as child:
        printed = child.call(f"{FUNCTIONS}:run", words=[sys.executable, "-c", code])
    assert printed == "forked\n"


@needs("seccomp")
def test_programs_are_counted(tmp_path: Path) -> None:
    limits = replace(LIMITS, processes=8)
    arguments = {"count": 12, "code": "import time; time.sleep(60)"}
    failure = stopped(tmp_path, "start_many", limits, programs=True, **arguments)
    assert failure.cause == "processes"
    assert "the limit is 8" in str(failure)


@pytest.mark.parametrize(
    ("limits", "function", "arguments", "cause", "said"),
    [
        ({"files": 100}, "write_many", {"count": 300, "size_bytes": 0}, "files", "100 files"),
        ({"disk_bytes": 2**22}, "write_many", {"count": 8, "size_bytes": 2**20}, "disk", "4 MiB"),
        (
            {"disk_bytes": 2**22},
            "write_many",
            {"count": 8, "size_bytes": 2**20, "deleted": True},
            "disk",
            "4 MiB",
        ),
        ({}, "nest", {"levels": 300}, "files", "nested"),
    ],
)
def test_a_workspace_is_bounded(
    tmp_path: Path,
    limits: dict[str, int],
    function: str,
    arguments: dict[str, object],
    cause: str,
    said: str,
) -> None:
    failure = stopped(tmp_path, function, replace(LIMITS, **limits), **arguments)
    assert failure.cause == cause
    assert said in str(failure)
    # The workspaces of other tests may contain this one.
    shutil.rmtree(tmp_path)


@needs("seccomp")
def test_no_program_of_a_child_outlives_a_killed_worker(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from workers.engine.child import Child
from hpcfair.isolation.limits import Limits
child = Child(Limits(), Path({str(tmp_path)!r}), [Path({str(TESTS)!r})], programs=True)
print(child.call("{FUNCTIONS}:leave_behind", words=["/bin/sleep", "600"]), flush=True)
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
        numbers = [int(worker.stdout.readline()) for _ in range(2)]
    assert all(map(_runs, numbers))
    worker.kill()
    worker.wait()
    _until_gone(numbers)


@needs("seccomp")
def test_no_program_outlives_a_killed_child(tmp_path: Path) -> None:
    with Child(LIMITS, tmp_path, [TESTS], programs=True) as child:
        left = child.call(f"{FUNCTIONS}:leave_behind", words=["/bin/sleep", "600"])
        os.kill(child.call(f"{FUNCTIONS}:pid"), 9)
        # Before anybody ends the group.
        _until_gone([left])


# Kernels without Landlock or seccomp


@pytest.mark.parametrize("layers", [(), ("seccomp",), ("landlock",)])
def test_limits_hold_without_a_layer(tmp_path: Path, layers: tuple[str, ...]) -> None:
    with Child(LIMITS, tmp_path, [TESTS], layers=layers) as child:
        assert child.isolation == ("+".join(layers) or "rlimits")
        for function, arguments in (
            ("allocate", {"size_bytes": 2**30}),
            ("write_file", {"path": "big", "size_bytes": 2**25}),
            ("raise_limit", {}),
        ):
            with pytest.raises(CandidateFailed):
                child.call(f"{FUNCTIONS}:{function}", **arguments)
        assert int(child.call(f"{FUNCTIONS}:capabilities"), 16) == 0
    limits = replace(LIMITS, files=50)
    failure = stopped(tmp_path, "write_many", limits, layers=layers, count=99, size_bytes=0)
    assert failure.cause == "files"


@needs("seccomp")
def test_without_landlock_files_are_open_and_the_rest_is_not(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "secret").write_text("hunter2")
    with Child(LIMITS, tmp_path / "workspace", [TESTS], layers=["seccomp"]) as child:
        path = str(tmp_path / "secret")
        assert child.call(f"{FUNCTIONS}:read_file", path=path) == "hunter2"
        for function, arguments in (
            ("open_socket", {"family": 2, "kind": 1}),
            ("fork", {}),
            ("trace", {"pid_of_other": os.getpid()}),
            ("send_signal", {"to": os.getpid()}),
        ):
            with pytest.raises(CandidateFailed, match="Operation not permitted"):
                child.call(f"{FUNCTIONS}:{function}", **arguments)


def test_a_child_that_joins_another_group_still_ends(tmp_path: Path) -> None:
    limits = replace(LIMITS, wall_s=1)
    with (
        Child(limits, tmp_path, [TESTS], layers=["landlock"]) as child,
        pytest.raises(CandidateFailed, match="no answer within 1 s"),
    ):
        child.call(f"{FUNCTIONS}:burn_in_group", of=os.getpid())


@needs("landlock")
def test_without_seccomp_files_stay_closed(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "secret").write_text("hunter2")
    with Child(LIMITS, tmp_path / "workspace", [TESTS], layers=["landlock"]) as child:
        with pytest.raises(CandidateFailed, match="Permission denied"):
            child.call(f"{FUNCTIONS}:read_file", path=str(tmp_path / "secret"))
        with pytest.raises(CandidateFailed, match="Permission denied"):
            child.call(f"{FUNCTIONS}:write_file", path=str(tmp_path / "new"), size_bytes=1)


def _until_gone(numbers: list[int]) -> None:
    deadline = time.monotonic() + 60
    while any(map(_runs, numbers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(_runs, numbers))


def _runs(number: int) -> bool:
    """Whether the process is there and not a zombie that nobody has reaped yet."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
