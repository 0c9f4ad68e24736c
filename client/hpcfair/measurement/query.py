"""Queries of many samples: divided into batches, and computed by one or several streams."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcfair.measurement.streams import StreamCopy, Streams

Array = npt.NDArray[Any]


def batches_of(rows: Mapping[str, Array], samples: int, batch: int) -> list[dict[str, Array]]:
    """The batches of a query, of which the last may be smaller.

    ``rows`` are repeated in turn until there are ``samples`` of them. Each batch is contiguous.
    """
    count = len(next(iter(rows.values())))
    numbers = np.arange(samples) % count
    parts = [numbers[at : at + batch] for at in range(0, samples, batch)]
    return [
        {name: np.ascontiguousarray(array[part]) for name, array in rows.items()} for part in parts
    ]


class QueryRunner:
    """Computes queries on an opened build, or on several copies of it at the same time.

    Args:
        opened: The build; used by the calling thread if there is one stream.
        open_copy: Opens a copy for another thread: see :func:`hpcfair.measurement.streams.copy_of`.
        streams: Number of streams.
    """

    def __init__(
        self, opened: StreamCopy, open_copy: Callable[[], StreamCopy], streams: int
    ) -> None:
        self._opened = opened
        self._streams = Streams(open_copy, streams) if streams > 1 else None

    def run(self, batches: Sequence[Mapping[str, Array]]) -> None:
        """Compute a query; the outputs are dropped."""
        if self._streams is not None:
            deque(self._streams.map(batches), maxlen=0)
            return
        for batch in batches:
            self._opened.run(batch)

    def outputs(self, batches: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
        """Outputs of each batch of a query, in order."""
        if self._streams is not None:
            return list(self._streams.map(batches))
        return [self._opened.run(batch) for batch in batches]

    def close(self) -> None:
        """Close the copies; the build that was passed stays open."""
        if self._streams is not None:
            self._streams.close()
