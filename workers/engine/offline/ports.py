"""What sessions and backends need in addition to be measured with queries of many samples."""

from typing import Protocol, runtime_checkable

from workers.engine.ports import Array, RunningSession
from workers.engine.types import Options, SampleQuery


@runtime_checkable
class QuerySession(RunningSession, Protocol):
    """A session that computes queries."""

    def query(self, query: SampleQuery) -> None:
        """Let ``time`` time queries over the rows of the timing input, in turn."""
        ...

    def answer(self) -> list[dict[str, Array]]:
        """Outputs of one query, batch by batch."""
        ...


@runtime_checkable
class ParallelBackend(Protocol):
    """A backend whose builds gain from several streams."""

    def parallel(self, options: Options) -> tuple[Options, ...]:
        """Options to open a build with, in place of its runtime options, for a stream on each core:
        the most promising first."""
        ...
