"""Divides a stream of samples into batches, and the outputs of the batches among the samples."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.runtimes.base import Array
from hpcfair.signature import Signature

_Arrays = dict[str, Array]


@dataclass(slots=True)
class _Item:
    """An item of the stream whose outputs are not complete.

    Attributes:
        form: A ``sample`` has no first dimension, nor have its outputs; a ``batch`` has one. The
            rows of an ``array`` are samples.
        missing: Rows without outputs.
    """

    form: Literal["sample", "batch", "array"]
    missing: int
    outputs: list[_Arrays] = field(default_factory=list)


class Batcher:
    """One pass over a stream of items, each of them a sample or a batch of samples.

    Args:
        batch: Samples of one run; ``None`` runs each item on its own, as it is.
    """

    def __init__(self, signature: Signature, batch: int | None) -> None:
        self._signature = signature
        self._batch = batch
        self._items: deque[_Item] = deque()

    def batches(self, items: Iterable[Any]) -> Iterator[_Arrays]:
        """Inputs of the runs. Raises BadInput for an item that is no input of the model, or that
        differs in shape from others of its batch; the message has its number, from 0."""
        if isinstance(items, Mapping):
            raise BadInput(
                "map() takes an iterable of samples or batches, not one mapping.",
                "For arrays of many samples by name, give a list of that mapping: m.map([x]).",
            )
        waiting: list[_Arrays] = []
        rows = 0
        for number, (item, arrays) in enumerate(self._bound(items)):
            self._items.append(item)
            if self._batch is None:
                yield arrays
                continue
            # Outputs of the first runs may arrive before the last rows are read.
            start, end = 0, item.missing
            while start < end:
                stop = min(end, start + self._batch - rows)
                part = {name: array[start:stop] for name, array in arrays.items()}
                _check_shapes(waiting, part, number)
                waiting.append(part)
                rows += stop - start
                start = stop
                if rows == self._batch:
                    yield _joined(waiting)
                    waiting, rows = [], 0
        if waiting:
            yield _joined(waiting)

    def outputs(self, results: Iterable[Mapping[str, Array]]) -> Iterator[_Arrays]:
        """Outputs of the items, in order, from those of the runs, in order."""
        for result in results:
            outputs = self._signature.arrange(result)
            if self._batch is None:
                item = self._items.popleft()
                yield _first_rows(outputs) if item.form == "sample" else outputs
                continue
            yield from self._divided(outputs)

    def _divided(self, outputs: _Arrays) -> Iterator[_Arrays]:
        """Items that are complete with the outputs of one more run."""
        start, rows = 0, _row_count(outputs)
        while start < rows:
            if not self._items:
                raise _not_by_row(outputs)
            item = self._items[0]
            stop = min(rows, start + item.missing)
            part = {name: array[start:stop] for name, array in outputs.items()}
            item.missing -= stop - start
            if item.form == "array":
                yield from ({n: a[at] for n, a in part.items()} for at in range(stop - start))
            else:
                item.outputs.append(part)
            start = stop
            if item.missing:
                continue
            self._items.popleft()
            if item.form == "sample":
                yield _first_rows(item.outputs[0])
            elif item.form == "batch":
                yield _joined(item.outputs)

    def _bound(self, items: Iterable[Any]) -> Iterator[tuple[_Item, _Arrays]]:
        """Each item with its arrays, which have the dimensions of the signature."""
        (first, *others) = self._signature.inputs
        if isinstance(items, np.ndarray) and not others:
            if items.ndim == len(first.shape) and self._batch is not None and len(items):
                yield _Item("array", len(items)), self._signature.bind((items,), {})
                return
            if items.ndim < len(first.shape):
                raise BadInput(
                    f"map() takes many samples, not one array of {items.ndim} dimensions.",
                    f"Input {first.name!r} is {first}; for one sample, call the model.",
                )
        for number, item in enumerate(items):
            try:
                yield self._bind(item)
            except BadInput as error:
                raise BadInput(f"Item {number}: {error.detail}", error.hint) from error

    def _bind(self, item: Any) -> tuple[_Item, _Arrays]:
        args = tuple(item) if isinstance(item, tuple | list) and self._has_many else (item,)
        named = self._signature.named(args, {})
        ranks = {tensor.name: len(tensor.shape) for tensor in self._signature.inputs}
        is_sample = all(_rank(value) == ranks[name] - 1 for name, value in named.items())
        if is_sample:
            # Lists stay lists, whose numbers take the type of the input.
            named = {n: v[None] if hasattr(v, "ndim") else [v] for n, v in named.items()}
        arrays = self._signature.bind((named,), {})
        rows = 1
        if self._batch is not None:
            counts = {name: array.shape[0] for name, array in arrays.items() if array.ndim}
            if len(counts) < len(arrays) or len({*counts.values()}) != 1 or 0 in counts.values():
                raise BadInput(
                    f"its inputs have {counts} rows; each needs the same number, at least one."
                )
            rows = next(iter(counts.values()))
        return _Item("sample" if is_sample else "batch", rows), arrays

    @property
    def _has_many(self) -> bool:
        return len(self._signature.inputs) > 1


def _rank(value: Any) -> int:
    """Number of dimensions; -1 of ragged lists, which are no array."""
    try:
        return int(getattr(value, "ndim", None) or np.ndim(value))
    except ValueError:
        return -1


def _check_shapes(waiting: list[_Arrays], part: _Arrays, number: int) -> None:
    """Refuse a part that cannot be in one batch with those that wait."""
    for name, array in waiting[0].items() if waiting else ():
        if array.shape[1:] != part[name].shape[1:]:
            raise BadInput(
                f"Item {number}: its {name!r} is {list(part[name].shape[1:])} a sample, that of "
                f"others in its batch {list(array.shape[1:])}.",
                "Pad the samples to one shape, group equal ones, or run them alone: batch=1.",
            )


def _joined(parts: list[_Arrays]) -> _Arrays:
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _first_rows(outputs: _Arrays) -> _Arrays:
    """The outputs of one sample; those without a first dimension of one stay as they are."""
    return {n: a[0] if a.ndim and a.shape[0] == 1 else a for n, a in outputs.items()}


def _row_count(outputs: _Arrays) -> int:
    counts = {array.shape[0] if array.ndim else 0 for array in outputs.values()}
    if len(counts) != 1 or 0 in counts:
        raise _not_by_row(outputs)
    return counts.pop()


def _not_by_row(outputs: _Arrays) -> RuntimeFailed:
    shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in outputs.items())
    return RuntimeFailed(
        f"The outputs are {shapes}, not one row for each sample of a batch.",
        "Run whole inputs one by one: load the model without a scenario, and give no batch.",
    )
