"""PyTorch's AOTInductor packages on the CPU.

A build is a native library: opening one runs code that the hub's workers compiled, with the rights
of this process. Open builds only from hubs you trust, as with any library.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes import threads
from hpcfair.runtimes.base import Array, Options, check_inputs
from hpcfair.runtimes.tensors import NAME, read_tensors

#: Not for a single thread only, one runner, no GPU.
_ALONE = (False, 1, -1)


class TorchRuntime:
    """An AOTInductor package; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``threads``: ``all``, ``half`` or ``one`` of the physical cores; PyTorch has one number of
        threads for the whole process, which the build opened last sets.
    """

    name = "torch"

    def __init__(self, path: Path, options: Options) -> None:
        unknown = set(options) - {"threads"}
        if unknown:
            raise BadConfig(
                f"runtime torch does not know the option {', '.join(sorted(unknown))}",
                "It knows threads. A newer hpcfair may know more.",
            )
        count = threads.count("torch", options.get("threads", "all"))
        mapped = read_tensors(path.parent)
        if mapped is None:
            raise RuntimeFailed(f"{NAME} of this build is missing")
        self._inputs, self._outputs = mapped
        self.inputs = tuple(each.tensor for each in self._inputs)
        self.outputs = tuple(each.tensor for each in self._outputs)
        torch.set_num_threads(count)
        try:
            # What torch._inductor.aoti_load_package wraps: importing that takes seconds.
            make: Any = torch._C._aoti.AOTIModelPackageLoader  # noqa: SLF001
            self._loader: Any = make(str(path), "model", *_ALONE)
        # What it raises shares no base below Exception.
        except Exception as error:
            reason = _reason(error).replace(str(path), path.name)
            raise RuntimeFailed(f"PyTorch cannot open {path.name}: {reason}") from error

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`hpcfair.runtimes.base.Runtime.run`."""
        if self._loader is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        tensors = [None] * len(self._inputs)
        for each in self._inputs:
            tensors[each.index] = _tensor(each.to_file(inputs[each.tensor.name]))
        try:
            values = self._loader.boxed_run(tensors)
        except Exception as error:
            raise RuntimeFailed(f"PyTorch failed: {_reason(error)}") from error
        # A copy, because an output may be one of the network's own constants.
        return {
            each.tensor.name: each.from_file(values[each.index].numpy().copy())
            for each in self._outputs
        }

    def close(self) -> None:
        """See :meth:`hpcfair.runtimes.base.Runtime.close`."""
        self._loader = None

    def version(self) -> str:
        """Version of ``torch``."""
        return str(torch.__version__)


def _tensor(array: Array) -> Any:
    """The array as compiled code expects it: contiguous, and writable lest PyTorch warn."""
    whole = np.ascontiguousarray(array)
    return torch.from_numpy(whole if whole.flags.writeable else whole.copy())


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
