"""Weights laid out in blocks that they do not fill."""

import numpy as np
import pytest
import tvm
from tvm import IRModule
from tvm.script import tirx as T  # noqa: N812  TVM's script knows it by this name

from workers.backends.tvm.padding import fill_padding

pytestmark = pytest.mark.slow


@T.prim_func(s_tir=True)
def laid_out(
    bias: T.Buffer((T.int64(7),), "float32"),
    scale: T.Buffer((T.int64(8),), "float32"),
    bias_blocks: T.Buffer((T.int64(2), T.int64(4)), "float32"),
    scale_blocks: T.Buffer((T.int64(2), T.int64(4)), "float32"),
) -> None:
    for i in range(T.int64(7)):
        with T.sblock("bias"):
            at = T.axis.remap("S", [i])
            bias_blocks[at // T.int64(4), at % T.int64(4)] = bias[at]
    for i in range(T.int64(8)):
        with T.sblock("scale"):
            at = T.axis.remap("S", [i])
            scale_blocks[at // T.int64(4), at % T.int64(4)] = scale[at]


def module_of(name: str) -> IRModule:
    return IRModule({name: laid_out.with_attr("global_symbol", name)})


def test_padding_is_zero_whatever_stood_there() -> None:
    name = "conv_weight_prepack"
    run = tvm.compile(fill_padding(module_of(name)), "llvm")[name]
    places = [np.full(shape, np.nan, np.float32) for shape in ((7,), (8,), (2, 4), (2, 4))]
    bias, scale, bias_blocks, scale_blocks = map(tvm.runtime.tensor, places)
    bias.copyfrom(np.arange(1, 8, dtype=np.float32))
    scale.copyfrom(np.arange(1, 9, dtype=np.float32))
    run(bias, scale, bias_blocks, scale_blocks)
    assert bias_blocks.numpy().tolist() == [[1, 2, 3, 4], [5, 6, 7, 0]]
    assert scale_blocks.numpy().tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_what_lays_out_no_weights_is_left_alone() -> None:
    module = module_of("conv")
    assert fill_padding(module)["conv"].same_as(module["conv"])
