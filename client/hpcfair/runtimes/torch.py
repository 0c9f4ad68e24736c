"""PyTorch's AOTInductor packages.

A build is a native library: opening it runs code that the hub's workers compiled, with the rights
of this process. Open builds only from hubs you trust, as with any library.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array, Options, check_inputs
from hpcfair.runtimes.options import check_names, thread_count
from hpcfair.runtimes.tensors import NAME, read_tensors

_RUNNERS = 1
_PROCESSOR = -1


class TorchRuntime:
    """An AOTInductor package on the processor; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``threads``: ``all``, ``half`` or ``one`` of the physical cores. PyTorch has one thread
        count per process; the build opened last sets it.
    """

    name = "torch"
    # OpenMP pins threads only if told to by OMP_PROC_BIND, and then the calling thread, too.
    pins_workers = False

    def __init__(self, path: Path, options: Options) -> None:
        check_names(self.name, options, {"threads"})
        torch.set_num_threads(thread_count(self.name, options))
        self._open(path)

    def _open(
        self, path: Path, *, device: int = _PROCESSOR, is_single_threaded: bool = False
    ) -> None:
        """Open a package on the processor, or on the GPU of number ``device``."""
        mapped = read_tensors(path.parent)
        if mapped is None:
            raise RuntimeFailed(f"{NAME} of this build is missing")
        self._inputs, self._outputs = mapped
        self.inputs = tuple(each.tensor for each in self._inputs)
        self.outputs = tuple(each.tensor for each in self._outputs)
        try:
            # The class behind torch._inductor.aoti_load_package, whose module imports for seconds.
            loader: Any = torch._C._aoti.AOTIModelPackageLoader  # noqa: SLF001
            self._loader: Any = loader(str(path), "model", is_single_threaded, _RUNNERS, device)
        # PyTorch's exceptions share no base below Exception.
        except Exception as error:
            reason = _reason(error).replace(str(path), path.name)
            raise RuntimeFailed(f"PyTorch cannot open {path.name}: {reason}") from error

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._loader is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        tensors = [None] * len(self._inputs)
        for each in self._inputs:
            tensors[each.index] = _tensor(each.to_file(inputs[each.tensor.name]))
        try:
            values = self._call(tensors)
        except Exception as error:
            raise RuntimeFailed(f"PyTorch failed: {_reason(error)}") from error
        # A copy, because an output may be one of the network's own constants.
        return {
            each.tensor.name: each.from_file(values[each.index].numpy().copy())
            for each in self._outputs
        }

    def _call(self, tensors: list[Any]) -> list[Any]:
        """Outputs in the processor's memory."""
        values: list[Any] = self._loader.boxed_run(tensors)
        return values

    def close(self) -> None:
        self._loader = None

    @property
    def session(self) -> Any:
        """The ``AOTIModelPackageLoader``."""
        return self._loader

    def version(self) -> str:
        """Version of ``torch``."""
        return str(torch.__version__)


def _tensor(array: Array) -> Any:
    """The array as a tensor: contiguous, and writable because PyTorch warns otherwise."""
    contiguous = np.ascontiguousarray(array)
    return torch.from_numpy(contiguous if contiguous.flags.writeable else contiguous.copy())


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
