"""Studies of compiler passes: one network is studied, its class's portfolio recomputed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hpcfair.isolation.limits import Limits
from hpcfair.tickets import GraphFacts
from workers.backends.normalform import NORMALISER
from workers.device.errors import JobFailure
from workers.device.network import formats_of, network_of
from workers.device.pass_store import (
    networks_of,
    pass_portfolio,
    portfolio_entry,
    toolchain_of,
    trial_of,
    trial_row,
)
from workers.device.ports import DeviceSettings, Hub
from workers.device.schedule import write_schedules
from workers.device.toolchain import backends_of, other_machine, versions_of
from workers.device.workspace import workspace
from workers.engine.clock import SystemClock
from workers.engine.errors import CandidateFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.passes.device import LocalCompiler
from workers.engine.passes.evaluation import DevicePassEvaluator
from workers.engine.passes.menu import PassBackend
from workers.engine.passes.objective import OBJECTIVES, PassTrial
from workers.engine.passes.portfolio import greedy
from workers.engine.passes.study import StudyBudget, study
from workers.engine.ports import Backend, PhaseTime
from workers.engine.requests import TuningRequest
from workers.engine.types import Network
from workers.fleet.probe import ThisMachine

#: Lists of a portfolio for each objective.
_LISTS_PER_OBJECTIVE = 2
_BUILD_WALL_S = 300.0


def work(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]:
    """Study the network with each backend whose passes are configurable; returns a summary.

    Queues a search if the portfolio has a new list that makes code faster.

    Raises:
        JobFailure: the network is not inspected, or no such backend is installed.
        ReferenceFailed: the reference does not run.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`; also if the job yields to a
            search.
    """
    graph = hub.ticket.graph
    if graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before studying it.")
    backends, _ = backends_of(here, formats=formats_of(graph))
    compilers = {name: each for name, each in backends.items() if isinstance(each, PassBackend)}
    if not compilers:
        raise JobFailure("invalid", "no_backend", "No installed backend has configurable passes.")
    limits = Limits(wall_s=_BUILD_WALL_S, memory_bytes=settings.child_memory_bytes)
    seconds = hub.ticket.settings["passes_s"] / len(compilers)
    summaries = []
    with workspace(settings.work, "passes") as folder:
        hub.progress("fetch", 0, None, "copying the model")
        files = folder / "model"
        toolchains = {name: versions_of(here, backend) for name, backend in compilers.items()}
        network = replace(
            network_of(hub, graph, files),
            schedules_path=write_schedules(hub, toolchains, graph.graph_hash, files),
        )
        for name, backend in compilers.items():
            scratch = folder / name
            scratch.mkdir()
            study_of = _Study(hub, limits, here, graph, backend, seconds)
            summaries.append(f"{name}: {study_of.run(network, backends, scratch)}")
    tools = {name: version for each in toolchains.values() for name, version in each.items()}
    return {"summary": "; ".join(summaries), "tools": tools}


class _Study:
    """The study of one network with one backend."""

    def __init__(
        self,
        hub: Hub,
        limits: Limits,
        here: ThisMachine,
        graph: GraphFacts,
        backend: PassBackend,
        seconds: float,
    ) -> None:
        self._hub = hub
        self._limits = limits
        self._here = here
        self._backend = backend
        self._budget = StudyBudget(seconds)
        self._class = {
            "backend": backend.name,
            "toolchain": toolchain_of(versions_of(here, backend)),
            "architecture_class": graph.architecture_class,
        }
        self._graph_hash = graph.graph_hash
        self._clock = SystemClock()
        self._started = self._clock.monotonic()

    def run(self, network: Network, backends: dict[str, Backend], scratch: Path) -> str:
        """Study the network and recompute the portfolio of its class; returns a summary."""
        name, target = self._backend.name, self._here.spec
        search = TuningRequest(network, target, (name,), limits=self._limits, normaliser=NORMALISER)
        reference = backends[search.reference_backend]
        clock, menu = self._clock, self._backend.menu(network, target)
        rows = self._hub.read("pass_trials_of_job", backend=name)
        prior_trials = [trial_of(row) for row in rows]
        portfolio = pass_portfolio(
            self._hub,
            self._class["architecture_class"],
            {name: versions_of(self._here, self._backend)},
        )
        try:
            with (
                LocalCompiler(search, backends, scratch, other=other_machine(self._here)) as device,
                EvaluationContext(search, reference, device, clock) as context,
                DevicePassEvaluator(context, device, name, menu) as evaluator,
            ):
                result = study(
                    menu,
                    evaluator,
                    self._budget,
                    clock,
                    class_lists=portfolio.get(name, ()),
                    prior_trials=prior_trials,
                    on_trial=self._keep,
                )
        except CandidateFailed as error:
            self._hub.write("note", message=f"{name} cannot compile this network: {error}")
            return "cannot compile this network"
        idle = f"{len(result.dropped)} of its {len(menu.default)} passes"
        note = f"{name}: {result.stop_reason}; {idle} have no effect on this network"
        self._hub.write("note", message=note)
        self._store(before=portfolio.get(name, ()))
        gains = [
            f"{objective} {min(t.comparison.score(objective) for t in result.winners):.2f}"
            for objective in OBJECTIVES
            if any(trial.comparison.score(objective) < 1 for trial in result.winners)
        ]
        return ", ".join(gains) or "no list is proved better than the default one"

    def _keep(self, trial: PassTrial) -> None:
        row = {**self._class, "graph_hash": self._graph_hash, **trial_row(trial)}
        self._hub.write("pass_trial_add", trial=row)
        message = f"{trial.role} {trial.about}".strip()
        time = PhaseTime(self._clock.monotonic() - self._started, self._budget.seconds)
        self._hub.progress("passes", trial.number, None, message, time)
        self._hub.give_way()

    def _store(self, before: Sequence[str]) -> None:
        """Store the portfolio; queue a search if it has a faster list that ``before`` lacks."""
        trials = self._hub.read("class_trials", **self._class)
        networks = {objective: networks_of(trials, objective) for objective in OBJECTIVES}
        lists = [
            portfolio_entry(objective, passes, networks[objective])
            for objective in ("latency", "compile")
            for passes in greedy(networks[objective], _LISTS_PER_OBJECTIVE)
        ]
        self._hub.write(
            "portfolio_store", **self._class, networks=len(networks["latency"]), lists=lists
        )
        new = {each["passes"] for each in lists if each["objective"] == "latency"} - set(before)
        if new:
            self._hub.write("plan_follow_up")
