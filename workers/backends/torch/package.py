"""Reads and cleans AOTInductor packages: zip files of a library, its weights and C++ sources."""

import re
import zipfile
from pathlib import Path

#: Lines that contain folders of this machine: the compiler command behind the first, and the
#: second.
_COMMANDS, _FOLDER = b"\n// Compile cmd\n", re.compile(rb"^// Triton kernels are embedded .*\n")
_KERNEL = re.compile(r'extern "C"[^(){};]*?(\w+)\(')
#: Lines that only instrumented packages have.
_RECORD = re.compile(r".*RAIIAtenRecordFunctionHandle .*\n")


def forget_folders(package: Path) -> None:
    """Remove lines with folders of this machine from the sources of a package."""
    scratch = package.with_suffix(".new")
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(scratch, "w") as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename.endswith(".cpp"):
                data = _FOLDER.sub(b"", data.partition(_COMMANDS)[0]) + b"\n"
            new.writestr(zipfile.ZipInfo(member.filename, (1980, 1, 1, 0, 0, 0)), data)
    scratch.replace(package)


def kernels_of(package: Path) -> dict[str, str]:
    """C++ functions of a package's kernels by name, without instrumentation."""
    functions = {}
    with zipfile.ZipFile(package) as members:
        for name in members.namelist():
            if name.endswith(".cpp"):
                functions.update(_functions(members.read(name).decode()))
    return functions


def _functions(source: str) -> dict[str, str]:
    functions = {}
    for match in _KERNEL.finditer(source):
        opening, end = source.find("{", match.end()), source.find(";", match.end())
        if opening < 0 or -1 < end < opening:
            # A declaration.
            continue
        depth = 0
        for at in range(opening, len(source)):
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            if not depth:
                functions[match[1]] = _RECORD.sub("", source[match.start() : at + 1]) + "\n"
                break
    return functions
