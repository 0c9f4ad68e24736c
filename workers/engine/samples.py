"""The samples file of a revision: which of its rows evaluate builds, and which calibrate them."""

import zipfile
from pathlib import Path

import numpy as np

from workers.engine.ports import Array
from workers.engine.types import Network

#: Rows of the file that are used: as many as cost 2e11 multiply-accumulates (about 4 s of one core
#: in float32 without optimisations), within these bounds.
CHECK_MACS, FEWEST_ROWS, MOST_ROWS = 200_000_000_000, 16, 512
#: Most rows held out from evaluation to calibrate builds: the last quarter of the file, up to this
#: many. A file of fewer than ``FEWEST_ROWS`` rows can spare none.
HELD_OUT_ROWS = 64


def sample_rows(network: Network) -> int:
    """Number of rows of the samples file to check a build on."""
    affordable = CHECK_MACS // network.macs if network.macs else FEWEST_ROWS
    return max(FEWEST_ROWS, min(MOST_ROWS, affordable))


def evaluation_rows(available: int, requested: int, batch: int) -> int:
    """Number of first rows of a file that builds are evaluated on, and not fitted to.

    Of ``available`` rows in the file, at most ``requested``, but at least ``batch``, the rows of
    one run if the graph fixes them.
    """
    return min(requested, max(available - _spared(available), batch))


def fixed_batch(network: Network) -> int:
    """Rows of one run; 1 if the graph accepts any number."""
    leading = [spec.shape[0] for spec in network.inputs if spec.shape]
    return max((size for size in leading if isinstance(size, int)), default=1)


def read_samples(path: Path, rows: int, batch: int = 1) -> dict[str, Array]:
    """The first rows of each array of a samples file; see :func:`evaluation_rows`.

    Parses an untrusted file: call it in a limited child process only. Raises ValueError if it is
    not a ``.npz``, or holds pickled objects.
    """
    arrays = _arrays(path)
    return {name: a[: evaluation_rows(len(a), rows, batch)] for name, a in arrays.items()}


def held_out_samples(path: Path, batch: int = 1) -> tuple[dict[str, Array], bool]:
    """The last rows of each array of a samples file, at least ``batch``.

    Parses an untrusted file: call it in a limited child process only. Returns the rows, and whether
    no build is evaluated on them; with too few rows to spare any, builds are. Raises as
    :func:`read_samples`.
    """
    arrays = _arrays(path)
    available = min(map(len, arrays.values()), default=0)
    rows = max(_spared(available) or HELD_OUT_ROWS, batch)
    held_out = {name: array[-rows:] for name, array in arrays.items()}
    return held_out, evaluation_rows(available, available, batch) <= available - rows


def read_archive(*, path: str) -> dict[str, Array]:
    """All arrays of a ``.npz`` by name; raises as :func:`read_samples`.

    Parses an untrusted file: call it in a limited child process only.
    """
    return _arrays(Path(path))


def _spared(available: int) -> int:
    return min(HELD_OUT_ROWS, available // 4) if available >= FEWEST_ROWS else 0


def _arrays(path: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path.name} is not a readable .npz: it is no archive")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.ascontiguousarray(archive[name][:]) for name in archive.files}
    except (OSError, ValueError, EOFError, IndexError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is not a readable .npz without pickles: {error}") from error
