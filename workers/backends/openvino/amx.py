"""Convolutions that OpenVINO computes wrongly in bfloat16 or int8 on processors with AMX.

OpenVINO 2026.4 returns unrelated values, with errors of 100 %, in two cases:

- The channels of a group are less than a row of a tile (64 bytes), and a row of the kernel is a
  multiple of it, but no single one: 16 channels and a width of 4 or 8 in bfloat16, for example.
  The convolutions that shorten sequences in SegFormer are of this kind. Strides matter, too, in
  ways that were not understood, so that some of these are computed rightly.
- The output is a column: of width 1, of more than one row, with a stride along the width
  (pytorch/pytorch#169688 has the same of oneDNN's kernels for bfloat16).

They stay in float32 on all processors: a build may be opened on another machine than the one that
made and checked it, and such convolutions are rare. Where a size is open, only the former is seen.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hpcfair.runtimes.openvino import read_model
from workers.backends.openvino.float32 import save_in_float32

#: Bytes of a row of a tile, and of the elements of int8 and bfloat16.
_ROW, _ELEMENTS = 64, (1, 2)
#: Axis of the channels of a group in the weights of each operator.
_CHANNELS = {"Convolution": 1, "GroupConvolution": 2}


def with_right_convolutions(model: Any) -> Any:
    """The network, with a mark that keeps its :func:`wrong_convolutions` in float32; the same
    object if it has none."""
    names = wrong_convolutions(model)
    if not names:
        return model
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.xml"
        save_in_float32(model, names, path)
        return read_model(path)


def wrong_convolutions(model: Any) -> list[str]:
    """Names of the convolutions that may be computed wrongly, in order."""
    return [node.friendly_name for node in model.get_ordered_ops() if _is_wrong(node)]


def _is_wrong(node: Any) -> bool:
    kind = node.get_type_name()
    return kind in _CHANNELS and (_has_split_rows(node, _CHANNELS[kind]) or _makes_column(node))


def _has_split_rows(node: Any, axis: int) -> bool:
    shape = node.input(1).get_partial_shape()
    if shape.is_dynamic:
        return False
    sizes = shape.to_shape()
    for element in _ELEMENTS:
        channels = element * sizes[axis]
        row = channels * sizes[-1]
        if channels < _ROW < row and row % _ROW == 0:
            return True
    return False


def _makes_column(node: Any) -> bool:
    *heights, width = list(node.output(0).get_partial_shape())[2:]
    is_strided = node.get_attributes()["strides"][-1] > 1
    return is_strided and width == 1 and any(each != 1 for each in heights)
