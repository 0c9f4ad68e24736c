"""Runs a network of a fixed number of rows on any number of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.exporters.agreement import difference
from hpcfair.runtimes.base import Array, TensorInfo
from hpcfair.serialrunner import SerialRunner
from hpcfair.signature import Signature
from hpcfair.typingnames import Self

_Arrays = dict[str, Array]
_ANY = "any number of rows"


class RowSplitter:
    """Divides inputs into runs of the number of rows that the network was built for.

    The last run is filled up with copies of its last row, whose outputs are dropped. Only networks
    whose rows are independent give the same outputs then as with a larger batch. That is tested
    when it first matters, on the caller's rows: the outputs of a row must not change with its
    position or with the other rows.

    Args:
        run: Runs the network on exactly ``rows`` rows.
        is_build_open: Whether the loaded build takes any number of rows all the same: it was made
            for the scenario ``offline`` of a network of one row.

    Attributes:
        open_signature: The signature with any number of rows.
    """

    def __init__(
        self,
        signature: Signature,
        rows: int,
        run: Callable[[_Arrays], _Arrays],
        *,
        is_build_open: bool = False,
    ) -> None:
        self.rows = rows
        self._is_build_open = is_build_open
        self._signature = signature
        self._run = run
        self.open_signature = Signature(
            tuple(replace(t, shape=(_ANY, *t.shape[1:])) for t in signature.inputs),
            signature.outputs,
        )
        self._is_independent = rows == 1

    @classmethod
    def of(cls, signature: Signature, runner: SerialRunner) -> Self | None:
        """That of a model of a fixed number of rows; ``None`` for any other model."""
        of_build = fixed_rows(runner.runtime.inputs)
        rows = fixed_rows((*signature.inputs, *signature.outputs))
        if rows is None and of_build is None:
            return None
        is_build_open = rows == 1 and of_build is None
        return cls(signature, rows or of_build or 1, runner.run, is_build_open=is_build_open)

    def batch(self, samples: int) -> int:
        """Rows of a run, of a network of one row, where that many samples may share it."""
        return samples if self._is_build_open else 1

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Arrays | None:
        """The inputs if they fit but for their number of rows; ``None`` if not."""
        try:
            arrays = self.open_signature.bind(args, kwargs)
        except BadInput:
            return None
        return arrays if row_count(arrays) else None

    def run(self, arrays: _Arrays) -> _Arrays:
        """Outputs of all rows. Raises BadInput if the rows are not independent."""
        self._require_independence(arrays)
        count = row_count(arrays)
        parts = []
        for start in range(0, count, self.rows):
            taken = np.minimum(np.arange(start, start + self.rows), count - 1)
            outputs = self._rows_of(self._run(_at(arrays, taken)))
            parts.append({name: a[: count - start] for name, a in outputs.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _require_independence(self, arrays: _Arrays) -> None:
        if self._is_independent:
            return
        other = _different_row(arrays)
        if other is None:
            # Equal rows tell nothing, and no other row can change their outputs.
            return
        for row, beside in ((0, other), (other, 0)):
            alone = self._rows_of(self._run(_at(arrays, np.full(self.rows, row))))
            indices = np.full(self.rows, beside)
            indices[0] = row
            together = self._rows_of(self._run(_at(arrays, indices)))
            for name, array in alone.items():
                repeated = np.repeat(array[:1], self.rows, axis=0)
                if difference(array, repeated) or difference(together[name][:1], array[:1]):
                    raise self._refusal(arrays)
        self._is_independent = True

    def _refusal(self, arrays: _Arrays) -> BadInput:
        tensor = self._signature.inputs[0]
        return BadInput(
            f"Input {tensor.name!r} is {list(arrays[tensor.name].shape)}, the model takes "
            f"{self.rows} rows at a time. They cannot be split: the outputs of a row depend on its "
            "place or on the other rows.",
            f"The model takes {self._signature.inputs_text()}.",
        )

    def _rows_of(self, outputs: Mapping[str, Array]) -> _Arrays:
        arranged = self._signature.arrange(outputs)
        for name, array in arranged.items():
            if array.shape[:1] != (self.rows,):
                raise RuntimeFailed(f"Output {name!r} is {list(array.shape)}, not a row for each.")
        return arranged


def fixed_rows(tensors: Iterable[TensorInfo]) -> int | None:
    """The first dimension of all tensors if it is one number; else ``None``."""
    sizes = {tensor.shape[0] if tensor.shape else 0 for tensor in tensors}
    size = sizes.pop() if len(sizes) == 1 else None
    return size if isinstance(size, int) and size > 0 else None


def row_count(arrays: Mapping[str, Array]) -> int:
    """Rows of inputs that were bound."""
    return len(next(iter(arrays.values())))


def _at(arrays: _Arrays, rows: Any) -> _Arrays:
    return {name: np.ascontiguousarray(array[rows]) for name, array in arrays.items()}


def _different_row(arrays: _Arrays) -> int | None:
    """A row that differs from the first in some input; ``None`` if all are equal."""
    for array in arrays.values():
        flat = array.reshape(len(array), -1)
        rows = np.flatnonzero((flat != flat[:1]).any(axis=1))
        if rows.size:
            return int(rows[0])
    return None
