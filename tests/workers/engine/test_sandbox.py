"""A confined child is refused what it tries; each test first knows that it would work outside."""

import errno
import os
import platform
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcfair.isolation import landlock, sandbox, seccomp
from hpcfair.isolation.limits import Limits
from tests.programs import needs
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed

TESTS = Path(__file__).parents[2]
FUNCTIONS = "tests.workers.engine.child_functions"
LIMITS = Limits(wall_s=60, memory_bytes=2**30, file_bytes=2**24)

pytestmark = needs("linux")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def child(workspace: Path) -> Iterator[Child]:
    """One for all that it is refused: it must survive that."""
    with Child(LIMITS, workspace, [TESTS]) as started:
        yield started


def refused(child: Child, function: str, **arguments: object) -> str:
    """How the child was refused; it must still be alive afterwards."""
    with pytest.raises(CandidateFailed) as caught:
        child.call(f"{FUNCTIONS}:{function}", **arguments)
    assert child.call(f"{FUNCTIONS}:add", left=1, right=1) == 2
    return str(caught.value)


@needs("landlock")
@needs("seccomp")
def test_the_level_reached_is_told(child: Child) -> None:
    assert child.isolation == "landlock+seccomp"


@needs("landlock")
def test_files_outside_cannot_be_read(child: Child, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    readable_outside = [secret, Path(f"/proc/{os.getpid()}/cmdline")]
    if os.access("/etc/shadow", os.R_OK):
        readable_outside.append(Path("/etc/shadow"))
    for path in readable_outside:
        assert path.read_bytes()
        assert "Permission denied" in refused(child, "read_file", path=str(path))
    assert "Permission denied" in refused(child, "list_folder", path=str(tmp_path))


@needs("landlock")
def test_nothing_reaches_outside_through_dots_or_links(
    child: Child, tmp_path: Path, workspace: Path
) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (workspace / "link").symlink_to(tmp_path / "secret")
    for path in (workspace / os.path.relpath(tmp_path / "secret", workspace), workspace / "link"):
        assert "Permission denied" in refused(child, "read_file", path=str(path))
    link = {"path": str(workspace / "own"), "to": str(tmp_path / "secret")}
    assert "Permission denied" in refused(child, "make_link", **link)


@needs("landlock")
def test_nothing_can_be_written_outside_the_workspace(child: Child, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "new", Path("/var/tmp/hpcfair-test")):
        message = refused(child, "write_file", path=str(path), size_bytes=1)
        assert "Permission denied" in message
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "new").exists()


@needs("landlock")
def test_what_is_given_to_read_can_be_read_and_not_written(tmp_path: Path, workspace: Path) -> None:
    given = tmp_path / "model.onnx"
    given.write_text("weights")
    with Child(LIMITS, workspace, [given, TESTS]) as child:
        assert child.call(f"{FUNCTIONS}:read_file", path=str(given)) == "weights"
        assert "Permission denied" in refused(child, "write_file", path=str(given), size_bytes=1)


@needs("landlock")
def test_our_own_code_can_be_read_but_not_what_lies_beside_it(
    child: Child, workspace: Path
) -> None:
    root = Path(sandbox.__file__).parents[2]
    engine = Path(sandbox.__file__)
    assert child.call(f"{FUNCTIONS}:read_file", path=str(engine))
    if (beside := root / "pyproject.toml").exists():
        assert "Permission denied" in refused(child, "read_file", path=str(beside))


def test_a_compiler_can_work_in_its_workspace(child: Child, workspace: Path) -> None:
    folder = workspace / "compiler"
    folder.mkdir()
    left = child.call(f"{FUNCTIONS}:work_in_workspace", workspace=str(folder))
    assert left == ["b"]
    assert (workspace / "tmp/scratch").read_text() == "2"


@needs("seccomp")
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"])
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_no_socket_opens(child: Child, family: str, kind: str) -> None:
    numbers = {"family": int(getattr(socket, family)), "kind": int(getattr(socket, kind))}
    assert "Operation not permitted" in refused(child, "open_socket", **numbers)


@needs("seccomp")
def test_a_listening_server_cannot_be_reached(child: Child) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        with socket.create_connection((host, port), timeout=2):
            pass
        assert "Operation not permitted" in refused(child, "connect", host=host, port=port)


def test_threads_and_socket_pairs_still_work(child: Child) -> None:
    assert child.call(f"{FUNCTIONS}:start_thread") == 7
    assert child.call(f"{FUNCTIONS}:talk_to_itself") == "hello"


@needs("seccomp")
@pytest.mark.parametrize("function", ["fork", "run_program"])
def test_no_process_starts_so_there_is_no_fork_bomb(child: Child, function: str) -> None:
    assert "Operation not permitted" in refused(child, function)


