"""Environments in which snippets run: what their own install lines bring, made once and kept.

Each is a new virtual environment into which uv, which takes a tenth of pip's time, has installed
what the line names. When its snippet is run, pip finds all of that there. The client is installed
from a wheel of this checkout, so that a change of it makes new environments.
"""

import fcntl
import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.clients.environments import CLIENTS
from tests.thirdparty.environments import build_wheel

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / ".clients"
#: Lines that would fetch gigabytes, and the environment of other clients that has the same.
_LARGE = {
    "pip install transformers torch": "transformers",
    "pip install datasets": "transformers",
}


def environment_of(lines: Sequence[str]) -> Path:
    """The environment that these lines make, which is there already on the next run.

    Args:
        lines: Lines of the shell that begin with ``pip install``.

    Raises:
        RuntimeError: they failed; the message has the last lines of pip.
    """
    large = [_LARGE[line] for line in lines if line in _LARGE]
    if large:
        return _with_pip(CLIENTS.python_of(large[0]))
    digest = hashlib.sha256(repr((list(lines), _wheel_digest(), sys.version_info[:2])).encode())
    folder = _FOLDER / f"snippet-{digest.hexdigest()[:12]}"
    _FOLDER.mkdir(exist_ok=True)
    # Processes of one run need the same environment at once: one makes it, the others wait.
    with (_FOLDER / "snippet.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, lines)
    return folder


def variables(environment: Path, home: Path) -> dict[str, str]:
    """Variables of a shell in an environment, of a person whose home folder is ``home``.

    pip finds everything that it needs in the environment, and asks no index.
    """
    inherited = {key: os.environ[key] for key in ("LANG", "TMPDIR") if key in os.environ}
    return {
        **inherited,
        "PATH": f"{environment / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "VIRTUAL_ENV": str(environment),
        "HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",
    }


def _with_pip(python: Path) -> Path:
    """The environment of an interpreter, with the pip that the lines call."""
    if not (python.parent / "pip").exists():
        _uv("pip", "install", "--python", str(python), "pip")
    return python.parent.parent


def _make(folder: Path, lines: Sequence[str]) -> None:
    _uv("venv", "--seed", "--python", sys.executable, str(folder))
    for line in lines:
        _uv("pip", "install", "--python", str(folder / "bin/python"), *shlex.split(line)[2:])
    (folder / "complete").touch()


def _uv(*arguments: str) -> None:
    places = f"{_wheel().parent} {os.environ.get('PIP_FIND_LINKS', '')}".split()
    variables = {"UV_FIND_LINKS": ",".join(places), "UV_CONSTRAINT": str(_ROOT / "constraints.txt")}
    _run([sys.executable, "-m", "uv", "--quiet", "--system-certs", *arguments], variables)


@functools.cache
def _wheel() -> Path:
    """A wheel of the client, built once by each process."""
    return build_wheel(_ROOT / "client", Path(tempfile.mkdtemp(prefix="hpcfair-wheel-")))


def _wheel_digest() -> str:
    # Wheels of the same sources are equal, bit by bit.
    return hashlib.sha256(_wheel().read_bytes()).hexdigest()


def _run(command: Sequence[str], added: dict[str, str]) -> None:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        command, env=inherited | added, capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
