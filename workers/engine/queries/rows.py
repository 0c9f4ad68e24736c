"""The samples of queries, and the outputs that the reference has for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from hpcfair.measurement.types import Deviation
from hpcfair.precisions import Tolerance
from workers.engine.errors import WrongOutput
from workers.engine.numerics import Outputs
from workers.engine.ports import Array
from workers.engine.sizes import MAX_RUN_BYTES
from workers.engine.testset import TestSet
from workers.engine.types import Network

#: Most rows: the largest batch that is tried.
_MOST_ROWS = 64
#: Most samples of a query, and most bytes of its batches, which are in memory at once.
_MOST_SAMPLES, _MOST_BYTES = 32_768, 2**27


@dataclass(frozen=True, slots=True)
class QueryRows:
    """Samples of queries with their reference outputs.

    Attributes:
        inputs: By tensor name: rows, or one whole input.
        expected: Outputs of the reference for the rows; empty for a whole input.
        by_row: Whether a sample is a row.
        is_open: Whether the published network takes several rows at once.
    """

    inputs: dict[str, Array]
    expected: dict[str, Array]
    by_row: bool
    is_open: bool

    @property
    def count(self) -> int:
        """Number of different samples."""
        return self.count_in(self.inputs)

    def count_in(self, inputs: Mapping[str, Array]) -> int:
        """Number of samples in the inputs of a run."""
        return len(next(iter(inputs.values()))) if self.by_row else 1

    @property
    def largest_batch(self) -> int:
        """Most samples of a batch whose inputs are within the bound of one run."""
        return max(1, MAX_RUN_BYTES // self._sample_bytes) if self.by_row else 1

    @property
    def largest_query(self) -> int:
        """Most samples of a query. Whole inputs are not copied."""
        fitting = _MOST_BYTES // self._sample_bytes if self.by_row else _MOST_SAMPLES
        return max(1, min(_MOST_SAMPLES, fitting))

    @property
    def _sample_bytes(self) -> int:
        return max(1, sum(array.nbytes for array in self.inputs.values()) // self.count)

    def deviation(self, batches: Sequence[Mapping[str, Array]]) -> Deviation:
        """Deviation of a query's outputs. Raises WrongOutput if one is missing or of another shape,
        such as of a network that does not compute each row on its own."""
        comparison = OutputComparison()
        try:
            joined = {
                name: np.concatenate([np.atleast_1d(batch[name]) for batch in batches])
                for name in self.expected
            }
            count = len(next(iter(joined.values())))
            numbers = np.arange(count) % self.count
            comparison.add({n: array[numbers] for n, array in self.expected.items()}, joined)
        except (OutputMismatch, KeyError, ValueError) as error:
            raise WrongOutput(f"in batches: {error}") from error
        return comparison.deviation()

    def require(
        self,
        batches: Sequence[Mapping[str, Array]],
        tolerance: Tolerance,
        baseline: Deviation | None,
    ) -> None:
        """Reject outputs beyond the limits of a class; raises WrongOutput."""
        if self.by_row:
            excess = violation(tolerance, self.deviation(batches), baseline, " in batches")
            if excess is not None:
                raise WrongOutput(excess)


def rows_of(network: Network, tests: TestSet, reference: Sequence[Outputs]) -> QueryRows | None:
    """Rows of the test inputs; ``None`` if the network's signature leaves no batch open, or its
    outputs are not one row for each row of the inputs."""
    tensors = (*network.inputs, *network.outputs)
    if not all(spec.shape and isinstance(spec.shape[0], str) for spec in tensors):
        return None
    if len({spec.shape[0] for spec in network.inputs} - {"?"}) > 1:
        return None
    return _rows(tests, reference, is_open=True)


def single_rows(tests: TestSet, reference: Sequence[Outputs]) -> QueryRows | None:
    """The test inputs of a network of one row; ``None`` as of :func:`rows_of`."""
    return _rows(tests, reference, is_open=False)


def whole_input(tests: TestSet) -> QueryRows:
    """The timing input as the only sample."""
    return QueryRows(dict(tests.timing), {}, by_row=False, is_open=False)


def _rows(tests: TestSet, reference: Sequence[Outputs], *, is_open: bool) -> QueryRows | None:
    inputs: list[Mapping[str, Array]] = []
    outputs: list[Mapping[str, Array]] = []
    for case, expected in zip(tests.cases, reference, strict=False):
        rows = {len(array) for array in case.values()}
        if expected is None or {len(a) for a in expected.values() if a.ndim} != rows:
            return None
        if inputs and any(case[n].shape[1:] != a.shape[1:] for n, a in inputs[0].items()):
            continue
        inputs.append(case)
        outputs.append(expected)
    return QueryRows(_joined(inputs), _joined(outputs), by_row=True, is_open=is_open)


def _joined(parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts])[:_MOST_ROWS] for name in parts[0]}
