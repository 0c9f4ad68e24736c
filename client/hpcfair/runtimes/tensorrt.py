"""TensorRT engines on an NVIDIA GPU."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorrt as trt

from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.runtimes._cuda import CudaContext
from hpcfair.runtimes.base import Array, Options, TensorInfo, check_inputs
from hpcfair.runtimes.options import check_names


class ErrorLog(trt.ILogger):  # type: ignore[misc]  # the package is untyped
    """Collects TensorRT's error messages, which it prints by default and never raises."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self._messages: list[str] = []

    def log(self, severity: Any, message: str) -> None:
        """Called by TensorRT."""
        if severity in {trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR}:
            self._messages.append(message)

    def reason(self) -> str:
        """All messages since the last call."""
        messages, self._messages = " ".join(self._messages), []
        return messages or "TensorRT gives no reason"


class TensorRt:
    """A deserialised engine, without options; a :class:`~hpcfair.runtimes.base.Runtime`.

    An engine runs only on the GPU model and with the TensorRT version it was built for.
    """

    name = "tensorrt"
    pins_workers = False

    def __init__(self, path: Path, options: Options) -> None:
        check_names(self.name, options, ())
        self._gpu: CudaContext | None = CudaContext()
        self._log = ErrorLog()
        self._runtime = trt.Runtime(self._log)
        self._engine = self._runtime.deserialize_cuda_engine(path.read_bytes())
        if self._engine is None:
            self.close()
            raise RuntimeFailed(
                f"TensorRT {trt.__version__} cannot open {path.name}: {self._log.reason()}",
                "An engine runs with one version of TensorRT and on one model of GPU only.",
            )
        self._context = self._engine.create_execution_context()
        names = [self._engine.get_tensor_name(i) for i in range(self._engine.num_io_tensors)]
        self.inputs = self._tensors(names, trt.TensorIOMode.INPUT)
        self.outputs = self._tensors(names, trt.TensorIOMode.OUTPUT)
        self._buffers: dict[str, tuple[int, int]] = {}

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        gpu = self._gpu
        if gpu is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        # Referenced until the copies are done.
        arrays = {tensor.name: np.ascontiguousarray(inputs[tensor.name]) for tensor in self.inputs}
        for name, array in arrays.items():
            if not self._context.set_input_shape(name, array.shape):
                raise BadInput(
                    f"input {name}: this build does not take {list(array.shape)}",
                    self._log.reason(),
                )
            gpu.copy_in(self._bind(gpu, name, array.nbytes), array)
        outputs = {tensor.name: self._empty(tensor) for tensor in self.outputs}
        addresses = {name: self._bind(gpu, name, array.nbytes) for name, array in outputs.items()}
        if not self._context.execute_async_v3(gpu.stream):
            raise RuntimeFailed(f"TensorRT failed: {self._log.reason()}")
        for name, array in outputs.items():
            gpu.copy_out(array, addresses[name])
        gpu.wait()
        return outputs

    def close(self) -> None:
        gpu, self._gpu = self._gpu, None
        if gpu is not None:
            # These hold GPU memory and must be released before the context.
            self._context = self._engine = self._runtime = None
            gpu.close()

    def version(self) -> str:
        """Version of ``tensorrt``."""
        return str(trt.__version__)

    def observe(self, profiler: Any) -> None:
        """Report the time of each layer to a ``tensorrt.IProfiler``."""
        self._context.profiler = profiler

    def describe(self) -> str:
        """The engine's layers as JSON, with sizes and formats of the last run."""
        inspector = self._engine.create_engine_inspector()
        inspector.execution_context = self._context
        return str(inspector.get_engine_information(trt.LayerInformationFormat.JSON))

    def _tensors(self, names: list[str], mode: Any) -> tuple[TensorInfo, ...]:
        return tuple(
            TensorInfo(
                name,
                np.dtype(trt.nptype(self._engine.get_tensor_dtype(name))).name,
                tuple("?" if size < 0 else size for size in self._engine.get_tensor_shape(name)),
            )
            for name in names
            if self._engine.get_tensor_mode(name) == mode
        )

    def _empty(self, tensor: TensorInfo) -> Array:
        shape = tuple(self._context.get_tensor_shape(tensor.name))
        if any(size < 0 for size in shape):
            raise RuntimeFailed(f"the shape of {tensor.name} depends on values, not on shapes")
        return np.empty(shape, tensor.dtype)

    def _bind(self, gpu: CudaContext, name: str, size_bytes: int) -> int:
        """Address of GPU memory for a tensor; memory is reused while it is large enough."""
        address, capacity = self._buffers.get(name, (0, -1))
        if capacity < size_bytes:
            if capacity >= 0:
                gpu.free(address)
            address = gpu.allocate(size_bytes)
            self._buffers[name] = (address, size_bytes)
            self._context.set_tensor_address(name, address)
        return address
