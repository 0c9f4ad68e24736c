"""Reads models of CatBoost."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import catboost
import numpy as np

from hpcfair.exporters.base import Examples, Export, refusal
from hpcfair.exporters.trees.ensemble import Ensemble, Leaf, Link, Node, Split
from hpcfair.exporters.trees.export import class_labels, export_trees
from hpcfair.runtimes.base import Array

#: Loss of a classifier to the link of its probabilities.
_CLASSIFIERS: dict[str, Link] = {
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "sigmoid",
}
#: Losses whose predictions are powers of the sums.
_POWERS = frozenset({"Poisson", "Tweedie"})


def export(model: Any, examples: Examples, scratch: Path) -> Export:
    """A model without categorical, text or embedding features, which ONNX cannot hash."""
    if not model.is_fitted():
        raise refusal("CatBoost model", "it is not fitted", "Call fit first.")
    local = scratch / "catboost.json"
    try:
        model.save_model(str(local), format="json")
    except catboost.CatBoostError as error:
        raise refusal("CatBoost model", str(error)) from error
    document = json.loads(local.read_text("utf-8"))
    local.unlink()
    loss = document["model_info"]["params"]["loss_function"]["type"]
    classes: tuple[int | str, ...] = ()
    outputs: tuple[Callable[[Array], Any], ...] = (model.predict,)
    link: Link = "exp" if _is_power(model, loss) else "identity"
    if hasattr(model, "predict_proba"):
        if loss not in _CLASSIFIERS:
            raise refusal(
                "CatBoost model",
                f"the loss {loss} has no equivalent in ONNX here",
                "Losses of classifiers that can be saved: " + ", ".join(_CLASSIFIERS) + ".",
            )
        link, classes = _CLASSIFIERS[loss], class_labels(model.classes_)
        outputs = (model.predict_proba, model.predict)
    ensemble = _ensemble(document, link, classes, len(model.feature_names_))
    return export_trees(ensemble, outputs, examples, scratch)


def _is_power(model: Any, loss: str) -> bool:
    return isinstance(model, catboost.CatBoostRegressor) and loss in _POWERS


def _ensemble(
    document: Mapping[str, Any], link: Link, classes: tuple[int | str, ...], features: int
) -> Ensemble:
    scale, bias = document["scale_and_bias"]
    base = [float(value) for value in (bias if isinstance(bias, list) else [bias])]
    columns = document["features_info"].get("float_features", [])
    reader = _TreeReader(columns, scale, len(base))
    symmetric = document.get("oblivious_trees")
    trees = (
        [reader.symmetric(tree) for tree in symmetric]
        if symmetric is not None
        else [reader.read(tree) for tree in document["trees"]]
    )
    return Ensemble(trees, features=features, base=base, link=link, classes=classes)


class _TreeReader:
    """Reads trees of both kinds.

    Args:
        columns: Descriptions of the features that are numbers.
        scale: Factor of the leaves.
    """

    def __init__(self, columns: Sequence[Mapping[str, Any]], scale: float, targets: int) -> None:
        self.columns = columns
        self.scale = scale
        self.targets = targets

    def symmetric(self, tree: Mapping[str, Any]) -> Node:
        """A tree with one split per level; the first one is the lowest bit of a leaf's number."""
        values = tree["leaf_values"]

        def node(level: int, number: int) -> Node:
            if level == len(tree["splits"] or ()):
                return self._leaf(values[number * self.targets : (number + 1) * self.targets])
            above = node(level + 1, number | 1 << level)
            return self._split(tree["splits"][level], above, node(level + 1, number))

        return node(0, 0)

    def read(self, tree: Mapping[str, Any]) -> Node:
        if "split" not in tree:
            value = tree["value"]
            return self._leaf(value if isinstance(value, list) else [value])
        return self._split(tree["split"], self.read(tree["right"]), self.read(tree["left"]))

    def _split(self, split: Mapping[str, Any], above: Node, below: Node) -> Node:
        if split["split_type"] != "FloatFeature":
            raise refusal(
                "CatBoost model",
                f"it splits by categories or text ({split['split_type']})",
                "Encode these features as numbers before fit, for example one column per category.",
            )
        column = self.columns[split["float_feature_index"]]
        is_above = column["nan_value_treatment"] == "AsTrue"
        border = float(np.float32(split["border"]))
        return Split(column["flat_feature_index"], "BRANCH_GT", border, is_above, above, below)

    def _leaf(self, values: Sequence[float]) -> Leaf:
        return Leaf({target: self.scale * value for target, value in enumerate(values)})
