"""LiteRT, the runtime of TensorFlow Lite files, on the CPU."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array, Options, TensorInfo, check_inputs
from hpcfair.runtimes.options import check_names, choose, thread_count
from hpcfair.runtimes.tensors import MappedTensor, read_tensors

KERNELS = {
    "xnnpack": OpResolverType.BUILTIN,
    "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "reference": OpResolverType.BUILTIN_REF,
}
_QUANTISED = frozenset({"int8", "uint8", "int16"})


class LiteRt:
    """A TensorFlow Lite interpreter; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``kernels``: ``xnnpack`` (the default), ``builtin`` for LiteRT's own optimised kernels,
        ``reference`` for its unoptimised ones.
        ``threads``: ``all``, ``half`` or ``one`` of the physical cores.

    Quantised inputs and outputs are exchanged as float32 and converted with the scale in the file.
    Values out of range become the nearest value of the type, NaN the largest. An input of another
    shape than the last makes the interpreter allocate its tensors again, which takes time. A file
    with batch size 1 takes any number of rows if the network does, and runs them one by one.
    """

    name = "litert"
    pins_workers = False

    def __init__(self, path: Path, options: Options) -> None:
        self._interpreter: Any = open_interpreter(path, options)
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        mapped = read_tensors(path.parent) or (_identity(inputs), _identity(outputs))
        self._inputs = tuple(_port(each, inputs) for each in mapped[0])
        self._outputs = tuple(_port(each, outputs) for each in mapped[1])
        self.inputs = tuple(port.mapped.tensor for port in self._inputs)
        self.outputs = tuple(port.mapped.tensor for port in self._outputs)
        self._shapes: list[tuple[int, ...]] | None = None
        details = [inputs[each.index] for each in mapped[0]]
        self._by_row = all(
            each.tensor.shape
            and isinstance(each.tensor.shape[0], str)
            and tuple(detail["shape_signature"])[:1] == (1,)
            for each, detail in zip(mapped[0], details, strict=True)
        )

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._interpreter is None:
            raise RuntimeFailed("this build has been closed")
        check_inputs(inputs, self.inputs)
        arrays = [port.encode(inputs[port.mapped.tensor.name]) for port in self._inputs]
        rows = len(arrays[0]) if self._by_row and arrays else 1
        try:
            if rows < 2 or any(len(array) != rows for array in arrays):
                values = self._invoke(arrays)
            else:
                by_row = [self._invoke([a[n : n + 1] for a in arrays]) for n in range(rows)]
                values = [np.concatenate(parts) for parts in zip(*by_row, strict=True)]
            return {
                port.mapped.tensor.name: port.decode(value)
                for port, value in zip(self._outputs, values, strict=True)
            }
        except (RuntimeError, ValueError) as error:
            self._shapes = None
            raise RuntimeFailed(f"LiteRT failed: {_reason(error)}") from error

    def close(self) -> None:
        self._interpreter = None

    @property
    def session(self) -> Any:
        """The ``Interpreter``."""
        return self._interpreter

    def version(self) -> str:
        """Version of ``ai-edge-litert``."""
        return metadata.version("ai-edge-litert")

    def _invoke(self, arrays: list[Array]) -> list[Array]:
        self._allocate([array.shape for array in arrays])
        for port, array in zip(self._inputs, arrays, strict=True):
            self._interpreter.set_tensor(port.tensor, array)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(port.tensor) for port in self._outputs]

    def _allocate(self, shapes: list[tuple[int, ...]]) -> None:
        if shapes == self._shapes:
            return
        for port, shape in zip(self._inputs, shapes, strict=True):
            self._interpreter.resize_tensor_input(port.tensor, shape)
        self._interpreter.allocate_tensors()
        self._shapes = shapes


@dataclass(frozen=True, slots=True)
class _Port:
    """An input or output of the interpreter.

    Attributes:
        tensor: Index of its tensor in the interpreter.
        scale, zero: Quantisation, ``value = (stored - zero) * scale``; scale 0 if there is none.
        least, most: Range of stored values.
    """

    mapped: MappedTensor
    tensor: int
    dtype: Any
    scale: float
    zero: float
    least: float
    most: float

    def encode(self, array: Array) -> Array:
        array = self.mapped.to_file(array)
        if not self.scale:
            return np.ascontiguousarray(array)
        stored = array * np.float32(1 / self.scale)
        stored += self.zero
        np.rint(stored, out=stored)
        # Unlike clip, these replace NaN, whose conversion to an integer is undefined.
        np.fmin(stored, self.most, out=stored)
        np.fmax(stored, self.least, out=stored)
        return stored.astype(self.dtype)

    def decode(self, array: Array) -> Array:
        if self.scale:
            array = np.subtract(array, self.zero, dtype=np.float32)
            array *= np.float32(self.scale)
        return self.mapped.from_file(array)


def tensors_of(details: list[dict[str, Any]]) -> tuple[TensorInfo, ...]:
    """Inputs or outputs of an interpreter; quantised ones as float32. Raises RuntimeFailed for an
    element type that NumPy does not have."""
    return tuple(_tensor(detail) for detail in details)


def _tensor(detail: dict[str, Any]) -> TensorInfo:
    try:
        dtype = np.dtype(detail["dtype"])
    except TypeError as error:
        raise RuntimeFailed(f"{detail['name']} has an element type unknown to NumPy") from error
    if dtype.kind not in "biuf":
        raise RuntimeFailed(f"{detail['name']} is of type {dtype}: only numbers can be loaded")
    name = "float32" if _scale(detail)[0] else dtype.name
    sizes = (int(size) for size in detail["shape_signature"])
    return TensorInfo(
        str(detail["name"]), name, tuple(size if size >= 0 else "?" for size in sizes)
    )


def open_interpreter(path: Path, options: Options) -> Any:
    """An interpreter with allocated tensors. Raises BadConfig for an unknown option or value, and
    RuntimeFailed if LiteRT cannot open the file."""
    check_names("litert", options, {"kernels", "threads"})
    kernels = choose("litert", "kernels", options.get("kernels", "xnnpack"), KERNELS)
    threads = thread_count("litert", options)
    try:
        interpreter = Interpreter(
            model_path=str(path), num_threads=threads, experimental_op_resolver_type=kernels
        )
        interpreter.allocate_tensors()
    # Raised by the C++ library.
    except (RuntimeError, ValueError, TypeError) as error:
        reason = _reason(error).replace(str(path), path.name)
        raise RuntimeFailed(f"LiteRT cannot open {path.name}: {reason}") from error
    return interpreter


def _identity(details: list[dict[str, Any]]) -> tuple[MappedTensor, ...]:
    return tuple(MappedTensor(tensor, n) for n, tensor in enumerate(tensors_of(details)))


def _port(mapped: MappedTensor, details: list[dict[str, Any]]) -> _Port:
    if mapped.index >= len(details):
        raise RuntimeFailed("tensors.json of this build does not belong to its file")
    detail = details[mapped.index]
    scale, zero = _scale(detail)
    limits = np.iinfo(detail["dtype"]) if scale else np.iinfo(np.int8)
    return _Port(
        mapped,
        int(detail["index"]),
        detail["dtype"],
        scale,
        zero,
        float(limits.min),
        float(limits.max),
    )


def _scale(detail: dict[str, Any]) -> tuple[float, float]:
    """Scale and zero point of a quantised tensor; scale 0 for any other."""
    scales = detail["quantization_parameters"]["scales"]
    if np.dtype(detail["dtype"]).name not in _QUANTISED or len(scales) != 1:
        return 0.0, 0.0
    return float(scales[0]), float(detail["quantization_parameters"]["zero_points"][0])


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
