"""What every runtime promises, and the checks they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hpcfair.errors import BadInput

Array = npt.NDArray[Any]
Options = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output of an opened build.

    Attributes:
        dtype: NumPy's name of the element type; ``string`` for text and ``bfloat16``, which NumPy
            has no type for.
        shape: An integer, or the name of a dynamic dimension (``?`` if it has none).
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Runtime(Protocol):
    """An opened build. NumPy in, NumPy out.

    Made by :func:`hpcfair.runtimes.registry.open`; use it until :meth:`close`. One thread at a
    time. Arrays given to :meth:`run` are neither changed nor kept, arrays returned are the
    caller's. Opening raises :class:`hpcfair.errors.RuntimeFailed` for files that cannot be opened
    and :class:`hpcfair.errors.BadConfig` for options it does not know.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run once on arrays named as ``inputs``; returns arrays named as ``outputs``.

        Element types are taken as they are and never cast: a silent cast would hide that the
        caller's data is not what the network was trained on.

        Raises:
            BadInput: a name, type or shape does not fit; says what was expected.
            RuntimeFailed: the runtime broke on these inputs.
        """
        ...

    def close(self) -> None:
        """Give back threads and memory. Calling it again does nothing."""
        ...

    def version(self) -> str:
        """Version of the package that runs this."""
        ...


def check_inputs(given: Mapping[str, Array], expected: Sequence[Tensor]) -> None:
    """Refuse arrays that do not fit a signature.

    Raises:
        BadInput: names what is missing, unknown or does not fit, with all that was expected.
    """
    missing = [tensor.name for tensor in expected if tensor.name not in given]
    if missing or len(given) > len(expected):
        unknown = sorted(set(given).difference(tensor.name for tensor in expected))
        raise BadInput(
            "; ".join(
                text
                for text, names in (
                    (f"input missing: {', '.join(missing)}", missing),
                    (f"no such input: {', '.join(unknown)}", unknown),
                )
                if names
            ),
            f"The inputs are {_signature(expected)}.",
        )
    for tensor in expected:
        problem = _misfit(given[tensor.name], tensor)
        if problem:
            raise BadInput(f"input {tensor.name}: expected {tensor}, got {problem}")


def _signature(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{tensor.name}: {tensor}" for tensor in tensors) or "none"


def _misfit(array: object, tensor: Tensor) -> str | None:
    """What the array is, if that is not what the tensor wants."""
    if not isinstance(array, np.ndarray):
        return f"{type(array).__name__}; make it an array with numpy.asarray(x, {tensor.dtype!r})"
    have = f"{array.dtype}{list(array.shape)}"
    if problem := _wrong_type(array, tensor.dtype):
        return f"{have}{problem}"
    if array.ndim != len(tensor.shape):
        return f"{array.ndim} dimensions: {have}"
    for axis, (size, wanted) in enumerate(zip(array.shape, tensor.shape, strict=True)):
        if isinstance(wanted, int) and size != wanted:
            return f"{have}; dimension {axis} must be {wanted}"
    return None


def _wrong_type(array: Array, dtype: str) -> str | None:
    if dtype == "string":
        return None if array.dtype.kind == "U" or _all_text(array) else "; give an array of str"
    if array.dtype.name == dtype and array.dtype.isnative:
        return None
    foreign = "" if array.dtype.isnative else " in foreign byte order"
    return f"{foreign}; convert with x.astype({dtype!r})"


def _all_text(array: Array) -> bool:
    return array.dtype == object and all(isinstance(value, str) for value in array.flat)
