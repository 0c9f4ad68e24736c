"""Studies of compiler passes: a network is studied, its class's portfolio made anew."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

from django.conf import settings

from hpcfair.measurement.types import Interval
from registry.errors import Conflict
from registry.selectors.results.passes import (
    class_trials,
    pass_trials_of_job,
    portfolio_of,
)
from registry.services.results.passes import (
    pass_trial_add,
    plan_pass_study,
    portfolio_store,
)
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
from workers.engine.passes.objective import OBJECTIVES, Objective, PassComparison, PassTrial
from workers.engine.passes.portfolio import NetworkScores, greedy
from workers.engine.passes.study import StudyBudget, study
from workers.engine.ports import Backend
from workers.engine.types import Limits, Network, TuningRequest
from workers.fleet.probe import ThisMachine
from workers.jobs.background import give_way
from workers.jobs.errors import JobFailed
from workers.jobs.lease import Lease
from workers.jobs.network import formats_of, network_of
from workers.jobs.schedule import schedules_known
from workers.jobs.workspace import workspace

#: Lists that a class keeps for each objective.
_KEPT = 2
_BUILD_WALL_S = 300.0
_LONGEST_TOOLCHAIN = 64


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:
    """Study the network with each compiler whose passes can be chosen; plans a search that uses
    what makes its code faster.

    Raises:
        JobFailed: the network is unknown, or no such compiler is here.
        ReferenceFailed: the network itself does not run.
        LeaseLost: as the lease says, or somebody waits for a search.
        Cancelled: as the lease says.
    """
    graph = ticket.graph
    if here is None or graph is None:
        raise JobFailed("invalid", "graph_not_found", "Inspect the revision before studying it.")
    backends, _ = available(here.spec, formats=formats_of(graph))
    able = {name: each for name, each in backends.items() if isinstance(each, PassBackend)}
    if not able:
        raise JobFailed("invalid", "no_backend", "No compiler here lets its passes be chosen.")
    said = []
    with workspace("passes") as folder:
        lease.progress("fetch", 0, None, "copying the model")
        files = folder / "model"
        toolchains = {name: backend.probe(here.spec) for name, backend in able.items()}
        network = replace(
            network_of(ticket, graph, files),
            schedules_path=schedules_known(here.spec.slug, toolchains, graph.graph_hash, files),
        )
        for name, backend in able.items():
            scratch = folder / name
            scratch.mkdir()
            study_of = _Study(ticket, lease, here, graph, backend, settings.PASSES_S / len(able))
            said.append(f"{name}: {study_of.run(network, backends, scratch)}")
    tools = {name: version for each in toolchains.values() for name, version in each.items()}
    return {"summary": "; ".join(said), "tools": tools}


def plan_after_search(ticket: JobTicket) -> None:
    """Plan a study of the network just searched, while its class has seen few."""
    if settings.PASSES_S and ticket.graph is not None and ticket.graph.format == "onnx":
        plan_pass_study(job_uuid=ticket.job_uuid)


def known_to_serve(
    target: str, architecture_class: str, toolchains: dict[str, dict[str, str]]
) -> dict[str, tuple[str, ...]]:
    """The portfolio of a class: backend to lists of passes, best first."""
    names = {backend: toolchain_of(versions) for backend, versions in toolchains.items()}
    return portfolio_of(target, architecture_class, names)


def toolchain_of(versions: dict[str, str]) -> str:
    """A backend's packages as one name."""
    return ", ".join(f"{name} {v}" for name, v in versions.items())[:_LONGEST_TOOLCHAIN]


