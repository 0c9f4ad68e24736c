"""Tune jobs: search the configurations of a network, publish builds with records."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hpcfair.isolation.limits import Limits
from hpcfair.tickets import GraphFacts, JobTicket
from workers.backends.normalform import NORMALISER
from workers.backends.openbatch import BATCH_OPENER
from workers.backends.registry import reference_for
from workers.device.background import progress_of
from workers.device.best import profiled_results
from workers.device.budget import search_seconds
from workers.device.errors import JobFailure
from workers.device.network import formats_of, kind_of, network_of
from workers.device.pass_store import pass_portfolio
from workers.device.ports import DeviceSettings, Hub, JobDevice
from workers.device.profile import profile_winners
from workers.device.publish import publish
from workers.device.queries import publish_queries
from workers.device.roof import keep_roofs
from workers.device.schedule import write_schedules
from workers.device.toolchain import backends_of, other_machine, versions_of
from workers.device.trial_store import JobTrialStore
from workers.device.usable import faults_of
from workers.device.workspace import workspace
from workers.engine.generation import with_generation
from workers.engine.ports import Backend
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.search_result import SearchResult
from workers.engine.strategies import STRATEGIES
from workers.engine.tune import tune
from workers.engine.types import Network, sha256_of
from workers.fleet.energy import counters_of
from workers.fleet.probe import ThisMachine

# Limit of one build or run; builds of large networks take minutes on slow machines.
_CANDIDATE_WALL_S = 300.0
_STRATEGY = "learned"
_MAX_NOTE = 500
#: Seconds of a search from which a second and a third candidate of each class are confirmed.
_MEDIUM_S, _LONG_S = 10.0, 60.0
#: Bounds on the confirmation of what an earlier search left inconclusive.
_REPETITION_S, _REPETITION_PROCESSES = 180.0, 60


def work(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]:
    """Search the network's configurations on this machine's target; returns a summary.

    Raises:
        JobFailure: the network is not inspected, or no backend for it is installed.
        ReferenceFailed: the reference does not run.
        LeaseLost, Cancelled: see :func:`~workers.device.background.progress_of`.
    """
    ticket = hub.ticket
    graph = ticket.graph
    if graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before tuning it.")
    keep_roofs(hub, settings, here)
    repeated = hub.read("inconclusive_candidates") if _is_repetition(ticket) else None
    if repeated == []:
        return {"summary": "nothing is left to measure again", "inconclusive": []}
    backends, toolchain = _backends(hub, graph, here, settings)
    key = search_key(graph.graph_hash, here.spec.slug, toolchain)
    with workspace(settings.work, "tune") as folder:
        hub.progress("fetch", 0, None, "copying the model")
        search = TuningRequest(
            network=_network(hub, graph, toolchain, folder / "model"),
            target=here.spec,
            backends=_searched(ticket, settings, backends),
            budget=search_budget(ticket),
            limits=Limits(wall_s=_CANDIDATE_WALL_S, memory_bytes=settings.child_memory_bytes),
            strategy=_strategy(ticket) if repeated is None else "repeat",
            seed=int(ticket.parameters.get("seed", 0)),
            reference_backend=reference_for(here.spec, graph.format),
            baseline_backend=settings.server.backend if settings.server else None,
            banned=frozenset(ticket.banned),
            normaliser=NORMALISER,
            batch_opener=BATCH_OPENER,
        )
        scratch = folder / "scratch"
        scratch.mkdir()
        counters = counters_of(here.spec) if here.runner is None else ()
        with settings.device(search, backends, scratch, counters, other_machine(here)) as device:
            search = _without_faulty(hub, search, device, toolchain, kind_of(graph))
            store = JobTrialStore(hub, key, repeated)

            def show(interim: SearchResult) -> None:
                publish(hub, here, search, key, interim, device.isolation or "none", "search-trial")

            # Confirmed builds of an earlier search stay published until those of this one.
            first = repeated is None and not hub.read("has_confirmed_builds")
            report, progress = show if first else None, progress_of(hub)
            result = tune(
                search, backends, device, store, progress=progress, on_interim_result=report
            )
            _write_notes(hub, device, result)
            result = with_generation(result, search.network, device)
            isolation = device.isolation or "none"
            summary = publish(hub, here, search, key, result, isolation, repeated=repeated)
            # A repetition publishes no baseline.
            winners = profiled_results(result)[0 if repeated is None else 1 :]
            profile_winners(hub, device, result.tests, winners, folder)
            return publish_queries(hub, here, search, key, backends, device, result, summary)


def _write_notes(hub: Hub, device: JobDevice, result: SearchResult) -> None:
    """Write into the job's log why the search ended, and what its builds were made from; report
    the next phase."""
    hub.write("note", message=result.stop_reason)
    if device.normal_form is not None and device.normal_form.note:
        hub.write("note", message=device.normal_form.note)
    hub.progress("publish", 0, None, "storing builds and records")


def search_key(graph_hash: str, target: str, toolchain: dict[str, dict[str, str]]) -> str:
    """SHA-256 of graph hash (no weights), target, toolchain; equal keys share their trials."""
    return sha256_of({"graph": graph_hash, "target": target, "toolchain": toolchain})


def _network(
    hub: Hub, graph: GraphFacts, toolchain: dict[str, dict[str, str]], files: Path
) -> Network:
    """The network of the job in the folder ``files``, with what earlier jobs learned of it."""
    return replace(
        network_of(hub, graph, files),
        passes=pass_portfolio(hub, graph.architecture_class, toolchain),
        schedules_path=write_schedules(hub, toolchain, graph.graph_hash, files),
    )


def _backends(
    hub: Hub, graph: GraphFacts, here: ThisMachine, settings: DeviceSettings
) -> tuple[dict[str, Backend], dict[str, dict[str, str]]]:
    ticket = hub.ticket
    requested = settings.names(ticket.parameters.get("backends"))
    reference = reference_for(here.spec, graph.format)
    names = None if requested is None else list(dict.fromkeys([*requested, reference]))
    backends, missing = backends_of(here, names, formats_of(graph))
    for reason in missing.values():
        hub.write("note", message=reason)
    if reference not in backends or not _searched(ticket, settings, backends):
        detail = " ".join(missing.values()) or "No backend is installed on this machine."
        raise JobFailure("invalid", "no_backend", detail)
    return backends, {name: versions_of(here, backend) for name, backend in backends.items()}


def _without_faulty(
    hub: Hub,
    search: TuningRequest,
    device: JobDevice,
    toolchain: dict[str, dict[str, str]],
    kind: Collection[str],
) -> TuningRequest:
    """The search without backends that cannot work here; the job's log has each reason once."""
    names = dict.fromkeys([search.reference_backend, *search.backends])
    faults = faults_of(device, names, toolchain, kind)
    for name, fault in faults.items():
        message = f"Backend {name} is left out: {fault}"[:_MAX_NOTE]
        hub.write("note", message=message)
    left = tuple(name for name in search.backends if name not in faults)
    if search.reference_backend in faults or not left:
        raise JobFailure("invalid", "no_backend", " ".join(faults.values()))
    return replace(search, backends=left)


