"""A system-call filter for child processes, as a BPF program.

Forbidden calls fail with EPERM; all others pass. Computation makes few system calls and is not
slowed down. Sources: ``seccomp(2)``; ``struct seccomp_data`` and the opcodes from the kernel's
``include/uapi/linux/{seccomp,bpf_common}.h``; call numbers from its ``unistd.h``.
"""

import ctypes
import errno
import os
import struct
from dataclasses import dataclass

# Opcodes: load a word of seccomp_data, compare it with a constant, return.
_LOAD, _JUMP_EQ, _JUMP_GE, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_CLONE_THREAD = 0x00010000
#: Flags of clone(2) that create namespaces, in which a process would be root.
_NAMESPACES = 0x7E020000
_PR_SET_PDEATHSIG = 1
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
#: Set in the types of datagram and raw sockets, and not in those of connected ones.
_SOCK_DGRAM = 2
_AF_UNIX = 1
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

#: Forbidden whatever the arguments: name to (number on x86-64, number on arm64).
FORBIDDEN: dict[str, tuple[int | None, int | None]] = {
    # No new process: no fork bomb, and nothing outlives the child. A limit on processes would
    # count those of the whole user.
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    # It must not leave its process group, by which its parent ends it.
    "setsid": (112, 157), "setpgid": (109, 154),
    # No network, including unix sockets of local services; io_uring can open sockets itself.
    "socket": (41, 198), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242),
    # No access to memory, descriptors or signals of other processes.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    # Nor of their turn at processors and disks. (Threads of a process have affinities of their own,
    # and a filter cannot tell them from other processes.)
    "setpriority": (141, 140), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "ioprio_set": (251, 30),
    # Landlock does not control these: they would affect files outside the workspace.
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    # They would tell the names of files that others create.
    "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    # System V and POSIX queues outlive the process and are not counted by its memory limit; those
    # of other processes are open to everybody of the same user who guesses a small number.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "semget": (64, 190),
    "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191), "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # Limits cannot be changed (prlimit64 reads them, see below).
    "setrlimit": (160, 164),
    # The machine itself.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "setns": (308, 268), "unshare": (272, 97), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "acct": (163, 89),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "syslog": (103, 116), "iopl": (172, None),
    "ioperm": (173, None), "modify_ldt": (154, None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Machine:
    """Column of an architecture in the table, and its numbers of calls that depend on arguments."""

    column: int
    audit: int
    clone: int
    clone3: int
    kill: int
    tgkill: int
    prlimit64: int
    prctl: int
    fcntl: int
    ioctl: int
    socketpair: int
    memory_files: tuple[int, int]


_MACHINES = {
    "x86_64": _Machine(0, 0xC000003E, 56, 435, 62, 234, 302, 157, 72, 16, 53, (319, 447)),
    "aarch64": _Machine(1, 0xC00000B7, 220, 435, 129, 131, 261, 167, 25, 29, 199, (279, 447)),
}


#: Calls that start a program.
_STARTING = ("fork", "vfork", "execve", "execveat")
#: Calls that make a socket to listen on.
_LISTENING = ("socket", "bind", "listen")


def install(*, programs: bool = False, gpu: bool = False) -> bool:
    """Filter the calls of this process irrevocably; ``False`` if that is not possible.

    ``programs`` allows it to start programs, which inherit the filter. ``gpu`` allows what CUDA
    makes when it starts: files in memory, whose size no limit of a process counts, and unix sockets
    that nobody can connect from here; Landlock keeps them out of folders. Needs ``no_new_privs``.
    The process must have one thread only: others would not be filtered.
    """
    machine = _MACHINES.get(os.uname().machine)
    if machine is None:
        return False
    program = build(machine, os.getpid(), programs=programs, gpu=gpu)
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HL", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0) == 0)


def build(machine: _Machine, pid: int, *, programs: bool = False, gpu: bool = False) -> bytes:
    """The program for the process ``pid``, 8 bytes per instruction."""
    lines = [
        # Under another ABI (32-bit, x32) the numbers mean other calls: kill the process.
        _line(_LOAD, _ARCH),
        _line(_JUMP_EQ, machine.audit, yes=1),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER),
        _line(_JUMP_GE, 0x40000000, no=1),
        _line(_RETURN, _KILL),
    ]
    allowed = {*(_STARTING if programs else ()), *(_LISTENING if gpu else ())}
    for name, numbers in FORBIDDEN.items():
        number = numbers[machine.column]
        if number is not None and name not in allowed:
            lines += [_line(_JUMP_EQ, number, no=1), _refuse(errno.EPERM)]
    # A filter cannot read clone3's flags. If it does not exist, libc uses clone instead; likewise
    # libraries do without files in memory.
    for number in (machine.clone3, *(() if gpu else machine.memory_files)):
        lines += [_line(_JUMP_EQ, number, no=1), _refuse(errno.ENOSYS)]
    low = [_argument(index) for index in range(3)]
    may_clone = (
        _line(_JUMP_SET, _NAMESPACES, yes=1) if programs else _line(_JUMP_SET, _CLONE_THREAD, no=1)
    )
    for number, test in {
        machine.clone: [low[0], may_clone],
        machine.kill: [low[0], _line(_JUMP_EQ, pid, no=1)],
        machine.tgkill: [low[0], _line(_JUMP_EQ, pid, no=1)],
        machine.prlimit64: [
            low[2], _line(_JUMP_EQ, 0, no=3), _argument(2, high=True), _line(_JUMP_EQ, 0, no=1)
        ],
        # The signal at the parent's death must not be changed.
        machine.prctl: [low[0], _line(_JUMP_EQ, _PR_SET_PDEATHSIG, yes=1)],
        # Who is sent a signal when a descriptor is ready, and which one.
        machine.fcntl: [low[1], *_none_of(_F_SETOWN, _F_SETSIG, _F_SETOWN_EX)],
        machine.ioctl: [low[1], *_none_of(_FIOSETOWN, _SIOCSPGRP)],
        # Datagrams of an unnamed pair can be sent to any named socket.
        machine.socketpair: [low[1], _line(_JUMP_SET, _SOCK_DGRAM, yes=1)],
        # Reached with ``gpu`` only: unix sockets that are connected before they are written to.
        _number("socket", machine): [
            low[0], _line(_JUMP_EQ, _AF_UNIX, no=3), low[1],
            _line(_JUMP_SET, _SOCK_DGRAM, yes=1),
        ],
    }.items():  # fmt: skip
        lines.append(_line(_JUMP_EQ, number, no=len(test) + 2))
        lines += [*test, _line(_RETURN, _ALLOW), _refuse(errno.EPERM)]
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _number(name: str, machine: _Machine) -> int:
    """The number of a call that every machine has."""
    number = FORBIDDEN[name][machine.column]
    assert number is not None  # noqa: S101  for mypy
    return number


def _none_of(*values: int) -> list[bytes]:
    """Tests that skip to the refusal behind the permission if the argument is one of ``values``."""
    return [_line(_JUMP_EQ, value, yes=len(values) - number) for number, value in enumerate(values)]


def _argument(index: int, *, high: bool = False) -> bytes:
    """Load one half of a 64-bit argument (both architectures are little-endian)."""
    return _line(_LOAD, _ARGUMENTS + 8 * index + 4 * high)


def _refuse(error: int) -> bytes:
    return _line(_RETURN, _ERRNO | error)


def _line(code: int, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; ``yes`` and ``no`` say how many of the next to skip."""
    return struct.pack("HBBI", code, yes, no, operand)
