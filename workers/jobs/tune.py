"""Tune jobs: search the configurations of a network, publish builds with records."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings

from hpcfair.isolation.limits import Limits
from registry.selectors.results.build import has_confirmed_builds
from registry.selectors.results.inconclusive import inconclusive_candidates
from registry.services.work.attempt import job_note
from registry.services.work.plan import plan_repetition as repetition_plan
from registry.tickets import GraphFacts, JobTicket
from workers.backends.registry import available, reference_for
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.search_result import SearchResult
from workers.engine.strategies import STRATEGIES
from workers.engine.tune import tune
from workers.engine.types import Network, sha256_of
from workers.fleet.energy import counters_of
from workers.fleet.probe import ThisMachine
from workers.jobs.best import best_results
from workers.jobs.errors import JobFailure
from workers.jobs.lease import Lease
from workers.jobs.network import formats_of, network_of
from workers.jobs.pass_store import pass_portfolio
from workers.jobs.profile import profile_winners
from workers.jobs.publish import publish
from workers.jobs.schedule import write_schedules
from workers.jobs.trial_store import RegistryTrialStore
from workers.jobs.usable import faults_of
from workers.jobs.workspace import workspace

# Limit of one build or run; builds of large networks take minutes on slow machines.
_CANDIDATE_WALL_S = 300.0
_STRATEGY = "learned"
_MAX_NOTE = 500
#: Seconds of a search from which a third candidate of each class is confirmed.
_LONG_S = 60.0


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:
    """Search the network's configurations on this machine's target; returns a summary.

    Raises:
        JobFailure: the network is not inspected, or no backend for it is installed.
        ReferenceFailed: the reference does not run.
        LeaseLost, Cancelled: see :class:`~workers.jobs.lease.Lease`.
    """
    graph = ticket.graph
    if here is None or graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before tuning it.")
    repeated = inconclusive_candidates(ticket.job_uuid) if _is_repetition(ticket) else None
    if repeated == []:
        return {"summary": "nothing is left to measure again", "inconclusive": []}
    backends, toolchain = _backends(ticket, graph, here)
    key = search_key(graph.graph_hash, here.spec.slug, toolchain)
    with workspace("tune") as folder:
        lease.progress("fetch", 0, None, "copying the model")
        search = TuningRequest(
            network=_network(ticket, graph, here, toolchain, folder / "model"),
            target=here.spec,
            backends=_searched(ticket, backends),
            budget=_budget(ticket),
            limits=Limits(wall_s=_CANDIDATE_WALL_S, memory_bytes=settings.CHILD_MEMORY_BYTES),
            strategy=_strategy(ticket) if repeated is None else "repeat",
            seed=int(ticket.parameters.get("seed", 0)),
            reference_backend=reference_for(here.spec, graph.format),
        )
        scratch = folder / "scratch"
        scratch.mkdir()
        with LocalDevice(search, backends, scratch, counters_of(here.spec)) as device:
            search = _without_faulty(ticket, search, device, toolchain, formats_of(graph))
            store = RegistryTrialStore(ticket, key, here.spec.slug, repeated)

            def show(interim: SearchResult) -> None:
                publish(
                    ticket, here, search, key, interim, device.isolation or "none", "search-trial"
                )

            # Confirmed builds of an earlier search stay published until those of this one.
            first = repeated is None and not has_confirmed_builds(ticket.job_uuid)
            result = tune(
                search,
                backends,
                device,
                store,
                progress=lease.progress,
                on_interim_result=show if first else None,
            )
            job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=result.stop_reason)
            lease.progress("publish", 0, None, "storing builds and records")
            isolation = device.isolation or "none"
            summary = publish(ticket, here, search, key, result, isolation, repeated=repeated)
            # A repetition does not publish the baseline.
            winners = best_results(result)[0 if repeated is None else 1 :]
            profile_winners(ticket, lease, device, result.tests, winners, folder)
            return summary


def plan_repetition(ticket: JobTicket) -> None:
    """Queue another measurement of what a search left inconclusive."""
    repetition_plan(job_uuid=ticket.job_uuid)


def search_key(graph_hash: str, target: str, toolchain: dict[str, dict[str, str]]) -> str:
    """SHA-256 of graph hash (no weights), target, toolchain; equal keys share their trials."""
    return sha256_of({"graph": graph_hash, "target": target, "toolchain": toolchain})


def _network(
    ticket: JobTicket,
    graph: GraphFacts,
    here: ThisMachine,
    toolchain: dict[str, dict[str, str]],
    files: Path,
) -> Network:
    """The network of the job in the folder ``files``, with what earlier jobs learned of it."""
    return replace(
        network_of(ticket, graph, files),
        passes=pass_portfolio(here.spec.slug, graph.architecture_class, toolchain),
        schedules_path=write_schedules(here.spec.slug, toolchain, graph.graph_hash, files),
    )


def _backends(
    ticket: JobTicket, graph: GraphFacts, here: ThisMachine
) -> tuple[dict[str, Backend], dict[str, dict[str, str]]]:
    requested = ticket.parameters.get("backends")
    reference = reference_for(here.spec, graph.format)
    names = None if requested is None else list(dict.fromkeys([*requested, reference]))
    backends, missing = available(here.spec, names, formats_of(graph))
    for reason in missing.values():
        job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=reason)
    if reference not in backends or not _searched(ticket, backends):
        detail = " ".join(missing.values()) or "No backend is installed on this machine."
        raise JobFailure("invalid", "no_backend", detail)
    return backends, {name: backend.probe(here.spec) for name, backend in backends.items()}


def _without_faulty(
    ticket: JobTicket,
    search: TuningRequest,
    device: LocalDevice,
    toolchain: dict[str, dict[str, str]],
    formats: Collection[str],
) -> TuningRequest:
    """The search without backends that cannot work here; the job's log has each reason once."""
    names = dict.fromkeys([search.reference_backend, *search.backends])
    faults = faults_of(device, names, toolchain, formats)
    for name, fault in faults.items():
        message = f"Backend {name} is left out: {fault}"[:_MAX_NOTE]
        job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=message)
    left = tuple(name for name in search.backends if name not in faults)
    if search.reference_backend in faults or not left:
        raise JobFailure("invalid", "no_backend", " ".join(faults.values()))
    return replace(search, backends=left)


def _searched(ticket: JobTicket, backends: Mapping[str, Backend]) -> tuple[str, ...]:
    requested = ticket.parameters.get("backends")
    return tuple(name for name in backends if requested is None or name in requested)


def _is_repetition(ticket: JobTicket) -> bool:
    return "repeats" in ticket.parameters


def _strategy(ticket: JobTicket) -> str:
    name = str(ticket.parameters.get("strategy") or _STRATEGY)
    if name not in STRATEGIES:
        detail = f"There is no strategy {name!r}; choose from {', '.join(STRATEGIES)}."
        raise JobFailure("invalid", "invalid_request", detail)
    return name


def _budget(ticket: JobTicket) -> SearchBudget:
    seconds = float(ticket.parameters.get("budget_s") or settings.TUNE_BUDGET_S)
    return SearchBudget(
        seconds=seconds,
        trials=ticket.parameters.get("trials"),
        # Short measurements, so that a short search tries a dozen candidates. A verdict needs six
        # rounds, which take two seconds, or three for a slow network.
        seconds_per_measurement=min(4.0, max(3.0, seconds / 30)),
        candidates_to_confirm=3 if seconds >= _LONG_S else 2,
        confirmation_seconds=max(15.0, seconds / 2),
    )
