"""TensorRT engines on an NVIDIA GPU."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorrt as trt

from hpcfair.errors import BadConfig, BadInput, RuntimeFailed
from hpcfair.runtimes._cuda import Gpu
from hpcfair.runtimes.base import Array, Options, Tensor, check_inputs


class Log(trt.ILogger):  # type: ignore[misc]  # the package is untyped
    """Keeps what TensorRT complains of; it prints otherwise, and raises nothing."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self._complaints: list[str] = []

    def log(self, severity: Any, message: str) -> None:
        """Called by TensorRT."""
        if severity in {trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR}:
            self._complaints.append(message)

    def reason(self) -> str:
        """All complaints since the last call, or that there were none."""
        said, self._complaints = " ".join(self._complaints), []
        return said or "TensorRT does not say why"


class TensorRt:
    """A deserialised engine; a :class:`~hpcfair.runtimes.base.Runtime`.

    An engine runs on the model of GPU it was built for, by the version of TensorRT that built it.
    Takes no options: all was decided when it was built.
    """

    name = "tensorrt"

    def __init__(self, path: Path, options: Options) -> None:
        if options:
            raise BadConfig(
                f"runtime tensorrt does not know the option {', '.join(sorted(options))}",
                "It knows none. A newer hpcfair may.",
            )
        self._gpu: Gpu | None = Gpu()
        self._log = Log()
        self._runtime = trt.Runtime(self._log)
        self._engine = self._runtime.deserialize_cuda_engine(path.read_bytes())
        if self._engine is None:
            self.close()
            raise RuntimeFailed(
                f"TensorRT {trt.__version__} cannot open {path.name}: {self._log.reason()}",
                "Engines fit one version of TensorRT and one model of GPU.",
            )
        self._context = self._engine.create_execution_context()
        names = [self._engine.get_tensor_name(i) for i in range(self._engine.num_io_tensors)]
        self.inputs = self._tensors(names, trt.TensorIOMode.INPUT)
        self.outputs = self._tensors(names, trt.TensorIOMode.OUTPUT)
        self._buffers: dict[str, tuple[int, int]] = {}

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`hpcfair.runtimes.base.Runtime.run`."""
        gpu = self._gpu
        if gpu is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        # Held here until the copies are done.
        arrays = {tensor.name: np.ascontiguousarray(inputs[tensor.name]) for tensor in self.inputs}
        for name, array in arrays.items():
            if not self._context.set_input_shape(name, array.shape):
                raise BadInput(
                    f"input {name}: this build does not take {list(array.shape)}",
                    self._log.reason(),
                )
            gpu.copy_in(self._bind(gpu, name, array.nbytes), array)
        outputs = {tensor.name: self._empty(tensor) for tensor in self.outputs}
        places = {name: self._bind(gpu, name, array.nbytes) for name, array in outputs.items()}
        if not self._context.execute_async_v3(gpu.stream):
            raise RuntimeFailed(f"TensorRT failed: {self._log.reason()}")
        for name, array in outputs.items():
            gpu.copy_out(array, places[name])
        gpu.wait()
        return outputs

    def close(self) -> None:
        """See :meth:`hpcfair.runtimes.base.Runtime.close`."""
        gpu, self._gpu = self._gpu, None
        if gpu is not None:
            # What they hold of the GPU goes before the GPU.
            self._context = self._engine = self._runtime = None
            gpu.close()

    def version(self) -> str:
        """Version of ``tensorrt``."""
        return str(trt.__version__)

    def observe(self, profiler: Any) -> None:
        """Have a ``tensorrt.IProfiler`` told how long each layer takes."""
        self._context.profiler = profiler

    def describe(self) -> str:
        """The engine's layers as JSON, with sizes and formats as they were in the last run."""
        inspector = self._engine.create_engine_inspector()
        inspector.execution_context = self._context
        return str(inspector.get_engine_information(trt.LayerInformationFormat.JSON))

    def _tensors(self, names: list[str], mode: Any) -> tuple[Tensor, ...]:
        return tuple(
            Tensor(
                name,
                np.dtype(trt.nptype(self._engine.get_tensor_dtype(name))).name,
                tuple("?" if size < 0 else size for size in self._engine.get_tensor_shape(name)),
            )
            for name in names
            if self._engine.get_tensor_mode(name) == mode
        )

    def _empty(self, tensor: Tensor) -> Array:
        """Room for an output of the inputs' sizes."""
        shape = tuple(self._context.get_tensor_shape(tensor.name))
        if any(size < 0 for size in shape):
            raise RuntimeFailed(f"the size of {tensor.name} depends on values, not on sizes")
        return np.empty(shape, tensor.dtype)

    def _bind(self, gpu: Gpu, name: str, size_bytes: int) -> int:
        """Address of GPU memory for a tensor: the same as before while it is large enough."""
        address, held = self._buffers.get(name, (0, -1))
        if held < size_bytes:
            if held >= 0:
                gpu.free(address)
            address = gpu.allocate(size_bytes)
            self._buffers[name] = (address, size_bytes)
            self._context.set_tensor_address(name, address)
        return address
