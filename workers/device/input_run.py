"""One run of a network with a person's inputs, in confined child processes."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.isolation.limits import Limits
from hpcfair.measurement.outputs import OutputComparison, OutputMismatch
from hpcfair.measurement.types import Timing
from hpcfair.precisions import Tolerance
from hpcfair.signature import Signature
from hpcfair.tickets import GraphFacts, RunTicket
from workers.backends.registry import reference_for
from workers.device.errors import JobFailure
from workers.device.network import network_at
from workers.device.ports import DeviceSettings, Hub
from workers.device.reference import open_reference
from workers.device.toolchain import backends_of, other_machine
from workers.engine.child import call
from workers.engine.errors import BackendUnavailable, CandidateFailed, InvalidCandidate
from workers.engine.handover import protocol_error
from workers.engine.local import LocalDevice
from workers.engine.local_session import arrays_of
from workers.engine.ports import Array, RunningSession
from workers.engine.requests import TuningRequest
from workers.engine.types import BuildResult, Network, Options
from workers.fleet.probe import ThisMachine

_READ = "workers.engine.samples:read_archive"
#: Untimed runs before the timed ones.
WARMUP = 2
#: Seconds of all timed runs together, and the fewest and most runs.
_TIMED_S, _FEWEST, _MOST = 3.0, 5, 200
#: Seconds that must be left to begin another step.
_LEAST_S = 1.0
_MAX_DETAIL = 1000


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The seconds that a run may take on the device, and the limits of its child processes."""

    seconds: float
    memory_bytes: int
    started_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        return self.seconds - (time.monotonic() - self.started_s)

    def limits(self) -> Limits:
        """Limits of a child process that begins now. Raises JobFailure ``job_timeout``."""
        if self.left_s < _LEAST_S:
            raise JobFailure(
                "timeout",
                "job_timeout",
                f"The run took more than the {self.seconds:g} s that this hub allows on a device.",
            )
        return Limits(wall_s=self.left_s, memory_bytes=self.memory_bytes)


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """Outputs and times of a build.

    Attributes:
        outputs: Outputs of the first run, by output name of the network.
        first_ns: Duration of the first run in nanoseconds, transfer of the arrays included.
        timing: The timed runs; ``None`` if there was no time for any.
        isolation: Weakest isolation level of the child processes.
    """

    outputs: dict[str, Array]
    first_ns: int
    timing: Timing | None
    isolation: str


