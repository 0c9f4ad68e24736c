"""The table of exporters for ``save``; modules are imported on first use.

An exporter is ``export(model, examples, scratch) -> {path in the revision: local file}``. It may
write files into the empty folder ``scratch``, and requires ``examples`` only if the library's
models do not state their inputs. To add a library, add a line here and a module beside this one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from hpcfair.errors import MissingPackage, NotSupported
from hpcfair.runtimes.base import Array

Files = dict[str, Path]
Examples = Sequence[Array] | Mapping[str, Array] | None


class Export(Protocol):
    """Signature of an exporter; see the module."""

    def __call__(self, model: Any, examples: Examples, scratch: Path) -> Files: ...


@dataclass(frozen=True, slots=True)
class Exporter:
    """Exports objects of one library: ``module:function`` at ``path``, which needs ``packages``."""

    path: str
    packages: str = ""


#: Top-level package of an object's class or of a base class, to its exporter.
EXPORTERS: dict[str, Exporter] = {
    "pathlib": Exporter("hpcfair.exporters.files:export_path"),
    "onnx": Exporter("hpcfair.exporters.onnx_proto:export", "onnx"),
    "torch": Exporter("hpcfair.exporters.torch_module:export", "torch onnxscript"),
    "sklearn": Exporter("hpcfair.exporters.scikit_learn:export", "skl2onnx"),
}


def export(model: Any, examples: Examples, scratch: Path) -> Files:
    """Export a model to files.

    Args:
        model: A path to an ONNX file or a folder, ONNX bytes, or an object of a library above.
        examples: Arrays in the order of the model's inputs, or by name.

    Raises:
        NotSupported: there is no exporter for it.
        MissingPackage: its exporter requires a package that is not installed.
        NoModelFile: there is no file at the path.
    """
    if isinstance(model, str):
        model = Path(model)
    if isinstance(model, bytes | bytearray):
        local = scratch / "model.onnx"
        local.write_bytes(model)
        return {"model.onnx": local}
    packages = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    exporter = next((EXPORTERS[name] for name in packages if name in EXPORTERS), None)
    if exporter is None:
        raise NotSupported(
            f"Nothing here can save a {type(model).__module__}.{type(model).__qualname__}.",
            "Export it to ONNX and save the file; objects of these packages are taken as they "
            f"are: {', '.join(sorted(set(EXPORTERS) - {'pathlib'}))}.",
        )
    module, _, function = exporter.path.partition(":")
    try:
        run = cast("Export", getattr(import_module(module), function))
    except ImportError as error:
        raise MissingPackage(
            f"Saving a {type(model).__qualname__} needs a package: {error}.",
            f"Install it with: pip install {exporter.packages}",
        ) from error
    return run(model, examples, scratch)
