"""Landlock: a process restricts its own access to files, TCP and other processes.

Sources: the kernel's ``Documentation/userspace-api/landlock.rst`` and
``include/uapi/linux/landlock.h``; the call numbers are the same on every architecture.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (
    1 << bit for bit in range(6)
)
_MAKE_DIR, _MAKE_REG = 1 << 7, 1 << 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_UNIX_SOCKET, _SCOPE_SIGNAL = 1, 2

LIST = _READ_DIR
READ = _READ_FILE | _READ_DIR
RUN = READ | _EXECUTE
WRITE = READ | _WRITE_FILE | _TRUNCATE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _REFER
#: For device files that are read and written: no creation, no truncation.
USE = _READ_FILE | _WRITE_FILE
#: For existing files whose content is replaced.
REWRITE = USE | _READ_DIR | _TRUNCATE
#: For device files that are driven by ioctl(2).
CONTROL = USE | _READ_DIR | _IOCTL_DEV


def abi() -> int:
    """ABI version of Landlock in this kernel; 0 if it is missing or disabled."""
    try:
        return max(0, _call(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION))
    except OSError:
        return 0


def restrict(rules: Iterable[tuple[Path, int]]) -> int:
    """Restrict this process to the access that ``rules`` grant; returns the ABI version used.

    A rule grants :data:`LIST`, :data:`READ`, :data:`RUN` (read and execute), :data:`WRITE`,
    :data:`USE`, :data:`REWRITE` or :data:`CONTROL` on a file, or on a folder and all in it; a rule
    whose path does not exist is skipped. Needs ``no_new_privs``. The process must have one thread
    only: others would not be restricted. Returns 0, and restricts nothing, if the kernel has no
    Landlock. Raises OSError if the kernel has Landlock and refused.
    """
    version = abi()
    if not version:
        return 0
    handled = _handled(version)
    attributes = struct.pack(
        "QQQ",
        handled,
        _BIND_TCP | _CONNECT_TCP if version >= 4 else 0,
        _SCOPE_ABSTRACT_UNIX_SOCKET | _SCOPE_SIGNAL if version >= 6 else 0,
    )
    # A kernel accepts a structure longer than it knows only if the rest is zero, as it is here.
    ruleset = _call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path, access in rules:
            _allow(ruleset, path, access & handled)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _handled(version: int) -> int:
    """Access rights that this version can restrict."""
    rights = _REFER - 1
    if version >= 2:
        rights |= _REFER
    if version >= 3:
        rights |= _TRUNCATE
    if version >= 5:
        rights |= _IOCTL_DEV
    return rights


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            access &= _FILE_ONLY
        if access:
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, folder), 0)
    finally:
        os.close(folder)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(
        *(ctypes.c_long(a) if isinstance(a, int) else a for a in (number, *arguments))
    )
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)
