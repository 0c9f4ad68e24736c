"""What every runtime promises, and the checks they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
    if len(given) != len(expected) or any(tensor.name not in given for tensor in expected):
        raise _wrong_names(given, expected)
    for tensor in expected:
        problem = _misfit(given[tensor.name], tensor)
        if problem:
            raise BadInput(f"input {tensor.name}: expected {tensor}, got {problem}")


def _wrong_names(given: Mapping[str, Array], expected: Sequence[Tensor]) -> BadInput:
    names = [tensor.name for tensor in expected]
    missing = ", ".join(name for name in names if name not in given)
    unknown = ", ".join(sorted(set(given).difference(names)))
    problems = (
        f"input missing: {missing}" if missing else "",
        f"no such input: {unknown}" if unknown else "",
    )
    return BadInput("; ".join(filter(None, problems)), f"The inputs are {_signature(expected)}.")


def _signature(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{tensor.name}: {tensor}" for tensor in tensors) or "none"


def _misfit(array: object, tensor: Tensor) -> str | None:
    """What the array is, if that is not what the tensor wants.

    Runs before every inference, so the usual case comes first and asks little.
    """
    if not isinstance(array, np.ndarray):
        return f"{type(array).__name__}; make it an array with numpy.asarray(x, {tensor.dtype!r})"
    fits = array.dtype == _numpy_dtype(tensor.dtype) or (
        tensor.dtype == "string" and (array.dtype.kind == "U" or _all_text(array))
    )
    if fits and len(array.shape) == len(tensor.shape):
        wrong = [
            axis
            for axis, wanted in enumerate(tensor.shape)
            if array.shape[axis] != wanted and isinstance(wanted, int)
        ]
        if not wrong:
            return None
        hint = f"; dimension {wrong[0]} must be {tensor.shape[wrong[0]]}"
    elif fits:
        hint = f"; {len(tensor.shape)} dimensions are needed"
    elif tensor.dtype == "string":
        hint = "; give an array of str"
    else:
        foreign = "" if array.dtype.isnative else " in foreign byte order"
        hint = f"{foreign}; convert with x.astype({tensor.dtype!r})"
    return f"{array.dtype}{list(array.shape)}{hint}"


@cache
def _numpy_dtype(name: str) -> np.dtype[Any] | None:
    """The native type of that name; ``None`` for text, which has many."""
    return None if name == "string" else np.dtype(name)


def _all_text(array: Array) -> bool:
    return array.dtype == object and all(isinstance(value, str) for value in array.flat)
