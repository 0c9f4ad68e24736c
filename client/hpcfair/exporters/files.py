"""Files and folders that are published unchanged."""

from importlib import import_module
from pathlib import Path
from typing import Any

from hpcfair.errors import InvalidModelFile, NoModelFile
from hpcfair.exporters.base import Examples, Export, Files
from hpcfair.formats import NETWORK_FORMATS, format_of, has_network
from hpcfair.partial import STAGING
from hpcfair.paths import safe_join

_SUFFIXES = " or ".join(suffix for each in NETWORK_FORMATS for suffix in each.suffixes)
#: Files that tools leave in folders.
_IGNORED = frozenset({".git", "__pycache__", ".DS_Store", ".ipynb_checkpoints", STAGING})


def export_path(model: Path, examples: Examples, scratch: Path) -> Export:  # noqa: ARG001
    """The files of a folder, or one model file with its external data and card.

    Raises:
        NoModelFile: there is no such file, or it is empty.
        InvalidModelFile: its suffix is that of a format without networks.
        UnsafePath: a name cannot be stored, or external data lies outside the file's folder.
    """
    if model.is_dir():
        return Export(_folder(model))
    if not model.is_file():
        raise NoModelFile(f"There is no file {model}.", f"Give an {_SUFFIXES} file, or a folder.")
    _check_format(model)
    # A file with another suffix is taken for ONNX.
    files = {model.name if has_network([model.name]) else "model.onnx": model}
    for path in _external_data(model):
        files[path] = safe_join(model.parent, path)
    card = model.parent / "README.md"
    return Export(files | ({"README.md": card} if card.is_file() else {}))


def _check_format(model: Path) -> None:
    file_format = format_of(model)
    if file_format is not None and file_format.opener is None:
        raise InvalidModelFile(
            f"{model.name} is a file of the format {file_format.name}, which holds no network that "
            "can be checked and tuned.",
            "Load it with the library that wrote it, and save the model with example_inputs.",
            code="onnx_unreadable",
        )


def _folder(folder: Path) -> Files:
    files = {}
    for local in sorted(folder.rglob("*")):
        path = local.relative_to(folder)
        if local.is_file() and not _IGNORED.intersection(path.parts):
            safe_join(folder, path.as_posix())
            files[path.as_posix()] = local
    if not files:
        raise NoModelFile(f"The folder {folder} is empty.", f"Put an {_SUFFIXES} file into it.")
    return files


def _external_data(model: Path) -> list[str]:
    """External weight files beside an ONNX file; empty without the ``onnx`` package."""
    try:
        onnx: Any = import_module("onnx")
        helper: Any = import_module("onnx.external_data_helper")
    except ImportError:
        return []
    try:
        proto = onnx.load(model, load_external_data=False)
    # The hub reports errors in the file.
    except Exception:  # noqa: BLE001
        return []
    tensors = helper._get_all_tensors(proto)  # noqa: SLF001  the only walk over subgraphs there is
    infos = (
        helper.ExternalDataInfo(tensor) for tensor in tensors if helper.uses_external_data(tensor)
    )
    return sorted({info.location for info in infos})
