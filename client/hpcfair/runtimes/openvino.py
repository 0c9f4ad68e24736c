"""OpenVINO on the CPU."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair import machine
from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes.base import Array, Options, Tensor, check_inputs
from hpcfair.runtimes.openvino_nan import keep_nan
from hpcfair.runtimes.quiet_openvino import ov, reason

Shape = tuple[int, ...]
_Call = Callable[[Mapping[int, Any]], Iterable[Array]]

PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
#: Threads relative to the physical cores this process may use, so that a build travels.
THREADS: dict[str, Callable[[int], int]] = {
    "all": lambda cores: cores,
    "half": lambda cores: max(1, cores // 2),
    "one": lambda _: 1,
}
HINTS = {"latency": "LATENCY", "throughput": "THROUGHPUT"}
_SHAPES = {"dynamic": False, "static": True}
_FLAGS = {False: False, True: True}

#: Input shapes that get a compiled network of their own; each holds its weights once more.
MOST_SHAPES = 4

_DTYPES = {
    "boolean": "bool", "f16": "float16", "f32": "float32", "f64": "float64",
    **{f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}  # fmt: skip


class OpenVino:
    """A network in OpenVINO's IR; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``precision``: ``float32`` (unless set), ``bfloat16`` or ``float16``: what it computes in.
            Always asked for: left alone, OpenVINO takes bfloat16 wherever the processor has it.
        ``threads``: ``all``, ``half`` or ``one`` of the physical cores.
        ``pinning``: Whether each thread stays on a core of its own.
        ``hint``: ``latency``, or ``throughput``: as many threads for one request as OpenVINO would
            give it beside others. It excludes ``threads``.
        ``shapes``: ``static`` compiles the network again for each of the first few combinations of
            input shapes it meets, when it meets them; others share one for ``dynamic`` shapes.

    Inputs with NaN or infinity run on a network that OpenVINO fuses less, compiled when they first
    come (:mod:`hpcfair.runtimes.openvino_nan`).

    ``bfloat16`` and text cannot cross: NumPy has no such type, and OpenVINO 2026.4 corrupts its
    memory on text. int64 is computed in int32 and float64 in float32, as OpenVINO does on CPUs.
    """

    name = "openvino"

    def __init__(self, path: Path, options: Options) -> None:
        self._settings = settings(options)
        self._model: Any = read_model(path)
        self.inputs = tuple(_tensor(port) for port in self._model.inputs)
        self.outputs = tuple(_tensor(port) for port in self._model.outputs)
        self._names = [tensor.name for tensor in self.outputs]
        self._static = bool(options.get("shapes") == "static" and self._model.is_dynamic())
        self._floats = [i for i, t in enumerate(self.inputs) if t.dtype.startswith("float")]
        self._calls: dict[tuple[Shape, ...] | None, _Call] = {}
        self._careful: _Call | None = None
        if not self._static:
            self._calls[None] = self._compile(self._model)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`hpcfair.runtimes.base.Runtime.run`."""
        if self._model is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        arrays = [_shareable(inputs[tensor.name]) for tensor in self.inputs]
        tensors = {i: ov.Tensor(array, shared_memory=True) for i, array in enumerate(arrays)}
        try:
            values = self._call_for(arrays)(tensors)
        except RuntimeFailed:
            raise
        # What it raises shares no base below Exception.
        except Exception as error:
            raise RuntimeFailed(f"OpenVINO failed: {reason(error)}") from error
        return dict(zip(self._names, values, strict=True))

    def close(self) -> None:
        """See :meth:`hpcfair.runtimes.base.Runtime.close`."""
        self._calls.clear()
        self._careful = None
        self._model = None

    def version(self) -> str:
        """Version of ``openvino``."""
        return str(ov.__version__).partition("-")[0]

    def _call_for(self, arrays: Sequence[Array]) -> _Call:
        if not all(np.isfinite(arrays[i]).all() for i in self._floats):
            self._careful = self._careful or self._compile(keep_nan(self._model))
            return self._careful
        if not self._static:
            return self._calls[None]
        shapes: tuple[Shape, ...] | None = tuple(array.shape for array in arrays)
        if shapes not in self._calls:
            # Shape inference with empty dimensions is OpenVINO's least trodden path.
            special = len(self._calls) >= MOST_SHAPES or any(a.size == 0 for a in arrays)
            shapes = None if special else shapes
            if shapes not in self._calls:
                self._calls[shapes] = self._compile(reshaped(self._model, shapes))
        return self._calls[shapes]

    def _compile(self, model: Any) -> _Call:
        request = compile_model(model, self._settings).create_infer_request()
        # With one thread, OpenVINO 2026.4 loses what is wrong with open shapes and answers with the
        # outputs of the run before, unless the thread is one of its own.
        loses = self._settings.get("INFERENCE_NUM_THREADS") == 1 and model.is_dynamic()
        return partial(_wait if loses else _infer, request)


