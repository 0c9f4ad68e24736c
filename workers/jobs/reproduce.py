"""Reproduce jobs: run published builds again on the test tensors.

They follow each search and each change of a device's tools. A build must pass the same check as
when it was published: its outputs stay within the limits of its tolerance class, or within a small
multiple of the baseline's deviation. The baseline must stay within the limits of float16.
"""

import importlib.metadata
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from django.conf import settings

from hpcfair.isolation.limits import Limits
from hpcfair.precisions import Tolerance
from registry.errors import Conflict
from registry.selectors.results.reproduction import builds_of_job, outcomes_of_job
from registry.selectors.results.testtensor import tests_of_job
from registry.services.results import reproduction
from registry.services.work.attempt import job_note
from registry.tickets import BuildTicket, JobTicket
from workers.backends.registry import available
from workers.engine.errors import CandidateFailed, InfrastructureFailed, LeaseLost, WrongOutput
from workers.engine.handover import protocol_error, remove
from workers.engine.local import LocalDevice
from workers.engine.numerics import OutputCheck, Outputs, check, require
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.testset import TestSet
from workers.engine.types import BuildResult, TargetSpec
from workers.fleet.probe import ThisMachine
from workers.jobs.errors import JobFailure
from workers.jobs.lease import Lease, give_way
from workers.jobs.network import network_at
from workers.jobs.testtensor import Case, keep_tests, load_cases
from workers.jobs.workspace import fetch, workspace

#: Limit of opening a build and of each run, in seconds.
_WALL_S = 300.0
_BASELINE_TOLERANCE: Tolerance = "fp16"

_Outcome = Literal["reproduced", "differs", "failed"]


@dataclass(frozen=True, slots=True)
class _RunResult:
    """Outcome of one build; ``checked`` if its outputs could be compared."""

    outcome: _Outcome
    checked: OutputCheck | None = None
    detail: str = ""


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:
    """Run each build of the network for this machine's target; returns a summary.

    Outcomes of earlier attempts are reused.

    Raises:
        JobFailure: the network is not inspected, or its test tensors cannot be read.
        InfrastructureFailed: the machine cannot run builds.
        LeaseLost: see :class:`~workers.jobs.lease.Lease`; also if the job yields to a search.
        Cancelled: see :class:`~workers.jobs.lease.Lease`.
    """
    graph = ticket.graph
    if here is None or graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before running it.")
    builds = builds_of_job(ticket.job_uuid)
    prior_outcomes = outcomes_of_job(ticket.job_uuid)
    with workspace("reproduce") as folder:
        lease.progress("tests", 0, None, "test tensors")
        # Networks inspected by older versions of the hub have none.
        tensors = tests_of_job(ticket.job_uuid) or keep_tests(ticket, graph, folder)
        if not tensors:
            return {"summary": "there are no test tensors", "outcomes": {}}
        cases = load_cases(tensors, folder)
        backends, missing = available(here.spec, list({build.backend for build in builds}))
        for reason in missing.values():
            job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=reason)
        search = TuningRequest(
            network_at(ticket, graph, folder / "network"),
            here.spec,
            tuple(backends),
            limits=Limits(wall_s=_WALL_S, memory_bytes=settings.CHILD_MEMORY_BYTES),
        )
        scratch = folder / "scratch"
        scratch.mkdir()
        with LocalDevice(search, backends, scratch) as device:
            runs = _Runs(ticket, device, cases, folder)
            for number, build in enumerate(builds):
                lease.progress("reproduce", number, len(builds), build.backend)
                give_way(ticket)
                # The baseline is always run: the others are compared with it.
                if build.backend in backends and (
                    build.is_baseline or build.uuid not in prior_outcomes
                ):
                    runs.run(build, tools_of(backends[build.backend], here.spec))
    outcomes = outcomes_of_job(ticket.job_uuid)
    return _summary([outcomes.get(build.uuid) for build in builds])


def plan_after_search(ticket: JobTicket) -> None:
    """Queue a reproduction of the builds that a search has published."""
    reproduction.plan_after_search(job_uuid=ticket.job_uuid)


