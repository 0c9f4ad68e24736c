"""ONNX Runtime on the CPU."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from hpcfair import machine
from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes import optimisers
from hpcfair.runtimes.base import Array, Options, Tensor, check_inputs

# Warnings are for who exports a network, not for who runs one; errors arrive as exceptions.
ort.set_default_logger_severity(3)

GRAPH_OPTIMIZATION = {
    "disable": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "layout": ort.GraphOptimizationLevel.ORT_ENABLE_LAYOUT,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
EXECUTION = {
    "sequential": ort.ExecutionMode.ORT_SEQUENTIAL,
    "parallel": ort.ExecutionMode.ORT_PARALLEL,
}
#: Threads relative to the physical cores this process may use, so that a build travels.
THREADS: dict[str, Callable[[int], int]] = {
    "all": lambda cores: cores,
    "half": lambda cores: max(1, cores // 2),
    "one": lambda _: 1,
}

_DTYPES = {"float": "float32", "double": "float64"}
# A list, because asking NumPy would depend on which package registered bfloat16 with it; ONNX
# Runtime cannot hand one over either way.
_EXCHANGED = frozenset(
    (  # noqa: SIM905
        "bool string float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    ).split()
)


class OnnxRuntime:
    """A session of ONNX Runtime; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``default`` (true): open with nothing set; no other option may stand beside it.
        ``graph_optimization``: ``disable``, ``basic``, ``extended``, ``layout`` or ``all``.
        ``threads``: ``all``, ``half`` or ``one`` of the physical cores.
        ``execution``: ``sequential``, or ``parallel`` for branches of the graph side by side.
        ``spinning``: Whether idle threads burn their core while they wait for the next operator.
        ``bf16_gemm``: Multiply float32 matrices in bfloat16 (ARM64 only; ignored elsewhere).
        ``passes``: The optimisers of :mod:`hpcfair.runtimes.optimisers` that may run, joined by
            commas; ``default`` for all that ``graph_optimization`` stands for.

    ``bfloat16`` tensors cannot cross into NumPy, which has no such type: a build with one in its
    signature is refused when it is opened.
    """

    name = "onnxruntime"
    _call: Any

    def __init__(self, path: Path, options: Options) -> None:
        self._adopt(open_session(path, options))

    def _adopt(self, session: Any) -> None:
        self._session: Any = session
        # Its wrapper looks at names once more: time that ours takes too, to hand out a dictionary.
        self._call = getattr(session, "_sess", session).run
        self.inputs = tuple(map(_tensor, session.get_inputs()))
        self.outputs = tuple(map(_tensor, session.get_outputs()))
        self._names = [tensor.name for tensor in self.outputs]
        # Text comes in many types, bfloat16 in none.
        self._types = {
            tensor.name: np.dtype(tensor.dtype)
            for tensor in self.inputs
            if tensor.dtype not in {"string", "bfloat16"}
        }

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`hpcfair.runtimes.base.Runtime.run`."""
        if self._session is None:
            raise RuntimeFailed("this build has been closed")
        if not self._are_plain(inputs):
            check_inputs(inputs, self.inputs)
        try:
            values = self._call(self._names, dict(inputs), None)
        except Exception as error:
            # ONNX Runtime refuses other names and shapes itself; ours says it better.
            check_inputs(inputs, self.inputs)
            raise RuntimeFailed(f"ONNX Runtime failed: {reason_of(error)}") from error
        return dict(zip(self._names, values, strict=True))

    def _are_plain(self, inputs: Mapping[str, Array]) -> bool:
        """Whether all are arrays of the very types of the signature, which needs no closer look.

        Looking at everything before each run took a fifth of a small network's time, and of the
        baseline's, which stands for who calls ONNX Runtime without us.
        """
        types = self._types
        return all(type(a) is np.ndarray and a.dtype is types.get(n) for n, a in inputs.items())

    def close(self) -> None:
        """See :meth:`hpcfair.runtimes.base.Runtime.close`."""
        self._session = self._call = None

    def version(self) -> str:
        """Version of ``onnxruntime``."""
        return str(ort.__version__)


def open_session(path: Path, options: Options, prepare: Callable[[Any], None] | None = None) -> Any:
    """A bare session, opened as :class:`OnnxRuntime` opens it.

    Args:
        prepare: Given the session options before it opens, to set what does not change what runs,
            such as a profiler.

    Raises:
        BadConfig, RuntimeFailed: as :class:`OnnxRuntime` does.
    """
    settings = _session_options(options)
    if prepare is not None:
        settings = settings or ort.SessionOptions()
        prepare(settings)
    passes = str(options.get("passes", "default"))
    disabled = set() if passes == "default" else optimisers.disabled(passes)
    try:
        return ort.InferenceSession(
            path, settings, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
        )
    # What it raises shares no base below Exception.
    except Exception as error:
        reason = reason_of(error).replace(str(path), path.name)
        raise RuntimeFailed(f"ONNX Runtime cannot open {path.name}: {reason}") from error


def _session_options(options: Options) -> Any:
    """Session options for build options; ``None`` stands for "as they come"."""
    known = {"default", "graph_optimization", "threads", "execution", "spinning"}
    known |= {"bf16_gemm", "passes"}
    unknown = set(options) - known
    if unknown:
        raise BadConfig(
            f"runtime onnxruntime does not know the option {', '.join(sorted(unknown))}",
            f"It knows {', '.join(sorted(known))}. A newer hpcfair may know more.",
        )
    if options.get("default"):
        if len(options) > 1:
            raise BadConfig("runtime onnxruntime: beside 'default' no other option may stand")
        return None
    settings = ort.SessionOptions()
    if "graph_optimization" in options:
        settings.graph_optimization_level = _pick(GRAPH_OPTIMIZATION, "graph_optimization", options)
    if "execution" in options:
        settings.execution_mode = _pick(EXECUTION, "execution", options)
    if "threads" in options:
        count = _pick(THREADS, "threads", options)(machine.describe().cores)
        settings.intra_op_num_threads = count
        settings.inter_op_num_threads = count
    if "spinning" in options:
        spin = "1" if options["spinning"] else "0"
        settings.add_session_config_entry("session.intra_op.allow_spinning", spin)
        settings.add_session_config_entry("session.inter_op.allow_spinning", spin)
    if options.get("bf16_gemm"):
        settings.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
    return settings


def _pick(table: Mapping[str, Any], name: str, options: Options) -> Any:
    value = options[name]
    if value not in table:
        raise BadConfig(
            f"runtime onnxruntime: {name} cannot be {value!r}", f"It is one of {', '.join(table)}."
        )
    return table[str(value)]


def _tensor(node: Any) -> Tensor:
    """A session's input or output as a tensor.

    Raises:
        RuntimeFailed: it is a sequence, a map or optional, or NumPy has no such element type.
    """
    kind, _, element = node.type.rstrip(")").partition("(")
    if kind != "tensor":
        raise RuntimeFailed(
            f"{node.name} is a {node.type}: only tensors can be loaded",
            "Export the network with plain tensors (scikit-learn: zipmap=False).",
        )
    dtype = _DTYPES.get(element, element)
    if dtype not in _EXCHANGED:
        raise RuntimeFailed(
            f"{node.name} is of type {dtype}, which NumPy does not have",
            "Export the network with float32 inputs and outputs; inside it may keep its type.",
        )
    return Tensor(node.name, dtype, tuple(size if size is not None else "?" for size in node.shape))


def reason_of(error: Exception) -> str:
    """The message without the bracketed code in front."""
    return str(error).rpartition("[ONNXRuntimeError] : ")[2] or type(error).__name__
