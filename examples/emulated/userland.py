"""Unpacks userlands into the user's cache, once.

::

    ~/.cache/hpcfair/emulated/
      apt/<release>-<architecture>/     APT's lists and packages; kept, so that a retry resumes
      emulator/usr/bin/qemu-*-static    for all machines
      <machine>-<digest>/               a userland; the digest is of all that it was made from
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.emulated.debian import Archive, NotAvailable, own_architecture, unpack
from examples.emulated.machines import (
    EMULATOR_PACKAGE,
    EMULATOR_RELEASE,
    MACHINES,
    EmulatedMachine,
)

#: Folder in which Debian's Python finds packages that are not from Debian.
_PACKAGES = "usr/local/lib/python3.11/dist-packages"
#: The userland's version of Python, and files that are never imported.
_PYTHON = (3, 11)
_NOT_COMPILED = r"/(tests?|sympy)/"
#: Folders of the host that are mounted into a userland, and files that programs expect.
_MOUNT_POINTS = ("dev", "proc", "sys", "tmp")
_LINKS = ("bin", "sbin", "lib", "lib64")
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}


def cache() -> Path:
    """The folder of all userlands."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "hpcfair", "emulated")


def root_of(name: str) -> Path:
    """The folder of a userland, which may not exist yet. Raises NotAvailable for an unknown
    name."""
    if name not in MACHINES:
        raise NotAvailable(f"There is no machine {name!r}; choose from {', '.join(MACHINES)}")
    machine = MACHINES[name]
    parts = [*machine.releases, machine.architecture, *machine.packages]
    if machine.requirements is not None:
        parts.append(machine.requirements.read_text())
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    # Machines that differ only in their processor share a userland.
    return cache() / f"{machine.architecture}-{digest}"


def emulator_of(name: str) -> Path:
    """The emulator of a machine, which may not exist yet."""
    return cache() / "emulator" / "usr" / "bin" / f"qemu-{MACHINES[name].qemu}-static"


def is_prepared(name: str) -> bool:
    """Whether a userland and its emulator are complete."""
    return root_of(name).is_dir() and emulator_of(name).exists()


def prepare(name: str) -> Path:
    """Unpack a userland and its emulator unless they exist; returns the userland's folder.

    Several processes may call it at once. Raises NotAvailable if the packages are not available.
    """
    root = root_of(name)
    if is_prepared(name):
        return root
    cache().mkdir(parents=True, exist_ok=True)
    with _lock():
        if not emulator_of(name).exists():
            _unpack_emulator()
        if not root.is_dir():
            draft = root.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            _unpack_userland(MACHINES[name], draft)
            draft.rename(root)
    return root


def _unpack_emulator() -> None:
    draft = cache() / "emulator.draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    archive = _archive(EMULATOR_RELEASE, own_architecture())
    unpack(archive.fetch([EMULATOR_PACKAGE], dependencies=False), draft)
    needed = {emulator_of(name).name for name in MACHINES}
    for program in (draft / "usr" / "bin").iterdir():
        if program.name not in needed:
            program.unlink()
    draft.rename(cache() / "emulator")


def _unpack_userland(machine: EmulatedMachine, root: Path) -> None:
    packages = _packages(machine)
    root.mkdir()
    unpack(packages, root)
    for name in _LINKS:
        # From trixie on another package makes these links, which is not installed here.
        if (root / "usr" / name).is_dir() and not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    for name in _MOUNT_POINTS:
        (root / name).mkdir(exist_ok=True)
    for name, text in _FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if machine.requirements is not None:
        _install_wheels(machine, machine.requirements, root / _PACKAGES)
        _compile(root)


def _packages(machine: EmulatedMachine) -> list[Path]:
    """The packages of the first release that has them."""
    reasons = []
    for release in machine.releases:
        try:
            return _archive(release, machine.architecture).fetch(machine.packages)
        except NotAvailable as error:
            reasons.append(f"{release}: {error}")
    raise NotAvailable("; ".join(reasons))


def _archive(release: str, architecture: str) -> Archive:
    return Archive(release, architecture, cache() / "apt" / f"{release}-{architecture}")


def _install_wheels(machine: EmulatedMachine, requirements: Path, folder: Path) -> None:
    """Install wheels of the emulated machine with this machine's pip, which is faster."""
    command = [
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
        *("--target", str(folder), "--only-binary", ":all:", "--no-compile"),
        *("--implementation", "cp", "--python-version", "3.11", "--abi", "cp311", "--abi", "abi3"),
        *("--abi", "none"),
        *(f"--platform={platform}" for platform in machine.platforms),
        *("--requirement", str(requirements)),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:]
        raise NotAvailable(f"Python packages cannot be installed: {' '.join(reason)}")


def _compile(root: Path) -> None:
    """Compile the Python files of a userland once, so that its programs need not do so at each
    start.

    Does nothing if this Python has another version than the userland's.
    """
    if sys.version_info[:2] != _PYTHON:
        return
    folders = [root / "usr/lib/python3.11", root / _PACKAGES]
    command = [
        *(sys.executable, "-m", "compileall", "-q", "-j", "0", "-x", _NOT_COMPILED),
        *("-s", str(root), "-p", "/", *map(str, folders)),
    ]
    # Some files are templates and do not compile; failures are ignored.
    subprocess.run(command, capture_output=True, check=False)


@contextmanager
def _lock() -> Iterator[None]:
    """Keep other processes from unpacking at the same time."""
    with (cache() / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
