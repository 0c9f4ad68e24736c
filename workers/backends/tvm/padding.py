"""Zero-fills the padding of weights, which TVM leaves uninitialised.

A schedule may store weights in blocks that they do not fill: 546 biases as nine rows of 64. The
conversion writes the 546 values only. Libraries would contain uninitialised memory elsewhere:
builds would not be reproducible and could leak data.
"""

from math import prod
from typing import Any

from tvm import IRModule, tirx
from tvm.s_tir import SBlock, SBlockRealize
from tvm.tirx import PrimFunc

#: Suffix by ``SplitLayoutRewritePreproc`` of functions that convert layouts of weights. They have
#: as many outputs as inputs, in the same order.
_PREPACK = "_weight_prepack"


def fill_padding(module: IRModule) -> IRModule:
    """Zero-fill the padding of weights that functions of ``module`` convert."""
    result = IRModule(dict(module.functions_items()), attrs=module.attrs)
    for name, function in module.functions_items():
        if isinstance(function, PrimFunc) and _PREPACK in name.name_hint:
            padded = _padded(list(function.params))
            if padded:
                result.update_func(name, function.with_body(_zeroed(function.body, padded)))
    return result


def _padded(buffers: list[Any]) -> list[Any]:
    """Outputs with more elements than their inputs."""
    half = len(buffers) // 2
    pairs = zip(buffers[:half], buffers[half:], strict=True)
    return [after for before, after in pairs if _elements(after) > _elements(before)]


def _elements(buffer: Any) -> int:
    return prod(map(int, buffer.shape))


def _zeroed(realize: Any, buffers: list[Any]) -> Any:
    """The root block of a function, with ``buffers`` set to zero first."""
    root = realize.block
    body = tirx.SeqStmt([*map(_zeros, buffers), root.body])
    block = SBlock(
        root.iter_vars, root.reads, root.writes, root.name_hint, body, root.init,
        root.alloc_buffers, root.match_buffers, root.annotations,
    )  # fmt: skip
    return SBlockRealize(realize.iter_values, realize.predicate, block)


def _zeros(buffer: Any) -> Any:
    indices = [tirx.Var(f"i{axis}", "int64") for axis in range(len(buffer.shape))]
    stored = tirx.BufferStore(buffer, tirx.const(0, buffer.dtype), indices)
    for index, size in reversed(list(zip(indices, buffer.shape, strict=True))):
        stored = tirx.For(index, tirx.const(0, "int64"), size, tirx.ForKind.SERIAL, stored)
    return stored
