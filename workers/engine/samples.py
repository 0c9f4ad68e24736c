"""The samples file of a revision: which of its rows evaluate builds, and which calibrate them.

Files are often sorted, by class or by time, so both sets are spread over the file. Runs of a file
(rows, or batches of consecutive rows if the graph fixes the batch) are ordered by
``frac(i / phi)``, where ``i`` counts runs and ``phi`` is the golden ratio::

    order of 16 runs   0 13 5 10 2 15 7 12 4 9 1 14 | 6 11 3 8
                       evaluation ─────────────────▶   ◀── calibration

As multiples of the golden ratio are evenly distributed modulo 1 (Knuth, The Art of Computer
Programming, volume 3, section 6.4), the first and the last runs of this order, however many, are
nearly evenly spaced in the file. Every fourth row would not do: files often repeat a cycle of
classes, of which it would take some. Cycles of 13, 21, 34 or 55 rows remain a danger: Fibonacci
numbers divided by the golden ratio are almost integers, so that few rows may miss classes.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workers.engine.ports import Array
from workers.engine.types import Network

#: Rows of the file that are used: as many as cost 2e11 multiply-accumulates (about 4 s of one core
#: in float32 without optimisations), within these bounds.
CHECK_MACS, FEWEST_ROWS, MOST_ROWS = 200_000_000_000, 16, 512
#: Most rows held out from evaluation to calibrate builds: a quarter of the file, up to this many. A
#: file of fewer than ``FEWEST_ROWS`` rows, or of one run, can spare none.
HELD_OUT_ROWS = 64
#: Most runs of a file that are ordered, evenly spaced in the file.
MOST_RUNS = 2**20
#: 2**32 / phi, for which the order needs no floating point.
_MULTIPLIER, _MODULUS = 2_654_435_769, 2**32

RowNumbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowSplit:
    """Numbers of the rows of a samples file, by what they are for, in the order of their use.

    Attributes:
        evaluation: ``int64[n]``: the first of them evaluate builds, as many as are affordable. The
            first run is the beginning of the file, on which builds are timed.
        calibration: ``int64[m]``.
        is_disjoint: Whether no build is evaluated on rows that calibrate builds; otherwise both are
            all rows.
    """

    evaluation: RowNumbers
    calibration: RowNumbers
    is_disjoint: bool


def split_rows(available: int, per_run: int) -> RowSplit:
    """Split a file of ``available`` rows, of which one run takes ``per_run``.

    Rows at the end that make up no run are left out, unless there is no run at all.
    """
    count = available // per_run
    if not count:
        return RowSplit(np.arange(available), np.arange(available), is_disjoint=False)
    step = -(-count // MOST_RUNS)
    numbers = np.arange(-(-count // step))
    order = np.argsort(numbers * _MULTIPLIER % _MODULUS) * step
    rows = (order[:, None] * per_run + np.arange(per_run)).reshape(-1, per_run)
    if available < FEWEST_ROWS or len(rows) == 1:
        return RowSplit(rows.reshape(-1), rows.reshape(-1), is_disjoint=False)
    spared = max(1, min(HELD_OUT_ROWS // per_run, len(rows) // 4))
    evaluation, calibration = rows[:-spared], rows[: -spared - 1 : -1]
    return RowSplit(evaluation.reshape(-1), calibration.reshape(-1), is_disjoint=True)


def sample_rows(network: Network) -> int:
    """Number of rows of the samples file to check a build on."""
    affordable = CHECK_MACS // network.macs if network.macs else FEWEST_ROWS
    return max(FEWEST_ROWS, min(MOST_ROWS, affordable))


def rows_per_run(network: Network, samples: Mapping[str, Array]) -> int:
    """Rows of the samples that make up one run; 1 if the graph accepts any number, or each row is a
    whole input."""
    sizes = [
        spec.shape[0]
        for spec in network.inputs
        if spec.shape and np.ndim(samples.get(f"inputs/{spec.name}", 0)) == len(spec.shape)
    ]
    return max((size for size in sizes if isinstance(size, int) and size), default=1)


def evaluation_samples(network: Network, rows: int) -> dict[str, Array]:
    """The rows of a network's samples that builds are evaluated on, and not fitted to, by array;
    empty without samples.

    At most ``rows``, but at least one run if the file has one; see :class:`RowSplit`. Parses an
    untrusted file: call it in a limited child process only. Raises ValueError if it is not a
    ``.npz``, holds pickled objects, or its inputs and labels differ in their numbers of rows.
    """
    arrays, available = _samples(network)
    per_run = rows_per_run(network, arrays)
    used = max(rows // per_run, 1) * per_run
    return _rows(arrays, split_rows(available, per_run).evaluation[:used])


def held_out_samples(network: Network) -> tuple[dict[str, Array], bool]:
    """The rows of a network's samples that calibrate builds, by array, and whether no build is
    evaluated on them; nothing without samples.

    Parses an untrusted file: call it in a limited child process only. Raises as
    :func:`evaluation_samples`.
    """
    arrays, available = _samples(network)
    split = split_rows(available, rows_per_run(network, arrays))
    return _rows(arrays, split.calibration), split.is_disjoint


def read_archive(*, path: str) -> dict[str, Array]:
    """All arrays of a ``.npz`` by name; raises as :func:`evaluation_samples`.

    Parses an untrusted file: call it in a limited child process only.
    """
    return _arrays(Path(path))


def _samples(network: Network) -> tuple[dict[str, Array], int]:
    """Inputs and labels of a network's samples, and their number of rows."""
    if network.samples_path is None:
        return {}, 0
    arrays = _arrays(network.samples_path)
    used = {n: a for n, a in arrays.items() if n == "labels" or n.startswith("inputs/")}
    counts = sorted({len(array) for array in used.values()})
    if len(counts) > 1:
        raise ValueError(f"inputs and labels of the samples have {counts} rows: not equally many")
    return used, sum(counts)


def _rows(arrays: Mapping[str, Array], numbers: RowNumbers) -> dict[str, Array]:
    return {name: array[numbers] for name, array in arrays.items()}


def _arrays(path: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path.name} is not a readable .npz: it is no archive")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.ascontiguousarray(archive[name][:]) for name in archive.files}
    except (OSError, ValueError, EOFError, IndexError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is not a readable .npz without pickles: {error}") from error
