"""Schedule jobs: search schedules of a network's workloads, with the trials of all networks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hpcfair.isolation.limits import Limits
from workers.backends.normalform import NORMALISER
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.compiler import TvmSchedules
from workers.backends.tvm.tuning.handover import tasks_of
from workers.device.background import progress_of
from workers.device.errors import JobFailure
from workers.device.network import formats_of, is_decoder, network_of
from workers.device.ports import DeviceSettings, Hub
from workers.device.schedule_store import JobScheduleStore
from workers.device.toolchain import backends_of, other_machine, versions_of
from workers.device.workspace import workspace
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.normalform import make_normal_form, read_paths
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleResult, ScheduleTask
from workers.engine.types import Network, canonical_json
from workers.fleet.probe import ThisMachine

_BACKEND = "tvm"
#: Limit of one proposal, or of extracting the workloads, in seconds.
_WALL_S = 300.0
_FILE = "schedules.jsonl"


def work(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]:
    """Search schedules of the network's workloads; returns a summary.

    Queues a search of configurations if better schedules were found.

    Raises:
        JobFailure: the network is not inspected, or the compiler is not installed.
        InfrastructureFailed: the machine cannot run trials.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`; also if the job yields to a
            search.
    """
    graph = hub.ticket.graph
    if graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before tuning it.")
    backends, missing = backends_of(here, [_BACKEND], formats_of(graph))
    if not backends:
        raise JobFailure("invalid", "no_backend", missing[_BACKEND])
    tools = versions_of(here, backends[_BACKEND])
    if is_decoder(graph):
        summary = "no schedules: the compiler builds no decoders with a cache"
        return {"summary": summary, "trials": 0, "improved": 0, "tools": tools}
    with workspace(settings.work, "schedule") as folder:
        hub.progress("fetch", 0, None, "copying the model")
        network = network_of(hub, graph, folder / "model")
        hub.progress("workloads", 0, None, "extracting the workloads")
        try:
            network = _normal_form(hub, network, _limits(settings), folder)
            tasks = _tasks(network, here, _limits(settings), folder)
        except CandidateFailed as failure:
            if failure.outcome != "invalid":
                raise
            summary = f"no schedules: {failure}"
            return {"summary": summary, "trials": 0, "improved": 0, "tools": tools}
        store = JobScheduleStore(hub, schedule_toolchain(tools))
        store.add_tasks(tasks)
        result = _search(tasks, store, hub, _limits(settings), here, folder)
    hub.write("note", message=result.stop_reason)
    if result.improved:
        hub.write("plan_follow_up")
    return {
        "summary": f"better schedules for {len(result.improved)} of {len(tasks)} workloads "
        f"after {result.charged_trials} trials",
        "ended": result.stop_reason,
        "trials": result.charged_trials,
        "improved": len(result.improved),
        "tools": tools,
    }


def write_schedules(
    hub: Hub, toolchains: dict[str, dict[str, str]], graph_hash: str, folder: Path
) -> Path | None:
    """Write the best stored schedules of a network to a file in its ``folder``; returns the path.

    ``toolchains`` maps a backend to names and versions of its packages.

    Returns:
        ``None`` without schedules or without the backend.
    """
    if _BACKEND not in toolchains:
        return None
    toolchain = schedule_toolchain(toolchains[_BACKEND])
    records = hub.read("schedules_best", toolchain=toolchain, graph_hash=graph_hash)
    if not records:
        return None
    path = folder / _FILE
    path.write_bytes(b"".join(canonical_json(record) + b"\n" for record in records))
    return path


def schedule_toolchain(versions: dict[str, str]) -> str:
    """The toolchain of schedules: the compiler and its version."""
    return f"apache-tvm {versions['apache-tvm']}"


def _normal_form(hub: Hub, network: Network, limits: Limits, folder: Path) -> Network:
    """The network with its normal form, which the builds of searches are made from."""
    scratch, out = folder / "normaliser", folder / "normaliser" / "normal"
    out.mkdir(parents=True)
    with Child(limits, scratch, read_paths(network)) as child:
        form = make_normal_form(NORMALISER, network, child, out, limits)
    if form.note:
        hub.write("note", message=form.note)
    return replace(network, normal_path=form.path)


def _tasks(network: Network, here: ThisMachine, limits: Limits, folder: Path) -> list[ScheduleTask]:
    scratch = folder / "workloads"
    scratch.mkdir()
    return tasks_of(network, here.spec, limits=limits, scratch=scratch)


def _search(
    tasks: Sequence[ScheduleTask],
    store: JobScheduleStore,
    hub: Hub,
    limits: Limits,
    here: ThisMachine,
    folder: Path,
) -> ScheduleResult:
    parameters = hub.ticket.parameters
    budget = ScheduleBudget(
        seconds=float(parameters.get("budget_s") or hub.ticket.settings["schedule_s"]),
        trials=parameters.get("trials"),
    )
    scratch = folder / "scratch"
    scratch.mkdir()
    settings = hub.ticket.settings
    principles: list[dict[str, Any]] = []
    if parameters.get("principles", settings.get("principles", 0.0)):
        anchors = sorted({task.anchor for task in tasks})
        principles = hub.read("principles", anchors=anchors)

    with TvmSchedules(
        target_of(here.spec),
        limits=limits,
        scratch=scratch,
        seed=int(parameters.get("seed", 0)),
        batch=budget.batch,
        threads=here.spec.cores,
        device=other_machine(here),
        principles=principles,
    ) as compiler:
        return tune_schedules(tasks, compiler, store, budget, progress=progress_of(hub))


def _limits(settings: DeviceSettings) -> Limits:
    return Limits(wall_s=_WALL_S, memory_bytes=settings.child_memory_bytes)
