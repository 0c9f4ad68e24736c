"""What every exporter of live objects promises, on the real libraries.

Cases of libraries that are not installed are skipped: ``pip install -e
'client[onnxruntime,catboost,jax,keras,lightgbm,scikit-learn,torch,xgboost]'`` runs them all, and
``KERAS_BACKEND`` chooses Keras' backend.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hpcfair.errors import BadInput
from hpcfair.exporters.environment import NAME as REQUIREMENTS
from hpcfair.exporters.registry import export
from hpcfair.runtimes import registry as runtimes
from hpcfair.runtimes.base import Array

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(120, 4)).astype(np.float32)
X[:, 3] = _RNG.integers(0, 5, 120)
GAPS = np.where(_RNG.random(X.shape) < 0.1, np.nan, X).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
CLASSES = np.array(["blue", "green", "red"])[np.digitize(X[:, 0], (-0.5, 0.5))]
AMOUNTS = np.exp(X[:, 0]) + (X[:, 3] % 2)
BOOST = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}

Outputs = dict[str, Any]


@dataclass(frozen=True)
class Live:
    """An object to save, its examples, and its outputs for arrays in the order of its inputs."""

    model: Any
    examples: Any
    outputs: Callable[..., Outputs]


def classifier(model: Any, x: Array) -> Live:
    def outputs(batch: Array) -> Outputs:
        return {
            "probabilities": model.predict_proba(batch),
            "label": np.ravel(model.predict(batch)),
        }

    return Live(model, (x,), outputs)


def regressor(model: Any, x: Array, predict: Callable[[Array], Any] | None = None) -> Live:
    return Live(model, (x,), lambda batch: {"prediction": (predict or model.predict)(batch)})


def xgboost_classifier() -> Live:
    xgboost: Any = import_module("xgboost")
    return classifier(xgboost.XGBClassifier(n_estimators=8, max_depth=3).fit(GAPS, Y), GAPS)


def xgboost_of_counts() -> Live:
    xgboost: Any = import_module("xgboost")
    model = xgboost.XGBRegressor(
        n_estimators=8, objective="count:poisson", booster="dart", missing=0
    )
    return regressor(model.fit(X, AMOUNTS), X)


def xgboost_booster_of_categories() -> Live:
    xgboost: Any = import_module("xgboost")
    names, types = ["a", "b", "c", "kind"], ["q", "q", "q", "c"]

    def data(x: Array, **more: Any) -> Any:
        return xgboost.DMatrix(
            x, feature_names=names, feature_types=types, enable_categorical=True, **more
        )

    settings = {"objective": "reg:squarederror", "max_cat_to_onehot": 1}
    booster = xgboost.train(settings, data(X, label=AMOUNTS), 8)
    return regressor(booster, X, lambda batch: booster.predict(data(batch)))


def lightgbm_classifier_of_names() -> Live:
    lightgbm: Any = import_module("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(X, CLASSES)
    return classifier(model, X)


def lightgbm_in_float64() -> Live:
    lightgbm: Any = import_module("lightgbm")
    x = GAPS.astype(np.float64)
    model = lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, objective="gamma")
    return regressor(model.fit(x, AMOUNTS), x)


def lightgbm_booster_of_categories() -> Live:
    lightgbm: Any = import_module("lightgbm")
    data = lightgbm.Dataset(X, AMOUNTS, categorical_feature=[3])
    settings = {"verbose": -1, "min_data_per_group": 1, "cat_smooth": 1}
    return regressor(lightgbm.train(settings, data, 8), X)


def catboost_classifier_of_names() -> Live:
    catboost: Any = import_module("catboost")
    return classifier(catboost.CatBoostClassifier(**BOOST).fit(GAPS, CLASSES), GAPS)


def catboost_with_unequal_trees() -> Live:
    catboost: Any = import_module("catboost")
    model = catboost.CatBoostRegressor(**BOOST, grow_policy="Lossguide", loss_function="Poisson")
    return regressor(model.fit(X, AMOUNTS), X)


def scikit_learn_pipeline() -> Live:
    linear: Any = import_module("sklearn.linear_model")
    scaler: Any = import_module("sklearn.preprocessing").StandardScaler()
    pipeline: Any = import_module("sklearn.pipeline")
    return classifier(pipeline.make_pipeline(scaler, linear.LogisticRegression()).fit(X, Y), X)


def scikit_learn_pipeline_of_xgboost() -> Live:
    xgboost: Any = import_module("xgboost")
    scaler: Any = import_module("sklearn.preprocessing").StandardScaler()
    pipeline: Any = import_module("sklearn.pipeline")
    model = pipeline.make_pipeline(scaler, xgboost.XGBClassifier(n_estimators=8, max_depth=3))
    # Scaled rows of the training set may equal a threshold to the last bit.
    rows = np.random.default_rng(1).normal(size=X.shape).astype(np.float32)
    return classifier(model.fit(X, Y), rows)


def keras_with_two_inputs() -> Live:
    os.environ.setdefault("KERAS_BACKEND", "torch" if find_spec("onnxscript") else "jax")
    keras: Any = import_module("keras")
    left = keras.Input((4,), name="left")
    right = keras.Input((5,), name="right", dtype="int32")
    words = keras.layers.LayerNormalization()(keras.layers.Embedding(10, 2)(right))
    words = keras.layers.Flatten()(words)
    hidden = keras.layers.Concatenate()([keras.layers.Dense(3)(left), words])
    model = keras.Model(
        [left, right],
        {"score": keras.layers.Dense(2)(hidden), "age": keras.layers.Dense(1)(hidden)},
    )

    def outputs(*batch: Array) -> Outputs:
        results = model(list(batch), training=False)
        return {name: keras.ops.convert_to_numpy(results[name]) for name in ("age", "score")}

    numbers = np.arange(30, dtype=np.int32).reshape(6, 5) % 10
    return Live(model, (X[:6], numbers), outputs)


def jax_function_with_two_inputs() -> Live:
    jax: Any = import_module("jax")
    weights = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    function = jax.jit(lambda left, right: {"sum": left @ weights + right, "pair": left * right})
    return Live(function, {"left": X[:6], "right": X[6:12]}, function)


def flax_module() -> Live:
    nnx: Any = import_module("flax.nnx")

    class Dropping(nnx.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            rngs = nnx.Rngs(0)
            self.layer = nnx.Linear(4, 3, rngs=rngs)
            self.drop = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, table: Any) -> Any:
            return nnx.softmax(self.drop(self.layer(table)))

    model = Dropping()

    def outputs(batch: Array) -> Outputs:
        copy = nnx.clone(model)
        copy.eval()
        return {"output": copy(batch)}

    return Live(model, (X[:6],), outputs)


def tensorflow_module() -> Live:
    tf: Any = import_module("tensorflow")

    class Field(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = tf.Variable(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))

        @tf.function  # type: ignore[untyped-decorator]
        def __call__(self, left: Any, right: Any) -> Any:
            return {"product": left @ self.weight, "sum": left + right}

    field = Field()
    return Live(field, (X[:6], X[6:12]), lambda *batch: field(*map(tf.constant, batch)))


def tree_of_a_table() -> Live:
    lightgbm: Any = import_module("lightgbm")
    frame = import_module("pandas").DataFrame(GAPS, columns=list("abcd"))
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(frame, CLASSES)
    return Live(model, (frame,), classifier(model, GAPS).outputs)


#: What makes an object; the packages that it needs; the names of the inputs.
CASES: Sequence[tuple[Callable[[], Live], str, str]] = (
    (xgboost_classifier, "xgboost sklearn", "features"),
    (xgboost_of_counts, "xgboost sklearn", "features"),
    (xgboost_booster_of_categories, "xgboost", "features"),
    (lightgbm_classifier_of_names, "lightgbm sklearn", "features"),
    (lightgbm_in_float64, "lightgbm sklearn", "features"),
    (lightgbm_booster_of_categories, "lightgbm", "features"),
    (catboost_classifier_of_names, "catboost", "features"),
    (catboost_with_unequal_trees, "catboost", "features"),
    (scikit_learn_pipeline, "skl2onnx", "features"),
    (scikit_learn_pipeline_of_xgboost, "skl2onnx xgboost", "features"),
    (keras_with_two_inputs, "keras", "left right"),
    (jax_function_with_two_inputs, "jax jax2onnx", "left right"),
    (flax_module, "flax jax2onnx", "table"),
    (tensorflow_module, "tensorflow tf2onnx", "left right"),
    (tree_of_a_table, "lightgbm pandas sklearn", "features"),
)


def _case(make: Callable[[], Live], packages: str, expected: str | list[str]) -> Any:
    missing = [name for name in packages.split() if find_spec(name) is None]
    skip = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")
    return pytest.param(make, expected, id=make.__name__, marks=skip)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "inputs"),
    [_case(make, packages, inputs.split()) for make, packages, inputs in CASES],
)
def test_a_saved_file_is_the_live_object(
    make: Callable[[], Live], inputs: list[str], tmp_path: Path
) -> None:
    live = make()

    files = export(live.model, live.examples, tmp_path).files

    examples = live.examples.values() if isinstance(live.examples, dict) else live.examples
    arrays = {
        name: np.asarray(array, np.float32 if hasattr(array, "columns") else None)
        for name, array in zip(inputs, examples, strict=True)
    }
    graph = onnx.load(files["model.onnx"]).graph
    for value in (*graph.input, *graph.output):
        assert value.type.tensor_type.shape.dim[0].dim_param == "N", value.name
    runtime = runtimes.open("onnxruntime", files["model.onnx"], {})
    described = {tensor.name: tensor.dtype for tensor in runtime.inputs}
    assert described == {name: array.dtype.name for name, array in arrays.items()}
    for rows in (1, 5):
        batch = {name: array[-rows:] for name, array in arrays.items()}
        results = runtime.run(batch)
        expected = live.outputs(*batch.values())
        assert sorted(results) == sorted(expected)
        for name, output in expected.items():
            array = np.asarray(output)
            if array.dtype.kind == "f":
                np.testing.assert_allclose(results[name], array, rtol=1e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(results[name], array)
    assert "numpy==" in files[REQUIREMENTS].read_text()


def xgboost_of_lines() -> Live:
    xgboost: Any = import_module("xgboost")
    return regressor(xgboost.XGBRegressor(booster="gblinear", n_estimators=2).fit(X, AMOUNTS), X)


def xgboost_without_fit() -> Live:
    xgboost: Any = import_module("xgboost")
    return regressor(xgboost.XGBRegressor(), X)


def lightgbm_of_linear_leaves() -> Live:
    lightgbm: Any = import_module("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, linear_tree=True)
    return regressor(model.fit(X, AMOUNTS), X)


def catboost_of_categories() -> Live:
    catboost: Any = import_module("catboost")
    rows = [[float(row[0]), str(row[3])] for row in X]
    return regressor(catboost.CatBoostRegressor(**BOOST, cat_features=[1]).fit(rows, AMOUNTS), X)


def linen_module_without_weights() -> Live:
    linen: Any = import_module("flax.linen")
    return regressor(linen.Dense(3), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        _case(xgboost_of_lines, "xgboost sklearn", "booster gblinear has no trees"),
        _case(xgboost_without_fit, "xgboost sklearn", "Call fit first"),
        _case(lightgbm_of_linear_leaves, "lightgbm sklearn", "linear_tree=False"),
        _case(catboost_of_categories, "catboost", "one column per category"),
        _case(linen_module_without_weights, "flax jax2onnx", "module.bind"),
    ],
)
def test_what_cannot_be_saved_is_refused_with_the_remedy(
    make: Callable[[], Live], reason: str, tmp_path: Path
) -> None:
    live = make()

    with pytest.raises(BadInput, match=reason):
        export(live.model, live.examples, tmp_path)
