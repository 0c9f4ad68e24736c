"""Test tensors: the revision's own samples where it has any, seeded random ones otherwise."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from workers.engine.ports import Array
from workers.engine.types import Network, TensorSpec

#: Size of a named dimension that nobody stated: small, yet enough for a network that halves an
#: image five times. The leading dimension is the batch, and latency is of one sample.
OPEN_SIZE = 32
#: Token ids of every usual table, yet not all alike.
OPEN_BOUND = 100
RANDOM_CASES = 3
#: Rows fed at once where the batch is open; rounds of a pipe cost more than small batches.
CHUNK_ROWS = 32
#: Rows of the samples file used: as many as cost 2e11 multiply-accumulates (about 4 s of one core
#: in float32 without optimisations), within these bounds.
CHECK_MACS, FEWEST_ROWS, MOST_ROWS = 200_000_000_000, 16, 512
#: Rows at the end of a samples file, a quarter up to this many, kept from checks: builds are fitted
#: to them. A file of fewer rows than :data:`FEWEST_ROWS` can spare none.
HELD_OUT_ROWS = 64
#: Multiply-accumulates of one run from which on a network is checked on its own tensors alone, and
#: not run for anything that it can do without.
EXTRA_MACS = 50_000_000_000
#: Float inputs that NaN and infinity are planted in: each costs two runs.
PLANTED_INPUTS = 2
#: What these make of NaN is left open by ONNX, and ONNX Runtime's own kernels keep it or not by its
#: place in the window: a network that has one is asked about infinity only.
NAN_LEFT_OPEN = frozenset({"MaxPool", "GlobalMaxPool", "ReduceMax"})


@dataclass(frozen=True, slots=True)
class TestSet:
    """What every build is checked on, and the one input it is timed on.

    Attributes:
        cases: Inputs of one run each, by tensor name.
        labels: ``int64[n]`` over the rows of all cases in order; ``None`` without labels.
        timing: One sample.
        source: ``samples`` of the revision, or ``random`` from ``seed``.
        extras: Random inputs of other sizes, where dimensions are open; beside samples also of the
            usual size. The reference may refuse some.
        planted: What was planted, and the timing input with it: NaN or infinity in one place.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

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


def sample_rows(network: Network) -> int:
    """How many rows of the samples file to check a build on."""
    affordable = CHECK_MACS // network.macs if network.macs else FEWEST_ROWS
    return max(FEWEST_ROWS, min(MOST_ROWS, affordable))


def judged_rows(have: int, wanted: int, batch: int) -> int:
    """How many of the first rows of a file builds are judged on, and not fitted to.

    Args:
        have: Rows of the file. Of few, none can be spared.
        batch: Rows that one run takes, where the graph says so: at least that many.
    """
    return min(wanted, max(have - _spared(have), batch))


def fixed_batch(network: Network) -> int:
    """Rows that one run takes; 1 where it takes any number."""
    leading = [spec.shape[0] for spec in network.inputs if spec.shape]
    return max((size for size in leading if isinstance(size, int)), default=1)


def read_samples(path: Path, rows: int, batch: int = 1) -> dict[str, Array]:
    """The first rows of each array of a samples file: see :func:`judged_rows`.

    Parses a stranger's file: call it in a limited child process only.

    Raises:
        ValueError: it is not a ``.npz``, or it holds pickled objects.
    """
    arrays = _arrays(path)
    return {name: a[: judged_rows(len(a), rows, batch)] for name, a in arrays.items()}


def held_out_samples(path: Path, batch: int = 1) -> tuple[dict[str, Array], bool]:
    """The last rows of each array of a samples file, at least ``batch``, of which one run is made.

    And whether no build is judged on them. Where there are too few to spare any, builds are.

    Parses a stranger's file: call it in a limited child process only.

    Raises:
        ValueError: as of :func:`read_samples`.
    """
    arrays = _arrays(path)
    have = min(map(len, arrays.values()), default=0)
    rows = max(_spared(have) or HELD_OUT_ROWS, batch)
    held_out = {name: array[-rows:] for name, array in arrays.items()}
    return held_out, judged_rows(have, have, batch) <= have - rows


