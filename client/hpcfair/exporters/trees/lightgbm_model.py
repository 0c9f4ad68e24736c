"""Reads models of LightGBM: its scikit-learn estimators and its boosters."""

from collections.abc import Callable, Mapping
from typing import Any

import lightgbm
import numpy as np

from hpcfair.exporters.base import Examples, Export, only, refusal
from hpcfair.exporters.trees.ensemble import Ensemble, Leaf, Link, Node, Split, membership
from hpcfair.exporters.trees.export import class_labels, export_trees
from hpcfair.runtimes.base import Array

_IDENTITY = "regression regression_l1 huber fair quantile mape lambdarank rank_xendcg custom"
#: Objective to the link of its predictions.
_LINKS: dict[str, Link] = {
    **dict.fromkeys(
        _IDENTITY.split(),
        "identity",
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    **dict.fromkeys(("binary", "cross_entropy", "multiclassova"), "sigmoid"),
    "multiclass": "softmax",
}


def export(model: Any, examples: Examples, scratch: Any) -> Export:
    """The trees that ``predict`` uses: up to the best iteration after early stopping."""
    classes: tuple[int | str, ...] = ()
    outputs: tuple[Callable[[Array], Any], ...] = (model.predict,)
    booster = model
    if not isinstance(model, lightgbm.Booster):
        try:
            booster = model.booster_
        # sklearn.exceptions.NotFittedError.
        except ValueError as error:
            raise refusal("LightGBM model", str(error), "Call fit first.") from error
    if hasattr(model, "predict_proba"):
        classes = class_labels(model.classes_)
        outputs = (model.predict_proba, model.predict)
    (array,) = only("LightGBM", examples).values()
    # float32 holds all numbers of narrower types.
    dtype = np.float32 if np.can_cast(array.dtype, np.float32) else np.float64
    ensemble = _ensemble(booster.dump_model(), dtype, classes)
    return export_trees(ensemble, outputs, examples, scratch)


def _ensemble(
    dump: Mapping[str, Any], dtype: type[np.float32 | np.float64], classes: tuple[int | str, ...]
) -> Ensemble:
    objective, *options = (dump.get("objective") or "custom").split()
    if objective not in _LINKS:
        raise refusal(
            "LightGBM model",
            f"the objective {objective} has no equivalent in ONNX here",
            "Objectives that can be saved: " + ", ".join(sorted(_LINKS)) + ".",
        )
    settings = dict(option.partition(":")[::2] for option in options)
    targets = dump["num_tree_per_iteration"]
    reader = _TreeReader(dtype)
    trees = [
        reader.read(tree["tree_structure"], number % targets)
        for number, tree in enumerate(dump["tree_info"])
    ]
    return Ensemble(
        trees,
        features=dump["max_feature_idx"] + 1,
        base=[0.0] * targets,
        dtype=dtype,
        link="square" if "sqrt" in settings else _LINKS[objective],
        average_of=len(trees) // targets if dump["average_output"] else 1,
        sigmoid=float(settings.get("sigmoid", 1)),
        missing=reader.missing(),
        classes=classes,
    )


class _TreeReader:
    """Reads trees, and notes which features may be missing or are categories."""

    def __init__(self, dtype: type[np.float32 | np.float64]) -> None:
        self.dtype = dtype
        self.has_zeros = self.has_categories = False

    def missing(self) -> float | None:
        """Zero if it means that a feature is missing."""
        if self.has_zeros and self.has_categories:
            raise refusal(
                "LightGBM model", "it has categories and was trained with zero_as_missing"
            )
        return 0.0 if self.has_zeros else None

    def read(self, node: Mapping[str, Any], target: int) -> Node:
        if "leaf_coeff" in node:
            raise refusal(
                "LightGBM model", "its leaves are linear models", "Train with linear_tree=False."
            )
        if "split_feature" not in node:
            return Leaf({target: float(node["leaf_value"])})
        left, right = (self.read(node[f"{side}_child"], target) for side in ("left", "right"))
        if node["decision_type"] == "==":
            self.has_categories = True
            categories = [float(number) for number in node["threshold"].split("||")]
            return membership(
                node["split_feature"], categories, left, right, missing_is_inside=False
            )
        threshold = float(node["threshold"])
        self.has_zeros |= node["missing_type"] == "Zero"
        # Where nothing was missing in training, NaN is read as zero.
        is_left = threshold >= 0 if node["missing_type"] == "None" else node["default_left"]
        value = self._rounded(threshold)
        return Split(node["split_feature"], "BRANCH_LEQ", value, is_left, left, right)

    def _rounded(self, threshold: float) -> float:
        """The largest number of the type that is not above a threshold: features of this type fall
        on the same side of both."""
        value = self.dtype(threshold)
        return float(np.nextafter(value, self.dtype(-np.inf)) if value > threshold else value)
