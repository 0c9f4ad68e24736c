"""The inputs that builds are checked and timed on: the revision's samples, or random tensors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from hpcfair.isolation.limits import shown
from workers.engine.ports import Array
from workers.engine.random_inputs import dtype_of, open_sizes, other_sizes, random_inputs
from workers.engine.sizes import (
    MAX_RUN_BYTES,
    MAX_TEST_BYTES,
    TensorsTooLarge,
    array_bytes,
    require_run_size,
    run_bytes,
)
from workers.engine.types import Network, TensorSpec

RANDOM_CASES = 3
#: Rows of one run if the batch is open: an exchange with a child process costs more than a batch.
CHUNK_ROWS = 32
#: Multiply-accumulates of a row from which each run has one row: it takes longer than an exchange,
#: and runtimes that compile a network for each shape compile it once less.
SINGLE_ROW_MACS = 100_000_000
#: Multiply-accumulates of one run above which a network is checked on its own tensors alone: every
#: optional run is left out.
EXTRA_MACS = 50_000_000_000
#: Multiply-accumulates of a brief check, about half a second of one core in float32.
BRIEF_MACS = 20_000_000_000
#: Float inputs in which NaN and infinity are planted: each costs two runs.
PLANTED_INPUTS = 2
#: Operators whose result for NaN ONNX leaves open; ONNX Runtime's own kernels propagate it or not
#: by its position in the window. A network with one of them is checked with infinity only.
NAN_LEFT_OPEN = frozenset({"MaxPool", "GlobalMaxPool", "ReduceMax"})


@dataclass(frozen=True, slots=True)
class TestSet:
    """The inputs that every build is checked on, and the one that it is timed on.

    Attributes:
        cases: Inputs of one run each, by tensor name.
        labels: ``int64[n]`` over the rows of all cases in order; ``None`` without labels.
        timing: One sample.
        source: ``samples`` of the revision, or ``random`` from ``seed``.
        extras: Random inputs of other sizes if dimensions are open; if the source is ``samples``,
            also of the usual size. The reference may reject some.
        planted: Description and input: the timing input with NaN or infinity in one place.
    """

    __test__ = False  # pytest would collect it by its name

    cases: tuple[dict[str, Array], ...]
    labels: Array | None
    timing: dict[str, Array]
    source: Literal["samples", "random"]
    seed: int
    extras: tuple[dict[str, Array], ...] = ()
    planted: tuple[tuple[str, dict[str, Array]], ...] = ()

    @property
    def runs(self) -> tuple[dict[str, Array], ...]:
        """All inputs in order: cases, extras, planted."""
        return (*self.cases, *self.extras, *(inputs for _, inputs in self.planted))


def make_test_set(
    network: Network, samples: Mapping[str, Array], seed: int, *, in_batches: bool = False
) -> TestSet:
    """The test set of a network: samples, else random tensors of less meaning to a trained network.

    ``samples`` are as of :func:`workers.engine.samples.evaluation_samples`. ``in_batches`` puts
    several rows into a run also of a large network, as fits need. Runs that would take the set over
    :data:`~workers.engine.sizes.MAX_TEST_BYTES` are left out. Allocates by the network's file: call
    it in a limited child process only.

    Raises:
        TensorsTooLarge: the inputs of one run are over their bound; nothing is allocated.
        ValueError: the samples do not fit the graph's signature, or a dtype has no random values.
    """
    require_run_size("input", network.inputs, open_sizes(network))
    if not samples:
        cases = tuple(random_inputs(network, seed + i) for i in range(RANDOM_CASES))
        return _with_extras(TestSet(cases, None, cases[0], "random", seed), network)
    arrays = {spec.name: _checked(spec, samples) for spec in network.inputs}
    counts = {len(array) for array in arrays.values()}
    if len(counts) != 1 or 0 in counts:
        raise ValueError(f"inputs of the samples need equal numbers of rows, not {sorted(counts)}")
    rows = counts.pop()
    chunk = _chunk(network, arrays, in_batches=in_batches)
    if rows < chunk:
        raise ValueError(f"the samples have {rows} rows; one batch of this graph takes {chunk}")
    # Half of the bound: the other runs of the set take the rest.
    row_bytes = max(_row_bytes(network.inputs, arrays), 1)
    if chunk * row_bytes > MAX_RUN_BYTES:
        raise TensorsTooLarge(
            f"One run on the samples takes {shown(chunk * row_bytes)} of inputs; this hub runs "
            f"networks with at most {shown(MAX_RUN_BYTES)}. Publish smaller samples."
        )
    most = max(chunk, MAX_TEST_BYTES // 2 // row_bytes)
    used = min(rows, most)
    used -= used % chunk
    cases = tuple(_cut(network.inputs, arrays, at, chunk) for at in range(0, used, chunk))
    is_open = all(spec.shape and isinstance(spec.shape[0], str) for spec in network.inputs)
    timing = _cut(network.inputs, arrays, 0, 1) if is_open else cases[0]
    tests = TestSet(cases, _labels(samples, rows, used), timing, "samples", seed)
    return _with_extras(tests, network)


def _with_extras(tests: TestSet, network: Network) -> TestSet:
    """The test set with other sizes and planted values, if these are affordable."""
    if network.macs and network.macs > EXTRA_MACS:
        return tests
    left = MAX_TEST_BYTES - sum(map(array_bytes, (tests.timing, *tests.cases)))
    sizes = other_sizes(network)
    if tests.source == "samples":
        sizes = [open_sizes(network), *sizes]
    sizes = [each for each in sizes if run_bytes(network.inputs, each) <= MAX_RUN_BYTES]
    while sizes and sum(run_bytes(network.inputs, each) for each in sizes) > left:
        sizes.pop()
    try:
        extras = tuple(
            random_inputs(network, tests.seed + RANDOM_CASES + number, each)
            for number, each in enumerate(sizes)
        )
    except ValueError:
        # The samples have a type without random values.
        extras = ()
    left -= sum(map(array_bytes, extras))
    most = left // max(array_bytes(tests.timing), 1)
    planted = islice(_planted(tests.timing, network), most)
    return replace(tests, extras=extras, planted=tuple(planted))


def _planted(
    timing: Mapping[str, Array], network: Network
) -> Iterator[tuple[str, dict[str, Array]]]:
    """The input with NaN, then with both infinities, in the middle of each float tensor."""
    values_of = {"NaN": (np.nan,), "infinity": (np.inf, -np.inf)}
    if NAN_LEFT_OPEN & network.operators.keys():
        del values_of["NaN"]
    floats = [name for name, array in timing.items() if array.dtype.kind == "f" and array.size]
    for name in floats[:PLANTED_INPUTS]:
        for description, values in values_of.items():
            array = timing[name].copy()
            middle = array.size // 2
            array.reshape(-1)[middle : middle + len(values)] = values[: array.size - middle]
            yield f"{description} in {name}", {**timing, name: array}


def _checked(spec: TensorSpec, samples: Mapping[str, Array]) -> Array:
    """The samples of one input, batched (same rank) or one whole input per row. Raises ValueError
    if they are missing or do not fit."""
    array = samples.get(f"inputs/{spec.name}")
    if array is None:
        raise ValueError(f"the samples lack inputs/{spec.name}")
    is_text = spec.dtype == "string" and array.dtype.kind == "U"
    if not is_text and array.dtype != dtype_of(spec, "samples"):
        raise ValueError(f"inputs/{spec.name} is {array.dtype}, the graph takes {spec.dtype}")
    whole = array.ndim == len(spec.shape) + 1
    shape = array.shape[1:]
    expected = spec.shape if whole else spec.shape[1:]
    fits = array.ndim in {len(spec.shape), len(spec.shape) + 1} and all(
        isinstance(size, str) or size == actual
        for size, actual in zip(expected, shape, strict=True)
    )
    if not fits or not array.ndim:
        raise ValueError(
            f"inputs/{spec.name} has shape {array.shape}, the graph takes {spec.shape}"
        )
    return array


def _chunk(network: Network, arrays: Mapping[str, Array], *, in_batches: bool) -> int:
    """Rows that make up one run."""
    specs = network.inputs
    batches = {spec.shape[0] if arrays[spec.name].ndim == len(spec.shape) else 1 for spec in specs}
    fixed = {batch for batch in batches if isinstance(batch, int)}
    if len(fixed) > 1:
        raise ValueError(f"inputs of one run would need different numbers of rows: {sorted(fixed)}")
    if fixed:
        return fixed.pop()
    if not in_batches and (network.macs or 0) >= SINGLE_ROW_MACS:
        return 1
    affordable = max(1, MAX_RUN_BYTES // max(_row_bytes(specs, arrays), 1))
    rows = min(map(len, arrays.values()))
    brief = BRIEF_MACS // network.macs if network.macs else CHUNK_ROWS
    most = max(1, min(CHUNK_ROWS, affordable, rows, brief))
    if most == brief:
        # Of the larger half, the size that wastes the fewest rows.
        most = max(range(most // 2 + 1, most + 1), key=lambda size: (rows - rows % size, size))
    return most


def _row_bytes(specs: Sequence[TensorSpec], arrays: Mapping[str, Array]) -> int:
    """Bytes of one row of all inputs."""
    return sum(arrays[spec.name].nbytes // max(len(arrays[spec.name]), 1) for spec in specs)


def _cut(
    specs: Sequence[TensorSpec], arrays: Mapping[str, Array], at: int, rows: int
) -> dict[str, Array]:
    return {
        spec.name: arrays[spec.name][at : at + rows]
        if arrays[spec.name].ndim == len(spec.shape)
        else arrays[spec.name][at]
        for spec in specs
    }


def _labels(samples: Mapping[str, Array], rows: int, used: int) -> Array | None:
    labels = samples.get("labels")
    if labels is None:
        return None
    if labels.shape != (rows,) or labels.dtype.kind not in "iu":
        raise ValueError(f"labels must be int64[{rows}], not {labels.dtype}{list(labels.shape)}")
    return labels[:used].astype(np.int64)


def received_test_set(value: Any) -> TestSet:
    """A test set as a child process returned it; raises TypeError, KeyError or ValueError for
    another value."""
    tests = TestSet(
        cases=tuple(value["cases"]),
        labels=value["labels"],
        timing=value["timing"],
        source=value["source"],
        seed=value["seed"],
        extras=tuple(value["extras"]),
        planted=tuple((str(description), inputs) for description, inputs in value["planted"]),
    )
    arrays = [array for inputs in (tests.timing, *tests.runs) for array in inputs.values()]
    if not tests.cases or not all(isinstance(array, np.ndarray) for array in arrays):
        raise TypeError("a test set without cases, or of values that are not arrays")
    labels = tests.labels
    if labels is not None and (not isinstance(labels, np.ndarray) or labels.dtype != np.int64):
        raise TypeError("labels that are not integers")
    if tests.source not in {"samples", "random"} or type(tests.seed) is not int:
        raise ValueError("a test set of unknown source")
    return tests
