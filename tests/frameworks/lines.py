"""The lines of the table in ``docs/reference/frameworks.md``."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of model.

    Attributes:
        case: ``module:function`` below :mod:`tests.frameworks.cases`, which makes the live object.
        packages: Distributions whose versions the table states.
        environment: Variables of the process.
    """

    case: str
    packages: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def _keras(case: str, backend: str, package: str) -> Line:
    return Line(f"keras_models:{case}", ("keras", package), (("KERAS_BACKEND", backend),))


#: By the name in the table's first column.
LINES: dict[str, Line] = {
    "PyTorch module": Line("pytorch:module", ("torch",)),
    "PyTorch exported program": Line("pytorch:program", ("torch",)),
    "PyTorch `.pt2` file": Line("pytorch:program_file", ("torch",)),
    "scikit-learn estimator": Line("scikit_learn:estimator", ("scikit-learn",)),
    "scikit-learn pipeline of columns": Line("scikit_learn:columns", ("scikit-learn",)),
    "scikit-learn pipeline of XGBoost": Line(
        "scikit_learn:pipeline_of_trees", ("scikit-learn", "xgboost-cpu")
    ),
    "XGBoost estimator": Line("trees:xgboost_estimator", ("xgboost-cpu",)),
    "XGBoost booster": Line("trees:xgboost_booster", ("xgboost-cpu",)),
    "LightGBM estimator": Line("trees:lightgbm_estimator", ("lightgbm",)),
    "LightGBM booster": Line("trees:lightgbm_booster", ("lightgbm",)),
    "CatBoost classifier": Line("trees:catboost_classifier", ("catboost",)),
    "CatBoost regressor": Line("trees:catboost_regressor", ("catboost",)),
    "Keras on TensorFlow": _keras("functional", "tensorflow", "tensorflow"),
    "Keras on PyTorch": _keras("functional", "torch", "torch"),
    "Keras on JAX": _keras("functional", "jax", "jax"),
    "Keras `Sequential`": _keras("sequential", "tensorflow", "tensorflow"),
    "TensorFlow function": Line("tensorflow_functions:function", ("tensorflow", "tf2onnx")),
    "TensorFlow SavedModel": Line("tensorflow_functions:saved_model", ("tensorflow", "tf2onnx")),
    "JAX function": Line("jax_functions:function", ("jax", "jax2onnx")),
    "Flax `nnx` module": Line("jax_functions:nnx_module", ("flax", "jax2onnx")),
    "Flax linen module": Line("jax_functions:linen_module", ("flax", "jax2onnx")),
    "ONNX object": Line("files:proto", ("onnx",)),
    "ONNX file with external data": Line("files:external_data", ("onnx",)),
    "Folder": Line("files:folder", ("onnx",)),
    "Hugging Face folder": Line("files:huggingface_folder", ("transformers",)),
}
