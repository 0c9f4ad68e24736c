"""The workers' child processes: those of :mod:`hpcfair.isolation`, with the engine's failures."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from hpcfair.isolation import child
from hpcfair.isolation.limits import Limits
from workers.engine.errors import CandidateFailed


class Child(child.IsolatedChild):
    """A child process; raises CandidateFailed where its base raises ChildFailed."""

    failure: ClassVar[type[CandidateFailed]] = CandidateFailed


def call(
    function: str,
    /,
    *,
    limits: Limits,
    workspace: Path,
    readable: Sequence[Path] = (),
    **arguments: Any,
) -> Any:
    """Call a function once in a child process of its own; see :meth:`Child.call`. Raises
    CandidateFailed if the child did not start or died, or the function raised."""
    with Child(limits, workspace, readable) as process:
        return process.call(function, **arguments)


def package_folder(kind: type) -> Path:
    """The folder of the package that defines a class: a third party's may be anywhere."""
    package = kind.__module__.partition(".")[0]
    return Path(next(iter(sys.modules[package].__path__)))
