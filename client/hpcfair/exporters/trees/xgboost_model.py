"""Reads models of XGBoost: its scikit-learn estimators and its boosters."""

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import numpy as np
import xgboost

from hpcfair.exporters.base import Examples, Export, refusal
from hpcfair.exporters.trees.ensemble import Ensemble, Leaf, Link, Node, Split, membership
from hpcfair.exporters.trees.export import export_trees
from hpcfair.runtimes.base import Array

_IDENTITY = (
    "reg:squarederror reg:absoluteerror reg:squaredlogerror reg:pseudohubererror reg:quantileerror "
    "reg:expectileerror rank:pairwise rank:ndcg rank:map binary:logitraw"
)
#: Objective to the link of its predictions.
_LINKS: dict[str, Link] = {
    **dict.fromkeys(_IDENTITY.split(), "identity"),
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "sigmoid"),
    "multi:softprob": "softmax",
    **dict.fromkeys(
        ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"),
        "exp",
    ),
}
#: Objectives whose base score is a probability although their predictions are sums.
_LOGITS = frozenset({"binary:logistic", "reg:logistic", "binary:logitraw"})


def export(model: Any, examples: Examples, scratch: Any) -> Export:
    """The trees that ``predict`` uses: up to the best iteration after early stopping."""
    if isinstance(model, xgboost.Booster):
        booster, predict = model, partial(_predict_booster, model)
        missing = math.nan
    else:
        booster, missing = _booster_of(model), model.missing
        predict = model.predict
    learner = json.loads(booster.save_raw("json"))["learner"]
    probabilities = getattr(model, "predict_proba", None)
    classes = tuple(map(int, model.classes_)) if probabilities else ()
    ensemble = _ensemble(learner, missing, classes)
    outputs = cast(
        "tuple[Callable[[Array], Any], ...]",
        (probabilities, predict) if probabilities else (predict,),
    )
    return export_trees(ensemble, outputs, examples, scratch)


def _predict_booster(booster: xgboost.Booster, features: Array) -> Any:
    data = xgboost.DMatrix(
        features, feature_names=booster.feature_names, feature_types=booster.feature_types
    )
    return booster.predict(data)


def _booster_of(model: Any) -> xgboost.Booster:
    try:
        booster: xgboost.Booster = model.get_booster()
    # sklearn.exceptions.NotFittedError, which XGBoost imports only where scikit-learn is.
    except ValueError as error:
        raise refusal("XGBoost model", str(error), "Call fit first.") from error
    best = getattr(model, "best_iteration", None) if booster.attr("best_iteration") else None
    return booster if best is None else booster[: best + 1]


def _ensemble(learner: Mapping[str, Any], missing: float, classes: tuple[int, ...]) -> Ensemble:
    objective = learner["objective"]["name"]
    if objective not in _LINKS:
        raise refusal(
            "XGBoost model",
            f"the objective {objective} has no equivalent in ONNX here",
            "Objectives that can be saved: " + ", ".join(sorted(_LINKS)) + ".",
        )
    booster, weights = learner["gradient_booster"], None
    if booster["name"] == "dart":
        booster, weights = booster["gbtree"], booster["weight_drop"]
    if "trees" not in booster.get("model", {}):
        raise refusal("XGBoost model", f"the booster {booster['name']} has no trees")
    base = _base(learner["learner_model_param"], objective)
    model = booster["model"]
    weights = weights or [1.0] * len(model["trees"])
    trees = [
        _tree(tree, target, weight)
        for tree, target, weight in zip(model["trees"], model["tree_info"], weights, strict=True)
    ]
    return Ensemble(
        trees,
        features=int(learner["learner_model_param"]["num_feature"]),
        base=base,
        link=_LINKS[objective],
        missing=None if math.isnan(missing) else missing,
        classes=classes,
    )


def _base(parameters: Mapping[str, str], objective: str) -> list[float]:
    """The base scores as sums; XGBoost 3.1 and later store one per target."""
    targets = max(int(parameters["num_class"]), int(parameters["num_target"]))
    scores = [float(score) for score in parameters["base_score"].strip("[]").split(",")]
    scores = scores * targets if len(scores) == 1 else scores
    if objective in _LOGITS:
        return [math.log(score / (1 - score)) for score in scores]
    return [math.log(score) for score in scores] if _LINKS[objective] == "exp" else scores


def _tree(tree: Mapping[str, Any], target: int, weight: float) -> Node:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise refusal(
            "XGBoost model",
            "its leaves are vectors (multi_strategy='multi_output_tree')",
            "Train with multi_strategy='one_output_per_tree'.",
        )
    segments = zip(
        *(tree[f"categories_{part}"] for part in ("nodes", "segments", "sizes")), strict=True
    )
    categories = {node: tree["categories"][at : at + size] for node, at, size in segments}

    def node(index: int) -> Node:
        value = float(np.float32(tree["split_conditions"][index]))
        left, right = tree["left_children"][index], tree["right_children"][index]
        if left == -1:
            return Leaf({target: weight * value})
        feature, is_left = tree["split_indices"][index], bool(tree["default_left"][index])
        if index in categories:
            # Its own categories go right.
            inside, outside = node(right), node(left)
            return membership(
                feature, categories[index], inside, outside, missing_is_inside=not is_left
            )
        return Split(feature, "BRANCH_LT", value, is_left, node(left), node(right))

    return node(0)