@needs("seccomp")
def test_other_processes_are_out_of_reach(child: Child) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        os.kill(other.pid, 0)
        assert "Operation not permitted" in refused(child, "send_signal", to=other.pid)
        assert "Operation not permitted" in refused(child, "send_signal", to=os.getpid())
        assert "Operation not permitted" in refused(child, "trace", pid_of_other=other.pid)
    finally:
        other.communicate(b"\n")


@needs("seccomp")
def test_files_modes_outside_stay_as_they_are(child: Child, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    assert "Operation not permitted" in refused(child, "change_mode", path=str(secret))
    assert secret.stat().st_mode & 0o777 == 0o600


@needs("seccomp")
def test_every_forbidden_call_is_refused(child: Child) -> None:
    column = 0 if platform.machine() == "x86_64" else 1
    numbers = {name: row[column] for name, row in seccomp.FORBIDDEN.items()}
    answers = {
        # Arguments with which the call would otherwise fail, with EFAULT, EBADF or EINVAL.
        name: child.call(f"{FUNCTIONS}:system_call", number=number, arguments=[-1] * 6)
        for name, number in numbers.items()
        if number is not None
    }
    assert set(answers.values()) == {-errno.EPERM}
    assert len(answers) > 60


def test_memory_beyond_the_limit_is_refused(child: Child) -> None:
    assert child.call(f"{FUNCTIONS}:allocate", size_bytes=2**26) == 2**26
    assert "MemoryError" in refused(child, "allocate", size_bytes=2**31)


def test_address_space_is_bounded_too(child: Child) -> None:
    assert child.call(f"{FUNCTIONS}:map_memory", size_bytes=2**20) == 2**20
    assert "Cannot allocate memory" in refused(child, "map_memory", size_bytes=2**46)


def test_a_child_for_a_gpu_may_reserve_addresses_and_nothing_else(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hunter2")
    with Child(LIMITS, workspace, [TESTS], gpu=True) as child:
        # NVIDIA's driver reserves an address for all memory of machine and cards.
        given = child.call(f"{FUNCTIONS}:limits")["AS"]
        assert given == list(resource.getrlimit(resource.RLIMIT_AS))
        assert "MemoryError" in refused(child, "allocate", size_bytes=2**31)
        if landlock.abi():
            path = str(tmp_path / "secret")
            assert "Permission denied" in refused(child, "read_file", path=path)


def test_a_file_cannot_outgrow_its_limit(child: Child) -> None:
    assert "File too large" in refused(child, "write_file", path="big", size_bytes=2**25)


def test_limits_are_set_and_cannot_be_raised(child: Child) -> None:
    limits = child.call(f"{FUNCTIONS}:limits")
    assert limits["DATA"] == [2**30, 2**30]
    assert limits["FSIZE"] == [2**24, 2**24]
    assert limits["CORE"] == [0, 0]
    assert limits["NOFILE"][1] <= 1024
    assert 60 < limits["CPU"][0] < 10**6
    assert refused(child, "raise_limit")


def test_no_capability_is_left(child: Child) -> None:
    assert int(child.call(f"{FUNCTIONS}:capabilities"), 16) == 0


def test_confining_a_process_with_threads_is_refused(tmp_path: Path) -> None:
    code = f"""
import threading
from pathlib import Path
from hpcfair.isolation import sandbox
from hpcfair.isolation.limits import Limits
stop = threading.Event()
threading.Thread(target=stop.wait).start()
try:
    sandbox.confine(sandbox.Policy(Limits(), Path({str(tmp_path)!r})))
except RuntimeError as error:
    print(error)
finally:
    stop.set()
"""
    assert "one thread, this one has 2" in _outside(code)


def test_without_kernel_support_it_goes_on_and_says_so(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from hpcfair.isolation import landlock, sandbox, seccomp
from hpcfair.isolation.limits import Limits
landlock.abi = lambda: 0
seccomp._MACHINES.clear()
print(sandbox.confine(sandbox.Policy(Limits(), Path({str(tmp_path)!r}))))
"""
    assert _outside(code).strip() == "rlimits"


def test_landlock_handles_only_what_its_version_knows() -> None:
    assert landlock._handled(1) == 0b1_1111_1111_1111
    assert [landlock._handled(version).bit_length() for version in (2, 3, 4, 5, 7)] == [
        14, 15, 15, 16, 16
    ]  # fmt: skip


@pytest.mark.parametrize("machine", seccomp._MACHINES.values(), ids=seccomp._MACHINES.keys())
def test_the_filters_jumps_stay_inside_it(machine: seccomp._Machine) -> None:
    program = seccomp.build(machine, 1234)
    assert len(program) % 8 == 0
    lines = [program[at : at + 8] for at in range(0, len(program), 8)]
    assert len(lines) < 4096
    for at, line in enumerate(lines):
        code, yes, no = line[0], line[2], line[3]
        if code in {0x15, 0x35, 0x45}:
            assert at + 1 + max(yes, no) < len(lines)
    assert lines[-1][0] == 0x06


def _outside(code: str) -> str:
    """What ``code`` prints in a Python process that nobody has confined."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
