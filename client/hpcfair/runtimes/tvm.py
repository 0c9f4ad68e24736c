"""Apache TVM, on the CPU or on an NVIDIA GPU.

A build is a native library: opening it runs code that the hub's workers compiled, with the rights
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

from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.runtimes.base import Array, Options, TensorInfo, check_inputs
from hpcfair.runtimes.options import check_names, thread_count
from hpcfair.runtimes.tvm_slots import InputSlots, slots_for, to_array

#: File beside the library with names, element types and shapes of its inputs and outputs.
SIGNATURE = "signature.json"
#: ``kSpecifyThreadShareAllCore`` of TVM's ``threading_backend.h``: threads are not pinned to cores,
#: so that the scheduler can balance them.
_SHARE_CORES = -3
#: Iterations of a thread's spin loop before it sleeps. TVM's own 300,000 take up to 190 ms after
#: each run.
_SPIN_COUNT = "16000"


class TvmRuntime:
    """A library for TVM's virtual machine; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``threads``: ``all`` (the default), ``half`` or ``one`` of the physical cores.

    A build compiled for batch size 1 takes any number of rows and runs them one by one.
    """

    name = "tvm"
    # TVM would pin them; see _SHARE_CORES.
    pins_workers = False

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
        # TVM's exceptions share no base below Exception.
        except Exception as error:
            reason = _reason(error).replace(f"{path.parent}{os.sep}", "")
            raise RuntimeFailed(f"TVM cannot open {path.name}: {reason}") from error

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._main is None:
            raise RuntimeFailed("this build has been closed")
        slots = self._slots.fill(inputs) if self._slots else None
        if slots is None:
            check_inputs(inputs, self.inputs)
        try:
            outputs = self._run_rows(inputs) if slots is None else self._call(slots)
        except BadInput:
            raise
        except Exception as error:
            raise RuntimeFailed(f"TVM failed: {_reason(error)}") from error
        return {tensor.name: a for tensor, a in zip(self.outputs, outputs, strict=True)}

    def close(self) -> None:
        self._main = self._machine = None

    def version(self) -> str:
        """Version of ``apache-tvm``."""
        return str(tvm.__version__)

    @property
    def session(self) -> Any:
        """The ``VirtualMachine``; ``None`` after :meth:`close`."""
        return self._machine

    def _prepare(self, options: Options) -> Any:
        """The device to run on, configured with the options."""
        check_names(self.name, options, {"threads"})
        use_threads(thread_count(self.name, options))
        return tvm.cpu()

    def _make_slots(self) -> InputSlots | None:
        shapes = [(1, *t.shape[1:]) if self._by_row else t.shape for t in self.inputs]
        pairs = zip(self.inputs, shapes, strict=True)
        return slots_for([replace(tensor, shape=shape) for tensor, shape in pairs])

    def _run_rows(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Outputs for any number of rows, also none."""
        arrays = [np.ascontiguousarray(inputs[tensor.name]) for tensor in self.inputs]
        sizes = _sizes(self.inputs, arrays)
        if 0 in (array.size for array in arrays):
            return self._empty_outputs(sizes)
        if not self._by_row or len(arrays[0]) == 1:
            return self._call(self._tensors(arrays))
        rows = range(len(arrays[0]))
        parts = [self._call(self._tensors([a[i : i + 1] for a in arrays])) for i in rows]
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _tensors(self, arrays: list[Array]) -> list[Any]:
        return [tvm.runtime.tensor(array, self.device) for array in arrays]

    def _call(self, tensors: list[Any]) -> list[Array]:
        result = self._main(*tensors)
        return list(map(to_array, [result] if len(self.outputs) == 1 else result))

    def _empty_outputs(self, sizes: Mapping[str, int]) -> list[Array]:
        """Outputs for inputs without elements, which generated loops do not support."""
        shapes = [[sizes.get(str(d), d) for d in tensor.shape] for tensor in self.outputs]
        if any(isinstance(size, str) for shape in shapes for size in shape) or not all(
            0 in shape for shape in shapes
        ):
            raise BadInput("an input has no elements, and the outputs do not follow from its shape")
        return [
            np.empty([int(size) for size in shape], tensor.dtype)
            for shape, tensor in zip(shapes, self.outputs, strict=True)
        ]


class TvmCudaRuntime(TvmRuntime):
    """A library for TVM's virtual machine on the first NVIDIA GPU. It has no options."""

    name = "tvm_cuda"

    def _make_slots(self) -> None:
        """None: slots are in the processor's memory."""

    def _prepare(self, options: Options) -> Any:
        check_names(self.name, options, ())
        device = tvm.cuda(0)
        if not device.exist:
            raise RuntimeFailed(
                "TVM finds no NVIDIA GPU on this machine",
                "This build needs one, with its driver and the CUDA runtime.",
            )
        return device


def use_threads(count: int) -> None:
    """Size the thread pool of TVM for the calling thread, and let it sleep soon after each run."""
    # Read once, when the first pool of the process is created.
    os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", _SPIN_COUNT)
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    configure = tvm_ffi.get_global_func("runtime.config_threadpool")
    if usable:
        configure(_SHARE_CORES, count, [str(cpu) for cpu in usable])
    else:
        configure(0, count)


def _tensor(entry: Mapping[str, Any]) -> TensorInfo:
    return TensorInfo(entry["name"], entry["dtype"], tuple(entry["shape"]))


def _sizes(tensors: tuple[TensorInfo, ...], arrays: list[Array]) -> dict[str, int]:
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
    """The last line of the message, without TVM's stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:400] if lines else type(error).__name__