def _spared(have: int) -> int:
    return min(HELD_OUT_ROWS, have // 4) if have >= FEWEST_ROWS else 0


def _arrays(path: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path.name} is not a readable .npz: it is no archive")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.ascontiguousarray(archive[name][:]) for name in archive.files}
    except (OSError, ValueError, EOFError, IndexError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is not a readable .npz without pickles: {error}") from error


def make_test_set(network: Network, samples: Mapping[str, Array], seed: int) -> TestSet:
    """Test tensors of a workload, from what :meth:`Device.samples` gave.

    Samples win over random tensors: a trained network is only meaningful on inputs of its kind.

    Raises:
        ValueError: the samples do not fit the graph's signature, or a dtype has no random values.
    """
    if not samples:
        cases = tuple(random_inputs(network, seed + i) for i in range(RANDOM_CASES))
        return _with_extras(TestSet(cases, None, cases[0], "random", seed), network)
    arrays = {spec.name: _checked(spec, samples) for spec in network.inputs}
    counts = {len(array) for array in arrays.values()}
    if len(counts) != 1 or 0 in counts:
        raise ValueError(f"inputs of the samples need equal numbers of rows, not {sorted(counts)}")
    rows, chunk = counts.pop(), _chunk(network.inputs, arrays)
    if rows < chunk:
        raise ValueError(f"the samples have {rows} rows; one batch of this graph takes {chunk}")
    used = rows - rows % chunk
    cases = tuple(_cut(network.inputs, arrays, at, chunk) for at in range(0, used, chunk))
    open_batch = all(spec.shape and isinstance(spec.shape[0], str) for spec in network.inputs)
    timing = _cut(network.inputs, arrays, 0, 1) if open_batch else cases[0]
    known = TestSet(cases, _labels(samples, rows, used), timing, "samples", seed)
    return _with_extras(known, network)


def random_inputs(
    network: Network, seed: int, sizes: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """One input per tensor: floats standard normal and never zero, integers in a safe range.

    Zeros would flatter: kernels skip them and processors burn less power on them. Integer inputs
    stay below ``network.integer_bounds``; a mask is all ones, a segment id 0 or 1.

    Args:
        sizes: Of named dimensions; those of :func:`open_sizes` by default.

    Raises:
        ValueError: a dtype has no random values here.
    """
    rng = np.random.default_rng(seed)
    sizes = open_sizes(network) if sizes is None else sizes
    return {
        spec.name: _random(
            rng, spec, tuple(d if isinstance(d, int) else sizes[d] for d in spec.shape), network
        )
        for spec in network.inputs
    }


def other_sizes(network: Network) -> list[dict[str, int]]:
    """Sizes to check a network at besides :func:`open_sizes`: two samples at once, and odd inner
    dimensions, which no kernel is blocked for."""
    usual = open_sizes(network)
    inner = _inner(network.inputs)
    batches = {name: 2 if usual[name] != 2 else 3 for name in usual.keys() - inner}
    odd = {name: _odd_beside(usual[name]) for name in inner}
    return [usual | changed for changed in (batches, odd) if changed]


def open_sizes(network: Network) -> dict[str, int]:
    """Sizes of the inputs' named dimensions: as stated, else 1 for one that only ever leads (the
    batch) and ``OPEN_SIZE`` for the rest."""
    named = [size for spec in network.inputs for size in spec.shape if isinstance(size, str)]
    inner = _inner(network.inputs)
    return {name: network.dimensions.get(name, OPEN_SIZE if name in inner else 1) for name in named}


def _inner(specs: Sequence[TensorSpec]) -> set[str]:
    """Named dimensions that somewhere do not lead."""
    return {size for spec in specs for size in spec.shape[1:] if isinstance(size, str)}


def _odd_beside(size: int) -> int:
    """An odd size near another, smaller where it can be: a table of positions may end there."""
    smaller = size - 1 if size % 2 == 0 else size - 2
    return smaller if smaller > 0 else size + 2


def _with_extras(tests: TestSet, network: Network) -> TestSet:
    """The test set with other sizes and planted values, where these are affordable."""
    if network.macs and network.macs > EXTRA_MACS:
        return tests
    sizes = other_sizes(network)
    if tests.source == "samples":
        sizes = [open_sizes(network), *sizes]
    try:
        extras = tuple(
            random_inputs(network, tests.seed + RANDOM_CASES + number, each)
            for number, each in enumerate(sizes)
        )
    except ValueError:
        # Samples of a type that nobody can make up.
        extras = ()
    return replace(tests, extras=extras, planted=tuple(_planted(tests.timing, network)))


def _planted(
    timing: Mapping[str, Array], network: Network
) -> Iterator[tuple[str, dict[str, Array]]]:
    """The input with NaN, then with both infinities, in the middle of each float tensor."""
    values_of = {"NaN": (np.nan,), "infinity": (np.inf, -np.inf)}
    if NAN_LEFT_OPEN & network.operators.keys():
        del values_of["NaN"]
    floats = [name for name, array in timing.items() if array.dtype.kind == "f" and array.size]
    for name in floats[:PLANTED_INPUTS]:
        for what, values in values_of.items():
            array = timing[name].copy()
            middle = array.size // 2
            array.reshape(-1)[middle : middle + len(values)] = values[: array.size - middle]
            yield f"{what} in {name}", {**timing, name: array}


def _random(
    rng: np.random.Generator, spec: TensorSpec, shape: tuple[int, ...], network: Network
) -> Array:
    dtype = _dtype(spec, "random tensors")
    name = spec.name.lower()
    match dtype.kind:
        case "f":
            values = rng.standard_normal(shape).astype(dtype)
            values[values == 0] = 1
            return values
        case "i" | "u" if "mask" in name:
            return np.ones(shape, dtype)
        case "i" | "u":
            hinted = 2 if "type" in name or "segment" in name else OPEN_BOUND
            bound = min(network.integer_bounds.get(spec.name, hinted), np.iinfo(dtype).max)
            return rng.integers(0, max(bound, 1), shape).astype(dtype)
        case "b":
            return np.ones(shape, dtype) if "mask" in name else rng.random(shape) < 0.5
        case _:
            raise ValueError(f"{spec.name}: no random tensors of type {spec.dtype}")


def _dtype(spec: TensorSpec, what: str) -> np.dtype[Any]:
    """Raises ValueError for a type that NumPy does not have, such as text or bfloat16."""
    try:
        return np.dtype(spec.dtype)
    except TypeError as error:
        raise ValueError(f"{spec.name}: no {what} of type {spec.dtype}") from error


def _checked(spec: TensorSpec, samples: Mapping[str, Array]) -> Array:
    """The samples of one input, if they fit: batched (same rank) or one whole input a row."""
    array = samples.get(f"inputs/{spec.name}")
    if array is None:
        raise ValueError(f"the samples lack inputs/{spec.name}")
    if array.dtype != _dtype(spec, "samples"):
        raise ValueError(f"inputs/{spec.name} is {array.dtype}, the graph takes {spec.dtype}")
    whole = array.ndim == len(spec.shape) + 1
    shape = array.shape[1:]
    wanted = spec.shape if whole else spec.shape[1:]
    fits = array.ndim in {len(spec.shape), len(spec.shape) + 1} and all(
        isinstance(size, str) or size == have for size, have in zip(wanted, shape, strict=True)
    )
    if not fits or not array.ndim:
        raise ValueError(
            f"inputs/{spec.name} has shape {array.shape}, the graph takes {spec.shape}"
        )
    return array


def _chunk(specs: Sequence[TensorSpec], arrays: Mapping[str, Array]) -> int:
    """Rows that make up one run."""
    batches = {spec.shape[0] if arrays[spec.name].ndim == len(spec.shape) else 1 for spec in specs}
    fixed = {batch for batch in batches if isinstance(batch, int)}
    if len(fixed) > 1:
        raise ValueError(f"inputs of one run would need different numbers of rows: {sorted(fixed)}")
    if fixed:
        return fixed.pop()
    return min(CHUNK_ROWS, *(len(array) for array in arrays.values()))


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
