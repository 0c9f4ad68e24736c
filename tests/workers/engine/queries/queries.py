"""A simulated machine whose sessions compute queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hpcfair.measurement.types import Timing
from workers.backends.fake.backend import FakeBackend
from workers.engine.errors import CandidateFailed
from workers.engine.ports import Array
from workers.engine.types import BuildResult, Options, SampleQuery
from workers.testing.simulation import SimulatedDevice, SimulatedSession


class StreamedBackend(FakeBackend):
    """The fake backend, whose builds may be opened for a stream on each core."""

    def parallel(self, options: Options) -> tuple[Options, ...]:
        others = {name: value for name, value in options.items() if name != "threads"}
        return ({**others, "hint": "throughput"},)


class QuerySession(SimulatedSession):
    """A session whose queries last as its device says."""

    machine: "QueryDevice"
    opened_with: Options
    tolerance: str
    current: SampleQuery | None = None

    def query(self, query: SampleQuery) -> None:
        self.current = query

    def answer(self) -> list[dict[str, Array]]:
        return []

    def time(self, runs: int, warmup: int) -> Timing:
        if self.current is None:
            return super().time(runs, warmup)
        name = "streams" if self.opened_with.get("hint") else "one"
        if self.role == "candidate" and self.machine.is_measuring and self.machine.crashes:
            self.machine.crashes -= 1
            raise CandidateFailed("crash", "killed by SIGABRT")
        role = "baseline" if self.role == "baseline" else name
        factor = self.machine.factors.get(self.tolerance, 1.0) if role != "baseline" else 1.0
        base_s = self.current.samples / (self.machine.per_s[role] * factor)
        noise = self._rng.normal(0.0, self.machine.noise.run, runs + warmup)
        samples = [round(1e9 * base_s * (1 + float(each))) for each in noise]
        self.machine.clock.sleep(sum(samples) / 1e9)
        return Timing(tuple(samples[warmup:]), involuntary_switches=0, peak_rss_bytes=2**20)


@dataclass
class QueryDevice(SimulatedDevice):
    """Attributes:
    per_s: Samples per second of the ``baseline``, and of candidates that are opened as they are
        (``one``) or for several ``streams``.
    factors: Of this throughput, by tolerance class; 1 for others.
    open_s: Virtual seconds of opening a session.
    crashes: Number of candidates that crash when their rounds are measured.
    """

    per_s: dict[str, float] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    open_s: float = 0.0
    crashes: int = 0
    is_measuring: bool = False

    def open(
        self, backend: str, build: BuildResult, role: str, inputs: Mapping[str, Array]
    ) -> SimulatedSession:
        self.clock.sleep(self.open_s)
        plain = super().open(backend, build, role, inputs)
        session = QuerySession(self, plain._session, role, len(self.sessions))
        session.machine, session.opened_with = self, build.runtime_options
        session.tolerance = build.tolerance
        self.sessions[-1] = session
        return session
