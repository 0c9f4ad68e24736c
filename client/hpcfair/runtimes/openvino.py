"""OpenVINO on the CPU."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes.base import Array, Options, TensorInfo, check_inputs
from hpcfair.runtimes.openvino_nan import keep_nan
from hpcfair.runtimes.options import check_names, choose, thread_count
from hpcfair.runtimes.quiet_openvino import ov, reason
from hpcfair.typingnames import Self

Shape = tuple[int, ...]
_Call = Callable[[Mapping[int, Any]], Iterable[Array]]
#: Input shapes of a network with static shapes, ``None`` for dynamic ones, or that for NaN.
_Variant = tuple[Shape, ...] | str | None
_NAN = "nan"

PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
HINTS = {"latency": "LATENCY", "throughput": "THROUGHPUT"}
_SHAPES = {"dynamic": False, "static": True}
_OPTIONS = frozenset({"precision", "threads", "pinning", "hint", "shapes"})

#: Input shapes that get a compiled network of their own; each has a copy of the weights.
MOST_SHAPES = 4

_DTYPES = {
    "boolean": "bool", "f16": "float16", "f32": "float32", "f64": "float64",
    **{f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}  # fmt: skip


class OpenVino:
    """A network in OpenVINO's IR; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``precision``: Precision of the computation: ``float32`` (the default), ``bfloat16`` or
            ``float16``. OpenVINO's own default is bfloat16 on processors that support it.
        ``threads``: ``all``, ``half`` or ``one`` of the physical cores.
        ``pinning``: Whether threads are pinned to cores.
        ``hint``: ``latency``, or ``throughput`` for as many threads per request as OpenVINO uses
            for several concurrent requests. ``throughput`` excludes ``threads``.
        ``shapes``: ``static`` compiles the network for each of the first few combinations of input
            shapes when they first occur; all others share a network with ``dynamic`` shapes.

    Inputs with NaN or infinity run on a network with less fusion, which is compiled when they first
    occur (:mod:`hpcfair.runtimes.openvino_nan`).

    ``bfloat16`` and text tensors are refused: NumPy has no bfloat16, and OpenVINO 2026.4 corrupts
    its memory on text. int64 is computed in int32 and float64 in float32, as OpenVINO does on CPUs.
    """

    name = "openvino"
    # Its threads are pinned; it places the calling thread beside them in each run.
    pins_workers = False

    def __init__(self, path: Path, options: Options) -> None:
        self._settings = settings(options)
        self._model: Any = read_model(path)
        self.inputs = tuple(_tensor(port) for port in self._model.inputs)
        self.outputs = tuple(_tensor(port) for port in self._model.outputs)
        self._names = [tensor.name for tensor in self.outputs]
        self._static = bool(options.get("shapes") == "static" and self._model.is_dynamic())
        self._floats = [i for i, t in enumerate(self.inputs) if t.dtype.startswith("float")]
        # Shared with other handles of this build; the requests are not.
        self._compiled: dict[_Variant, Any] = {}
        self._compiling = Lock()
        self._calls: dict[_Variant, _Call] = {}
        if not self._static:
            self._request(None, self._model)

    def share(self) -> Self:
        """A handle on the same compiled networks, with requests of its own."""
        shared = copy(self)
        shared._calls = {}  # noqa: SLF001
        return shared

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._model is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        arrays = [_shareable(inputs[tensor.name]) for tensor in self.inputs]
        tensors = {i: ov.Tensor(array, shared_memory=True) for i, array in enumerate(arrays)}
        try:
            values = self._call_for(arrays)(tensors)
        except RuntimeFailed:
            raise
        # OpenVINO's exceptions share no base below Exception.
        except Exception as error:
            raise RuntimeFailed(f"OpenVINO failed: {reason(error)}") from error
        return dict(zip(self._names, values, strict=True))

    def close(self) -> None:
        self._calls = {}
        self._compiled = {}
        self._model = None

    @property
    def session(self) -> Any:
        """The ``CompiledModel`` for dynamic shapes."""
        if None not in self._compiled:
            self._request(None, self._model)
        return self._compiled[None]

    def version(self) -> str:
        """Version of ``openvino``."""
        return str(ov.__version__).partition("-")[0]

    def _call_for(self, arrays: Sequence[Array]) -> _Call:
        if not all(np.isfinite(arrays[i]).all() for i in self._floats):
            return self._calls.get(_NAN) or self._request(_NAN, keep_nan(self._model))
        if not self._static:
            return self._calls.get(None) or self._request(None, self._model)
        shapes: tuple[Shape, ...] | None = tuple(array.shape for array in arrays)
        if shapes not in self._calls:
            # Empty dimensions use the dynamic network: OpenVINO tests static ones least.
            fixed = len(self._calls.keys() - {_NAN})
            shared = fixed >= MOST_SHAPES or any(a.size == 0 for a in arrays)
            shapes = None if shared else shapes
            if shapes not in self._calls:
                self._request(shapes, reshaped(self._model, shapes))
        return self._calls[shapes]

    def _request(self, variant: _Variant, model: Any) -> _Call:
        """A request of a variant of the network, which is compiled when it first occurs."""
        with self._compiling:
            if variant not in self._compiled:
                self._compiled[variant] = compile_model(model, self._settings)
            request = self._compiled[variant].create_infer_request()
        # With one thread, infer() of OpenVINO 2026.4 drops errors of dynamic networks and returns
        # the previous outputs; start_async() runs on a thread of OpenVINO and raises them.
        drops_errors = self._settings.get("INFERENCE_NUM_THREADS") == 1 and model.is_dynamic()
        call: _Call = partial(_infer_async if drops_errors else _infer, request)
        self._calls[variant] = call
        return call


def _infer(request: Any, tensors: Mapping[int, Any]) -> Iterable[Array]:
    # The public method takes 15 microseconds to check its arguments before it calls this one.
    run = super(ov.InferRequest, request).infer
    values: Mapping[Any, Array] = run(tensors, share_outputs=False, decode_strings=False)
    return values.values()


def _infer_async(request: Any, tensors: Mapping[int, Any]) -> Iterable[Array]:
    super(ov.InferRequest, request).start_async(tensors, None)
    request.wait()
    values: Mapping[Any, Array] = request.results
    return values.values()


def read_model(path: Path) -> Any:
    """Read the network of an IR file; raises RuntimeFailed if it cannot be read."""
    try:
        # Explicit, because OpenVINO would otherwise try each of its formats on the bytes.
        frontend = ov.frontend.FrontEndManager().load_by_framework("ir")
        return frontend.convert(frontend.load(str(path)))
    # OpenVINO's exceptions share no base below Exception.
    except Exception as error:
        why = reason(error).replace(str(path), path.name)
        raise RuntimeFailed(f"OpenVINO cannot open {path.name}: {why}") from error


def reshaped(model: Any, shapes: Sequence[Shape] | None) -> Any:
    """A copy of the network for fixed input shapes; the network itself for ``None``. Raises
    RuntimeFailed if the network cannot take these shapes."""
    if shapes is None:
        return model
    try:
        fixed = model.clone()
        fixed.reshape({i: list(shape) for i, shape in enumerate(shapes)})
    except Exception as error:
        raise RuntimeFailed(f"OpenVINO failed: {reason(error)}") from error
    return fixed


def compile_model(model: Any, properties: Mapping[str, Any]) -> Any:
    """Compile a network for this processor; raises RuntimeFailed if OpenVINO cannot."""
    try:
        return ov.Core().compile_model(model, "CPU", dict(properties))
    except Exception as error:
        raise RuntimeFailed(f"OpenVINO cannot compile it: {reason(error)}") from error


def settings(options: Options) -> dict[str, Any]:
    """OpenVINO's properties for build options; raises BadConfig for an unknown option or value."""
    check_names(OpenVino.name, options, _OPTIONS)
    pinning = options.get("pinning")
    if not isinstance(pinning, bool | None):
        raise BadConfig(f"runtime openvino: pinning cannot be {pinning!r}", "It is true or false.")
    _value("shapes", options, "dynamic", _SHAPES)
    precision = _value("precision", options, "float32", PRECISIONS)
    properties: dict[str, Any] = {
        "PERFORMANCE_HINT": _value("hint", options, "latency", HINTS),
        "INFERENCE_PRECISION_HINT": precision,
        "EXECUTION_MODE_HINT": "ACCURACY" if precision == "f32" else "PERFORMANCE",
        # Otherwise activations before compressed weights are rounded to 8 bits at run time.
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
    }
    if options.get("hint") != "throughput":
        properties["INFERENCE_NUM_THREADS"] = thread_count(OpenVino.name, options)
    elif "threads" in options:
        raise BadConfig("runtime openvino: hint 'throughput' excludes the option threads")
    if pinning is not None:
        properties["ENABLE_CPU_PINNING"] = pinning
    return properties


def _value(name: str, options: Options, default: str, table: Mapping[str, Any]) -> Any:
    return choose(OpenVino.name, name, options.get(name, default), table)


def _tensor(port: Any) -> TensorInfo:
    name, element = port.any_name, port.element_type.get_type_name()
    if element not in _DTYPES:
        raise RuntimeFailed(
            f"{name} is of type {element}, which OpenVINO cannot exchange with NumPy",
            "Export the network with float32 or integer inputs and outputs.",
        )
    shape = port.partial_shape
    if shape.rank.is_dynamic:
        raise RuntimeFailed(f"{name} has no fixed number of dimensions")
    sizes = tuple("?" if size.is_dynamic else size.get_length() for size in shape)
    return TensorInfo(name, _DTYPES[element], sizes)


def _shareable(array: Array) -> Array:
    """The array itself if OpenVINO can read it in place, else a copy."""
    flags = array.flags
    return array if flags.c_contiguous and flags.writeable else np.array(array, order="C")
