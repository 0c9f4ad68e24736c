"""What the tests of child processes have a child do: well-behaved, broken and hostile things."""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.ports import Array

_KEPT: list[int] = []


def add(left: float, right: float) -> float:
    return left + right


def echo(value: Any) -> Any:
    return value


def double(arrays: dict[str, Array]) -> dict[str, Array]:
    return {name: np.add(array, array) for name, array in arrays.items()}


def count() -> int:
    _KEPT.append(1)
    return len(_KEPT)


def pid() -> int:
    return os.getpid()


def environment() -> dict[str, str]:
    return dict(os.environ)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def burn_in_group(of: int) -> None:
    os.setpgid(0, os.getpgid(of))
    burn()


def burn() -> None:
    while True:
        pass


def chatter(lines: int) -> int:
    """Print from Python and from C, to both streams, more than any pipe holds."""
    libc = ctypes.CDLL(None)
    for number in range(lines):
        print("python says", number)
        print("and complains", number, file=sys.stderr)
        libc.puts(b"C says so too")
    libc.fflush(None)
    os.write(1, b"\x00\x00\x00\x00\x00\x00\x00\x02{}")
    return lines


def read_standard_input() -> str:
    return sys.stdin.read()


def refuse(reason: str) -> None:
    raise InvalidCandidate(reason)


def lack_a_package() -> None:
    raise BackendUnavailable("abacus is missing: pip install abacus")


def lack_a_module() -> None:
    __import__("no_such_module")


def divide() -> float:
    return 1 / len([])


def exit_quietly() -> None:
    os._exit(0)


def exit_loudly() -> None:
    sys.exit("enough")


def segfault() -> None:
    ctypes.string_at(0)


def abort() -> None:
    sys.stderr.write("assertion failed: the reason\n")
    sys.stderr.flush()
    os.abort()


def kill_itself(number: int, holding: int = 0) -> None:
    held = np.ones(holding, np.uint8)
    os.kill(os.getpid(), number)
    time.sleep(5 + held.size)


def fill_disk_error() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def unsendable() -> object:
    return object()


def lie(message: bytes | str) -> None:
    """Write something else than an answer into the pipe to the worker, as hostile code could."""
    data = bytes.fromhex(message) if isinstance(message, str) else message
    for descriptor in range(3, 20):
        try:
            if Path(f"/proc/self/fd/{descriptor}").is_fifo():
                os.write(descriptor, data)
        except OSError:
            continue
    time.sleep(20)


def allocate(size_bytes: int) -> int:
    return int(np.ones(size_bytes, np.uint8).sum())


def map_memory(size_bytes: int) -> int:
    with mmap.mmap(-1, size_bytes) as area:
        return len(area)


def attempt(code: str, values: dict[str, Any]) -> None:
    """Run code that tries to get out."""
    names = {"ctypes": ctypes, "os": os, "resource": resource, "signal": signal, "socket": socket}
    helpers = {"call": _call, "own_pipe": _own_pipe, "attach": _attach, "watch": _watch}
    exec(code, names | helpers | values)  # noqa: S102


_CALLS = {"ptrace": (101, 117), "unshare": (272, 97), "mount": (165, 40), "prctl": (157, 167)}
_CALLS |= {"ioprio_set": (251, 30)}


