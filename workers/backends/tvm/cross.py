"""Links libraries for processors of another architecture than this machine's.

TVM contains LLVM, which generates code for every architecture, but no linker. LLD links for all of
them, and a library of TVM needs neither headers nor a C library of the other system,
because its symbols are resolved when it is opened.
"""

import shutil
import struct
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workers.engine.errors import BackendUnavailable

#: Architecture to LLVM's target triple.
TRIPLES = {
    "x86-64": "x86_64-linux-gnu",
    "arm64": "aarch64-linux-gnu",
    "riscv64": "riscv64-linux-gnu",
}
#: Target triple to the number of the machine in ELF files (``elf.h``).
_MACHINES = {"x86_64-linux-gnu": 62, "aarch64-linux-gnu": 183, "riscv64-linux-gnu": 243}
_LINKER, _PACKAGE = "ld.lld", "ziglang"
_ELF = struct.Struct("<4s14xH")


def linker() -> list[str]:
    """The command that links for other architectures: the system's LLD, or that of the wheel
    ``ziglang``. Raises BackendUnavailable without either."""
    if path := shutil.which(_LINKER):
        return [path]
    package = find_spec(_PACKAGE)
    if package is not None and package.origin is not None:
        return [str(Path(package.origin).parent / "zig"), _LINKER]
    raise BackendUnavailable(
        f"Building for another architecture needs {_LINKER}, which is not installed. Install the "
        f"system's package lld, or: pip install {_PACKAGE}"
    )


def link(output: str, objects: Sequence[str], options: Sequence[str] | None = None) -> None:
    """Link object files to a library; has the signature of TVM's ``fcompile``. Raises RuntimeError
    with the linker's message if it failed."""
    command = [*linker(), "-shared", "-o", output, *(options or ()), *objects]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip() or f"{_LINKER} ended with {result.returncode}")


def export(executable: Any, path: Path, workspace: Path, triple: str) -> None:
    """Link the compiled code of another architecture to the library ``path``.

    ``executable`` is TVM's, ``workspace`` an empty folder. Raises RuntimeError if linking failed,
    or if the library is not for the architecture of ``triple``.
    """
    executable.export_library(str(path), fcompile=link, workspace_dir=str(workspace))
    with path.open("rb") as file:
        head = file.read(_ELF.size)
    magic, number = _ELF.unpack(head.ljust(_ELF.size, b"\0"))
    if magic != b"\x7fELF" or number != _MACHINES[triple]:
        raise RuntimeError(f"{path.name} is not a library for {triple}")
