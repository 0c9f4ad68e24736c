"""Runs programs of this checkout on emulated machines."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.emulated.enter import PYTHON, ROOT, command

#: Environment of programs there, without the folders that Python imports from.
ENVIRONMENT = {
    "HOME": "/tmp",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def run_python(name: str, arguments: Sequence[str], *folders: Path) -> str:
    """Standard output of Python on a machine; fails the test if it ended with an error."""
    done = subprocess.run(
        command(name, [PYTHON, *arguments], [ROOT, *folders]),
        cwd=ROOT,
        env=ENVIRONMENT | {"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def run_json(name: str, action: str, *folders: Path) -> Any:
    """The JSON that an action of :mod:`tests.emulated.inside` prints."""
    output = run_python(name, ["-m", "tests.emulated.inside", action, *map(str, folders)], *folders)
    return json.loads(output.splitlines()[-1])
