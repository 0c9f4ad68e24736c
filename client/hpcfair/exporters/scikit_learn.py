"""Exports scikit-learn estimators and pipelines with skl2onnx."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import skl2onnx
from skl2onnx.common.data_types import guess_data_type
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from hpcfair.exporters import registry
from hpcfair.exporters.base import Examples, Export, Outputs, only, refusal
from hpcfair.exporters.frames import columns, is_frame
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
    """One ONNX file with the name and element type of the example, or an input for each column.

    The scores of a classifier are one array ``[n, classes]`` and come before its labels, so that
    the hub can measure accuracy. Raises BadInput if there is no example, which determines number
    and type of the features, or the model cannot be converted.
    """
    frame = _frame(examples) if _selects_columns(model) else None
    arrays = only("scikit-learn", examples) if frame is None else columns(frame)

    def features(batch: Sequence[Array]) -> Any:
        """What the live model takes, from arrays in the order of the inputs."""
        if frame is None:
            return batch[0]
        pairs = zip(arrays, batch, strict=True)
        return type(frame)({name: array[:, 0] for name, array in pairs})

    if _ends_in_trees(model):
        first = model[:-1].transform(features([array[:1] for array in arrays.values()]))
        proto = _pipeline_of_trees(model, arrays, first, scratch)
    else:
        proto = _converted(model, arrays)
        outputs = sorted(proto.graph.output, key=lambda output: output.name.endswith("label"))
        del proto.graph.output[:]
        proto.graph.output.extend(outputs)
    names = [output.name for output in proto.graph.output]
    title = "prediction" if is_regressor(model) else "transformed"
    rename(proto, list(arrays), [title if name == "variable" else name for name in names])
    local = scratch / "model.onnx"
    local.write_bytes(proto.SerializeToString())

    def predict(batch: Sequence[Array]) -> Outputs:
        table = features(batch)
        return [_output(model, output, table) for output in names]

    return Export({"model.onnx": local}, predict, arrays)


def _selects_columns(model: Any) -> bool:
    """Whether the model gives columns of a table to different transformers."""
    first = model[0] if isinstance(model, Pipeline) else model
    return isinstance(first, ColumnTransformer)


def _frame(examples: Examples) -> Any:
    """The single example if it is a table, else ``None``."""
    values = list(examples.values() if isinstance(examples, Mapping) else examples or ())
    return values[0] if len(values) == 1 and is_frame(values[0]) else None


def _converted(model: Any, arrays: Mapping[str, Array], **how: Any) -> onnx.ModelProto:
    options = {"zipmap": False} if is_classifier(model) else None
    examples = {name: guess_data_type(array[:1])[0][1] for name, array in arrays.items()}
    types = [(name, type(one)([None, *one.shape[1:]])) for name, one in examples.items()]
    try:
        proto: onnx.ModelProto = skl2onnx.to_onnx(
            model, initial_types=types, options=options, **how
        )
    # The converters raise arbitrary exceptions.
    except Exception as error:
        raise refusal(
            "scikit-learn model",
            error,
            "Is it fitted? skl2onnx converts some models for float32 only: try such examples. Or "
            "export it to ONNX your own way and save the file.",
        ) from error
    return proto


def _ends_in_trees(model: Any) -> bool:
    last = type(model[-1]) if isinstance(model, Pipeline) and len(model) > 1 else None
    return last is not None and last.__module__.partition(".")[0] in _TREES


def _pipeline_of_trees(
    model: Any, arrays: Mapping[str, Array], first: Any, scratch: Path
) -> onnx.ModelProto:
    """The transformers by skl2onnx, joined with the trees.

    Args:
        first: What the transformers make of the first row.
    """
    head = _converted(model[:-1], arrays, target_opset=dict(OPSETS))
    (joint,) = head.graph.output
    dtype = onnx.helper.tensor_dtype_to_np_dtype(joint.type.tensor_type.elem_type)
    row = first.toarray() if hasattr(first, "toarray") else first
    features = {"transformed": np.asarray(row, dtype)}
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


def _output(model: Any, name: str, features: Any) -> Array | None:
    method = next((each for each in _METHODS.get(name, ()) if hasattr(model, each)), None)
    return None if method is None else np.asarray(getattr(model, method)(features))
