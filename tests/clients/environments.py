"""Environments of other people's clients, one per version, made once and kept in ``.clients/``.

Each holds an unmodified release from the package index and nothing of ours: what runs in them is a
script of :mod:`tests.clients.scripts` in a process of its own, told where the hub is by the same
environment variables its users would set.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent / ".clients"

#: Name to what is installed. 0.36 is the last line before httpx; up to 1.19 the hub may choose
#: how files travel, from 1.20 on it may not.
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "hub-0.36": ("huggingface_hub==0.36.2",),
    "hub-1.19": ("huggingface_hub==1.19.0",),
    "hub-1.33": ("huggingface_hub==1.33.0",),
    "hub-2.4": ("huggingface_hub==2.4.0",),
    "transformers": (
        "huggingface_hub==2.4.0",
        "transformers==5.23.0",
        "torch==2.13.0",
        "datasets==5.2.0",
        "numpy>=2",
    ),
}
#: The index of builds without CUDA, which are a tenth of the size. Asked where it can be reached.
_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def python_of(name: str) -> Path:
    """The interpreter of the environment ``name``, made now if it is not there.

    Raises:
        RuntimeError: it cannot be installed; the message holds the installer's last lines.
    """
    wanted = ENVIRONMENTS[name]
    digest = hashlib.sha256(repr((wanted, sys.version_info[:2])).encode()).hexdigest()[:12]
    folder = ROOT / f"{name}-{digest}"
    ROOT.mkdir(exist_ok=True)
    # Processes of one run want the same environment at once: one makes it, the others wait.
    with (ROOT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _make(folder, wanted)
    return folder / "bin" / "python"


def _make(folder: Path, wanted: tuple[str, ...]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    index = []
    if any(requirement.startswith("torch") for requirement in wanted) and _answers(_CPU_INDEX):
        index = ["--extra-index-url", _CPU_INDEX]
    command = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *index, *wanted]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    if installed.returncode:
        raise RuntimeError(f"pip could not install {wanted}:\n{installed.stderr[-2000:]}")
    (folder / "complete").touch()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/torch/", timeout=5):  # noqa: S310
            return True
    except OSError:
        return False


def run(name: str, script: str, *arguments: str, **environment: str) -> str:
    """Run ``scripts/<script>.py`` in the environment ``name``: see :func:`command`."""
    path = Path(__file__).parent / "scripts" / f"{script}.py"
    return command(name, "python", str(path), *arguments, **environment)


def command(name: str, program: str, *arguments: str, **environment: str) -> str:
    """Run ``program`` of the environment ``name``.

    Args:
        environment: Variables for the process; nothing else that concerns clients is inherited.

    Returns:
        What it wrote to stdout.

    Raises:
        AssertionError: it failed; the message holds what it wrote.
    """
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    done = subprocess.run(
        [str(python_of(name).parent / program), *arguments],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout


if __name__ == "__main__":
    for each in ENVIRONMENTS:
        python_of(each)
