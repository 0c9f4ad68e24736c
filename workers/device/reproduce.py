"""Reproduce jobs: run published builds again on the test tensors.

They follow each search and each change of a device's tools. A build must pass the same check as
when it was published: its outputs stay within the limits of its tolerance class, or within a small
multiple of the baseline's deviation. The baseline must stay within the limits of float16.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from hpcfair.isolation.limits import Limits
from hpcfair.precisions import Tolerance
from hpcfair.tickets import BuildTicket
from workers.device.errors import JobFailure
from workers.device.network import network_at
from workers.device.ports import DeviceSettings, Hub, JobDevice
from workers.device.roof import keep_roofs
from workers.device.testtensor import Case, keep_tests, load_cases
from workers.device.toolchain import backends_of, other_machine, tools_of
from workers.device.workspace import workspace
from workers.engine.errors import CandidateFailed, InfrastructureFailed, WrongOutput
from workers.engine.handover import protocol_error, remove
from workers.engine.numerics import OutputCheck, Outputs, check, require
from workers.engine.requests import TuningRequest
from workers.engine.testset import TestSet
from workers.engine.types import BuildResult
from workers.fleet.probe import ThisMachine

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


def work(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]:
    """Run each build of the network for this machine's target; returns a summary.

    Outcomes of earlier attempts are reused.

    Raises:
        JobFailure: the network is not inspected, or its test tensors cannot be read.
        InfrastructureFailed: the machine cannot run builds.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`; also if the job yields to a
            search.
    """
    graph = hub.ticket.graph
    if graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before running it.")
    keep_roofs(hub, settings, here)
    builds = [BuildTicket.from_json(row) for row in hub.read("builds_of_job")]
    prior_outcomes = hub.read("outcomes_of_job")
    with workspace(settings.work, "reproduce") as folder:
        hub.progress("tests", 0, None, "test tensors")
        # Networks inspected by older versions of the hub have none.
        tensors = keep_tests(hub, settings, graph, folder)
        if not tensors:
            return {"summary": "there are no test tensors", "outcomes": {}}
        cases = load_cases(hub, settings, tensors, folder)
        names = settings.names({build.backend for build in builds})
        backends, missing = backends_of(here, names)
        for reason in missing.values():
            hub.write("note", message=reason)
        search = TuningRequest(
            network_at(hub.ticket, graph, folder / "network"),
            here.spec,
            tuple(backends),
            limits=Limits(wall_s=_WALL_S, memory_bytes=settings.child_memory_bytes),
        )
        scratch = folder / "scratch"
        scratch.mkdir()
        with settings.device(search, backends, scratch, other=other_machine(here)) as device:
            runs = _Runs(hub, device, cases, folder)
            for number, build in enumerate(builds):
                hub.progress("reproduce", number, len(builds), build.backend)
                hub.give_way()
                # The baseline is always run: the others are compared with it.
                if build.backend in backends and (
                    build.is_baseline or build.uuid not in prior_outcomes
                ):
                    runs.run(build, tools_of(here, backends[build.backend]))
    outcomes = hub.read("outcomes_of_job")
    return _summary([outcomes.get(build.uuid) for build in builds])


class _Runs:
    """The runs of one job: the baseline first, with whose deviation others are compared."""

    def __init__(self, hub: Hub, device: JobDevice, cases: list[Case], folder: Path) -> None:
        self._hub = hub
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
            self._hub.write("note", message=message)
            return
        if build.is_baseline and result.outcome == "reproduced":
            self._baseline = result.checked
        self._hub.write(
            "reproduction_add",
            build=build.uuid,
            tools=dict(tools),
            outcome=result.outcome,
            deviation=asdict(result.checked.deviation) if result.checked else {},
            detail=result.detail,
        )

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
        files = self._folder / "build"
        self._hub.fetch(build.files, files)
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
