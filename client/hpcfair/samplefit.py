"""Whether samples fit a network, by names, element types and shapes. Reads no file."""

from collections.abc import Mapping
from typing import Any

#: Names of NumPy's types that arrays of other types are stored in.
_STORED_AS = {"string": ("str", "bytes"), "bfloat16": ("void16", "uint16")}


def misfits(
    arrays: Mapping[str, tuple[str, tuple[int, ...]]], signature: Mapping[str, Any]
) -> list[str]:
    """Why samples do not fit; empty if they do.

    Args:
        arrays: Name of an array, such as ``inputs/x``, to its element type and shape.
        signature: ``{"inputs": [{"name", "dtype", "shape"}], "outputs": [...]}``.
    """
    problems: list[str] = []
    for side in ("inputs", "outputs"):
        specs = {f"{side}/{tensor['name']}": tensor for tensor in signature[side]}
        if side == "inputs":
            problems += [f"{name} is missing" for name in specs if name not in arrays]
        for name, (dtype, shape) in arrays.items():
            if name in specs:
                problems += _misfit(name, dtype, shape, specs[name])
            elif name.startswith(f"{side}/"):
                problems.append(f"{name} is no tensor of the model")
    if "labels" in arrays:
        dtype, shape = arrays["labels"]
        if len(shape) != 1 or not dtype.startswith(("int", "uint")):
            problems.append(f"labels are {dtype}{list(shape)}, not one integer per sample")
    return problems


def _misfit(name: str, dtype: str, shape: tuple[int, ...], tensor: Mapping[str, Any]) -> list[str]:
    """Why an array does not match an input. A row may be one sample of a batch or a whole input."""
    sizes, expected = tensor["shape"], tensor["dtype"]
    if dtype != expected and not dtype.startswith(_STORED_AS.get(expected, ("no other",))):
        return [f"{name} is {dtype}, the model has {expected}"]
    if list(sizes) == ["..."]:
        return []
    rank = len(sizes)
    inner = sizes if len(shape) == rank + 1 else sizes[1:]
    fits = len(shape) in {rank, rank + 1} and all(
        isinstance(size, str) or size == have for size, have in zip(inner, shape[1:], strict=True)
    )
    return [] if fits else [f"{name} has shape {list(shape)}, the model has {list(sizes)}"]
