"""Recognises user-mode emulators, which execute the instructions of a process.

Most facts that a program reads are those of the machine below; emulators replace only some.
"""

from pathlib import Path

#: Machines, as ``uname(2)`` names them, whose programs run only on a kernel of the same machine.
_OWN_KERNEL = frozenset({"x86_64", "aarch64", "riscv64", "s390x", "ppc64le"})


def is_present(root: Path, machine: str) -> bool:
    """Whether an emulator executes this process.

    It does if the kernel is of another machine, or if the two links to the program file differ:
    emulators replace only ``/proc/self/exe``.

    Args:
        root: The folder with ``proc``, normally ``/``.
        machine: This machine as ``uname(2)`` names it.
    """
    kernel = _text(root / "proc/sys/kernel/arch")
    if kernel and machine in _OWN_KERNEL and kernel != machine:
        return True
    own, actual = (_link(root / "proc" / name / "exe") for name in ("self", "thread-self"))
    return bool(own and actual and own != actual)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
