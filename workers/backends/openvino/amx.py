"""Convolutions that OpenVINO computes wrongly in bfloat16 and int8 on processors with AMX.

OpenVINO 2026.4 returns unrelated values, with relative errors around 1, in two cases:

- The channels of a group take less than a row of a tile (64 bytes), and a row of the kernel takes
  two or more whole rows: 16 channels and a width of 4 or 8 in bfloat16, for example. SegFormer
  shortens sequences by such convolutions. Some of them are computed correctly, depending on the
  stride and the sizes; the exact condition is unknown.
- The output has one column and several rows, and the stride along the width is above 1.
  pytorch/pytorch#169688 reports the same for oneDNN's kernels in bfloat16. It is recognised only
  where the width is fixed.

They stay in float32 on all processors: a build may be opened on another machine than the one that
made and checked it, and such convolutions are rare.
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


def with_faulty_in_float32(model: Any) -> Any:
    """A copy of a network (``openvino.Model``) in which :func:`faulty_convolutions` are marked to
    compute in float32; the network itself if it has none."""
    names = faulty_convolutions(model)
    if not names:
        return model
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.xml"
        save_in_float32(model, names, path)
        return read_model(path)


def faulty_convolutions(model: Any) -> list[str]:
    """Friendly names of the convolutions that may be computed wrongly, in order of execution."""
    return [node.friendly_name for node in model.get_ordered_ops() if _is_faulty(node)]


def _is_faulty(node: Any) -> bool:
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
