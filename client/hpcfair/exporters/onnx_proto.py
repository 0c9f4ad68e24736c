"""``onnx.ModelProto`` objects."""

from pathlib import Path
from typing import Any

import onnx

from hpcfair.exporters.registry import Examples, Files

#: Protocol buffers end at 2 GiB; larger weights go into a file beside the graph.
_LARGEST_BYTES = 2**31 - 2**20


def export(model: Any, examples: Examples, scratch: Path) -> Files:  # noqa: ARG001
    """One file, or two where one cannot hold the weights. The object stays as it is."""
    large = model.ByteSize() > _LARGEST_BYTES
    local = scratch / "model.onnx"
    if large:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        onnx.save(copy, local, save_as_external_data=True, location="model.onnx.data")
    else:
        local.write_bytes(model.SerializeToString())
    return {"model.onnx": local} | (
        {"model.onnx.data": scratch / "model.onnx.data"} if large else {}
    )
