"""Schedule jobs: search schedules of a network's workloads, with the trials of all networks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from hpcfair.isolation.limits import Limits
from registry.selectors.results.schedule import schedules_best
from registry.services.results.schedule import plan_schedules
from registry.services.work.attempt import job_note
from registry.services.work.plan import plan_follow_up
from registry.tickets import JobTicket
from workers.backends.registry import available
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.compiler import TvmSchedules
from workers.backends.tvm.tuning.handover import tasks_of
from workers.engine.errors import CandidateFailed
from workers.engine.ports import PhaseTime
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleResult, ScheduleTask
from workers.engine.types import Network, canonical_json
from workers.fleet.probe import ThisMachine
from workers.jobs.errors import JobFailure
from workers.jobs.lease import Lease, give_way
from workers.jobs.network import formats_of, network_of
from workers.jobs.schedule_store import RegistryScheduleStore
from workers.jobs.workspace import workspace

_BACKEND = "tvm"
#: Limit of one proposal, or of extracting the workloads, in seconds.
_WALL_S = 300.0
_FILE = "schedules.jsonl"


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:
    """Search schedules of the network's workloads; returns a summary.

    Queues a search of configurations if better schedules were found.

    Raises:
        JobFailure: the network is not inspected, or the compiler is not installed.
        InfrastructureFailed: the machine cannot run trials.
        LeaseLost: see :class:`~workers.jobs.lease.Lease`; also if the job yields to a search.
        Cancelled: see :class:`~workers.jobs.lease.Lease`.
    """
    graph = ticket.graph
    if here is None or graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before tuning it.")
    backends, missing = available(here.spec, [_BACKEND], formats_of(graph))
    if not backends:
        raise JobFailure("invalid", "no_backend", missing[_BACKEND])
    tools = backends[_BACKEND].probe(here.spec)
    with workspace("schedule") as folder:
        lease.progress("fetch", 0, None, "copying the model")
        network = network_of(ticket, graph, folder / "model")
        lease.progress("workloads", 0, None, "extracting the workloads")
        try:
            tasks = _tasks(network, here, folder)
        except CandidateFailed as failure:
            if failure.outcome != "invalid":
                raise
            summary = f"no schedules: {failure}"
            return {"summary": summary, "trials": 0, "improved": 0, "tools": tools}
        store = RegistryScheduleStore(ticket, here.spec.slug, schedule_toolchain(tools))
        store.add_tasks(tasks)
        result = _search(tasks, store, ticket, lease, here, folder)
    job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=result.stop_reason)
    if result.improved:
        plan_follow_up(job_uuid=ticket.job_uuid, fence=ticket.fence)
    return {
        "summary": f"better schedules for {len(result.improved)} of {len(tasks)} workloads "
        f"after {result.charged_trials} trials",
        "ended": result.stop_reason,
        "trials": result.charged_trials,
        "improved": len(result.improved),
        "tools": tools,
    }


def plan_after_search(ticket: JobTicket) -> None:
    """Queue a search for schedules of the network that was searched, once per network."""
    if settings.SCHEDULE_S and ticket.graph is not None and ticket.graph.format == "onnx":
        plan_schedules(job_uuid=ticket.job_uuid)


def write_schedules(
    target: str, toolchains: dict[str, dict[str, str]], graph_hash: str, folder: Path
) -> Path | None:
    """Write the best stored schedules of a network to a file in its ``folder``; returns the path.

    ``target`` is a slug, ``toolchains`` backend to names and versions of its packages.

    Returns:
        ``None`` without schedules or without the backend.
    """
    if _BACKEND not in toolchains:
        return None
    toolchain = schedule_toolchain(toolchains[_BACKEND])
    records = schedules_best(target, toolchain, graph_hash)
    if not records:
        return None
    path = folder / _FILE
    path.write_bytes(b"".join(canonical_json(record) + b"\n" for record in records))
    return path


def schedule_toolchain(versions: dict[str, str]) -> str:
    """The toolchain of schedules: the compiler and its version."""
    return f"apache-tvm {versions['apache-tvm']}"


def _tasks(network: Network, here: ThisMachine, folder: Path) -> list[ScheduleTask]:
    scratch = folder / "workloads"
    scratch.mkdir()
    return tasks_of(network, here.spec, limits=_limits(), scratch=scratch)


def _search(
    tasks: Sequence[ScheduleTask],
    store: RegistryScheduleStore,
    ticket: JobTicket,
    lease: Lease,
    here: ThisMachine,
    folder: Path,
) -> ScheduleResult:
    parameters = ticket.parameters
    budget = ScheduleBudget(
        seconds=float(parameters.get("budget_s") or settings.SCHEDULE_S),
        trials=parameters.get("trials"),
    )
    scratch = folder / "scratch"
    scratch.mkdir()

    def progress(
        phase: str, done: int, total: int | None, message: str, phase_time: PhaseTime | None = None
    ) -> None:
        lease.progress(phase, done, total, message, phase_time)
        give_way(ticket)

    with TvmSchedules(
        target_of(here.spec),
        limits=_limits(),
        scratch=scratch,
        seed=int(parameters.get("seed", 0)),
        batch=budget.batch,
        threads=here.spec.cores,
    ) as compiler:
        return tune_schedules(tasks, compiler, store, budget, progress=progress)


def _limits() -> Limits:
    return Limits(wall_s=_WALL_S, memory_bytes=settings.CHILD_MEMORY_BYTES)
