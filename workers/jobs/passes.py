"""Studies of compiler passes: one network is studied, its class's portfolio recomputed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings

from hpcfair.isolation.limits import Limits
from registry.errors import Conflict
from registry.selectors.results.passes import class_trials, pass_trials_of_job
from registry.services.results.passes import pass_trial_add, plan_pass_study, portfolio_store
from registry.services.work.attempt import job_note
from registry.services.work.plan import plan_follow_up
from registry.tickets import GraphFacts, JobTicket
from workers.backends.registry import available
from workers.engine.clock import SystemClock
from workers.engine.errors import CandidateFailed, LeaseLost
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
from workers.jobs.errors import JobFailure
from workers.jobs.lease import Lease, give_way
from workers.jobs.network import formats_of, network_of
from workers.jobs.pass_store import (
    networks_of,
    pass_portfolio,
    portfolio_entry,
    toolchain_of,
    trial_of,
    trial_row,
)
from workers.jobs.schedule import write_schedules
from workers.jobs.workspace import workspace

#: Lists of a portfolio for each objective.
_LISTS_PER_OBJECTIVE = 2
_BUILD_WALL_S = 300.0


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:
    """Study the network with each backend whose passes are configurable; returns a summary.

    Queues a search if the portfolio has a new list that makes code faster.

    Raises:
        JobFailure: the network is not inspected, or no such backend is installed.
        ReferenceFailed: the reference does not run.
        LeaseLost: see :class:`~workers.jobs.lease.Lease`; also if the job yields to a search.
        Cancelled: see :class:`~workers.jobs.lease.Lease`.
    """
    graph = ticket.graph
    if here is None or graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before studying it.")
    backends, _ = available(here.spec, formats=formats_of(graph))
    compilers = {name: each for name, each in backends.items() if isinstance(each, PassBackend)}
    if not compilers:
        raise JobFailure("invalid", "no_backend", "No installed backend has configurable passes.")
    summaries = []
    with workspace("passes") as folder:
        lease.progress("fetch", 0, None, "copying the model")
        files = folder / "model"
        toolchains = {name: backend.probe(here.spec) for name, backend in compilers.items()}
        network = replace(
            network_of(ticket, graph, files),
            schedules_path=write_schedules(here.spec.slug, toolchains, graph.graph_hash, files),
        )
        for name, backend in compilers.items():
            scratch = folder / name
            scratch.mkdir()
            study_of = _Study(
                ticket, lease, here, graph, backend, settings.PASSES_S / len(compilers)
            )
            summaries.append(f"{name}: {study_of.run(network, backends, scratch)}")
    tools = {name: version for each in toolchains.values() for name, version in each.items()}
    return {"summary": "; ".join(summaries), "tools": tools}


def plan_after_search(ticket: JobTicket) -> None:
    """Queue a study of the network that was searched, unless its class has enough studies."""
    if settings.PASSES_S and ticket.graph is not None and ticket.graph.format == "onnx":
        plan_pass_study(job_uuid=ticket.job_uuid)


class _Study:
    """The study of one network with one backend."""

    def __init__(
        self,
        ticket: JobTicket,
        lease: Lease,
        here: ThisMachine,
        graph: GraphFacts,
        backend: PassBackend,
        seconds: float,
    ) -> None:
        self._ticket = ticket
        self._lease = lease
        self._here = here
        self._backend = backend
        self._budget = StudyBudget(seconds)
        self._class = {
            "backend": backend.name,
            "toolchain": toolchain_of(backend.probe(here.spec)),
            "architecture_class": graph.architecture_class,
        }
        self._graph_hash = graph.graph_hash
        self._clock = SystemClock()
        self._started = self._clock.monotonic()

    def run(self, network: Network, backends: dict[str, Backend], scratch: Path) -> str:
        """Study the network and recompute the portfolio of its class; returns a summary."""
        name, target = self._backend.name, self._here.spec
        limits = Limits(wall_s=_BUILD_WALL_S, memory_bytes=settings.CHILD_MEMORY_BYTES)
        search = TuningRequest(network, target, (name,), limits=limits)
        reference = backends[search.reference_backend]
        clock, menu = self._clock, self._backend.menu(network, target)
        prior_trials = [trial_of(row) for row in pass_trials_of_job(self._ticket.job_uuid, name)]
        portfolio = pass_portfolio(
            target.slug, self._class["architecture_class"], {name: self._backend.probe(target)}
        )
        try:
            with (
                LocalCompiler(search, backends, scratch) as device,
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
            self._note(f"{name} cannot compile this network: {error}")
            return "cannot compile this network"
        idle = f"{len(result.dropped)} of its {len(menu.default)} passes"
        self._note(f"{name}: {result.stop_reason}; {idle} have no effect on this network")
        self._store(before=portfolio.get(name, ()))
        gains = [
            f"{objective} {min(t.comparison.score(objective) for t in result.winners):.2f}"
            for objective in OBJECTIVES
            if any(trial.comparison.score(objective) < 1 for trial in result.winners)
        ]
        return ", ".join(gains) or "no list is proved better than the default one"

    def _keep(self, trial: PassTrial) -> None:
        row = {**self._class, "graph_hash": self._graph_hash, **trial_row(trial)}
        self._guarded(pass_trial_add, trial=row)
        message = f"{trial.role} {trial.about}".strip()
        time = PhaseTime(self._clock.monotonic() - self._started, self._budget.seconds)
        self._lease.progress("passes", trial.number, None, message, time)
        give_way(self._ticket)

    def _store(self, before: Sequence[str]) -> None:
        """Store the portfolio; queue a search if it has a faster list that ``before`` lacks."""
        networks = {
            objective: networks_of(
                class_trials(target=self._here.spec.slug, **self._class), objective
            )
            for objective in OBJECTIVES
        }
        lists = [
            portfolio_entry(objective, passes, networks[objective])
            for objective in ("latency", "compile")
            for passes in greedy(networks[objective], _LISTS_PER_OBJECTIVE)
        ]
        self._guarded(
            portfolio_store, **self._class, networks=len(networks["latency"]), lists=lists
        )
        new = {each["passes"] for each in lists if each["objective"] == "latency"} - set(before)
        if new:
            self._guarded(plan_follow_up)

    def _note(self, message: str) -> None:
        self._guarded(job_note, message=message)

    def _guarded(self, service: Any, **columns: Any) -> None:
        try:
            service(job_uuid=self._ticket.job_uuid, fence=self._ticket.fence, **columns)
        except Conflict as error:
            raise LeaseLost(str(error)) from error
