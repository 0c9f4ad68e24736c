"""Running published builds again on the test tensors: after each search, and after each change of
a device's tools.

A build has to pass again what it passed when it was published: its outputs stay within the limits
of its tolerance class, or within a few of the deviations of the runtime's own defaults. Those
defaults, the baseline, have to agree as float16 would.
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

from hpcfair.precisions import Tolerance
from registry.errors import Conflict
from registry.selectors.results.reproduction import builds_of_job, outcomes_of_job
from registry.selectors.results.testtensor import tests_of_job
from registry.services.results import reproduction
from registry.services.work.attempt import job_note
from registry.tickets import BuildTicket, JobTicket
from workers.backends.registry import available
from workers.engine.errors import CandidateFailed, InfrastructureFailed, LeaseLost, WrongOutput
from workers.engine.handover import nonsense, remove
from workers.engine.local import LocalDevice
from workers.engine.numerics import OutputCheck, Outputs, check, require
from workers.engine.ports import Backend
from workers.engine.samples import TestSet
from workers.engine.types import BuildResult, Limits, TargetSpec, TuningRequest
from workers.fleet.probe import ThisMachine
from workers.jobs.background import give_way
from workers.jobs.errors import JobFailed
from workers.jobs.lease import Lease
from workers.jobs.network import network_at
from workers.jobs.testtensor import Case, keep_tests, load_cases
from workers.jobs.workspace import fetch, workspace

#: Of opening a build, and of each run.
_WALL_S = 300.0
_BASELINE_TOLERANCE: Tolerance = "fp16"

Outcome = Literal["reproduced", "differs", "failed"]


@dataclass(frozen=True, slots=True)
class _Again:
    """What came of one build; ``checked`` where its outputs could be compared."""

    outcome: Outcome
    checked: OutputCheck | None = None
    detail: str = ""


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:
    """Run each build of the network for this machine's target; returns a summary for people.

    What an interrupted attempt has run counts: a job that gave way goes on where it stopped.

    Raises:
        JobFailed: the network is unknown, or its test tensors cannot be read.
        InfrastructureFailed: the machine cannot run builds now.
        LeaseLost: as the lease says, or a search that comes first waits.
        Cancelled: as the lease says.
    """
    graph = ticket.graph
    if here is None or graph is None:
        raise JobFailed("invalid", "graph_not_found", "Inspect the revision before running it.")
    builds = builds_of_job(ticket.job_uuid)
    done = outcomes_of_job(ticket.job_uuid)
    with workspace("reproduce") as folder:
        lease.progress("tests", 0, None, "test tensors")
        # What was inspected by an older hub has none.
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
                # Without the baseline nobody could judge the others.
                if build.backend in backends and (build.is_baseline or build.uuid not in done):
                    runs.run(build, tools_of(backends[build.backend], here.spec))
    outcomes = outcomes_of_job(ticket.job_uuid)
    return _summary([outcomes.get(build.uuid) for build in builds])


def plan_after_search(ticket: JobTicket) -> None:
    """Plan a run of what a search has just published."""
    reproduction.plan_after_search(job_uuid=ticket.job_uuid)


def tools_here(here: ThisMachine) -> dict[str, dict[str, str]]:
    """Backend to names and versions of what runs its builds on this machine."""
    backends, _ = available(here.spec)
    return {name: tools_of(backend, here.spec) for name, backend in backends.items()}


def tools_of(backend: Backend, target: TargetSpec) -> dict[str, str]:
    """Names and versions of what runs a backend's builds here: when one changes, builds that
    were reproduced have to be again."""
    return {
        "python": platform.python_version(),
        "hpcfair": importlib.metadata.version("hpcfair"),
        **_drivers(target),
        **backend.probe(target),
    }


def _drivers(target: TargetSpec) -> dict[str, str]:
    """Those of the GPUs, where the target is one."""
    if "cuda" not in target.features:
        return {}
    found = {one.get("driver") for one in target.facts.get("accelerators", ())} - {None}
    return {"nvidia-driver": ", ".join(sorted(found))} if found else {}


class _Runs:
    """One job's runs. The baseline comes first; the others are compared with how far it strays."""

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
        """Run a build and keep what came of it; a log line where its runtime is broken here.

        Raises:
            InfrastructureFailed: it could not be run, by no fault of its own.
            LeaseLost: the job is somebody else's now.
        """
        try:
            again = self._again(build)
        except CandidateFailed as error:
            if error.cause != "unavailable":
                raise InfrastructureFailed(str(error)) from error
            message = f"{build.backend} cannot run here: {error}"[:500]
            job_note(job_uuid=self._ticket.job_uuid, fence=self._ticket.fence, message=message)
            return
        if build.is_baseline and again.outcome == "reproduced":
            self._baseline = again.checked
        try:
            reproduction.reproduction_add(
                build.uuid,
                job_uuid=self._ticket.job_uuid,
                fence=self._ticket.fence,
                tools=tools,
                outcome=again.outcome,
                deviation=asdict(again.checked.deviation) if again.checked else {},
                detail=again.detail,
            )
        except Conflict as error:
            raise LeaseLost(str(error)) from error

    def _again(self, build: BuildTicket) -> _Again:
        """Raises CandidateFailed where the machine is to blame."""
        try:
            checked = self._checked(build)
        except WrongOutput as error:
            return _Again("differs", detail=str(error))
        except CandidateFailed as error:
            if error.outcome == "infrastructure":
                raise
            return _Again("failed", detail=f"{error.outcome}: {error}")
        tolerance = _BASELINE_TOLERANCE if build.is_baseline else build.tolerance
        try:
            require(checked, cast("Tolerance", tolerance), self._baseline, None)
        except WrongOutput as error:
            return _Again("differs", checked, str(error))
        return _Again("reproduced", checked)

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
            # Outputs that cannot even be compared: text where there should be numbers.
            raise nonsense(error) from error
        finally:
            remove(files)


def _summary(outcomes: Sequence[str | None]) -> dict[str, Any]:
    """What is told of a job, from what came of each build; ``None`` of those not run here."""
    counted = Counter(outcome for outcome in outcomes if outcome)
    said = [f"{count} {outcome}" for outcome, count in sorted(counted.items())]
    if skipped := outcomes.count(None):
        said.append(f"{skipped} not run here")
    found = ", ".join(said) or "none"
    return {"summary": f"of {len(outcomes)} builds: {found}", "outcomes": dict(counted)}
