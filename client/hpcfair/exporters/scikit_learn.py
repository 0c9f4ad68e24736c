"""Exports scikit-learn estimators and pipelines with skl2onnx."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import skl2onnx
from skl2onnx.common.data_types import guess_data_type
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from hpcfair.exporters import registry
from hpcfair.exporters.base import Examples, Export, Outputs, only, refusal
from hpcfair.exporters.naming import rename
from hpcfair.exporters.trees.graph import OPSETS
from hpcfair.runtimes.base import Array

#: Output of skl2onnx or of trees to the methods that compute it: the first one that a model has.
_METHODS = {
    "label": ("predict",),
    "output_label": ("predict",),
    "probabilities": ("predict_proba",),
    "output_probability": ("predict_proba",),
    "prediction": ("predict",),
    "variable": ("predict", "transform"),
}
#: Packages whose estimators end pipelines, and which skl2onnx cannot convert.
_TREES = frozenset({"catboost", "lightgbm", "xgboost"})


def export(model: Any, examples: Examples, scratch: Path) -> Export:
    """One ONNX file with the name and element type of the example.

    The scores of a classifier are one array ``[n, classes]`` and come before its labels, so that
    the hub can measure accuracy. Raises BadInput if there is no example, which determines number
    and type of the features, or the model cannot be converted.
    """
    ((name, array),) = only("scikit-learn", examples).items()
    array = np.asarray(array)
    if _ends_in_trees(model):
        proto = _pipeline_of_trees(model, name, array, scratch)
    else:
        proto = _converted(model, name, array)
        outputs = sorted(proto.graph.output, key=lambda output: output.name.endswith("label"))
        del proto.graph.output[:]
        proto.graph.output.extend(outputs)
    names = [output.name for output in proto.graph.output]
    rename(proto, [name], names)
    local = scratch / "model.onnx"
    local.write_bytes(proto.SerializeToString())

    def predict(arrays: Sequence[Array]) -> Outputs:
        return [_output(model, output, arrays[0]) for output in names]

    return Export({"model.onnx": local}, predict)


def _converted(model: Any, name: str, array: Array, **how: Any) -> onnx.ModelProto:
    options = {"zipmap": False} if is_classifier(model) else None
    example = guess_data_type(array[:1])[0][1]
    kind = type(example)([None, *example.shape[1:]])
    try:
        proto: onnx.ModelProto = skl2onnx.to_onnx(
            model, initial_types=[(name, kind)], options=options, **how
        )
    # The converters raise arbitrary exceptions.
    except Exception as error:
        raise refusal(
            "scikit-learn model",
            error,
            "Is it fitted? Export it to ONNX your own way and save the file.",
        ) from error
    return proto


def _ends_in_trees(model: Any) -> bool:
    last = type(model[-1]) if isinstance(model, Pipeline) and len(model) > 1 else None
    return last is not None and last.__module__.partition(".")[0] in _TREES


def _pipeline_of_trees(model: Any, name: str, array: Array, scratch: Path) -> onnx.ModelProto:
    """The transformers by skl2onnx, joined with the trees."""
    head = _converted(model[:-1], name, array, target_opset=dict(OPSETS))
    (joint,) = head.graph.output
    dtype = onnx.helper.tensor_dtype_to_np_dtype(joint.type.tensor_type.elem_type)
    features = {"transformed": np.asarray(model[:-1].transform(array[:1]), dtype)}
    trees = registry.convert(model[-1], features, scratch)
    tail = onnx.load(trees.files["model.onnx"])
    head.ir_version = tail.ir_version
    # skl2onnx states the oldest versions that have its operators, and one domain twice.
    del head.opset_import[:]
    head.opset_import.extend(tail.opset_import)
    prefix = "transform_"
    joints = [(f"{prefix}{joint.name}", "transformed")]
    head = onnx.compose.add_prefix(head, prefix)
    return onnx.compose.merge_models(head, tail, joints)


def _output(model: Any, name: str, features: Array) -> Array | None:
    method = next((each for each in _METHODS.get(name, ()) if hasattr(model, each)), None)
    return None if method is None else np.asarray(getattr(model, method)(features))
