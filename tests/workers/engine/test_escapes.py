"""Ways out of the sandbox, tried for real: each is refused, and most of them work outside.

The snippets run in a confined child. ``secret`` is a file of the same user beside its workspace,
``parent`` the process that started it, ``other`` an unrelated process of the same user.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcfair.isolation.limits import Limits
from tests.programs import needs
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed

TESTS = Path(__file__).parents[2]
FUNCTIONS = "tests.workers.engine.child_functions"
LIMITS = Limits(wall_s=60, memory_bytes=2**30, file_bytes=2**24)
_REFUSED = "PermissionError|Operation not permitted|Permission denied|Invalid cross-device link"

pytestmark = [needs("linux"), needs("seccomp"), needs("landlock")]


@pytest.fixture(scope="module", params=[False, True], ids=["narrow", "programs"])
def child(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Child]:
    workspace = tmp_path_factory.mktemp("workspace")
    with Child(LIMITS, workspace, [TESTS], programs=request.param) as started:
        yield started


@pytest.fixture(scope="module")
def other() -> Iterator[int]:
    """An unrelated process of the same user."""
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


FILES = {
    "environment of the parent": "open(f'/proc/{parent}/environ', 'rb').read()",
    "environment of process 1": "open('/proc/1/environ', 'rb').read()",
    "command line of the parent": "open(f'/proc/{parent}/cmdline', 'rb').read()",
    "memory of the parent, read": "open(f'/proc/{parent}/mem', 'rb')",
    "memory of the parent, written": "open(f'/proc/{parent}/mem', 'r+b')",
    "memory of another": "open(f'/proc/{other}/mem', 'r+b')",
    "descriptors of the parent": "os.listdir(f'/proc/{parent}/fd')",
    "a descriptor of the parent": "open(f'/proc/{parent}/fd/0', 'rb')",
    "root of the parent": "os.listdir(f'/proc/{parent}/root')",
    "folder of the parent": "os.listdir(f'/proc/{parent}/cwd')",
    "root by itself": "os.listdir('/proc/self/root')",
    "secret by its own root": "open('/proc/self/root' + secret)",
    "secret by its own folder": "open(os.path.join('/proc/self/cwd', os.path.relpath(secret)))",
    "secret by dots": "open(os.path.relpath(secret))",
    "secret by a folder's descriptor": (
        "open(secret, opener=lambda p, f: os.open(os.path.basename(p), f, "
        "dir_fd=os.open(os.path.dirname(p), os.O_PATH)))"
    ),
    "secret by O_PATH": "open(f'/proc/self/fd/{os.open(secret, os.O_PATH)}')",
    "secret by a hard link": "os.link(secret, 'mine')",
    "secret by a symbolic link": "os.symlink(secret, 'link'); open('link')",
    "secret moved inside": "os.rename(secret, 'mine')",
    "secret removed": "os.remove(secret)",
    "secret cut off": "os.truncate(secret, 0)",
    "secret's mode": "os.chmod(secret, 0o777)",
    "secret's owner": "os.chown(secret, 1, 1)",
    "secret's attributes": "os.setxattr(secret, 'user.a', b'b')",
    "file beside": "open(secret + '-2', 'w')",
    "folder beside": "os.mkdir(secret + '-3')",
    "own folder moved outside": "os.mkdir('d'); os.rename('d', secret + '-4')",
    "passwords": "open('/etc/shadow')",
    "temporary files": "os.listdir('/tmp')",
    "a file in /tmp": "open('/tmp/hpcfair-escape', 'w')",
    "shared memory": "open('/dev/shm/hpcfair-escape', 'w')",
    "devices": "os.listdir('/dev')",
    "the kernel's log": "open('/dev/kmsg', 'rb')",
    "the terminal": "open('/dev/tty', 'w')",
    "a new terminal": "open('/dev/ptmx', 'r+b', buffering=0)",
    "a pipe with a name": "os.mkfifo('fifo')",
    "a device file": "os.mknod('zero', 0o20666, os.makedev(1, 5))",
    "the kernel's settings": "open('/proc/sys/kernel/core_pattern', 'w')",
    "its place in the queue of killers": "open('/proc/self/oom_score_adj', 'w')",
    "control groups": "open('/sys/fs/cgroup/cgroup.procs', 'w')",
    "news of other folders": "watch(os.path.dirname(secret))",
}
PROCESSES = {
    "signal to the parent": "os.kill(parent, 0)",
    "signal to another": "os.kill(other, 0)",
    "signal to all": "os.kill(-1, 0)",
    "signal to process 1": "os.kill(1, 0)",
    "tracing the parent": "call('ptrace', 16, parent, 0, 0)",
    "tracing another": "call('ptrace', 16, other, 0, 0)",
    "signal by a descriptor": "signal.pidfd_send_signal(os.pidfd_open(parent), 0)",
    "signal when a pipe can be read": "own_pipe(parent, signal.SIGKILL)",
    "niceness of the parent": "os.setpriority(os.PRIO_PROCESS, parent, 5)",
    "class of the parent": "os.sched_setscheduler(parent, os.SCHED_BATCH, os.sched_param(0))",
    "priority of the parent's files": "call('ioprio_set', 1, parent, 3 << 13)",
    "limits of the parent": "resource.prlimit(parent, resource.RLIMIT_CPU, (10, 10))",
    "own limits": "resource.prlimit(0, resource.RLIMIT_CPU, (10**9, 10**9))",
    "another group": "os.setpgid(0, 0)",
    "the group of the parent": "os.setpgid(0, os.getpgid(parent))",
    "another session": "os.setsid()",
    "namespaces": "call('unshare', 0x10000000)",
    "another root": "os.chroot('.')",
    "a mount": "call('mount', b'a', b'.', b'tmpfs', 0, 0)",
    "outliving the parent": "call('prctl', 1, 0, 0, 0, 0)",
    "another user": "os.setuid(1)",
    "another group of users": "os.setgroups([1])",
    "shared memory of another": "attach(segment)",
}
NETWORK = {
    "a TCP socket": "socket.socket(socket.AF_INET)",
    "a UDP socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "an IPv6 socket": "socket.socket(socket.AF_INET6)",
    "a unix socket": "socket.socket(socket.AF_UNIX)",
    "a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a message to a service": (
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'hello', service)"
    ),
    "a connection of a pair": "socket.socketpair()[0].connect(service)",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that takes datagrams."""
    path = str(tmp_path_factory.mktemp("service") / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(path)
        yield path


@pytest.fixture(scope="module")
def segment() -> Iterator[int]:
    """A segment of System V shared memory of the same user."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(0, 4096, 0o1600)
    assert number >= 0
    yield number
    libc.shmctl(number, 0, None)


@pytest.mark.parametrize(
    "code",
    [*FILES.values(), *PROCESSES.values(), *NETWORK.values()],
    ids=[*FILES, *PROCESSES, *NETWORK],
)
def test_a_way_out_is_closed(
    child: Child, code: str, tmp_path: Path, other: int, service: str, segment: int
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    before = _described(secret)
    values = {"secret": str(secret), "parent": os.getpid(), "other": other}
    values |= {"service": service, "segment": segment}
    with pytest.raises(CandidateFailed, match=_REFUSED) as caught:
        child.call(f"{FUNCTIONS}:attempt", code=code, values=values)
    assert caught.value.cause == "exception", "the child did not survive its refusal"
    assert _described(secret) == before
    assert list(tmp_path.iterdir()) == [secret]


def _described(path: Path) -> tuple[str, ...]:
    """Content and status, except for the time of the last access."""
    status = path.stat()
    fields = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_mtime_ns", "st_ctime_ns")
    return (path.read_text(), *(str(getattr(status, field)) for field in fields))


def test_the_parent_was_sent_nothing(child: Child) -> None:
    caught: list[int] = []
    usual = signal.signal(signal.SIGUSR1, lambda number, _: caught.append(number))
    try:
        values = {"parent": os.getpid()}
        code = "own_pipe(parent, signal.SIGUSR1)"
        with pytest.raises(CandidateFailed):
            child.call(f"{FUNCTIONS}:attempt", code=code, values=values)
        time.sleep(0.2)
    finally:
        signal.signal(signal.SIGUSR1, usual)
    assert not caught
