"""The interface of runtimes, and the check of inputs they share."""

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
class TensorInfo:
    """One input or output of an opened build.

    Attributes:
        dtype: NumPy's name of the element type; also ``string`` for text and ``bfloat16``, for
            which NumPy has no type.
        shape: Sizes of the dimensions: an integer, or for a dynamic dimension its name (``?`` if it
            has none).
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Runtime(Protocol):
    """An opened build. NumPy in, NumPy out.

    Opened by :func:`hpcfair.runtimes.registry.open` and valid until :meth:`close`. Used by one
    thread at a time. Arrays passed to :meth:`run` are neither changed nor kept; returned arrays
    belong to the caller. The constructor raises :class:`hpcfair.errors.RuntimeFailed` for files it
    cannot open and :class:`hpcfair.errors.BadConfig` for unknown options.

    A runtime may have a method ``share() -> Runtime``: another handle on the opened build, which
    another thread may use at the same time and which adds no copy of the weights. Streams of a
    runtime without it open the build again (:func:`hpcfair.measurement.streams.copy_of`).

    A runtime may have a property ``session``: the object of its library that runs the build.

    Attributes:
        pins_workers: Whether opening the build created threads that are pinned to processors, while
            the thread that calls :meth:`run` is left free. It is then kept off those processors
            (:mod:`hpcfair.measurement.placement`). False for a runtime that pins nothing or places
            the calling thread itself; assumed of a runtime without this attribute.
    """

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    pins_workers: bool

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run once on arrays named as ``inputs``; returns arrays named as ``outputs``.

        Element types are never cast: a silent cast would hide that the data differ from what the
        network was trained on.

        Raises:
            BadInput: a name, element type or shape does not fit; gives what was expected.
            RuntimeFailed: the runtime failed on these inputs.
        """
        ...

    def close(self) -> None:
        """Release threads and memory. Calling it again has no effect."""
        ...

    def version(self) -> str:
        """Version of the runtime's package."""
        ...


def check_inputs(arrays: Mapping[str, Array], expected: Sequence[TensorInfo]) -> None:
    """Refuse arrays that do not fit a signature: raises BadInput, which names the missing, unknown
    or unfit inputs and what is expected."""
    if len(arrays) != len(expected) or any(tensor.name not in arrays for tensor in expected):
        raise _wrong_names(arrays, expected)
    for tensor in expected:
        problem = _mismatch(arrays[tensor.name], tensor)
        if problem:
            raise BadInput(
                f"input {tensor.name}: expected {tensor}, got {problem}.",
                f"The inputs are {_signature(expected)}.",
            )


def _wrong_names(arrays: Mapping[str, Array], expected: Sequence[TensorInfo]) -> BadInput:
    names = [tensor.name for tensor in expected]
    missing = ", ".join(name for name in names if name not in arrays)
    unknown = ", ".join(sorted(set(arrays).difference(names)))
    problems = (
        f"input missing: {missing}" if missing else "",
        f"no such input: {unknown}" if unknown else "",
    )
    return BadInput("; ".join(filter(None, problems)), f"The inputs are {_signature(expected)}.")


def _signature(tensors: Sequence[TensorInfo]) -> str:
    return ", ".join(f"{tensor.name}: {tensor}" for tensor in tensors) or "none"


def _mismatch(array: object, tensor: TensorInfo) -> str | None:
    """Describe an array that does not fit a tensor; ``None`` if it does. Runs before every
    inference, so the usual case comes first and is cheap."""
    if not isinstance(array, np.ndarray):
        return f"{type(array).__name__}; make it an array with numpy.asarray(x, {tensor.dtype!r})"
    fits = array.dtype == _numpy_dtype(tensor.dtype) or (
        tensor.dtype == "string" and (array.dtype.kind == "U" or _all_text(array))
    )
    if fits and len(array.shape) == len(tensor.shape):
        wrong = [
            axis
            for axis, size in enumerate(tensor.shape)
            if array.shape[axis] != size and isinstance(size, int)
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
    """The native type of that name; ``None`` for text, which has several."""
    return None if name == "string" else np.dtype(name)


def _all_text(array: Array) -> bool:
    return array.dtype == object and all(isinstance(value, str) for value in array.flat)
