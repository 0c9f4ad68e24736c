"""ONNX Runtime on an NVIDIA GPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array, Options, check_inputs
from hpcfair.runtimes.onnxruntime import (
    OnnxRuntime,
    opens_with_defaults,
    reason_of,
    set_graph_optimization,
)
from hpcfair.runtimes.options import choose
from hpcfair.runtimes.quiet_onnxruntime import ort

PROVIDER = "CUDAExecutionProvider"
CONVOLUTIONS = {"exhaustive": "EXHAUSTIVE", "heuristic": "HEURISTIC", "default": "DEFAULT"}
#: Whether convolutions prefer channels last.
LAYOUTS = {"nchw": "0", "nhwc": "1"}
_OPTIONS = frozenset({"default", "graph_optimization", "tf32", "convolutions", "layout", "graphs"})
#: Most shapes of inputs whose runs are recorded; ONNX Runtime keeps recordings until it is closed.
SHAPES = 8
_RECORDING, _NOT_RECORDED = "gpu_graph_id", "-1"
_GPU = "cuda"


class OnnxRuntimeCuda(OnnxRuntime):
    """A session of ONNX Runtime's CUDA provider; a :class:`~hpcfair.runtimes.base.Runtime`.

    ONNX Runtime runs operators that the provider does not have on the processor.

    Options, all optional:
        ``default`` (true): the provider without options; excludes all other options.
        ``graph_optimization``: as for ``onnxruntime``.
        ``tf32``: Whether float32 products may be rounded to TF32 (10 bits of mantissa); true by
            default in the provider.
        ``convolutions``: How cuDNN searches algorithms: ``exhaustive``, ``heuristic``, ``default``.
        ``layout``: Layout that convolutions are computed in, ``nchw`` or ``nhwc``.
        ``graphs``: Record the kernels of a run as a CUDA graph, once for each of the first
            :data:`SHAPES` shapes of the inputs, and launch them at once afterwards. Opening a
            network with operators that run on the processor fails.
    """

    name = "onnxruntime_cuda"
    # Workers are pinned, but idle: the calling thread waits for the GPU.
    pins_workers = False

    def __init__(self, path: Path, options: Options) -> None:
        self._records = bool(options.get("graphs"))
        self._bindings: dict[tuple[Any, ...], _Binding] = {}
        # A binding has one set of buffers.
        self._lock = Lock()
        self._use(_open(path, options))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._session is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        try:
            with self._lock:
                values = self._run(inputs)
        except Exception as error:
            raise RuntimeFailed(f"ONNX Runtime failed: {reason_of(error)}") from error
        return dict(zip(self._names, values, strict=True))

    def close(self) -> None:
        self._bindings.clear()
        super().close()

    def _run(self, inputs: Mapping[str, Array]) -> list[Array]:
        binding = self._binding_of(inputs)
        for name, value in binding.inputs.items():
            value.update_inplace(np.ascontiguousarray(inputs[name]))
        for name in binding.texts:
            binding.io.bind_cpu_input(name, inputs[name])
        self._session.run_with_iobinding(binding.io, binding.options)
        values: list[Array] = binding.io.copy_outputs_to_cpu()
        return values

    def _binding_of(self, inputs: Mapping[str, Array]) -> "_Binding":
        """Buffers in GPU memory for inputs of these shapes."""
        shapes = tuple(inputs[tensor.name].shape for tensor in self.inputs)
        binding = self._bindings.get(shapes)
        if binding is None:
            if not self._records:
                # Without recordings, only the buffers of the last shape are of use.
                self._bindings.clear()
            binding = self._bind(inputs)
            if len(self._bindings) < SHAPES:
                self._bindings[shapes] = binding
        return binding

    def _bind(self, inputs: Mapping[str, Array]) -> "_Binding":
        binding = _Binding(self._session.io_binding())
        for tensor in self.inputs:
            if tensor.dtype == "string":
                binding.texts.append(tensor.name)
                binding.io.bind_cpu_input(tensor.name, inputs[tensor.name])
                continue
            array = np.ascontiguousarray(inputs[tensor.name])
            value = ort.OrtValue.ortvalue_from_numpy(array, _GPU, 0)
            binding.inputs[tensor.name] = value
            binding.io.bind_ortvalue_input(tensor.name, value)
        if not self._records:
            for name in self._names:
                binding.io.bind_output(name)
            return binding
        # A recording writes to fixed places, whose sizes a run without one tells.
        for name in self._names:
            binding.io.bind_output(name, _GPU)
        self._session.run_with_iobinding(binding.io, _run_options(_NOT_RECORDED))
        for name, value in zip(self._names, binding.io.get_outputs(), strict=True):
            binding.io.bind_ortvalue_output(name, value)
        number = len(self._bindings)
        binding.options = _run_options(str(number) if number < SHAPES else _NOT_RECORDED)
        return binding


@dataclass(slots=True)
class _Binding:
    """Buffers of a run in GPU memory, and texts, which stay in the processor's."""

    io: Any
    inputs: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    options: Any = field(default_factory=ort.RunOptions)


def _run_options(recording: str) -> Any:
    options = ort.RunOptions()
    options.add_run_config_entry(_RECORDING, recording)
    return options


def _open(path: Path, options: Options) -> Any:
    settings, provider = _settings(options)
    if hasattr(ort, "preload_dlls"):
        # CUDA's libraries come as Python packages, which the dynamic linker does not search.
        ort.preload_dlls()
    try:
        session = ort.InferenceSession(
            path, settings, providers=[(PROVIDER, provider), "CPUExecutionProvider"]
        )
    # ONNX Runtime's exceptions share no base below Exception.
    except Exception as error:
        reason = reason_of(error).replace(str(path), path.name)
        raise RuntimeFailed(f"ONNX Runtime cannot open {path.name}: {reason}") from error
    if PROVIDER not in session.get_providers():
        raise RuntimeFailed(
            "ONNX Runtime found no GPU it can use, and would run on the processor.",
            "It needs a driver and the CUDA libraries: pip install 'onnxruntime-gpu[cuda,cudnn]'.",
        )
    # Fail instead of falling back to the processor silently.
    session.disable_fallback()
    return session


def _settings(options: Options) -> tuple[Any, dict[str, str]]:
    """Session options (``None`` for the defaults) and provider options."""
    name = OnnxRuntimeCuda.name
    if opens_with_defaults(name, options, _OPTIONS):
        return None, {}
    settings, provider = ort.SessionOptions(), {}
    set_graph_optimization(name, settings, options)
    if "tf32" in options:
        provider["use_tf32"] = "1" if options["tf32"] else "0"
    if "convolutions" in options:
        search = choose(name, "convolutions", options["convolutions"], CONVOLUTIONS)
        provider["cudnn_conv_algo_search"] = search
    if "layout" in options:
        provider["prefer_nhwc"] = choose(name, "layout", options["layout"], LAYOUTS)
    if options.get("graphs"):
        provider["enable_cuda_graph"] = "1"
    return settings, provider
