# ruff: noqa: ARG002, ARG005  what stands in for others takes what they take
"""Stand-ins for NVIDIA's driver and TensorRT, so that what surrounds them is tested without a GPU.

They keep to the documented interfaces: an engine that doubles its input, memory that is memory of
this process, and a record of what was asked.
"""

import ctypes
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from workers.engine.types import TargetSpec

H200 = TargetSpec("nvidia-h200", "x86-64", frozenset({"cuda", "sm_90", "nvidia-h200"}), 16, 2**37)
TURING = TargetSpec("nvidia-sm75", "x86-64", frozenset({"cuda", "sm_75"}), 4, 2**34)


class Driver:
    """``libcuda``: GPU memory is memory of this process; copies are done at once."""

    def __init__(self, refuses: str = "") -> None:
        self.held: dict[int, Any] = {}
        self.asked: list[str] = []
        self._refuses = refuses

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.asked.append(name)
            if name == self._refuses:
                return 2
            known = getattr(self, f"_{name}", None)
            if known is not None:
                known(*arguments)
            return 0

        if name.startswith("_cu"):
            raise AttributeError(name)
        return call

    def _cuMemAlloc_v2(self, address: Any, size: Any) -> None:  # noqa: N802
        block = ctypes.create_string_buffer(size.value)
        address._obj.value = ctypes.addressof(block)
        self.held[address._obj.value] = block

    def _cuMemFree_v2(self, address: Any) -> None:  # noqa: N802
        del self.held[address.value]

    def _cuMemcpyHtoDAsync_v2(self, to: Any, source: Any, size: Any, _: Any) -> None:  # noqa: N802
        ctypes.memmove(to.value, source.value, size.value)

    def _cuMemcpyDtoHAsync_v2(self, to: Any, source: Any, size: Any, _: Any) -> None:  # noqa: N802
        ctypes.memmove(to.value, source.value, size.value)

    def _cuGetErrorString(self, code: int, text: Any) -> None:  # noqa: N802
        text._obj.value = b"out of memory" if code == 2 else b"no error"


class Context:
    """Doubles ``x [?, 2]`` into ``y``; takes up to eight rows."""

    def __init__(self) -> None:
        self.profiler: Any = None
        self._shape: tuple[int, ...] = (-1, 2)
        self._places: dict[str, int] = {}

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self._shape = shape
        return shape[0] <= 8

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self._shape

    def set_tensor_address(self, name: str, address: int) -> None:
        self._places[name] = address

    def execute_async_v3(self, stream: int) -> bool:
        count = int(np.prod(self._shape))
        x, y = ((ctypes.c_float * count).from_address(self._places[n]) for n in "xy")
        for i in range(count):
            y[i] = 2 * x[i]
        if self.profiler:
            for layer, ms in (("first + relu0", 0.5), ("reformat", 0.1)):
                self.profiler.report_layer_time(layer, ms)
        return True


class Engine:
    num_io_tensors = 2

    def get_tensor_name(self, index: int) -> str:
        return "xy"[index]

    def get_tensor_dtype(self, name: str) -> str:
        return "float32"

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return (-1, 2)

    def get_tensor_mode(self, name: str) -> str:
        return "in" if name == "x" else "out"

    def create_execution_context(self) -> Context:
        return Context()

    def create_engine_inspector(self) -> Any:
        layers = (
            '{"Layers": [{"Name": "first + relu0", "LayerType": "gemm", "TacticName": "sm90_gemm",'
            ' "Metadata": "[ONNX Layer: Gemm_0]\\u001e[ONNX Layer: Relu_0]",'
            ' "Outputs": [{"Name": "relu0", "Format/Datatype": "Row major linear FP16 format"}]},'
            ' "reformat"]}'
        )
        return SimpleNamespace(get_engine_information=lambda _: layers)


class Builder:
    """Records how it was configured; refuses networks of one file name."""

    def __init__(self, log: Any) -> None:
        self.log = log
        made.builders.append(self)

    def create_network(self, flags: int) -> Any:
        self.flags = flags
        return SimpleNamespace(num_inputs=1, get_input=lambda i: SimpleNamespace(name="x"))

    def create_builder_config(self) -> Any:
        self.config = SimpleNamespace(cleared=[], profiles=[])
        self.config.clear_flag = self.config.cleared.append
        self.config.add_optimization_profile = self.config.profiles.append
        return self.config

    def create_optimization_profile(self) -> Any:
        shapes: dict[str, Any] = {}
        return SimpleNamespace(
            shapes=shapes, set_shape=lambda name, *bounds: shapes.update({name: bounds})
        )

    def build_serialized_network(self, network: Any, config: Any) -> bytes | None:
        if made.builds:
            return b"engine"
        self.log.log(1, "no kernel fits")
        return None


class Parser:
    num_errors = 1

    def __init__(self, network: Any, log: Any) -> None:
        pass

    def parse_from_file(self, path: str) -> bool:
        return made.parses

    def get_error(self, index: int) -> Any:
        return SimpleNamespace(
            node_operator=lambda: "Abracadabra", desc=lambda: "no importer for it"
        )


class Runtime:
    def __init__(self, log: Any) -> None:
        self._log = log

    def deserialize_cuda_engine(self, data: bytes) -> Engine | None:
        if data == b"engine":
            return Engine()
        self._log.log(1, "version tag does not match")
        return None


made = SimpleNamespace(builders=[], parses=True, builds=True)


def install(monkeypatch: pytest.MonkeyPatch, driver: Driver | None = None) -> Driver:
    """Put both in their places; what imports TensorRT is imported anew."""
    module = ModuleType("tensorrt")
    made.builders, made.parses, made.builds = [], True, True
    severity = SimpleNamespace(ERROR=1, INTERNAL_ERROR=0)
    for name, value in {
        "__version__": "11.4.0",
        "ILogger": type("ILogger", (), {"Severity": severity}),
        "IProfiler": type("IProfiler", (), {}),
        "Runtime": Runtime,
        "Builder": Builder,
        "OnnxParser": Parser,
        "nptype": np.dtype,
        "TensorIOMode": SimpleNamespace(INPUT="in", OUTPUT="out"),
        "NetworkDefinitionCreationFlag": SimpleNamespace(STRONGLY_TYPED=1),
        "ProfilingVerbosity": SimpleNamespace(DETAILED=2),
        "LayerInformationFormat": SimpleNamespace(JSON=1),
        "BuilderFlag": SimpleNamespace(TF32="tf32"),
    }.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "tensorrt", module)
    backend = "workers.backends.tensorrt"
    for name in ("hpcfair.runtimes.tensorrt", f"{backend}.compile", f"{backend}.profile"):
        # Set and then removed: what is imported meanwhile goes at the end of the test as well.
        monkeypatch.setitem(sys.modules, name, module)
        del sys.modules[name]
    driver = driver or Driver()
    cuda = sys.modules.get("hpcfair.runtimes._cuda") or __import__(
        "hpcfair.runtimes._cuda", fromlist=["_cuda"]
    )
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda _: driver)
    return driver
