"""A published network in the form of another library."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from hpcfair.errors import Corrupt, MissingPackage, NoModelFile, NotFound
from hpcfair.formats import ONNX, TORCH_EXPORT
from hpcfair.mlmodel import address
from hpcfair.transport import Transport

Form = Literal["onnx", "torch", "path"]


def open_onnx(path: Path) -> Any:
    """An ``onnx.ModelProto`` with its weights.

    Raises:
        MissingPackage: ``onnx`` is not installed.
        Corrupt: the file is no ONNX network.
    """
    try:
        onnx: Any = import_module("onnx")
    except ImportError as error:
        raise MissingPackage("as_='onnx' needs the onnx package.", "pip install onnx") from error
    try:
        return onnx.load(path)
    # onnx and protobuf raise classes of their own, some of them not public.
    except Exception as error:
        raise Corrupt(
            f"The file {path.name} is no ONNX network: {error}.", "Use as_='path'."
        ) from error


def open_torch(network: Path | None, program: Path | None) -> Any:
    """A PyTorch module, from the published program if there is one, else from the ONNX network.

    Raises as :mod:`hpcfair.torchmodule`, and NoModelFile if there is neither.
    """
    # Imports the comparison of outputs, which other forms do not need.
    torchmodule = import_module("hpcfair.torchmodule")
    if program is not None:
        return torchmodule.module_of_program(program)
    return torchmodule.module_of_onnx(required_onnx(network))


def required_onnx(network: Path | None) -> Path:
    """The network if it is in ONNX; raises NoModelFile if not."""
    if network is None or not ONNX.matches(network):
        what = f"{network.name} is not in ONNX" if network else "There is no ONNX file"
        raise NoModelFile(f"{what}, so this form cannot be made.", "Use as_='path'.")
    return network


def network_paths(
    http: Transport, name: str, revision: str, paths: Iterable[str]
) -> tuple[str | None, str | None]:
    """Paths of the ONNX network and of the PyTorch program in a revision, ``None`` for what it
    lacks.

    A program counts only if the hub's inspection accepted it, because opening one can run code.
    """
    onnx = sorted(path for path in paths if ONNX.matches(path))
    try:
        graph = http.get(f"{address(name)}/graph", {"revision": revision})
    except NotFound:
        # Not inspected.
        return next(iter(onnx), None), None
    network = graph["path"] if graph["path"] in onnx else next(iter(onnx), None)
    accepted = graph.get("facts", {}).get("forms", [])
    programs = (form["path"] for form in accepted if form["format"] == TORCH_EXPORT.name)
    return network, next(programs, None)