def tools_here(here: ThisMachine) -> dict[str, dict[str, str]]:
    """Backend to names and versions of the programs that run its builds on this machine."""
    backends, _ = available(here.spec)
    return {name: tools_of(backend, here.spec) for name, backend in backends.items()}


def tools_of(backend: Backend, target: TargetSpec) -> dict[str, str]:
    """Names and versions of the programs that run a backend's builds on this machine. Builds are
    reproduced again when one of them changes."""
    return {
        "python": platform.python_version(),
        "hpcfair": importlib.metadata.version("hpcfair"),
        **_drivers(target),
        **backend.probe(target),
    }


def _drivers(target: TargetSpec) -> dict[str, str]:
    if "cuda" not in target.features:
        return {}
    drivers = {one.get("driver") for one in target.facts.get("accelerators", ())} - {None}
    return {"nvidia-driver": ", ".join(sorted(drivers))} if drivers else {}


class _Runs:
    """The runs of one job: the baseline first, with whose deviation others are compared."""

    def __init__(
        self, ticket: JobTicket, device: LocalDevice, cases: list[Case], folder: Path
    ) -> None:
        self._ticket = ticket
        self._device = device
        self._folder = folder
        inputs = tuple(case["input"] for case in cases)
        self._tests = TestSet(inputs, None, inputs[0], "random", 0)
        self._expected: list[Outputs] = [case["output"] for case in cases]
        self._baseline: OutputCheck | None = None

    def run(self, build: BuildTicket, tools: Mapping[str, str]) -> None:
        """Run a build and store the outcome; if its runtime is unavailable, only log that."""
        try:
            result = self._result(build)
        except CandidateFailed as error:
            if error.cause != "unavailable":
                raise InfrastructureFailed(str(error)) from error
            message = f"{build.backend} cannot run here: {error}"[:500]
            job_note(job_uuid=self._ticket.job_uuid, fence=self._ticket.fence, message=message)
            return
        if build.is_baseline and result.outcome == "reproduced":
            self._baseline = result.checked
        try:
            reproduction.reproduction_add(
                build.uuid,
                job_uuid=self._ticket.job_uuid,
                fence=self._ticket.fence,
                tools=tools,
                outcome=result.outcome,
                deviation=asdict(result.checked.deviation) if result.checked else {},
                detail=result.detail,
            )
        except Conflict as error:
            raise LeaseLost(str(error)) from error

    def _result(self, build: BuildTicket) -> _RunResult:
        """The outcome of a run; raises CandidateFailed for failures of the machine."""
        try:
            checked = self._checked(build)
        except WrongOutput as error:
            return _RunResult("differs", detail=str(error))
        except CandidateFailed as error:
            if error.outcome == "infrastructure":
                raise
            return _RunResult("failed", detail=f"{error.outcome}: {error}")
        tolerance = _BASELINE_TOLERANCE if build.is_baseline else build.tolerance
        try:
            require(checked, cast("Tolerance", tolerance), self._baseline, None)
        except WrongOutput as error:
            return _RunResult("differs", checked, str(error))
        return _RunResult("reproduced", checked)

    def _checked(self, build: BuildTicket) -> OutputCheck:
        files = self._folder / "builds" / build.uuid
        fetch(build.files, files)
        artefact = BuildResult(
            "measured",
            directory=files,
            entry_point=build.entry_point,
            runtime=build.runtime,
            runtime_options=dict(build.runtime_options),
            tolerance=cast("Tolerance", build.tolerance),
        )
        try:
            opened = self._device.open(build.backend, artefact, "candidate", self._tests.timing)
            with closing(opened) as session:
                return check(session, self._tests, self._expected)
        except (TypeError, ValueError) as error:
            # Outputs of types that cannot be compared.
            raise protocol_error(error) from error
        finally:
            remove(files)


def _summary(outcomes: Sequence[str | None]) -> dict[str, Any]:
    counted = Counter(outcome for outcome in outcomes if outcome)
    parts = [f"{count} {outcome}" for outcome, count in sorted(counted.items())]
    if skipped := outcomes.count(None):
        parts.append(f"{skipped} not run here")
    counts = ", ".join(parts) or "none"
    return {"summary": f"of {len(outcomes)} builds: {counts}", "outcomes": dict(counted)}
