"""Environments of other people's programs, made once and kept.

Each holds unmodified releases from the package index and nothing of ours: what runs in them is a
process of its own, told what to do by its arguments and by the variables its users would set.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: The index of builds without CUDA, which are a tenth of the size. Asked where it can be reached.
_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


@dataclass(frozen=True, slots=True)
class Environments:
    """Environments below one folder.

    Attributes:
        root: Kept out of git.
        wanted: Name to what is installed there.
    """

    root: Path
    wanted: Mapping[str, tuple[str, ...]]

    def python_of(self, name: str) -> Path:
        """The interpreter of the environment ``name``, made now if it is not there.

        Raises:
            RuntimeError: it cannot be installed; the message holds the installer's last lines.
        """
        wanted = self.wanted[name]
        digest = hashlib.sha256(repr((wanted, sys.version_info[:2])).encode()).hexdigest()[:12]
        folder = self.root / f"{name}-{digest}"
        self.root.mkdir(exist_ok=True)
        # Processes of one run want the same environment at once: one makes it, the others wait.
        with (self.root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "complete").exists():
                _make(folder, wanted)
        return folder / "bin" / "python"

    def run(self, name: str, program: str, *arguments: str, **environment: str) -> str:
        """Run ``program`` of the environment ``name``.

        Args:
            environment: Variables for the process; nothing else that concerns it is inherited.

        Returns:
            What it wrote to stdout.

        Raises:
            AssertionError: it failed; the message holds what it wrote.
        """
        keys = ("PATH", "LANG", "TMPDIR", "OMP_NUM_THREADS")
        inherited = {key: os.environ[key] for key in keys if key in os.environ}
        done = subprocess.run(
            [str(self.python_of(name).parent / program), *arguments],
            env=inherited | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done.stdout

    def make_all(self) -> None:
        """Make those that are not there."""
        for name in self.wanted:
            self.python_of(name)


def index_variables() -> dict[str, str]:
    """Variables by which uv uses the wheels that pip is told of, and the index of builds without
    CUDA, where it can be reached."""
    wheels = os.environ.get("PIP_FIND_LINKS")
    variables = {"UV_FIND_LINKS": wheels} if wheels else {}
    if _answers(_CPU_INDEX):
        variables |= {"UV_INDEX": _CPU_INDEX, "UV_INDEX_STRATEGY": "unsafe-best-match"}
    return variables


def _make(folder: Path, wanted: tuple[str, ...]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _uv("venv", "--quiet", "--python", sys.executable, str(folder))
    index = []
    if any(requirement.startswith("torch") for requirement in wanted) and _answers(_CPU_INDEX):
        index = ["--index", _CPU_INDEX, "--index-strategy", "unsafe-best-match"]
    python = str(folder / "bin/python")
    _uv("pip", "install", "--quiet", "--system-certs", "--python", python, *index, *wanted)
    (folder / "complete").touch()


def _uv(*arguments: str) -> None:
    """Run uv, which shares files between environments where pip would copy gigabytes."""
    command = [sys.executable, "-m", "uv", *arguments]
    # Wheels that pip is told of are for uv, too.
    wheels = os.environ.get("PIP_FIND_LINKS")
    variables = os.environ | ({"UV_FIND_LINKS": wheels} if wheels else {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        raise RuntimeError(f"uv {' '.join(arguments)}:\n{done.stderr[-2000:]}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/torch/", timeout=5):  # noqa: S310
            return True
    except OSError:
        return False
