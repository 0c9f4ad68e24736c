"""ONNX Runtime on an NVIDIA GPU."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array, Options, check_inputs
from hpcfair.runtimes.onnxruntime import (
    OnnxRuntime,
    opens_with_defaults,
    reason_of,
    set_graph_optimization,
)
from hpcfair.runtimes.options import choose

PROVIDER = "CUDAExecutionProvider"
CONVOLUTIONS = {"exhaustive": "EXHAUSTIVE", "heuristic": "HEURISTIC", "default": "DEFAULT"}
#: Whether convolutions prefer channels last.
LAYOUTS = {"nchw": "0", "nhwc": "1"}
_OPTIONS = frozenset({"default", "graph_optimization", "tf32", "convolutions", "layout"})


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
    """

    name = "onnxruntime_cuda"
    # Workers are pinned, but idle: the calling thread waits for the GPU.
    pins_workers = False

    def __init__(self, path: Path, options: Options) -> None:
        self._values: dict[str, Any] = {}
        self._use(_open(path, options))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._session is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        try:
            binding = self._session.io_binding()
            for tensor in self.inputs:
                array = inputs[tensor.name]
                if tensor.dtype == "string":
                    binding.bind_cpu_input(tensor.name, array)
                else:
                    binding.bind_ortvalue_input(tensor.name, self._on_gpu(tensor.name, array))
            for tensor in self.outputs:
                binding.bind_output(tensor.name)
            self._session.run_with_iobinding(binding)
            values = binding.copy_outputs_to_cpu()
        except Exception as error:
            raise RuntimeFailed(f"ONNX Runtime failed: {reason_of(error)}") from error
        return dict(zip(self._names, values, strict=True))

    def close(self) -> None:
        self._values.clear()
        super().close()

    def _on_gpu(self, name: str, array: Array) -> Any:
        """The array in GPU memory; memory is reused while the shape is the same."""
        array = np.ascontiguousarray(array)
        value = self._values.get(name)
        if value is None or tuple(value.shape()) != array.shape:
            value = ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0)
            self._values[name] = value
        else:
            value.update_inplace(array)
        return value


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
    return settings, provider
