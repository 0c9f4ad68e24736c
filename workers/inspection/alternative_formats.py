"""Finds files of the same network in other formats that backends can use."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hpcfair.formats import TFLITE, TORCH_EXPORT, FileFormat
from workers.engine.binding import Misfit, bind
from workers.engine.types import tensor_specs
from workers.inspection.errors import printable
from workers.inspection.interface import Interface, Unusable
from workers.inspection.pt2 import read_pt2
from workers.inspection.tflite import read_tflite

#: Upper bound on the files of one format that are read.
MAX_FILES = 8
#: Format, reader of its interface, and whether it accepts sizes other than those it states.
READERS: tuple[tuple[FileFormat, Callable[[Path], Interface], bool], ...] = (
    (TORCH_EXPORT, read_pt2, False),
    (TFLITE, read_tflite, True),
)


def read_alternatives(
    folder: Path, primary: str, signature: dict[str, Any], warnings: list[str]
) -> list[dict[str, str]]:
    """Files that can be used in place of the primary one, or are the primary one.

    Args:
        warnings: Gains a line for each file that cannot be used, with the reason.

    Returns:
        ``{"format": name of a FileFormat, "path": path}`` of each file.
    """
    alternatives = []
    inputs, outputs = (tensor_specs(signature[side]) for side in ("inputs", "outputs"))
    for file_format, read, resizable in READERS:
        paths = find(folder, file_format)
        warnings += [f"{shown} was not read." for shown in paths[MAX_FILES:]]
        for shown in paths[:MAX_FILES]:
            try:
                interface = read(folder / shown)
                bind(interface.inputs, inputs, resizable=resizable)
                bind(interface.outputs, outputs, resizable=resizable)
            except Unusable as error:
                warnings.append(f"{shown} is not used: {printable(str(error))}.")
            except Misfit as error:
                warnings.append(f"{shown} does not fit {primary}: {printable(str(error))}.")
            else:
                alternatives.append({"format": file_format.name, "path": shown})
    return alternatives


def find(folder: Path, file_format: FileFormat) -> list[str]:
    """Paths of a format's files under ``folder``, sorted. Links are neither followed nor listed."""
    paths = []
    for root, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(root, name)
            if name.endswith(file_format.suffixes) and path.is_file() and not path.is_symlink():
                paths.append(path.relative_to(folder).as_posix())
    return sorted(paths)
