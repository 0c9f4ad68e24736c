"""Scenarios of a measurement, by the names of MLPerf Inference, and how builds process samples.

::

    single-stream   one sample at a time, the next when the last has returned; its latency
    multi-stream    a query of eight samples at a time; its latency
    offline         all samples are there from the start; samples per second
    server          samples arrive at random (a Poisson process); the largest rate at which the
                    99th percentile of the latency keeps a bound

A sample is one row of the first dimension if the network leaves that open, else one whole input.
Sources: Reddi et al., "MLPerf Inference Benchmark", ISCA 2020; MLPerf Inference rules 5.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from hpcfair.errors import BadInput
from hpcfair.typingnames import Self

Scenario = Literal["single-stream", "multi-stream", "offline", "server"]
SCENARIOS: Final[tuple[Scenario, ...]] = get_args(Scenario)
SINGLE_STREAM: Final = "single-stream"
MULTI_STREAM: Final = "multi-stream"
OFFLINE: Final = "offline"

#: Samples of a query in the scenario ``multi-stream``, as in MLPerf Inference.
MULTI_STREAM_SAMPLES: Final = 8

#: Batches that are tried; in ``multi-stream`` those of at most one query.
BATCHES: Final = (1, 2, 4, 8, 16, 32, 64)

Streams = Literal["one", "cores"]


@dataclass(frozen=True, slots=True)
class Execution:
    """How a build processes many samples.

    Attributes:
        batch: Samples of one run.
        streams: Runs at the same time: ``one``, or ``cores``: one for each physical core that the
            process may use. Relative, because a build is valid on every machine of its target.
    """

    batch: int = 1
    streams: Streams = "one"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From an object of these members; others are ignored."""
        return cls(int(data["batch"]), "cores" if data["streams"] == "cores" else "one")

    def to_json(self) -> dict[str, Any]:
        """As an object of these members."""
        return asdict(self)

    def stream_count(self, cores: int) -> int:
        """Number of streams of a process that may use ``cores`` physical cores."""
        return max(1, cores) if self.streams == "cores" else 1

    def __str__(self) -> str:
        streams = "one stream" if self.streams == "one" else "one stream per core"
        return f"batch {self.batch}, {streams}"


def result_member(scenario: str) -> str:
    """Name of a scenario's member in the result of a search: ``multi_stream``."""
    return scenario.replace("-", "_")


def checked_scenario(name: str) -> Scenario:
    """A scenario by its name; raises BadInput, which lists all, for another one."""
    for scenario in SCENARIOS:
        if scenario == name:
            return scenario
    raise BadInput(f"There is no scenario {name!r}.", f"Choose of {SCENARIOS}.")