class InputRun:
    """One run: its inputs and its network, copied into a private folder. Its time begins after they
    have been copied.

    Raises JobFailure ``invalid_inputs``; CandidateFailed if the inputs cannot be read.
    """

    def __init__(
        self,
        hub: Hub,
        settings: DeviceSettings,
        here: ThisMachine,
        graph: GraphFacts,
        ticket: RunTicket,
        folder: Path,
    ) -> None:
        self._hub, self._here, self._ticket, self._folder = hub, here, ticket, folder
        self._format = graph.format
        self._signature = Signature.from_json(graph.signature)
        self.backend = (
            ticket.build.backend if ticket.build else reference_for(here.spec, graph.format)
        )
        hub.fetch([ticket.inputs], folder / "inputs")
        self._network = self._fetch_network(graph)
        self._budget = RunBudget(ticket.limit_s, settings.child_memory_bytes)
        self._inputs = self._read_inputs()

    def measure(self) -> MeasuredRun:
        """Run the build once for its outputs, then time it.

        Raises JobFailure ``invalid_inputs`` if the runtime rejects the inputs, or ``no_backend``;
        CandidateFailed.
        """
        with self._open() as (device, session):
            started_ns = time.perf_counter_ns()
            try:
                outputs = self._signature.arrange(session.run(self._inputs))
            except RuntimeFailed as error:
                raise protocol_error(error) from error
            except CandidateFailed as error:
                if error.outcome != "invalid":
                    raise
                detail = f"{self.backend} rejects the inputs: {error}"
                raise JobFailure("invalid", "invalid_inputs", detail[:_MAX_DETAIL]) from error
            first_ns = time.perf_counter_ns() - started_ns
            self._hub.progress("time", 0, None, self.backend)
            timing = self._timed(session)
            return MeasuredRun(outputs, first_ns, timing, device.isolation or "none")

    def compare(self, outputs: dict[str, Array]) -> tuple[dict[str, float] | None, str]:
        """Compare outputs with the network in float32; returns the deviation and the reason why
        there is none, one of which is empty."""
        comparison = OutputComparison()
        scratch = self._folder / "reference"
        try:
            limits = self._budget.limits()
            with open_reference(self._network, self._format, scratch, limits) as reference:
                expected = reference.session.run(self._inputs)
            comparison.add(self._signature.arrange(expected), outputs)
        except (
            BackendUnavailable,
            CandidateFailed,
            InvalidCandidate,
            JobFailure,
            OutputMismatch,
            RuntimeFailed,
            TypeError,
            ValueError,
        ) as error:
            return None, str(error)[:_MAX_DETAIL] or type(error).__name__
        if comparison.is_empty:
            return None, "The network has no outputs."
        return asdict(comparison.deviation()), ""

    def _read_inputs(self) -> dict[str, Array]:
        files, scratch = self._folder / "inputs", self._folder / "reading"
        scratch.mkdir()
        try:
            read = arrays_of(
                call(
                    _READ,
                    limits=self._budget.limits(),
                    workspace=scratch,
                    readable=[files],
                    path=str(files / self._ticket.inputs.path),
                )
            )
            return self._signature.bind([read], {})
        except CandidateFailed as error:
            if error.outcome == "infrastructure":
                raise
            raise JobFailure("invalid", "invalid_inputs", str(error)[:_MAX_DETAIL]) from error
        except BadInput as error:
            raise JobFailure("invalid", "invalid_inputs", f"{error.detail} {error.hint}") from error

    def _fetch_network(self, graph: GraphFacts) -> Network:
        folder = self._folder / "network"
        forms = [form["path"] for form in graph.forms]
        paths = {graph.path, *graph.external_data, *forms}
        self._hub.fetch([file for file in self._hub.ticket.files if file.path in paths], folder)
        return replace(network_at(self._hub.ticket, graph, folder), samples_path=None)

    @contextmanager
    def _open(self) -> Iterator[tuple[LocalDevice, RunningSession]]:
        """The build in a child process, with the inputs as timing inputs."""
        spec = self._here.spec
        backends, missing = backends_of(self._here, [self.backend])
        if self.backend not in backends:
            raise JobFailure("invalid", "no_backend", missing[self.backend])
        scratch = self._folder / "scratch"
        scratch.mkdir()
        request = TuningRequest(self._network, spec, (self.backend,), limits=self._budget.limits())
        with LocalDevice(request, backends, scratch, other=other_machine(self._here)) as device:
            try:
                artefact = self._artefact(
                    device, backends[self.backend].default(self._network, spec)
                )
                opened = device.open(self.backend, artefact, "candidate", self._inputs)
            except CandidateFailed as error:
                if error.cause != "unavailable":
                    raise
                raise JobFailure("invalid", "no_backend", str(error)[:_MAX_DETAIL]) from error
            with closing(opened) as session:
                yield device, session

    def _artefact(self, device: LocalDevice, defaults: Options) -> BuildResult:
        """The files of the build; without a build, the published network under the defaults."""
        build = self._ticket.build
        if build is None:
            made = device.build(self.backend, defaults)
            if made.outcome != "measured":
                raise CandidateFailed(made.outcome, made.detail)
            return made
        files = self._folder / "build"
        self._hub.fetch(build.files, files)
        return BuildResult(
            "measured",
            directory=files,
            entry_point=build.entry_point,
            runtime=build.runtime,
            runtime_options=dict(build.runtime_options),
            tolerance=cast("Tolerance", build.tolerance),
        )

    def _timed(self, session: RunningSession) -> Timing | None:
        """Time as many runs as fit; ``None`` if not even one does."""
        share_s = min(_TIMED_S, self._budget.left_s / 4)
        if share_s <= 0:
            return None
        try:
            first = session.time(1, WARMUP)
            self._hub.check()
            run_s = first.samples_ns[0] / 1e9
            runs = min(_MOST, max(_FEWEST, int(share_s / run_s)))
            if runs * run_s > self._budget.left_s / 2:
                return first
            return session.time(runs, 0)
        except CandidateFailed as error:
            if error.outcome != "timeout":
                raise
            return None
