"""The client's wheel, with its extra ``run``, on versions of Python other than the suite's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments import index_variables
from tests.programs import needs
from tests.thirdparty.environments import build_wheel

CLIENT = Path(__file__).resolve().parents[2] / "client"
#: Of the client's own tests: loading, signatures, bundles, child processes, the cache, commands.
MODULES = (
    "bench",
    "cache",
    "cli",
    "damage",
    "download",
    "isolated",
    "load",
    "modelbundle",
    "package",
    "reproduction",
    "runtimes",
    "trust",
    "without_locks",
)

pytestmark = [pytest.mark.slow, needs("clients")]


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13", "3.14"])
def test_the_client_works_on_another_version_of_python(version: str, tmp_path: Path) -> None:
    interpreter = next(filter(_runs, _interpreters(version)), None)
    if interpreter is None:
        pytest.skip(f"Python {version} is not installed")
    python = tmp_path / "environment" / "bin" / "python"
    assert not _uv("venv", "--python", str(interpreter), str(python.parents[1]))
    wheel = build_wheel(CLIENT, tmp_path)
    requirements = (f"hpcfair[run] @ {wheel.as_uri()}", "pytest>=9", "hypothesis")
    assert not _uv("pip", "install", "--system-certs", "--python", str(python), *requirements)

    tests = [str(CLIENT / "tests" / f"test_{module}.py") for module in MODULES]
    # Without the setting, the tests would import the source in place of the wheel.
    options = ["-q", "-p", "no:cacheprovider", "-o", "pythonpath="]
    # Some modules need runtimes that are not installed there.
    options += ["-k", "not every_module"]
    done = subprocess.run(
        [str(python), "-m", "pytest", *options, *tests],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def _interpreters(version: str) -> Iterator[Path]:
    """Where that version may be: on the search path, or among those of pyenv."""
    if program := shutil.which(f"python{version}"):
        yield Path(program)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from pyenv.glob(f"versions/{version}.*/bin/python")


def _runs(interpreter: Path) -> bool:
    """Whether it is a Python; pyenv puts programs that fail on the search path."""
    return not subprocess.run([interpreter, "-c", ""], capture_output=True, check=False).returncode


def _uv(*arguments: str) -> str:
    """What uv complained about; empty if it succeeded."""
    command = [sys.executable, "-m", "uv", *arguments, "--quiet"]
    done = subprocess.run(
        command, env=os.environ | index_variables(), capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""
