"""Runs ``.product`` files. Needs the client ``hpcfair`` and NumPy only."""

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import numpy as np

from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes.base import Array, Options, TensorInfo, check_inputs
from hpcfair.runtimes.registry import RuntimeEntry

_DISTRIBUTION = "hpcfair-example-backend"
ENTRY = RuntimeEntry("hpcfair_example_backend.runtime:ProductRuntime", _DISTRIBUTION, _DISTRIBUTION)


class ProductRuntime:
    """An opened ``.product`` file; a :class:`hpcfair.runtimes.base.Runtime`. Takes no options.

    The file is a NumPy archive: ``input`` and ``output``, the names of the tensors, and
    ``matrix``, float32, of shape (features, classes).
    """

    name = "product"

    def __init__(self, path: Path, options: Options) -> None:
        if options:
            raise BadConfig("runtime product takes no options")
        try:
            with np.load(path, allow_pickle=False) as archive:
                matrix = archive["matrix"]
                names = str(archive["input"]), str(archive["output"])
        except (OSError, ValueError, KeyError) as error:
            raise RuntimeFailed(f"product cannot open {path.name}: {error}") from error
        rows, columns = matrix.shape
        self._matrix: Array | None = matrix
        self.inputs = (TensorInfo(names[0], "float32", ("N", rows)),)
        self.outputs = (TensorInfo(names[1], "float32", ("N", columns)),)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`hpcfair.runtimes.base.Runtime.run`."""
        if self._matrix is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        return {self.outputs[0].name: inputs[self.inputs[0].name] @ self._matrix}

    def close(self) -> None:
        """See :meth:`hpcfair.runtimes.base.Runtime.close`."""
        self._matrix = None

    def version(self) -> str:
        """Version of this package."""
        return metadata.version(_DISTRIBUTION)