def _searched(
    ticket: JobTicket, settings: DeviceSettings, backends: Mapping[str, Backend]
) -> tuple[str, ...]:
    requested = settings.names(ticket.parameters.get("backends"))
    return tuple(name for name in backends if requested is None or name in requested)


def _is_repetition(ticket: JobTicket) -> bool:
    return "repeats" in ticket.parameters


def _strategy(ticket: JobTicket) -> str:
    name = str(ticket.parameters.get("strategy") or _STRATEGY)
    if name not in STRATEGIES:
        detail = f"There is no strategy {name!r}; choose from {', '.join(STRATEGIES)}."
        raise JobFailure("invalid", "invalid_request", detail)
    return name


def search_budget(ticket: JobTicket) -> SearchBudget:
    """The bounds that a job asks for, or else those of the hub; brief searches are confirmed
    briefly."""
    seconds = search_seconds(ticket)
    budget = SearchBudget(
        seconds=seconds,
        trials=ticket.parameters.get("trials"),
        # Short measurements, so that a short search tries a dozen candidates. A verdict needs six
        # rounds, which take two seconds, or three for a slow network.
        seconds_per_measurement=min(4.0, max(min(3.0, seconds / 2), seconds / 30)),
        candidates_to_confirm=1 + (seconds >= _MEDIUM_S) + (seconds >= _LONG_S),
        # Half of the search, at least fifteen seconds; but never longer than the search.
        confirmation_seconds=max(min(15.0, seconds), seconds / 2),
    )
    if not _is_repetition(ticket):
        return budget
    # It goes on until it is decided: others come first in the queue.
    return replace(
        budget,
        confirmation_seconds=_REPETITION_S,
        confirmation_processes=_REPETITION_PROCESSES,
    )
