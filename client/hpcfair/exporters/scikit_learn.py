"""Exports scikit-learn estimators and pipelines with skl2onnx."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import skl2onnx
from sklearn.base import is_classifier

from hpcfair.errors import BadInput
from hpcfair.exporters.registry import Examples, Files


def export(model: Any, examples: Examples, scratch: Path) -> Files:
    """One ONNX file with the element type of the example.

    The scores of a classifier are one array ``[n, classes]`` and come before its labels, so that
    the hub can measure accuracy. Raises BadInput if there is no example, which determines number
    and type of the features, or the model cannot be converted.
    """
    arrays = list(examples.values()) if isinstance(examples, Mapping) else list(examples or ())
    if len(arrays) != 1:
        raise BadInput(
            "A scikit-learn model needs one example input.",
            "Pass example_inputs=(X[:100].astype('float32'),).",
        )
    options = {"zipmap": False} if is_classifier(model) else None
    try:
        proto = skl2onnx.to_onnx(model, arrays[0][:1], options=options)
    # The converters raise arbitrary exceptions.
    except Exception as error:
        reason = " ".join(str(error).split())[:400]
        raise BadInput(
            f"skl2onnx cannot convert this model: {type(error).__name__}: {reason}",
            "Is it fitted? Export it to ONNX your own way and save the file.",
        ) from error
    outputs = sorted(proto.graph.output, key=lambda output: output.name.endswith("label"))
    del proto.graph.output[:]
    proto.graph.output.extend(outputs)
    local = scratch / "model.onnx"
    local.write_bytes(proto.SerializeToString())
    return {"model.onnx": local}
