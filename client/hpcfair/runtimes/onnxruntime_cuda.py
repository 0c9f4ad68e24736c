"""ONNX Runtime on an NVIDIA GPU."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes.base import Array, Options, check_inputs
from hpcfair.runtimes.onnxruntime import GRAPH_OPTIMIZATION, OnnxRuntime, reason_of

PROVIDER = "CUDAExecutionProvider"
CONVOLUTIONS = {"exhaustive": "EXHAUSTIVE", "heuristic": "HEURISTIC", "default": "DEFAULT"}
LAYOUTS = ("nchw", "nhwc")


class OnnxRuntimeCuda(OnnxRuntime):
    """A session of ONNX Runtime's CUDA provider; a :class:`~hpcfair.runtimes.base.Runtime`.

    Operators that the provider lacks run on the processor, as ONNX Runtime arranges it.

    Options, all optional:
        ``default`` (true): the provider with nothing set; no other option may stand beside it.
        ``graph_optimization``: as for ``onnxruntime``.
        ``tf32``: Whether float32 products may be rounded to TF32 (10 bits of mantissa); the
            provider's own default is yes.
        ``convolutions``: How cuDNN looks for an algorithm: ``exhaustive``, ``heuristic``,
            ``default``.
        ``layout``: ``nchw`` or ``nhwc``, what convolutions are computed in.
    """

    name = "onnxruntime_cuda"

    def __init__(self, path: Path, options: Options) -> None:
        self._values: dict[str, Any] = {}
        self._adopt(_open(path, options))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`hpcfair.runtimes.base.Runtime.run`."""
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
        """See :meth:`hpcfair.runtimes.base.Runtime.close`."""
        self._values.clear()
        super().close()

    def _on_gpu(self, name: str, array: Array) -> Any:
        """The array in GPU memory: where the last one lay, if it had the same shape."""
        array = np.ascontiguousarray(array)
        value = self._values.get(name)
        if value is None or tuple(value.shape()) != array.shape:
            value = ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0)
            self._values[name] = value
        else:
            value.update_inplace(array)
        return value


def _open(path: Path, options: Options) -> Any:
    """A session that computes on the GPU.

    Raises:
        BadConfig: an unknown option.
        RuntimeFailed: it cannot be opened, or would run on the processor only.
    """
    settings, provider = _settings(options)
    if hasattr(ort, "preload_dlls"):
        # CUDA's libraries come as Python packages, where the dynamic linker does not look.
        ort.preload_dlls()
    try:
        session = ort.InferenceSession(
            path, settings, providers=[(PROVIDER, provider), "CPUExecutionProvider"]
        )
    # What it raises shares no base below Exception.
    except Exception as error:
        reason = reason_of(error).replace(str(path), path.name)
        raise RuntimeFailed(f"ONNX Runtime cannot open {path.name}: {reason}") from error
    if PROVIDER not in session.get_providers():
        raise RuntimeFailed(
            "ONNX Runtime found no GPU it can use, and would run on the processor.",
            "It needs a driver and the CUDA libraries: pip install 'onnxruntime-gpu[cuda,cudnn]'.",
        )
    # Rather fail than go on slowly where nobody notices.
    session.disable_fallback()
    return session


def _settings(options: Options) -> tuple[Any, dict[str, str]]:
    """Session options (``None``: as they come) and the provider's."""
    known = {"default", "graph_optimization", "tf32", "convolutions", "layout"}
    unknown = set(options) - known
    if unknown:
        raise BadConfig(
            f"runtime onnxruntime_cuda does not know the option {', '.join(sorted(unknown))}",
            f"It knows {', '.join(sorted(known))}. A newer hpcfair may know more.",
        )
    if options.get("default"):
        if len(options) > 1:
            raise BadConfig("runtime onnxruntime_cuda: beside 'default' no other option may stand")
        return None, {}
    settings, provider = ort.SessionOptions(), {}
    if "graph_optimization" in options:
        level = _pick(GRAPH_OPTIMIZATION, "graph_optimization", options)
        settings.graph_optimization_level = level
    if "tf32" in options:
        provider["use_tf32"] = "1" if options["tf32"] else "0"
    if "convolutions" in options:
        provider["cudnn_conv_algo_search"] = _pick(CONVOLUTIONS, "convolutions", options)
    if "layout" in options:
        layout = _pick({name: name for name in LAYOUTS}, "layout", options)
        provider["prefer_nhwc"] = "1" if layout == "nhwc" else "0"
    return settings, provider


def _pick(table: Mapping[str, Any], name: str, options: Options) -> Any:
    value = options[name]
    if value not in table:
        raise BadConfig(
            f"runtime onnxruntime_cuda: {name} cannot be {value!r}",
            f"It is one of {', '.join(table)}.",
        )
    return table[str(value)]