def _infer(request: Any, tensors: Mapping[int, Any]) -> Iterable[Array]:
    # What the public method does after 15 microseconds of looking at its arguments.
    run = super(ov.InferRequest, request).infer
    values: Mapping[Any, Array] = run(tensors, share_outputs=False, decode_strings=False)
    return values.values()


def _wait(request: Any, tensors: Mapping[int, Any]) -> Iterable[Array]:
    super(ov.InferRequest, request).start_async(tensors, None)
    request.wait()
    values: Mapping[Any, Array] = request.results
    return values.values()


def read_model(path: Path) -> Any:
    """The network of an IR file.

    Raises:
        RuntimeFailed: it cannot be read.
    """
    try:
        # Named, because left to choose OpenVINO would try every format it knows on the bytes.
        frontend = ov.frontend.FrontEndManager().load_by_framework("ir")
        return frontend.convert(frontend.load(str(path)))
    # What it raises shares no base below Exception.
    except Exception as error:
        why = reason(error).replace(str(path), path.name)
        raise RuntimeFailed(f"OpenVINO cannot open {path.name}: {why}") from error


def reshaped(model: Any, shapes: Sequence[Shape] | None) -> Any:
    """The network for inputs of these shapes only; itself where there are none.

    Raises:
        RuntimeFailed: it cannot take them.
    """
    if shapes is None:
        return model
    try:
        fixed = model.clone()
        fixed.reshape({i: list(shape) for i, shape in enumerate(shapes)})
    except Exception as error:
        raise RuntimeFailed(f"OpenVINO failed: {reason(error)}") from error
    return fixed


def compile_model(model: Any, properties: Mapping[str, Any]) -> Any:
    """Compile a network for this processor.

    Raises:
        RuntimeFailed: OpenVINO cannot.
    """
    try:
        return ov.Core().compile_model(model, "CPU", dict(properties))
    except Exception as error:
        raise RuntimeFailed(f"OpenVINO cannot compile it: {reason(error)}") from error


def settings(options: Options) -> dict[str, Any]:
    """OpenVINO's properties for build options.

    Raises:
        BadConfig: an option or its value is unknown.
    """
    tables: dict[str, Mapping[Any, Any]] = {
        "precision": PRECISIONS, "threads": THREADS, "pinning": _FLAGS, "hint": HINTS,
        "shapes": _SHAPES,
    }  # fmt: skip
    unknown = set(options) - tables.keys()
    if unknown:
        raise BadConfig(
            f"runtime openvino does not know the option {', '.join(sorted(unknown))}",
            f"It knows {', '.join(sorted(tables))}. A newer hpcfair may know more.",
        )
    picked = {name: _pick(tables[name], name, value) for name, value in options.items()}
    throughput = options.get("hint") == "throughput"
    if throughput and "threads" in options:
        raise BadConfig("runtime openvino: beside hint 'throughput' no threads may stand")
    precision = picked.get("precision", "f32")
    found = {
        "PERFORMANCE_HINT": picked.get("hint", "LATENCY"),
        "INFERENCE_PRECISION_HINT": precision,
        "EXECUTION_MODE_HINT": "ACCURACY" if precision == "f32" else "PERFORMANCE",
        # Else activations before compressed weights are rounded to 8 bits on the fly.
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
    }
    if not throughput:
        threads = picked.get("threads", THREADS["all"])
        found["INFERENCE_NUM_THREADS"] = threads(machine.describe().cores)
    if "pinning" in picked:
        found["ENABLE_CPU_PINNING"] = picked["pinning"]
    return found


def _pick(table: Mapping[Any, Any], name: str, value: object) -> Any:
    # 1 and True are equal to Python.
    if value not in table or isinstance(value, bool) is (table is not _FLAGS):
        known = ", ".join(map(str, table))
        raise BadConfig(f"runtime openvino: {name} cannot be {value!r}", f"It is one of {known}.")
    return table[value]


def _tensor(port: Any) -> Tensor:
    """An input or output of the network.

    Raises:
        RuntimeFailed: its element type cannot cross into NumPy, or even its rank is open.
    """
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
    return Tensor(name, _DTYPES[element], sizes)


def _shareable(array: Array) -> Array:
    """The array itself where OpenVINO can read it in place, else a copy."""
    flags = array.flags
    return array if flags.c_contiguous and flags.writeable else np.array(array, order="C")
