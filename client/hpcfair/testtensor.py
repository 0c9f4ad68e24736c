"""Test tensors of a model: inputs with expected outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.errors import BadInput, MissingPackage
from hpcfair.mlmodel import address
from hpcfair.paths import safe_join
from hpcfair.runtimes.base import Array
from hpcfair.transport import Transport
from hpcfair.types import File

_SIDES = ("input", "output")


@dataclass(frozen=True, slots=True)
class Case:
    """One test set, arrays by tensor name; ``is_made`` if the hub generated it."""

    number: int
    is_made: bool
    inputs: dict[str, Array]
    outputs: dict[str, Array]


def cases_of(http: Transport, cache: Cache, name: str, revision: str) -> list[Case]:
    """Download, verify and read the test sets of a revision.

    Raises:
        BadInput: there is none, or one is malformed.
        MissingPackage: the ``onnx`` package, which reads them, is not installed.
    """
    sets = http.get(f"{address(name)}/tests", {"revision": revision})["sets"]
    if not sets:
        raise BadInput(
            f"The hub has no test tensors of {name} at {revision[:12]}.",
            "Publish test_data_set_0/input_0.pb and output_0.pb beside the network.",
        )
    files = [File.from_json(tensor) for one in sets for tensor in one["tensors"]]
    folder = fetch_tree(http, cache, files, what=f"tests of {name}")
    return [_case(one, folder) for one in sets]


def _case(one: Mapping[str, Any], folder: Path) -> Case:
    inputs, outputs = (
        {
            tensor["name"]: _array(safe_join(folder, tensor["path"]))
            for tensor in one["tensors"]
            if tensor["side"] == side
        }
        for side in _SIDES
    )
    return Case(one["number"], one["is_made"], inputs, outputs)


def _array(path: Path) -> Array:
    try:
        onnx: Any = import_module("onnx")
        numpy_helper: Any = import_module("onnx.numpy_helper")
    except ImportError as error:
        raise MissingPackage(
            f"Test tensors need a package: {error}.", "Install it with: pip install 'hpcfair[run]'"
        ) from error
    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
        # DANGER: onnx would read external data from any file of this machine.
        elsewhere = tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data
        array: Array | None = None if elsewhere else numpy_helper.to_array(tensor)
    # onnx and protobuf raise classes of their own, some of them not public.
    except Exception as error:
        raise BadInput(f"{path.name} is no test tensor: {error}.") from error
    if array is None:
        raise BadInput(f"The data of {path.name} lie in another file.")
    return array
