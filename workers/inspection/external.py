"""Locates weights that a model stores outside its own file.

Permitted are regular files inside the revision's folder, with a relative path without ``..`` and
links, and a byte range inside the file. This is the subset that all libraries accept: ONNX Runtime
follows links inside the folder, ``onnx`` rejects hard links.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from onnx import TensorProto

from workers.inspection.dtypes import bytes_of
from workers.inspection.errors import InspectionError, invalid, printable


@dataclass(frozen=True, slots=True)
class ExternalBytes:
    """The bytes of one tensor, in a checked file; ``offset`` and ``length`` in bytes."""

    tensor: TensorProto
    path: Path
    offset: int
    length: int

    def read(self) -> bytes:
        """The bytes. Links are not followed."""
        handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            return os.pread(handle, self.length, self.offset)
        finally:
            os.close(handle)


def locate(tensor: TensorProto, elements: int, base: Path, shown: str) -> ExternalBytes:
    """Find the external bytes of ``tensor`` under ``base``, the folder of its model ``shown``.

    Raises InspectionError: ``onnx_invalid``, ``external_data_escapes`` or
    ``external_data_missing``.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    needed = bytes_of(tensor.data_type, elements)
    if needed is None:
        raise invalid(shown, f"the strings of {tensor.name!r} cannot be stored in another file.")
    try:
        offset = int(entries.get("offset") or 0)
        length = int(entries.get("length") or needed)
    except (TypeError, ValueError) as error:
        raise invalid(shown, f"the external data of {tensor.name!r} have no range.") from error
    if offset < 0 or length != needed:
        raise invalid(
            shown, f"{tensor.name!r} needs {needed:,} external bytes; {length:,} are declared."
        )
    path, size = _file(entries.get("location", ""), base, shown)
    if offset + length > size:
        raise InspectionError(
            "external_data_missing",
            f"{shown} needs {printable(path.name)!r} up to byte {offset + length:,}; "
            f"it has {size:,}.",
            "Upload the data file again, whole.",
        )
    return ExternalBytes(tensor, path, offset, length)


def _file(location: object, base: Path, shown: str) -> tuple[Path, int]:
    """The regular file at ``location`` under ``base``, and its size in bytes."""
    if not isinstance(location, str) or not location.isprintable():
        raise _escapes(shown, repr(location))
    parts = PurePosixPath(location).parts
    absolute = location.startswith("/") or location[1:2] == ":"
    if not parts or absolute or "\\" in location or ".." in parts:
        raise _escapes(shown, location)
    path = base
    for part in parts:
        path /= part
        try:
            status = path.lstat()
        except OSError as error:
            raise InspectionError(
                "external_data_missing",
                f"{shown} keeps weights in {printable(location)!r}, which is missing.",
                "Upload that file beside the model.",
            ) from error
        if stat.S_ISLNK(status.st_mode):
            raise _escapes(shown, location)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise _escapes(shown, location)
    return path, status.st_size


def _escapes(shown: str, location: str) -> InspectionError:
    return InspectionError(
        "external_data_escapes",
        f"{shown} refers to {printable(location)!r} for its weights; only regular files inside "
        "the model's folder, without links or '..', are read.",
        "Save the model with its data file beside it, and publish both.",
    )
