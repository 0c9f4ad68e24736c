"""Confines a child process before it reads untrusted files.

Layers, each used if the system has it: resource limits; no capabilities and no way to gain any;
Landlock (read access to what Python needs and to given paths, write access to the workspace only,
no TCP); a system-call filter (no sockets, no processes, no tracing, no mounts). :func:`confine`
returns the isolation level, which records state.
"""

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hpcfair.isolation import emulator, landlock, seccomp
from hpcfair.isolation.limits import Limits

#: Isolation levels, weakest first.
LEVELS = ("rlimits", "seccomp", "landlock", "landlock+seccomp")
#: Layers that the kernel may lack. Without ``landlock`` a child can read and write what the user of
#: its worker can; without ``seccomp`` it can open sockets, start programs and signal processes.
LAYERS = ("landlock", "seccomp")

_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_OPEN_FILES = 1024

#: Paths that the dynamic linker, Python and numerical libraries read on Linux. In /etc and /proc
#: only files without secrets: no other process's command line, no password file.
SYSTEM = tuple(
    map(
        Path,
        (
            *("/usr", "/lib", "/lib64", "/lib32", "/nix/store", "/gnu/store"),
            *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"),
            *("/etc/os-release", "/etc/nsswitch.conf", "/etc/passwd", "/etc/alternatives"),
            *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg"),
            *("/proc/version", "/proc/filesystems", "/proc/sys/vm", "/proc/sys/kernel"),
            *("/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm", "/sys/class/dmi/id"),
            *("/dev/zero", "/dev/random", "/dev/urandom"),
        ),
    )
)

#: Files of NVIDIA's driver: device files, which it reads, writes and controls, and files that it
#: reads to find the card.
_GPU_FILES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps")
_GPU_FACTS = tuple(
    map(
        Path,
        ("/proc/driver/nvidia", "/proc/devices", "/sys/bus/pci", "/sys/devices", "/sys/module"),
    )
)


@dataclass(frozen=True, slots=True)
class Policy:
    """Permissions of a child process.

    Attributes:
        workspace: The only folder that it may write to.
        readable: Files and folders that it may read besides those of the system and of Python.
        programs: Whether it may start programs of the system and of Python, such as a linker. All
            other restrictions apply to them; they stay in its process group.
        gpu: Whether it may use the machine's NVIDIA GPUs. Their driver reserves more address space
            than there is memory, so address space is then not limited.
        layers: The members of :data:`LAYERS` to use if the kernel has them.
    """

    limits: Limits
    workspace: Path
    readable: tuple[Path, ...] = ()
    programs: bool = False
    gpu: bool = False
    layers: tuple[str, ...] = LAYERS


def confine(policy: Policy) -> str:
    """Confine this process irrevocably; returns the isolation level, one of :data:`LEVELS`.

    Call it before any other thread exists: running threads would not be confined.

    Raises RuntimeError if there are other threads already, OSError if a layer that the system has
    could not be applied.
    """
    set_limits(policy.limits, address_space=not policy.gpu)
    if sys.platform != "linux":
        return "rlimits"
    threads = len(list(Path("/proc/self/task").iterdir()))
    # An emulator has a thread of its own. The layers that it offers do not depend on threads.
    if threads != 1 and not emulator.is_present(Path("/"), os.uname().machine):
        raise RuntimeError(f"confine() needs a process with one thread, this one has {threads}")
    with suppress(OSError):
        # When memory runs out, this process is killed before its parent, but after one that
        # holds most of the memory (proc_pid_oom_score_adj(5): thousandths of all memory).
        Path("/proc/self/oom_score_adj").write_text("300")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs refused")
    drop_capabilities()
    layers = []
    if "landlock" in policy.layers and landlock.restrict(_rules(policy)):
        layers.append("landlock")
    # Last, because the filter forbids calls that the other layers need.
    if "seccomp" in policy.layers and seccomp.install(programs=policy.programs, gpu=policy.gpu):
        layers.append("seccomp")
    return "+".join(layers) or "rlimits"


def set_limits(limits: Limits, *, address_space: bool = True) -> None:
    """Limit memory, file sizes, open files and core dumps of this process irrevocably.

    ``memory_bytes`` bounds private writable memory. Address space has a larger bound, since
    libraries map files and the allocator reserves 64 MiB for up to eight arenas per core without
    using them (``mallopt(3)``, M_ARENA_MAX).
    """
    cores = os.cpu_count() or 1
    reserve = 4 * 2**30 + 8 * cores * 64 * 2**20
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_DATA, limits.memory_bytes)
    if sys.platform == "linux" and address_space:
        _limit(resource.RLIMIT_AS, limits.memory_bytes + reserve)


def drop_capabilities() -> None:
    """Drop all capabilities, so that file permissions and limits apply to root as well. Raises
    OSError if the kernel refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))
    empty = ctypes.create_string_buffer(24)
    if libc.capset(header, empty) != 0:
        raise OSError(ctypes.get_errno(), "capabilities could not be dropped")


def python_paths() -> tuple[Iterable[Path], Iterable[Path]]:
    """Folders that Python imports from: readable ones, and ones that can only be listed.

    A folder on ``sys.path`` outside the installation, such as a checkout or the current folder, may
    hold private files. Only our own packages in it are readable; the rest can be listed, which
    imports need, but not opened.
    """
    prefixes = {Path(p).resolve() for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    entries = [Path(entry).resolve() for entry in sys.path if entry]
    installed = [
        entry
        for entry in entries
        if entry.name in {"site-packages", "dist-packages"}
        or any(entry.is_relative_to(prefix) for prefix in prefixes)
    ]
    others = [entry for entry in entries if entry not in installed]
    own = [entry / package for entry in others for package in ("workers", "hpcfair")]
    return [*prefixes, *installed, *own], others


def _rules(policy: Policy) -> Iterator[tuple[Path, int]]:
    readable, listable = python_paths()
    libraries = [Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    system = landlock.RUN if policy.programs else landlock.READ
    for path in (*SYSTEM, *readable, *libraries):
        yield path, system
    for path in policy.readable:
        yield path, landlock.READ
    for path in listable:
        yield path, landlock.LIST
    yield Path("/dev/null"), landlock.USE
    if policy.gpu:
        for path in _GPU_FACTS:
            yield path, landlock.READ
        cards = Path("/dev").glob("nvidia[0-9]*")
        for path in (*(Path("/dev", name) for name in _GPU_FILES), *cards):
            yield path, landlock.CONTROL
        # CUDA names its threads.
        yield Path("/proc/self/task"), landlock.REWRITE
    yield policy.workspace, landlock.WRITE


def _limit(kind: int, value: int) -> None:
    """Lower a limit; never raise it above an existing one."""
    _, hard = resource.getrlimit(kind)
    ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (ceiling, ceiling))
