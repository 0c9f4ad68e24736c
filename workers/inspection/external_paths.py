"""Lists the files in which networks keep weights, before these files are there."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from onnx import TensorProto

from hpcfair.formats import ONNX
from workers.inspection.alternative_formats import find
from workers.inspection.errors import InspectionError
from workers.inspection.reading import read_model
from workers.inspection.walk import tensors_of


def external_paths(folder: str) -> list[str]:
    """Entry point of the child process: paths that the ONNX files in ``folder`` refer to, relative
    to it. Files that cannot be read refer to none; inspection tells why."""
    return sorted(
        {path for shown in find(Path(folder), ONNX) for path in _paths(Path(folder), shown)}
    )


def _paths(folder: Path, shown: str) -> Iterator[str]:
    try:
        model = read_model(folder / shown, shown)
    except InspectionError:
        return
    base = PurePosixPath(shown).parent
    for tensor in tensors_of(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            for entry in tensor.external_data:
                # Names that are not UTF-8 arrive as bytes, and paths outside match no file.
                if entry.key == "location" and isinstance(entry.value, str):
                    yield (base / entry.value).as_posix()
