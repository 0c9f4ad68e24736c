"""Lines of Python that run a loaded model on inputs of the right names, types and shapes."""

import json
from collections.abc import Sequence

from registry.selectors.results.speed import InputShape, context_of

_NUMPY_TYPES = frozenset(
    {"bool", *(f"float{bits}" for bits in (16, 32, 64))}
    | {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
)
#: Of a decoder, whose single runs nobody makes by hand.
_GENERATE = ["prompt = [1, 2, 3]  # your token ids", "ids = m.generate(prompt, 20)"]


def example_run(inputs: Sequence[InputShape], call: Sequence[str]) -> list[str]:
    """Lines that ``call`` the model on zeros, or that generate by a decoder; none where NumPy lacks
    a type."""
    if context_of(inputs) is not None:
        return _GENERATE
    arrays = [_zeros(one) for one in inputs]
    if not arrays or None in arrays:
        return []
    if len(arrays) == 1:
        return [f"x = {arrays[0]}  # your data", *call]
    pairs = zip(inputs, arrays, strict=True)
    items = [f"    {json.dumps(one.name, ensure_ascii=False)}: {array}," for one, array in pairs]
    return ["x = {  # your data", *items, "}", *call]


def _zeros(one: InputShape) -> str | None:
    if one.dtype == "string":
        return f'np.full({one.shape}, "")'
    dtype = one.dtype.replace("bool", "bool_")
    return f"np.zeros({one.shape}, np.{dtype})" if one.dtype in _NUMPY_TYPES else None