def _call(name: str, *arguments: int | bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    number = _CALLS[name][os.uname().machine != "x86_64"]
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if libc.syscall(ctypes.c_long(number), *values) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _own_pipe(to: int, number: int) -> None:
    """Ask the kernel to send another process a signal when a pipe can be read (fcntl(2))."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, to)
    fcntl.fcntl(reading, 10, number)
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writing, b"now")


def _attach(segment: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_long
    if libc.shmat(segment, None, 0) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _watch(folder: str) -> None:
    """Be told the names of files that others create (inotify(7))."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.inotify_add_watch(libc.inotify_init(), folder.encode(), 0x100) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def share_memory(size_bytes: int) -> int:
    """Fill memory that no limit of the process counts."""
    area = mmap.mmap(-1, size_bytes, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    for at in range(0, size_bytes, mmap.PAGESIZE):
        area[at] = 1
    time.sleep(60)
    return len(area)


def make_memory_file() -> int:
    return os.memfd_create("hidden")


def write_many(count: int, size_bytes: int, *, deleted: bool = False) -> None:
    """Write files, or files that are deleted at once and stay open."""
    for number in range(count):
        path = Path(f"file-{number}")
        _KEPT.append(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.write(_KEPT[-1], b"x" * size_bytes)
        if deleted:
            path.unlink()
        else:
            os.close(_KEPT.pop())
    time.sleep(60)


def nest(levels: int) -> None:
    """Nest folders, deeper than any path can name."""
    for _ in range(levels):
        os.mkdir("nested")  # noqa: PTH102
        os.chdir("nested")
    time.sleep(60)


def start_many(count: int, code: str) -> int:
    """Start Python programs that run ``code``, and wait."""
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    time.sleep(60)
    return len(started)


def write_file(path: str, size_bytes: int) -> int:
    Path(path).write_bytes(bytes(size_bytes))
    return size_bytes


def read_file(path: str) -> str:
    return Path(path).read_text(errors="replace")


def list_folder(path: str) -> list[str]:
    return sorted(os.listdir(path))  # noqa: PTH208


def work_in_workspace(workspace: str) -> list[str]:
    """What a compiler does in its folder: folders, files, renames across folders, removals."""
    root = Path(workspace)
    (root / "a").mkdir()
    (root / "b").mkdir()
    (root / "a/file").write_text("1")
    (root / "a/file").rename(root / "b/file")
    with (root / "b/file").open("r+") as file:
        file.truncate(0)
    (root / "b/file").unlink()
    (root / "a").rmdir()
    temporary = os.environ["TMPDIR"]
    (Path(temporary) / "scratch").write_text("2")
    return sorted(path.name for path in root.iterdir())


def make_link(path: str, to: str) -> None:
    os.symlink(to, path)  # noqa: PTH211


def change_mode(path: str) -> None:
    os.chmod(path, 0o777)  # noqa: PTH101, S103


def open_socket(family: int, kind: int) -> int:
    with socket.socket(family, kind) as opened:
        return opened.fileno()


def connect(host: str, port: int) -> None:
    socket.create_connection((host, port), timeout=2).close()


def talk_to_itself() -> str:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"hello")
        return right.recv(5).decode()


def start_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(7))
    thread.start()
    thread.join()
    return found[0]


def fork() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


def run_program() -> str:
    return subprocess.run(["/bin/echo", "hello"], capture_output=True, text=True, check=True).stdout


def run(words: list[str], *, session: bool = False) -> str:
    """What a program prints, its complaints included."""
    ended = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        start_new_session=session,
    )
    return ended.stdout


def leave_behind(words: list[str]) -> int:
    """Start a program twice removed, and forget it; its process id."""
    script = (
        "import subprocess, sys\n"
        "nothing = subprocess.DEVNULL\n"
        "left = subprocess.Popen(sys.argv[1:], stdout=nothing, stderr=nothing)\n"
        "print(left.pid)"
    )
    return int(run([sys.executable, "-c", script, *words]))


def compile_and_call(compiler: str) -> int:
    """Compile, link and load a function; what it returns."""
    Path("seven.c").write_text("int seven(void) { return 7; }")
    said = run([compiler, "-shared", "-fPIC", "-o", "./seven.so", "seven.c"])
    if said:
        raise RuntimeError(said)
    return int(ctypes.CDLL("./seven.so").seven())


def run_what_it_wrote() -> str:
    Path("script").write_text("#!/bin/sh\necho ran")
    return run(["./script"])


def leave_group(way: str) -> None:
    os.setsid() if way == "setsid" else os.setpgid(0, 0)


def send_signal(to: int) -> None:
    os.kill(to, signal.SIGCONT)


def trace(pid_of_other: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid_of_other, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return pid_of_other


def system_call(number: int, *, arguments: list[int]) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(*(ctypes.c_long(a) for a in (number, *arguments)))
    return int(result) if result >= 0 else -ctypes.get_errno()


def raise_limit() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (soft + 1, resource.RLIM_INFINITY))


def limits() -> dict[str, list[int]]:
    names = ("DATA", "AS", "FSIZE", "NOFILE", "CORE", "CPU")
    return {name: list(resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))) for name in names}


def capabilities() -> str:
    status = Path("/proc/self/status").read_text()
    return next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff"))
