"""What sessions and backends need in addition to be measured with queries of many samples."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from workers.engine.ports import Array, Builder, RunningSession
from workers.engine.types import Network, Options, SampleQuery


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


@dataclass(frozen=True, slots=True)
class OpenedBatch:
    """A network of any number of rows in place of one of one row, and what builds it."""

    network: Network
    builder: Builder


@runtime_checkable
class BatchOpeningDevice(Protocol):
    """A device that opens the batch of networks of one row."""

    def open_batch(self) -> OpenedBatch | None:
        """The network with an open batch; ``None`` if the request has no opener or the network is
        not of one row. Its builds open as any other. Raises CandidateFailed, with the reason, if
        the batch cannot be opened."""
        ...
