"""The runner: a machine that runs the builds of this one. ``HPCFAIR_RUNNER`` names its description.

::

    {"command": ["/usr/bin/enter-container", "...", "python3"], "path": ["/opt/hpcfair-agent"]}

``command`` starts its Python, as :class:`hpcfair.isolation.process.Interpreter` requires; ``path``
lists the folders from which it imports.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from hpcfair import machine
from hpcfair.isolation.limits import Limits
from hpcfair.isolation.process import Interpreter
from workers.engine.child import Child

VARIABLE = "HPCFAIR_RUNNER"
_LIMITS = Limits(wall_s=300.0)


def runner_here() -> Interpreter | None:
    """The Python of the runner; ``None`` if this machine runs its builds itself.

    Raises ValueError if the file cannot be used.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    try:
        return _interpreter(json.loads(Path(path).read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{VARIABLE}: {path} cannot be used: {error}") from error


def ask(runner: Interpreter, function: str, /, **arguments: Any) -> Any:
    """The result of ``package.module:function`` in a child process on a runner. Raises
    CandidateFailed."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Child(_LIMITS, Path(folder), interpreter=runner) as child,
    ):
        return child.call(function, **arguments)


def describe(runner: Interpreter) -> machine.Machine:
    """The facts that a runner reports of itself. Raises CandidateFailed."""
    facts = ask(runner, "hpcfair.machine:describe")
    return machine.Machine(
        **facts
        | {
            "features": tuple(facts["features"]),
            "caches": tuple((name, size) for name, size in facts["caches"]),
            "accelerators": tuple(machine.Accelerator(**each) for each in facts["accelerators"]),
        }
    )


def _interpreter(described: Any) -> Interpreter:
    command, folders = described["command"], described["path"]
    if not command or not all(isinstance(each, str) for each in (*command, *folders)):
        raise TypeError("command and path must be lists of texts, and command must not be empty")
    return Interpreter(tuple(command), tuple(map(Path, folders)))
