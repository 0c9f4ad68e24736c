"""The table of exporters for ``save``; modules are imported on first use.

An exporter is ``export(model, examples, scratch) -> Export``. It may write files into the empty
folder ``scratch``. To add a library, add a line here, a module beside this one and its cases in
``client/tests/exporters``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from hpcfair.errors import HpcfairError, MissingPackage, NotSupported
from hpcfair.exporters.agreement import check_agreement
from hpcfair.exporters.base import Examples, Export, refusal
from hpcfair.exporters.environment import add_environment
from hpcfair.formats import TORCH_EXPORT


class Exporting(Protocol):
    """Signature of an exporter; see the module."""

    def __call__(self, model: Any, examples: Examples, scratch: Path) -> Export: ...


@dataclass(frozen=True, slots=True)
class Exporter:
    """Exports objects of one library: ``module:function`` at ``path``, which needs ``packages``."""

    path: str
    packages: str = ""


_JAX = Exporter("hpcfair.exporters.jax_function:export", "jax2onnx")
#: Top-level package of an object's class or of a base class, to its exporter.
EXPORTERS: dict[str, Exporter] = {
    "pathlib": Exporter("hpcfair.exporters.files:export_path"),
    "onnx": Exporter("hpcfair.exporters.onnx_proto:export", "onnx"),
    "keras": Exporter("hpcfair.exporters.keras_model:export", "keras onnx"),
    "tensorflow": Exporter(
        "hpcfair.exporters.tensorflow_function:export", "tensorflow tf2onnx onnx"
    ),
    "torch": Exporter("hpcfair.exporters.torch_module:export", "torch onnxscript"),
    "xgboost": Exporter("hpcfair.exporters.trees.xgboost_model:export", "xgboost onnx"),
    "lightgbm": Exporter("hpcfair.exporters.trees.lightgbm_model:export", "lightgbm onnx"),
    "catboost": Exporter("hpcfair.exporters.trees.catboost_model:export", "catboost onnx"),
    "sklearn": Exporter("hpcfair.exporters.scikit_learn:export", "skl2onnx"),
    "flax": _JAX,
    "equinox": _JAX,
    # Functions under jax.jit.
    "jaxlib": _JAX,
}


def export(model: Any, examples: Examples, scratch: Path) -> Export:
    """Export a model to files, and check that they compute what it computes.

    Args:
        model: A path to an ONNX file or a folder, ONNX bytes, or an object of a library above.
        examples: Arrays or tables in the order of the model's inputs, or by name.

    Returns:
        The files, and the examples as they take them.

    Raises:
        NotSupported: there is no exporter for it.
        MissingPackage: its exporter requires a package that is not installed.
        NoModelFile: there is no file at the path.
        BadInput: the library cannot export it, with the reason; or the exported file computes
            something else on the examples, with where and by how much.
    """
    if isinstance(model, str):
        model = Path(model)
    if isinstance(model, bytes | bytearray):
        local = scratch / "model.onnx"
        local.write_bytes(model)
        return Export({"model.onnx": local}, examples=examples)
    exported = convert(model, examples, scratch)
    if exported.examples is not None:
        examples = exported.examples
    if exported.predict is None:
        return Export(exported.files, examples=examples)
    network = exported.files["model.onnx"]
    check_agreement(type(model).__name__, network, exported.predict, examples)
    return Export(add_environment(exported.files, scratch), exported.predict, examples)


def convert(model: Any, examples: Examples, scratch: Path) -> Export:
    """Run the exporter of an object, without the check; see :func:`export`."""
    packages = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    if isinstance(model, Path) and examples:
        packages = _packages_of(model)
    name = next((name for name in packages if name in EXPORTERS), None)
    if name is None:
        raise NotSupported(
            f"Nothing here can save a {type(model).__module__}.{type(model).__qualname__}.",
            _remedy(model),
        )
    module, _, function = EXPORTERS[name].path.partition(":")
    try:
        run = cast("Exporting", getattr(import_module(module), function))
    except ImportError as error:
        raise MissingPackage(
            f"Saving a {type(model).__qualname__} needs a package: {error}.",
            f"Install it with: pip install {EXPORTERS[name].packages}",
        ) from error
    try:
        return run(model, examples, scratch)
    except HpcfairError:
        raise
    # Exporters of other libraries raise arbitrary exceptions.
    except Exception as error:
        raise refusal(type(model).__name__, error) from error


def _remedy(model: Any) -> str:
    if isinstance(model, type):
        return f"Save an object of the class: {model.__qualname__}(...)."
    if isinstance(model, Mapping):
        return "Weights alone are no network: load them into their model, and save that."
    return (
        "Export it to ONNX and save the file; objects of these packages are taken as they are: "
        f"{', '.join(sorted(set(EXPORTERS) - {'pathlib'}))}. Functions must be under jax.jit or "
        "tf.function."
    )


def _packages_of(path: Path) -> list[str]:
    """The library whose exporter takes a path; ``pathlib`` publishes files unchanged."""
    if path.is_file() and TORCH_EXPORT.matches(path):
        return ["torch"]
    return ["tensorflow"] if (path / "saved_model.pb").is_file() else ["pathlib"]
