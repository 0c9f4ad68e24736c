"""Arrays in ``.npz`` files, without pickles: the inputs and outputs of remote runs."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hpcfair.runtimes.base import Array


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays under their names. Unlike ``numpy.savez``, it reserves no names. Raises
    ValueError for Python objects."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            # Members of unknown length may exceed 2 GiB.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a ``.npz`` file by name. Raises ValueError if the file is malformed or
    contains pickles."""
    try:
        # If NumPy opened the file itself, it would leave a malformed one open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (AttributeError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path.name} is not a readable .npz: {error}") from error
