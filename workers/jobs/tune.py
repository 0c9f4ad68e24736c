"""Tuning: a ticket becomes a search, and its finalists become builds with records."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings

from registry.selectors.results.build import has_confirmed_builds
from registry.services.work.attempt import job_note
from registry.tickets import GraphFacts, JobTicket
from workers.backends.registry import available, reference_for
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.strategies import STRATEGIES
from workers.engine.tune import SearchResult, tune
from workers.engine.types import Limits, SearchBudget, TuningRequest, sha256_of
from workers.fleet.energy import counters_of
from workers.fleet.probe import ThisMachine
from workers.jobs.errors import JobFailed
from workers.jobs.lease import Lease
from workers.jobs.network import formats_of, network_of
from workers.jobs.passes import known_to_serve
from workers.jobs.profile import profile_winners
from workers.jobs.publish import publish
from workers.jobs.schedule import schedules_known
from workers.jobs.trial_store import RegistryTrialStore
from workers.jobs.workspace import workspace

# Builds of large networks on slow machines take minutes; a candidate that takes longer is not
# worth its time in any search we plan.
_CANDIDATE_WALL_S = 300.0
_STRATEGY = "learned"
#: A search from which on a third finalist of each class is worth its processes.
_LONG_S = 60.0


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:
    """Search for this machine's target, publish what was found; returns a summary for people.

    Raises:
        JobFailed: the network is unknown, or no backend is here to take it.
        ReferenceFailed: the network itself does not run.
        LeaseLost, Cancelled: as the lease says.
    """
    graph = ticket.graph
    if here is None or graph is None:
        raise JobFailed("invalid", "graph_not_found", "Inspect the revision before tuning it.")
    backends, toolchain = _backends(ticket, graph, here)
    key = search_key(graph.graph_hash, here.spec.slug, toolchain)
    with workspace("tune") as folder:
        lease.progress("fetch", 0, None, "copying the model")
        files = folder / "model"
        network = replace(
            network_of(ticket, graph, files),
            passes=known_to_serve(here.spec.slug, graph.architecture_class, toolchain),
            schedules_path=schedules_known(here.spec.slug, toolchain, graph.graph_hash, files),
        )
        search = TuningRequest(
            network=network,
            target=here.spec,
            backends=_searched(ticket, backends),
            budget=_budget(ticket),
            limits=Limits(wall_s=_CANDIDATE_WALL_S, memory_bytes=settings.CHILD_MEMORY_BYTES),
            strategy=_strategy(ticket),
            seed=int(ticket.parameters.get("seed", 0)),
            reference_backend=reference_for(here.spec, graph.format),
        )
        scratch = folder / "scratch"
        scratch.mkdir()
        with LocalDevice(search, backends, scratch, counters_of(here.spec)) as device:
            store = RegistryTrialStore(ticket, key, here.spec.slug)

            def show(found: SearchResult) -> None:
                publish(
                    ticket, here, search, key, found, device.isolation or "none", "search-trial"
                )

            # Better measured builds of an earlier search stay until this one has measured its own.
            first = not has_confirmed_builds(ticket.job_uuid)
            result = tune(
                search,
                backends,
                device,
                store,
                progress=lease.progress,
                found=show if first else None,
            )
            job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=result.ended)
            lease.progress("publish", 0, None, "storing builds and records")
            summary = publish(ticket, here, search, key, result, device.isolation or "none")
            profile_winners(ticket, lease, device, result, folder)
            return summary


def search_key(graph_hash: str, target: str, toolchain: dict[str, dict[str, str]]) -> str:
    """SHA-256 of what decides how fast candidates are: searches of one key share what they find.

    Weights are not part of it, so a retrained network starts from its predecessor's results.
    """
    return sha256_of({"graph": graph_hash, "target": target, "toolchain": toolchain})


def _backends(
    ticket: JobTicket, graph: GraphFacts, here: ThisMachine
) -> tuple[dict[str, Backend], dict[str, dict[str, str]]]:
    """Those asked for, and the one that everything is compared with."""
    asked = ticket.parameters.get("backends")
    reference = reference_for(here.spec, graph.format)
    wanted = None if asked is None else list(dict.fromkeys([*asked, reference]))
    backends, missing = available(here.spec, wanted, formats_of(graph))
    for reason in missing.values():
        job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=reason)
    if reference not in backends or not _searched(ticket, backends):
        detail = " ".join(missing.values()) or "No backend is installed on this machine."
        raise JobFailed("invalid", "no_backend", detail)
    return backends, {name: backend.probe(here.spec) for name, backend in backends.items()}


def _searched(ticket: JobTicket, backends: Mapping[str, Backend]) -> tuple[str, ...]:
    """Of the backends at hand, those the job is about."""
    asked = ticket.parameters.get("backends")
    return tuple(name for name in backends if asked is None or name in asked)


def _strategy(ticket: JobTicket) -> str:
    name = str(ticket.parameters.get("strategy") or _STRATEGY)
    if name not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        detail = f"There is no strategy {name!r}; there are {known}."
        raise JobFailed("invalid", "invalid_request", detail)
    return name


def _budget(ticket: JobTicket) -> SearchBudget:
    seconds = float(ticket.parameters.get("budget_s") or settings.TUNE_BUDGET_S)
    return SearchBudget(
        seconds=seconds,
        trials=ticket.parameters.get("trials"),
        # A short search tries a dozen candidates rather than measuring four to perfection; six
        # rounds, which a verdict needs, take two seconds, or three of a slow network.
        seconds_per_measurement=min(4.0, max(3.0, seconds / 30)),
        candidates_to_confirm=3 if seconds >= _LONG_S else 2,
        confirmation_seconds=max(15.0, seconds / 2),
    )
