"""``onnx.ModelProto`` objects."""

from pathlib import Path
from typing import Any

import onnx

from hpcfair.exporters.base import Examples, Export

#: Size limit of protocol buffers, 2 GiB; larger weights go to a file beside the graph.
_LARGEST_BYTES = 2**31 - 2**20


def export(model: Any, examples: Examples, scratch: Path) -> Export:  # noqa: ARG001
    """One file, or two if the weights exceed 2 GiB. The object is not changed."""
    large = model.ByteSize() > _LARGEST_BYTES
    local = scratch / "model.onnx"
    if large:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        onnx.save(copy, local, save_as_external_data=True, location="model.onnx.data")
    else:
        local.write_bytes(model.SerializeToString())
    data = {"model.onnx.data": scratch / "model.onnx.data"} if large else {}
    return Export({"model.onnx": local, **data})
