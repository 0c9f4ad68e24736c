"""Fetches builds for other machines into the cache, which those then read without the hub.

The hub is asked as a machine of the target would ask it. The answer is kept with the files; a
machine that has all features of the target finds it there (:mod:`hpcfair.answers`).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hpcfair import machine
from hpcfair.acceptance import EXACT, Acceptance
from hpcfair.cache import Cache
from hpcfair.errors import BadInput
from hpcfair.fetchedmodel import DEFAULT_GUARD, Guard
from hpcfair.fetching import companion_folder, fetch_files
from hpcfair.host import Host, require_runtime
from hpcfair.resolution import PlainModelWarning, resolve
from hpcfair.runtimes import registry
from hpcfair.scenarios import SINGLE_STREAM, Scenario
from hpcfair.targetdefinition import target_definition
from hpcfair.transport import Transport
from hpcfair.types import Build


@dataclass(frozen=True, slots=True)
class Prefetch:
    """What is in the cache for the machines of a target.

    Attributes:
        build: ``None`` if the hub has none for them: then the published network is there.
        reason: The hub's reason for the choice.
        path: The file that the runtime opens.
        size_bytes: Of all files.
    """

    name: str
    revision: str
    target: str
    build: Build | None
    reason: str
    path: Path
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PrefetchOptions:
    """What to fetch, as in :meth:`hpcfair.Client.prefetch`."""

    targets: Sequence[str] = ()
    runtimes: Sequence[str] = ()
    acceptance: Acceptance = EXACT
    scenario: Scenario = SINGLE_STREAM
    guard: Guard = DEFAULT_GUARD


def prefetch(
    http: Transport, cache: Cache, name: str, revision: str | None, options: PrefetchOptions
) -> list[Prefetch]:
    """Fetch the best build for each target; see :meth:`hpcfair.Client.prefetch`."""
    runtimes = _runtimes(options.runtimes)
    here = machine.describe()
    machines = {slug: _machine(http, slug, here) for slug in options.targets}
    hosts = {slug: Host(each, runtimes) for slug, each in machines.items()}
    hosts = hosts or {machine.target_slug(here): Host(here, runtimes)}
    for host in hosts.values():
        require_runtime(host)
    return [_fetch(http, cache, name, revision, each, options) for each in hosts.items()]


def _fetch(
    http: Transport,
    cache: Cache,
    name: str,
    revision: str | None,
    machine_of_target: tuple[str, Host],
    options: PrefetchOptions,
) -> Prefetch:
    target, host = machine_of_target
    answer = resolve(
        http,
        cache,
        name,
        revision=revision,
        acceptance=options.acceptance,
        scenario=options.scenario,
        # A newer build replaces the one that an earlier call fetched.
        renew=True,
        host=host,
    )
    if answer.build is None:
        warnings.warn(
            f"{name}: no build suits {target}, the published network is fetched. {answer.reason}",
            PlainModelWarning,
            stacklevel=5,
        )
    model = fetch_files(http, cache, answer, options.guard)
    companion_folder(http, cache, model, options.guard)
    size = sum(file.size_bytes for file in {*answer.files, *answer.companions})
    return Prefetch(name, answer.revision, target, answer.build, answer.reason, model.path, size)


def _machine(http: Transport, slug: str, here: machine.Machine) -> machine.Machine:
    """A machine that has what a target requires, and no more."""
    target = target_definition(http, slug)
    return replace(
        here,
        architecture=target.architecture,
        features=target.features,
        accelerators=(),
        is_emulated=machine.EMULATED in target.features,
    )


def _runtimes(names: Sequence[str]) -> dict[str, str]:
    """The runtimes that may open the builds, with their versions here."""
    installed = registry.installed()
    if not names:
        return installed
    every = registry.entries()
    for unknown in set(names) - every.keys():
        raise BadInput(f"There is no runtime {unknown!r}.", f"Known are {', '.join(every)}.")
    return {name: installed.get(name, "0") for name in names}
