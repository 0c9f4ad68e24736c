"""Boosted trees of XGBoost and LightGBM, converted by onnxmltools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import onnx
import onnxmltools
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

from benchmarks.exports.drawing import Export
from benchmarks.exports.scikit_learn import table
from benchmarks.exports.sizes import Sizes


@dataclass
class BoostedModel:
    """A :class:`~benchmarks.exports.live.LiveModel` of trees.

    Attributes:
        convert: The library's converter.
        options: Of the converter.
    """

    trees: Any
    inputs: Mapping[str, npt.NDArray[Any]]
    convert: Callable[..., onnx.ModelProto]
    options: Mapping[str, Any]
    labels: npt.NDArray[np.int64] | None = None

    def outputs(self) -> list[npt.NDArray[Any]]:
        """See :meth:`benchmarks.exports.live.LiveModel.outputs`."""
        (samples,) = self.inputs.values()
        if hasattr(self.trees, "predict_proba"):
            probabilities = np.asarray(self.trees.predict_proba(samples), np.float32)
            return [np.asarray(self.trees.predict(samples), np.int64), probabilities]
        return [np.asarray(self.trees.predict(samples), np.float32).reshape(-1, 1)]

    def write(self, export: Export, folder: Path) -> None:
        """See :meth:`benchmarks.exports.live.LiveModel.write`."""
        (samples,) = self.inputs.values()
        rows = None if export.is_dynamic else 1
        types = [("table", FloatTensorType([rows, samples.shape[1]]))]
        model = self.convert(
            self.trees, initial_types=types, target_opset=export.opset, **self.options
        )
        onnx.save(model, folder / "model.onnx")


def _ensemble(sizes: Sizes) -> dict[str, Any]:
    trees = sizes.choice((20, 50), (100, 300, 500))
    return {"n_estimators": trees, "max_depth": sizes.choice((4, 6), (4, 6, 8))}


def xgboost_classifier(sizes: Sizes) -> BoostedModel:
    x, y, samples = table(sizes)
    trees = xgboost.XGBClassifier(**_ensemble(sizes), n_jobs=1).fit(x, y)
    return BoostedModel(trees, samples, onnxmltools.convert_xgboost, {})


def xgboost_regressor(sizes: Sizes) -> BoostedModel:
    x, y, samples = table(sizes, is_regression=True)
    trees = xgboost.XGBRegressor(**_ensemble(sizes), n_jobs=1).fit(x, y)
    return BoostedModel(trees, samples, onnxmltools.convert_xgboost, {})


def lightgbm_classifier(sizes: Sizes) -> BoostedModel:
    x, y, samples = table(sizes)
    trees = lightgbm.LGBMClassifier(**_ensemble(sizes), n_jobs=1, verbose=-1).fit(x, y)
    return BoostedModel(trees, samples, onnxmltools.convert_lightgbm, {"zipmap": False})
