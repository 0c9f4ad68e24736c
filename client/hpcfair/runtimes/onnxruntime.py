"""ONNX Runtime on the CPU."""

from collections.abc import Callable, Collection, Mapping
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes import optimisers
from hpcfair.runtimes.base import Array, Options, TensorInfo, check_inputs
from hpcfair.runtimes.options import check_names, choose, thread_count
from hpcfair.runtimes.quiet_onnxruntime import ort
from hpcfair.typingnames import Self

# Warnings concern the export of a network, not its users; errors are raised as exceptions.
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
_OPTIONS = frozenset(
    {
        *("default", "graph_optimization", "threads", "execution", "spinning"),
        *("bf16_gemm", "passes"),
    }
)
_DTYPES = {"float": "float32", "double": "float64"}
# An explicit list: some packages register bfloat16 with NumPy, but ONNX Runtime cannot exchange it.
_EXCHANGED = frozenset(
    (  # noqa: SIM905
        "bool string float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    ).split()
)


class OnnxRuntime:
    """A session of ONNX Runtime; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``default`` (true): open without options; excludes all other options.
        ``graph_optimization``: ``disable``, ``basic``, ``extended``, ``layout`` or ``all``.
        ``threads``: ``all``, ``half`` or ``one`` of the physical cores.
        ``execution``: ``sequential``, or ``parallel`` for concurrent branches of the graph.
        ``spinning``: Whether threads spin while they wait for the next operator.
        ``bf16_gemm``: Multiply float32 matrices in bfloat16 (ARM64 only; ignored elsewhere).
        ``passes``: The optimisers of :mod:`hpcfair.runtimes.optimisers` that may run, joined by
            commas; ``default`` for all of the level ``graph_optimization``.

    A build with a ``bfloat16`` tensor in its signature is refused when it is opened: NumPy has no
    such type.
    """

    name = "onnxruntime"
    _call: Any

    def __init__(self, path: Path, options: Options) -> None:
        self._use(open_session(path, options))
        # ONNX Runtime pins its workers unless their number is given or operators run in parallel
        # (``auto_set_affinity`` in its inference_session.cc).
        is_sequential = options.get("execution", "sequential") == "sequential"
        self.pins_workers = "threads" not in options and is_sequential

    def _use(self, session: Any) -> None:
        self._session: Any = session
        # The wrapper's run() checks names again.
        self._call = getattr(session, "_sess", session).run
        self.inputs = tuple(map(_tensor, session.get_inputs()))
        self.outputs = tuple(map(_tensor, session.get_outputs()))
        self._names = [tensor.name for tensor in self.outputs]
        # Text has several NumPy types, bfloat16 none.
        self._types = {
            tensor.name: np.dtype(tensor.dtype)
            for tensor in self.inputs
            if tensor.dtype not in {"string", "bfloat16"}
        }

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._session is None:
            raise RuntimeFailed("this build has been closed")
        if not self._have_types(inputs):
            check_inputs(inputs, self.inputs)
        try:
            values = self._call(self._names, dict(inputs), None)
        except Exception as error:
            # ONNX Runtime checks names and shapes itself; our message is clearer.
            check_inputs(inputs, self.inputs)
            raise RuntimeFailed(f"ONNX Runtime failed: {reason_of(error)}") from error
        return dict(zip(self._names, values, strict=True))

    def _have_types(self, inputs: Mapping[str, Array]) -> bool:
        """Whether all inputs are arrays of the signature's types; then no check is needed.

        Full checks before each run took a fifth of a small network's time, and of the baseline's,
        which represents users of ONNX Runtime alone.
        """
        types = self._types
        return all(type(a) is np.ndarray and a.dtype is types.get(n) for n, a in inputs.items())

    def close(self) -> None:
        self._session = self._call = None

    def share(self) -> Self:
        """A handle on the same session, whose runs are thread-safe. With one thread, each run is
        computed by the thread that calls it."""
        return copy(self)

    @property
    def session(self) -> Any:
        """The ``onnxruntime.InferenceSession``."""
        return self._session

    def version(self) -> str:
        """Version of ``onnxruntime``."""
        return str(ort.__version__)


def open_session(path: Path, options: Options, prepare: Callable[[Any], None] | None = None) -> Any:
    """A bare session; opens and fails as :class:`OnnxRuntime` does.

    Args:
        prepare: Called with the session options before the session opens; may set options that do
            not change what runs, such as a profiler.
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
    # ONNX Runtime's exceptions share no base below Exception.
    except Exception as error:
        reason = reason_of(error).replace(str(path), path.name)
        raise RuntimeFailed(f"ONNX Runtime cannot open {path.name}: {reason}") from error


def _session_options(options: Options) -> Any:
    """Session options for build options; ``None`` for the defaults."""
    if opens_with_defaults(OnnxRuntime.name, options, _OPTIONS):
        return None
    settings = ort.SessionOptions()
    set_graph_optimization(OnnxRuntime.name, settings, options)
    if "execution" in options:
        execution = choose(OnnxRuntime.name, "execution", options["execution"], EXECUTION)
        settings.execution_mode = execution
    if "threads" in options:
        count = thread_count(OnnxRuntime.name, options)
        settings.intra_op_num_threads = count
        settings.inter_op_num_threads = count
    if "spinning" in options:
        spin = "1" if options["spinning"] else "0"
        settings.add_session_config_entry("session.intra_op.allow_spinning", spin)
        settings.add_session_config_entry("session.inter_op.allow_spinning", spin)
    if options.get("bf16_gemm"):
        settings.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
    return settings


def opens_with_defaults(runtime: str, options: Options, names: Collection[str]) -> bool:
    """Whether to open a session without options. Raises BadConfig if an option is not one of
    ``names`` or is given beside ``default``."""
    check_names(runtime, options, names)
    if options.get("default") and len(options) > 1:
        raise BadConfig(f"runtime {runtime}: 'default' excludes all other options")
    return bool(options.get("default"))


def set_graph_optimization(runtime: str, settings: Any, options: Options) -> None:
    """Set the level of ``graph_optimization`` where the option is given."""
    if "graph_optimization" in options:
        level = options["graph_optimization"]
        settings.graph_optimization_level = choose(
            runtime, "graph_optimization", level, GRAPH_OPTIMIZATION
        )


def _tensor(node: Any) -> TensorInfo:
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
    return TensorInfo(
        node.name, dtype, tuple(size if size is not None else "?" for size in node.shape)
    )


def reason_of(error: Exception) -> str:
    """The message without ONNX Runtime's bracketed code."""
    return str(error).rpartition("[ONNXRuntimeError] : ")[2] or type(error).__name__
