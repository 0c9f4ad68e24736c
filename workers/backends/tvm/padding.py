"""Zeros where TVM leaves memory as it was.

A schedule may want weights in blocks that their number does not fill: 546 biases as nine rows of
64. What lays them out so, once and for good, writes the 546. Left alone, a library would hold
whatever stood in the other places: no two builds would be alike, and nobody knows what they tell.
"""

from math import prod
from typing import Any

from tvm import IRModule, tirx
from tvm.s_tir import SBlock, SBlockRealize
from tvm.tirx import PrimFunc

#: What ``SplitLayoutRewritePreproc`` calls functions that lay out weights: as many outputs as
#: inputs, in the same order.
_LAYING_OUT = "_weight_prepack"


def fill_padding(module: IRModule) -> IRModule:
    """``module`` with zeros in the padding of weights that its functions lay out."""
    filled = IRModule(dict(module.functions_items()), attrs=module.attrs)
    for name, function in module.functions_items():
        if isinstance(function, PrimFunc) and _LAYING_OUT in name.name_hint:
            padded = _padded(list(function.params))
            if padded:
                filled.update_func(name, function.with_body(_zeroed(function.body, padded)))
    return filled


def _padded(buffers: list[Any]) -> list[Any]:
    """Outputs with more elements than their inputs have."""
    half = len(buffers) // 2
    pairs = zip(buffers[:half], buffers[half:], strict=True)
    return [after for before, after in pairs if _elements(after) > _elements(before)]


def _elements(buffer: Any) -> int:
    return prod(map(int, buffer.shape))


def _zeroed(realize: Any, buffers: list[Any]) -> Any:
    """The root block of a function, with ``buffers`` zero before it begins."""
    root = realize.block
    body = tirx.SeqStmt([*map(_zeros, buffers), root.body])
    block = SBlock(
        root.iter_vars, root.reads, root.writes, root.name_hint, body, root.init,
        root.alloc_buffers, root.match_buffers, root.annotations,
    )  # fmt: skip
    return SBlockRealize(realize.iter_values, realize.predicate, block)


def _zeros(buffer: Any) -> Any:
    places = [tirx.Var(f"i{axis}", "int64") for axis in range(len(buffer.shape))]
    stored = tirx.BufferStore(buffer, tirx.const(0, buffer.dtype), places)
    for place, size in reversed(list(zip(places, buffer.shape, strict=True))):
        stored = tirx.For(place, tirx.const(0, "int64"), size, tirx.ForKind.SERIAL, stored)
    return stored
