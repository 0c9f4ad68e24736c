"""A child that may start programs gains nothing else by it, and neither do they."""

import errno
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcfair.isolation import seccomp
from hpcfair.isolation.limits import Limits
from tests.programs import needs, path_of
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed

TESTS = Path(__file__).parents[2]
FUNCTIONS = "tests.workers.engine.child_functions"
LIMITS = Limits(wall_s=60, memory_bytes=2**30, file_bytes=2**24)
_CLONE = 56 if platform.machine() == "x86_64" else 220
_NEW_NAMESPACES = {"mount": 0x20000, "network": 0x40000000, "user": 0x10000000, "pid": 0x20000000}

pytestmark = [needs("linux"), needs("seccomp"), needs("landlock")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def child(workspace: Path) -> Iterator[Child]:
    """One for all tests: each leaves it as it was."""
    with Child(LIMITS, workspace, [TESTS], programs=True) as started:
        yield started


def refused(child: Child, function: str, **arguments: object) -> str:
    """How the child was refused; it must still be alive afterwards."""
    with pytest.raises(CandidateFailed) as caught:
        child.call(f"{FUNCTIONS}:{function}", **arguments)
    assert child.call(f"{FUNCTIONS}:add", left=1, right=1) == 2
    return str(caught.value)


def run(child: Child, *words: str) -> str:
    """What a program that the child started printed."""
    return str(child.call(f"{FUNCTIONS}:run", words=list(words)))


def test_the_level_reached_is_the_same(child: Child) -> None:
    assert child.isolation == "landlock+seccomp"


def test_programs_of_the_system_run(child: Child) -> None:
    assert run(child, "/bin/echo", "hello") == "hello\n"


@needs("cc")
def test_a_compiler_and_its_linker_run_and_what_they_made_loads(child: Child) -> None:
    assert child.call(f"{FUNCTIONS}:compile_and_call", compiler=path_of("cc")) == 7


def test_what_it_wrote_itself_does_not_run(child: Child) -> None:
    assert "Permission denied" in refused(child, "run_what_it_wrote")


@pytest.mark.parametrize("way", ["setsid", "setpgid"])
def test_it_cannot_leave_its_process_group(child: Child, way: str) -> None:
    assert "Operation not permitted" in refused(child, "leave_group", way=way)
    if way == "setsid":
        assert refused(child, "run", words=["/bin/true"], session=True)


@pytest.mark.parametrize("kind", _NEW_NAMESPACES)
def test_it_cannot_make_namespaces(child: Child, kind: str) -> None:
    arguments = [_NEW_NAMESPACES[kind] | signal.SIGCHLD, 0, 0, 0, 0]
    answer = child.call(f"{FUNCTIONS}:system_call", number=_CLONE, arguments=arguments)
    assert answer == -errno.EPERM


def test_every_other_forbidden_call_stays_forbidden(child: Child) -> None:
    column = 0 if platform.machine() == "x86_64" else 1
    freed = {"fork", "vfork", "execve", "execveat"}
    answers = {
        name: child.call(f"{FUNCTIONS}:system_call", number=row[column], arguments=[-1] * 6)
        for name, row in seccomp.FORBIDDEN.items()
        if row[column] is not None and name not in freed
    }
    assert set(answers.values()) == {-errno.EPERM}
    assert {"socket", "chmod" if not column else "fchmod", "unshare", "setns"} <= answers.keys()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import socket; socket.socket()", "PermissionError"),
        ("import os; os.setsid()", "PermissionError"),
        ("import os; os.chmod('.', 0o777)", "PermissionError"),
        ("import os; os.kill(os.getppid(), 0)", ""),
        ("import os; os.kill(1, 0)", "PermissionError"),
        ("open('/proc/1/environ').read()", "PermissionError"),
    ],
)
def test_programs_are_bound_as_the_child_is(child: Child, code: str, said: str) -> None:
    assert said in run(child, sys.executable, "-c", code)


def test_programs_read_and_write_no_file_outside(child: Child, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    assert "Permission denied" in run(child, "/bin/cat", str(secret))
    assert "Permission denied" in run(child, "/bin/cp", "/etc/os-release", str(tmp_path / "copy"))
    assert "Permission denied" in run(child, "/bin/rm", str(secret))
    assert secret.read_text() == "hunter2"
    assert list(tmp_path.iterdir()) == [secret]


def test_a_program_left_behind_dies_with_the_child(tmp_path: Path) -> None:
    with Child(LIMITS, tmp_path, [TESTS], programs=True) as started:
        left = started.call(f"{FUNCTIONS}:leave_behind", words=["/bin/sleep", "600"])
        assert Path(f"/proc/{left}").exists()
    deadline = time.monotonic() + 120
    while _runs(left) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(left)


def test_a_child_that_may_not_start_programs_still_may_not(tmp_path: Path) -> None:
    with Child(LIMITS, tmp_path, [TESTS]) as started:
        assert "Operation not permitted" in refused(started, "run", words=["/bin/true"])


def _runs(pid: int) -> bool:
    """Whether the process is there and not a zombie that nobody has reaped yet."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
