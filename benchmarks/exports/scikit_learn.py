"""Models of scikit-learn, fitted to seeded tables and converted by skl2onnx."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.base import BaseEstimator, is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.exports.drawing import Export
from benchmarks.exports.live import ROWS
from benchmarks.exports.sizes import Sizes


@dataclass
class FittedModel:
    """A :class:`~benchmarks.exports.live.LiveModel` of an estimator with one table as input."""

    estimator: Any
    inputs: Mapping[str, npt.NDArray[Any]]
    labels: npt.NDArray[np.int64] | None = None

    def outputs(self) -> list[npt.NDArray[Any]]:
        """See :meth:`benchmarks.exports.live.LiveModel.outputs`: labels and probabilities of a
        classifier."""
        (table,) = self.inputs.values()
        if is_classifier(self.estimator):
            return [self.estimator.predict(table), self._probabilities(table)]
        return [self.estimator.predict(table).astype(np.float32).reshape(-1, 1)]

    def write(self, export: Export, folder: Path) -> None:
        """See :meth:`benchmarks.exports.live.LiveModel.write`."""
        (table,) = self.inputs.values()
        rows = None if export.is_dynamic else 1
        model = to_onnx(
            self.estimator,
            initial_types=[("table", FloatTensorType([rows, table.shape[1]]))],
            target_opset={"": export.opset, "ai.onnx.ml": 3},
            options={"zipmap": False} if is_classifier(self.estimator) else None,
        )
        onnx.save(model, folder / "model.onnx")

    def _probabilities(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(self.estimator.predict_proba(table), np.float32)


def table(
    sizes: Sizes, *, is_regression: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Mapping[str, npt.NDArray[Any]]]:
    """Rows and targets to fit, and other rows as samples."""
    features, seed = sizes.choice((10, 20, 40), (20, 50, 100)), sizes.seed()
    fitted = sizes.value(400, 4000)
    rows = fitted + ROWS
    if is_regression:
        x, y = make_regression(rows, features, n_informative=features // 2, random_state=seed)
        y = y / np.abs(y).max()
    else:
        classes = sizes.chance.choice((2, 3, 5))
        x, y = make_classification(
            rows,
            features,
            n_informative=features // 2,
            n_classes=classes,
            random_state=seed,
        )
    x = x.astype(np.float32)
    return x[:fitted], y[:fitted], {"table": x[fitted:]}


def _fitted(estimator: BaseEstimator, sizes: Sizes) -> FittedModel:
    x, y, samples = table(sizes)
    return FittedModel(estimator.fit(x, y), samples)


def logistic_regression(sizes: Sizes) -> FittedModel:
    return _fitted(LogisticRegression(max_iter=300), sizes)


def random_forest(sizes: Sizes) -> FittedModel:
    trees, depth = sizes.choice((20, 50, 100), (100, 200, 300)), sizes.choice((6, 10), (8, 12))
    return _fitted(RandomForestClassifier(trees, max_depth=depth, random_state=0), sizes)


def gradient_boosting(sizes: Sizes) -> FittedModel:
    trees = sizes.choice((20, 40), (100, 200))
    return _fitted(GradientBoostingClassifier(n_estimators=trees, random_state=0), sizes)


def support_vectors(sizes: Sizes) -> FittedModel:
    kernel = sizes.chance.choice(("rbf", "poly", "linear"))
    return _fitted(SVC(kernel=kernel, probability=True, random_state=0), sizes)


def perceptron(sizes: Sizes) -> FittedModel:
    layers = sizes.choice(((64,), (128, 64), (32, 32, 32)), ((256,), (256, 128), (256, 256, 128)))
    return _fitted(MLPClassifier(layers, max_iter=100, random_state=0), sizes)


def nearest_neighbours(sizes: Sizes) -> FittedModel:
    return _fitted(KNeighborsClassifier(sizes.chance.choice((3, 5))), sizes)


def scaled_pipeline(sizes: Sizes) -> FittedModel:
    return _fitted(make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)), sizes)


def ridge(sizes: Sizes) -> FittedModel:
    x, y, samples = table(sizes, is_regression=True)
    return FittedModel(make_pipeline(StandardScaler(), Ridge()).fit(x, y), samples)
