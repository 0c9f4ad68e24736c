"""The backends of a job's machine, and the versions of their programs.

A runner is a machine that only runs builds, which this one makes. Its own packages count; those of
this machine count only for backends that build here.
"""

import importlib.metadata
import platform
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hpcfair import machine
from hpcfair.isolation.process import Interpreter
from hpcfair.runtimes.registry import installed
from workers.backends.registry import available, entries
from workers.engine.child_work import target_from
from workers.engine.othermachine import OtherMachine
from workers.engine.ports import Backend
from workers.engine.types import TargetSpec
from workers.fleet.probe import ThisMachine
from workers.fleet.runner import ask

_PROGRAMS = "workers.device.toolchain:programs"
#: Answers of runners by target, since a query takes seconds.
_ANSWERS: dict[tuple[Interpreter, str], dict[str, Any]] = {}


def other_machine(here: ThisMachine) -> OtherMachine | None:
    """The machine that runs builds; ``None`` if it is this one."""
    if here.runner is None:
        return None
    every, _ = entries()
    names = frozenset(name for name, entry in every.items() if entry.builds_elsewhere)
    return OtherMachine(here.runner, built_here=names, slots=machine.describe().cores)


def backends_of(
    here: ThisMachine, names: Sequence[str] | None = None, formats: Collection[str] | None = None
) -> tuple[dict[str, Backend], dict[str, str]]:
    """Backends that serve the machine; as :func:`workers.backends.registry.available`."""
    backends, missing = available(here.spec, names, formats)
    other = other_machine(here)
    if other is None:
        return backends, missing
    there = _programs_of(other.interpreter, here.spec)
    for name in list(backends):
        if name not in there["runtimes" if name in other.built_here else "packages"]:
            missing[name] = f"Backend {name} is not installed on the machine that runs its builds."
            del backends[name]
    return backends, missing


def versions_of(here: ThisMachine, backend: Backend) -> dict[str, str]:
    """Names and versions of the packages that shape a backend's builds."""
    other = other_machine(here)
    if other is None or backend.name in other.built_here:
        return backend.probe(here.spec)
    return dict(_programs_of(other.interpreter, here.spec)["packages"][backend.name])


def tools_of(here: ThisMachine, backend: Backend) -> dict[str, str]:
    """Names and versions of the programs that run a backend's builds. Builds are reproduced again
    when one of them changes."""
    if here.runner is None:
        return {**_own_programs(), **_drivers(here.spec), **versions_of(here, backend)}
    there = _programs_of(here.runner, here.spec)
    runtime = there["runtimes"].get(backend.name)
    return {
        **there["own"],
        **_drivers(here.spec),
        **versions_of(here, backend),
        **({"runtime": runtime} if runtime else {}),
    }


def tools_here(here: ThisMachine, names: Sequence[str] | None = None) -> dict[str, dict[str, str]]:
    """Backend to names and versions of the programs that run its builds; ``names`` as of
    :func:`backends_of`."""
    backends, _ = backends_of(here, names)
    return {name: tools_of(here, backend) for name, backend in backends.items()}


def programs(*, target: Mapping[str, Any]) -> dict[str, Any]:
    """The software on this machine: ``packages`` of each backend that serves ``target``,
    ``runtimes``, and programs that all of them use. Runs in a child."""
    spec = target_from(target)
    backends, _ = available(spec)
    return {
        "packages": {name: backend.probe(spec) for name, backend in backends.items()},
        "runtimes": installed(),
        "own": _own_programs(),
    }


def _programs_of(runner: Interpreter, target: TargetSpec) -> dict[str, Any]:
    """The result of :func:`programs` on a runner."""
    key = runner, target.slug
    if key not in _ANSWERS:
        _ANSWERS[key] = ask(runner, _PROGRAMS, target=target)
    return _ANSWERS[key]


def _own_programs() -> dict[str, str]:
    try:
        client = importlib.metadata.version("hpcfair")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree that is not installed
        client = "0"
    return {"python": platform.python_version(), "hpcfair": client}


def _drivers(target: TargetSpec) -> dict[str, str]:
    if "cuda" not in target.features:
        return {}
    drivers = {one.get("driver") for one in target.facts.get("accelerators", ())} - {None}
    return {"nvidia-driver": ", ".join(sorted(drivers))} if drivers else {}
