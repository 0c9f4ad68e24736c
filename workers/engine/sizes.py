"""Upper bounds on the tensors that a network takes and gives.

Their sizes come from an untrusted file: 86 bytes of ONNX can declare an input of terabytes. They
are compared with these bounds before memory is allocated.
"""

from collections.abc import Iterable, Mapping
from math import prod

import numpy as np

from hpcfair.isolation.limits import shown
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array
from workers.engine.types import TensorSpec

#: Upper bound on the inputs of one run, and on its outputs. Stated in docs/tuning.md.
MAX_RUN_BYTES = 256 * 2**20
#: Upper bound on the inputs of all runs on a test set, and on all outputs of its reference.
MAX_TEST_BYTES = 4 * MAX_RUN_BYTES
#: Bytes of an element of a type that NumPy does not support, such as bfloat16.
_OTHER_ITEM_BYTES = 2


class TensorsTooLarge(InvalidCandidate):
    """Tensors exceed a bound. The message tells their size, the bound and what to do."""


def run_bytes(specs: Iterable[TensorSpec], sizes: Mapping[str, int]) -> int:
    """Bytes of tensors by their declared shapes; ``sizes`` are those of named dimensions."""
    return sum(prod(_shape(spec, sizes)) * _item_bytes(spec.dtype) for spec in specs)


def require_run_size(side: str, specs: Iterable[TensorSpec], sizes: Mapping[str, int]) -> None:
    """Refuse tensors that are larger than :data:`MAX_RUN_BYTES` together.

    ``side`` is ``input`` or ``output``, ``sizes`` are those of named dimensions. Raises
    TensorsTooLarge.
    """
    specs = list(specs)
    total = run_bytes(specs, sizes)
    if total > MAX_RUN_BYTES:
        largest = max(specs, key=lambda spec: run_bytes([spec], sizes))
        shape = ", ".join(f"{size:,}" for size in _shape(largest, sizes))
        raise TensorsTooLarge(
            f"The {side}s of one run take {shown(total)}, the largest is {largest.name!r:.100}, "
            f"{largest.dtype}[{shape:.200}]; this hub runs networks with at most "
            f"{shown(MAX_RUN_BYTES)}. Export the network with smaller or dynamic dimensions."
        )


def require_outputs(outputs: Mapping[str, Array]) -> None:
    """Refuse the outputs of a run if they are larger than :data:`MAX_RUN_BYTES` together. Raises
    TensorsTooLarge."""
    total = array_bytes(outputs)
    if total > MAX_RUN_BYTES:
        raise TensorsTooLarge(
            f"The outputs of one run take {shown(total)}; this hub runs networks with at most "
            f"{shown(MAX_RUN_BYTES)}. Export the network with smaller outputs."
        )


def array_bytes(arrays: Mapping[str, Array]) -> int:
    """Bytes of all arrays together."""
    return sum(array.nbytes for array in arrays.values())


def _shape(spec: TensorSpec, sizes: Mapping[str, int]) -> list[int]:
    return [size if isinstance(size, int) else sizes.get(size, 1) for size in spec.shape]


def _item_bytes(dtype: str) -> int:
    try:
        return max(np.dtype(dtype).itemsize, 1)
    except TypeError:
        return _OTHER_ITEM_BYTES
