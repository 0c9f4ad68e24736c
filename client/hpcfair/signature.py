"""TensorInfo signatures of networks, such as ``float32[N,3,64,64] -> float32[N,10]``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.runtimes.base import Array, TensorInfo, check_inputs
from hpcfair.typingnames import Self

#: NumPy's types for names that differ.
_NUMPY = {"string": "U"}
#: Equal tensors in a row that are counted in texts.
_MANY = 4
_NUMBERS = {"bool", "float16", "float32", "float64"}.union(
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
)


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs and outputs of a network, in order."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From ``{"inputs": [{"name", "dtype", "shape"}], "outputs": [...]}``."""
        sides = (
            tuple(TensorInfo(t["name"], t["dtype"], tuple(t["shape"])) for t in data[side])
            for side in ("inputs", "outputs")
        )
        return cls(*sides)

    def __str__(self) -> str:
        return " -> ".join(map(_listed, (self.inputs, self.outputs)))

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Array]:
        """Arguments as validated arrays by input name.

        Args:
            args: In the order of the inputs, or one mapping by name.
            kwargs: By name.

        Lists and numbers are converted to the expected type. Arrays of a narrower type of the same
        kind are widened: float32 to float64, int32 to int64. Other casts are refused: they lose
        digits, or hide that the data differ from what the network was trained on, such as bytes of
        an image in place of numbers from 0 to 1.

        Raises:
            BadInput: a name, number, type or shape does not match; the message states the remedy.
        """
        values = self.named(args, kwargs)
        arrays = {tensor.name: _as_array(values[tensor.name], tensor) for tensor in self.inputs}
        for tensor in self.inputs:
            if arrays[tensor.name].ndim == len(tensor.shape) - 1:
                raise BadInput(
                    f"Input {tensor.name!r} must be {tensor}, not "
                    f"{_text(arrays[tensor.name])}: one dimension is missing.",
                    "For a single sample, add the leading dimension: x[None].",
                )
        check_inputs(arrays, self.inputs)
        self._check_sizes(arrays)
        return arrays

    def arrange(self, outputs: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs of a runtime under the names, in the order and of the types of the signature.

        A compiler may rename outputs, but keeps their order. Raises RuntimeFailed if their number
        is another.
        """
        names = [tensor.name for tensor in self.outputs]
        if not outputs.keys() >= set(names):
            if len(outputs) != len(names):
                actual = ", ".join(map(repr, outputs))
                raise RuntimeFailed(f"The build gave the outputs {actual}, not {self}.")
            outputs = dict(zip(names, outputs.values(), strict=True))
        return {tensor.name: _as_output(outputs[tensor.name], tensor) for tensor in self.outputs}

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of :meth:`bind` by input name; raises BadInput for missing or unknown names."""
        names = [tensor.name for tensor in self.inputs]
        mapping = args[0] if len(args) == 1 else None
        if isinstance(mapping, Mapping):
            return self.named((), {**mapping, **kwargs})
        if len(args) > len(names):
            raise self._refusal(f"{len(args)} inputs were given, the model takes {len(names)}.")
        values = dict(zip(names, args, strict=False))
        problems = {
            "given twice": values.keys() & kwargs.keys(),
            "unknown": kwargs.keys() - set(names),
            "missing": set(names) - values.keys() - kwargs.keys(),
        }
        for problem, which in problems.items():
            if which:
                raise self._refusal(f"Inputs {problem}: {', '.join(map(repr, sorted(which)))}.")
        return {**values, **kwargs}

    def _check_sizes(self, arrays: Mapping[str, Array]) -> None:
        """Check that dimensions of one name have one size over all inputs."""
        seen: dict[str, tuple[int, str]] = {}
        for tensor in self.inputs:
            for expected, size in zip(tensor.shape, arrays[tensor.name].shape, strict=True):
                if isinstance(expected, int) or expected == "?":
                    continue
                first, where = seen.setdefault(expected, (size, tensor.name))
                if first != size:
                    raise self._refusal(
                        f"Dimension {expected!r} is {first} in input {where!r} and {size} in "
                        f"{tensor.name!r}."
                    )

    def inputs_text(self) -> str:
        """The inputs with their names."""
        return ", ".join(f"{tensor.name}: {tensor}" for tensor in self.inputs)

    def _refusal(self, detail: str) -> BadInput:
        return BadInput(detail, f"The model takes {self.inputs_text()}.")


def _listed(tensors: Sequence[TensorInfo]) -> str:
    """Types and shapes of tensors; of many equal ones in a row, such as a cache, their number."""
    parts: list[str] = []
    for text, equal in groupby(map(str, tensors)):
        count = len(list(equal))
        parts += [f"{count} x {text}"] if count >= _MANY else [text] * count
    return ", ".join(parts)


def _as_array(value: Any, tensor: TensorInfo) -> Array:
    typed = hasattr(value, "dtype") or hasattr(value, "__array__")
    try:
        # order="C": runtimes read the memory directly.
        array = np.asarray(
            value, dtype=None if typed else _NUMPY.get(tensor.dtype, tensor.dtype), order="C"
        )
    # PyTorch raises RuntimeError for a tensor that requires a gradient.
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise BadInput(f"Input {tensor.name!r} is no array of {tensor}: {error}.") from error
    return array.astype(tensor.dtype) if _is_narrower(array.dtype, tensor.dtype) else array


def _is_narrower(dtype: np.dtype[Any], expected: str) -> bool:
    """Whether a cast between two different types keeps every value and the kind of number."""
    # The usual case, before each run.
    if dtype.name == expected and dtype.isnative:
        return False
    kind = "int" if dtype.kind in "iu" else "float" if dtype.kind == "f" else "?"
    return expected.lstrip("u").startswith(kind) and np.can_cast(dtype, expected, casting="safe")


def _as_output(value: Any, tensor: TensorInfo) -> Array:
    array: Array = np.asarray(value)
    # Text and bfloat16 stay as the runtime gives them.
    is_number = array.dtype.kind in "biuf" and tensor.dtype in _NUMBERS
    return array.astype(tensor.dtype, copy=False) if is_number else array


def _text(array: Array) -> str:
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"