class _Study:
    """One compiler's part of a job."""

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
        self._of = {
            "backend": backend.name,
            "toolchain": toolchain_of(backend.probe(here.spec)),
            "architecture_class": graph.architecture_class,
        }
        self._graph_hash = graph.graph_hash

    def run(self, network: Network, backends: dict[str, Backend], scratch: Path) -> str:
        """Study the network, make the class's portfolio anew; returns a summary."""
        name, target = self._backend.name, self._here.spec
        limits = Limits(wall_s=_BUILD_WALL_S, memory_bytes=settings.CHILD_MEMORY_BYTES)
        search = TuningRequest(network, target, (name,), limits=limits)
        reference = backends[search.reference_backend]
        clock, menu = SystemClock(), self._backend.menu(network, target)
        known = [_trial(row) for row in pass_trials_of_job(self._ticket.job_uuid, name)]
        served = known_to_serve(
            target.slug, self._of["architecture_class"], {name: self._backend.probe(target)}
        )
        try:
            with (
                LocalCompiler(search, backends, scratch) as device,
                EvaluationContext(search, reference, device, clock) as context,
                DevicePassEvaluator(context, device, name, menu) as evaluator,
            ):
                found = study(
                    menu,
                    evaluator,
                    self._budget,
                    clock,
                    served=served.get(name, ()),
                    known=known,
                    keep=self._keep,
                )
        except CandidateFailed as error:
            self._note(f"{name} cannot take this network: {error}")
            return "cannot take this network"
        idle, of = len(found.dropped), len(menu.default)
        self._note(f"{name}: {found.ended}; {idle} of its {of} passes leave this code as it is")
        self._store(had=served.get(name, ()))
        gains = [
            f"{objective} {min(t.comparison.score(objective) for t in found.winners):.2f}"
            for objective in OBJECTIVES
            if any(trial.comparison.score(objective) < 1 for trial in found.winners)
        ]
        return ", ".join(gains) or "its own passes are best"

    def _keep(self, trial: PassTrial) -> None:
        row = {**self._of, "graph_hash": self._graph_hash, **_row(trial)}
        self._guarded(pass_trial_add, trial=row)
        self._lease.progress("passes", trial.number, None, f"{trial.role} {trial.about}".strip())
        give_way(self._ticket)

    def _store(self, had: Sequence[str]) -> None:
        """Make the portfolio; where it now holds a list that makes code faster, search again.

        At once: when this job has given way and goes on, the list is no longer new.
        """
        networks = {
            objective: networks_of(class_trials(target=self._here.spec.slug, **self._of), objective)
            for objective in OBJECTIVES
        }
        lists = [
            _described(objective, passes, networks[objective])
            for objective in ("latency", "compile")
            for passes in greedy(networks[objective], _KEPT)
        ]
        self._guarded(portfolio_store, **self._of, networks=len(networks["latency"]), lists=lists)
        new = {each["passes"] for each in lists if each["objective"] == "latency"} - set(had)
        if new:
            self._guarded(plan_follow_up)

    def _note(self, message: str) -> None:
        self._guarded(job_note, message=message)

    def _guarded(self, service: Any, **columns: Any) -> None:
        try:
            service(job_uuid=self._ticket.job_uuid, fence=self._ticket.fence, **columns)
        except Conflict as error:
            raise LeaseLost(str(error)) from error


def networks_of(rows: Sequence[dict[str, Any]], objective: Objective) -> list[NetworkScores]:
    """Trials of a class as what each list is worth to each network.

    Of several trials of one list the last ``final`` one counts, else the last.
    """
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        lists = chosen.setdefault(row["graph_hash"], {})
        known = lists.get(row["passes"])
        if known is None or row["role"] == "final" or known["role"] != "final":
            lists[row["passes"]] = row
    return [
        NetworkScores(
            graph_hash,
            "",
            {passes: _comparison(row).score(objective) for passes, row in lists.items()},
        )
        for graph_hash, lists in chosen.items()
    ]


def _described(objective: str, passes: str, networks: Sequence[NetworkScores]) -> dict[str, Any]:
    scores = [network.with_portfolio([passes]) for network in networks]
    return {
        "passes": passes,
        "objective": objective,
        "networks": sum(score < 1 for score in scores),
        "ratio": round(exp(fmean(log(score) for score in scores)), 4),
    }


def _row(trial: PassTrial) -> dict[str, Any]:
    found = trial.comparison
    row: dict[str, Any] = {
        "number": trial.number,
        "role": trial.role,
        "about": trial.about,
        "passes": trial.passes,
        "outcome": found.outcome,
        "failure_detail": found.detail,
        "same_code": found.same_code,
        "compile_s": found.compile_s or None,
        "measurement": {**found.raw, "fingerprint": found.fingerprint},
    }
    for name, ratio in (("compile_ratio", found.compile), ("ratio", found.latency)):
        if ratio is not None:
            row |= {name: ratio.value, f"{name}_low": ratio.low, f"{name}_high": ratio.high}
    return row


def _trial(row: dict[str, Any]) -> PassTrial:
    return PassTrial(row["number"], row["role"], row["passes"], _comparison(row), row["about"])


def _comparison(row: dict[str, Any]) -> PassComparison:
    """What was found, without raw samples."""
    return PassComparison(
        outcome=row["outcome"],
        detail=row["failure_detail"],
        compile=_interval(row, "compile_ratio"),
        latency=_interval(row, "ratio"),
        same_code=row["same_code"],
        compile_s=row["compile_s"] or 0.0,
    )


def _interval(row: dict[str, Any], name: str) -> Interval | None:
    if row[name] is None:
        return None
    return Interval(row[name], row[f"{name}_low"], row[f"{name}_high"])
