"""Apache TVM, on the CPU or on an NVIDIA GPU.

A build is a native library: opening one runs code that the hub's workers compiled, with the rights
of this process. Open builds only from hubs you trust, as with any library.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from hpcfair import machine
from hpcfair.errors import BadConfig, BadInput, RuntimeFailed
from hpcfair.runtimes.base import Array, Options, Tensor, check_inputs
from hpcfair.runtimes.tvm_slots import Slots, slots_for, taken

#: Beside the library: names, element types and shapes, which the library does not know.
SIGNATURE = "signature.json"
_THREADS = ("all", "half", "one")
#: ``kSpecifyThreadShareAllCore`` of TVM's ``threading_backend.h``: no thread has a core of its
#: own, so that the system may move them out of each other's way.
_SHARE_CORES = -3
#: How often a thread looks for more work before it sleeps, asking the system each time whether
#: somebody else wants its core: TVM's own 300,000 take up to 190 ms after each run.
_LOOKS = "16000"


class TvmRuntime:
    """A library for TVM's virtual machine; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``threads``: ``all`` (as it comes), ``half`` or ``one`` of the physical cores.

    A build compiled for one row of each input and output takes any number of rows and runs them
    one after another.
    """

    name = "tvm"

    def __init__(self, path: Path, options: Options) -> None:
        self.device = self._prepare(options)
        try:
            signature = json.loads((path.parent / SIGNATURE).read_text(encoding="utf-8"))
            self.inputs = tuple(map(_tensor, signature["inputs"]))
            self.outputs = tuple(map(_tensor, signature["outputs"]))
            self._by_row = bool(signature["by_row"])
            library = tvm.runtime.load_module(str(path))
            self._machine: Any = relax.VirtualMachine(library, self.device)
            self._main: Any = self._machine["main"]
            self._slots = self._make_slots()
        # What TVM raises has no base below Exception.
        except Exception as error:
            reason = _reason(error).replace(f"{path.parent}{os.sep}", "")
            raise RuntimeFailed(f"TVM cannot open {path.name}: {reason}") from error

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`hpcfair.runtimes.base.Runtime.run`."""
        if self._main is None:
            raise RuntimeFailed("this build has been closed")
        slots = self._slots.fill(inputs) if self._slots else None
        if slots is None:
            check_inputs(inputs, self.inputs)
        try:
            outputs = self._any_size(inputs) if slots is None else self._once(slots)
        except BadInput:
            raise
        except Exception as error:
            raise RuntimeFailed(f"TVM failed: {_reason(error)}") from error
        return {tensor.name: a for tensor, a in zip(self.outputs, outputs, strict=True)}

    def close(self) -> None:
        """See :meth:`hpcfair.runtimes.base.Runtime.close`."""
        self._main = self._machine = None

    def version(self) -> str:
        """Version of ``apache-tvm``."""
        return str(tvm.__version__)

    def machine(self) -> Any:
        """The ``VirtualMachine``, for profilers; ``None`` after :meth:`close`."""
        return self._machine

    def _prepare(self, options: Options) -> Any:
        """The device to run on, set up as the options ask."""
        use_threads(_threads(self.name, options))
        return tvm.cpu()

    def _make_slots(self) -> Slots | None:
        """Where inputs of one row go."""
        shapes = [(1, *t.shape[1:]) if self._by_row else t.shape for t in self.inputs]
        pairs = zip(self.inputs, shapes, strict=True)
        return slots_for([replace(tensor, shape=shape) for tensor, shape in pairs])

    def _any_size(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Outputs for as many rows as there are, or for none."""
        arrays = [np.ascontiguousarray(inputs[tensor.name]) for tensor in self.inputs]
        sizes = _sizes(self.inputs, arrays)
        if 0 in (array.size for array in arrays):
            return self._nothing(sizes)
        if not self._by_row or len(arrays[0]) == 1:
            return self._once(self._sent(arrays))
        rows = range(len(arrays[0]))
        parts = [self._once(self._sent([a[i : i + 1] for a in arrays])) for i in rows]
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _sent(self, arrays: list[Array]) -> list[Any]:
        return [tvm.runtime.tensor(array, self.device) for array in arrays]

    def _once(self, tensors: list[Any]) -> list[Array]:
        result = self._main(*tensors)
        return list(map(taken, [result] if len(self.outputs) == 1 else result))

    def _nothing(self, sizes: Mapping[str, int]) -> list[Array]:
        """Outputs where an input has no elements, which generated loops do not expect."""
        shapes = [[sizes.get(str(d), d) for d in tensor.shape] for tensor in self.outputs]
        if any(isinstance(size, str) for shape in shapes for size in shape) or not all(
            0 in shape for shape in shapes
        ):
            raise BadInput("an input without elements, and outputs that do not follow from it")
        return [
            np.empty([int(size) for size in shape], tensor.dtype)
            for shape, tensor in zip(shapes, self.outputs, strict=True)
        ]


class TvmCudaRuntime(TvmRuntime):
    """A library for TVM's virtual machine on the first NVIDIA GPU; it has no options."""

    name = "tvm_cuda"

    def _make_slots(self) -> None:
        """None: slots are memory of the processor."""

    def _prepare(self, options: Options) -> Any:
        if options:
            raise BadConfig(f"runtime {self.name} knows no options", "A newer hpcfair may.")
        device = tvm.cuda(0)
        if not device.exist:
            raise RuntimeFailed(
                "TVM finds no NVIDIA GPU here",
                "Run this build where one is, with its driver and the CUDA runtime installed.",
            )
        return device


def _threads(name: str, options: Options) -> str:
    unknown = set(options) - {"threads"}
    if unknown:
        raise BadConfig(
            f"runtime {name} does not know the option {', '.join(sorted(unknown))}",
            "It knows threads. A newer hpcfair may know more.",
        )
    threads = str(options.get("threads", "all"))
    if threads not in _THREADS:
        raise BadConfig(
            f"runtime {name}: threads cannot be {threads!r}", f"It is one of {', '.join(_THREADS)}."
        )
    return threads


def use_threads(threads: str) -> None:
    """Size TVM's pool, which belongs to the calling thread, and let it rest soon after each run.

    Args:
        threads: ``all``, ``half`` or ``one`` of the physical cores.
    """
    # Read once, when the first pool of the process is made.
    os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", _LOOKS)
    cores = machine.describe().cores
    count = {"all": cores, "half": max(1, cores // 2), "one": 1}[threads]
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    configure = tvm_ffi.get_global_func("runtime.config_threadpool")
    if usable:
        configure(_SHARE_CORES, count, [str(cpu) for cpu in usable])
    else:
        configure(0, count)


def _tensor(described: Mapping[str, Any]) -> Tensor:
    return Tensor(described["name"], described["dtype"], tuple(described["shape"]))


def _sizes(tensors: tuple[Tensor, ...], arrays: list[Array]) -> dict[str, int]:
    """What the named dimensions are this time.

    Raises:
        BadInput: two sizes for one name.
    """
    sizes: dict[str, int] = {}
    for tensor, array in zip(tensors, arrays, strict=True):
        for name, size in zip(tensor.shape, array.shape, strict=True):
            if isinstance(name, str) and sizes.setdefault(name, size) != size:
                raise BadInput(
                    f"input {tensor.name}: its dimension {name} is {size}, "
                    f"that of another input is {sizes[name]}"
                )
    return sizes


def _reason(error: Exception) -> str:
    """The line that says something, without TVM's own stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:400] if lines else type(error).__name__
