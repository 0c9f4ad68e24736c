"""A simulated device with a virtual clock: deterministic searches in milliseconds.

It builds with the fake backend in this process and derives timings from the kernels' latency, with
noise: a constant factor per process (memory placement), a slow drift of the machine (other load)
and variation of each run. Faults of :class:`~workers.backends.fake.backend.FaultyBackend` become
the failure classes of real child processes.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import pi, sin
from pathlib import Path
from tempfile import mkdtemp
from typing import Self

import numpy as np

from hpcfair.measurement.types import Timing
from workers.backends.fake.backend import FakeBackend, FakeSession
from workers.backends.fake.kernels import latency_s
from workers.engine.errors import CandidateFailed, InvalidCandidate
from workers.engine.ports import Array, EnergyCounter
from workers.engine.profile import Profile
from workers.engine.testset import TestSet, make_test_set
from workers.engine.types import BuildResult, Network, Options, Outcome, TargetSpec

#: Seconds that a session's threads are active after a run.
_REST_S = 0.05
#: Failure class and message by fault.
_ENDS: dict[str, tuple[Outcome, str]] = {
    "memory": ("crash", "out of memory"),
    "build-hang": ("timeout", "building took longer than allowed"),
    "crash": ("crash", "killed by SIGABRT"),
    "hang": ("timeout", "running took longer than allowed"),
}


@dataclass(slots=True)
class VirtualClock:
    """Time that advances only by waiting and by the work of simulated devices."""

    now_s: float = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@dataclass(frozen=True, slots=True)
class Noise:
    """Relative noise of timings.

    Attributes:
        run: Standard deviation of runs.
        process: Standard deviation of sessions; constant during a session.
        drift: Amplitude of a periodic drift of the machine; ``drift_s`` is its period in seconds.
    """

    run: float = 0.02
    process: float = 0.003
    drift: float = 0.2
    drift_s: float = 30.0


QUIET = Noise(0.0, 0.0, 0.0)


@dataclass(slots=True)
class SimulatedDevice:
    """Builds and runs with ``backends`` like a local device.

    Attributes:
        build_s: Virtual seconds of a build.
        samples_file: Arrays of the network's samples file.
        broken: While true, all builds and sessions fail as infrastructure.
        built: Candidates built so far, as ``(backend, options)``.
    """

    backends: Mapping[str, FakeBackend]
    network: Network
    target: TargetSpec
    clock: VirtualClock
    noise: Noise = QUIET
    seed: int = 0
    build_s: float = 1.0
    samples_file: dict[str, Array] = field(default_factory=dict)
    counters: Sequence[EnergyCounter] = ()
    broken: bool = False
    built: list[tuple[str, Options]] = field(default_factory=list)
    sessions: list["SimulatedSession"] = field(default_factory=list)
    _root: Path | None = None

    def __enter__(self) -> Self:
        self._root = Path(mkdtemp(prefix="simulated-"))
        return self

    def __exit__(self, *_: object) -> None:
        for session in self.sessions:
            session.close()
        shutil.rmtree(self.root)

    @property
    def root(self) -> Path:
        """Folder of the builds; raises RuntimeError if the device was not entered."""
        if self._root is None:
            raise RuntimeError("enter the device first")
        return self._root

    def test_set(self, rows: int, seed: int) -> TestSet:
        samples = {name: array[:rows] for name, array in self.samples_file.items()}
        return make_test_set(self.network, samples, seed)

    def build(self, backend: str, options: Options) -> BuildResult:
        self.clock.sleep(self.build_s)
        self.built.append((backend, options))
        if self.broken:
            return BuildResult("infrastructure", detail="the machine is broken")
        fault = str(options.get("fault"))
        if fault in {"memory", "build-hang"}:
            outcome, detail = _ENDS[fault]
            return BuildResult(outcome, detail=detail)
        out = Path(mkdtemp(dir=self.root))
        try:
            result = self.backends[backend].build(self.network, self.target, options, out)
        except InvalidCandidate as error:
            return BuildResult("invalid", detail=str(error))
        return replace(result, compile_s=self.build_s)

    def discard(self, build: BuildResult) -> None:
        if build.directory is not None:
            shutil.rmtree(build.directory)

    def profile(
        self,
        backend: str,
        build: BuildResult,  # noqa: ARG002
        inputs: Mapping[str, Array],  # noqa: ARG002
        out: Path,  # noqa: ARG002
    ) -> Profile:
        raise CandidateFailed("invalid", f"{backend}: a simulation has no profiler")

    def open(
        self, backend: str, build: BuildResult, role: str, inputs: Mapping[str, Array]
    ) -> "SimulatedSession":
        missing = {spec.name for spec in self.network.inputs} - inputs.keys()
        if missing:
            raise CandidateFailed("invalid", f"{role}: the timing input lacks {missing}")
        if self.broken:
            raise CandidateFailed("infrastructure", f"{role}: the machine is broken")
        session = self.backends[backend].load(build, self.target)
        assert isinstance(session, FakeSession)
        opened = SimulatedSession(self, session, role, len(self.sessions))
        self.sessions.append(opened)
        return opened


class SimulatedSession:
    """A running session with virtual time; ``role`` as in :meth:`SimulatedDevice.open`.

    ``fails`` is the failure class of the next call, if any.
    """

    def __init__(
        self, device: SimulatedDevice, session: FakeSession, role: str, number: int
    ) -> None:
        self.role = role
        self.closed = False
        self.fails: Outcome | None = None
        self._device = device
        self._session = session
        self._rng = np.random.default_rng([device.seed, number])
        self._speed = float(np.exp(self._rng.normal(0.0, device.noise.process)))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        self._raise_failure()
        self._device.clock.sleep(latency_s(self._session.options))
        return self._session.compute(inputs)

    def time(self, runs: int, warmup: int) -> Timing:
        self._raise_failure()
        noise, clock = self._device.noise, self._device.clock
        base_s = latency_s(self._session.options) * self._speed
        samples: list[int] = []
        for factor in np.exp(self._rng.normal(0.0, noise.run, runs + warmup)):
            drift = 1 + noise.drift * sin(2 * pi * clock.now_s / noise.drift_s)
            elapsed_s = base_s * float(factor) * drift
            clock.sleep(elapsed_s)
            samples.append(max(1, round(elapsed_s * 1e9)))
        return Timing(tuple(samples[warmup:]), involuntary_switches=0, peak_rss_bytes=2**20)

    def rest(self) -> None:
        self._raise_failure()
        self._device.clock.sleep(_REST_S)

    def close(self) -> None:
        self.closed = True

    def _raise_failure(self) -> None:
        if self.closed:
            raise CandidateFailed("infrastructure", f"{self.role}: the session is closed")
        if self.fails is not None:
            raise CandidateFailed(self.fails, f"{self.role}: failure of the test")
        fault = str(self._session.options.get("fault"))
        if fault in {"crash", "hang"}:
            outcome, detail = _ENDS[fault]
            raise CandidateFailed(outcome, detail)
