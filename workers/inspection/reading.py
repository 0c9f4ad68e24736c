"""Parses an ONNX file and distinguishes "not ONNX" from "truncated ONNX".

A protobuf file has no magic number, no length and no checksum. It is a sequence of fields, each a
tag (field number and wire type) and a value; writers emit fields in the order of their numbers::

    08 07                 field 1, varint: ir_version = 7
    12 07 70 79 74 ...    field 2, 7 bytes: producer_name
    3a 91 a2 04 ...       field 7, 69,905 bytes: graph
    42 02 10 11           field 8, 2 bytes: opset_import

A file is truncated if it begins with a plausible ir_version and its last field claims more bytes
than there are, or if it ends before the operator sets, which follow the graph.
"""

import os
import stat
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from hpcfair.formats import mistaken_for
from workers.inspection.errors import InspectionError

#: protobuf's own limit on a message, in bytes.
MAX_BYTES = 2**31 - 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_IR_VERSION, _GRAPH, _OPSET_IMPORT = 1, 7, 8
#: ModelProto's fields and their wire types, from onnx.proto.
_FIELDS: dict[int, int] = {
    field.number: _VARINT if field.cpp_type == field.CPPTYPE_INT64 else _BYTES
    for field in onnx.ModelProto.DESCRIPTOR.fields
}
_UPLOAD_AGAIN = "Upload the file again, and compare its size with the original."


def read_model(path: Path, shown: str) -> onnx.ModelProto:
    """Parse the regular file at ``path``, named ``shown`` in errors, without external data. Raises
    InspectionError: ``onnx_unreadable``, ``onnx_truncated`` or ``onnx_invalid`` (too large)."""
    data = _read(path, shown)
    fields, intact = scan(data)
    begins_well = _begins_like_onnx(data)
    if not intact and begins_well:
        raise InspectionError(
            "onnx_truncated", f"{shown} ends in the middle of its data.", _UPLOAD_AGAIN
        )
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, RuntimeError, ValueError) as error:
        if not begins_well:
            raise _foreign(data, shown) from error
        raise InspectionError(
            "onnx_unreadable", f"{shown} is damaged: its data do not parse.", _UPLOAD_AGAIN
        ) from error
    if not {_GRAPH, _OPSET_IMPORT} <= fields:
        if not begins_well:
            raise _foreign(data, shown)
        missing = "graph" if _GRAPH not in fields else "operator sets"
        raise InspectionError(
            "onnx_truncated", f"{shown} ends before its {missing}.", _UPLOAD_AGAIN
        )
    return model


def scan(data: bytes) -> tuple[set[int], bool]:
    """Numbers of the top-level fields of a model, and whether the last one is complete. The scan
    stops at the first field that ONNX does not define."""
    fields: set[int] = set()
    at = 0
    while at < len(data):
        tag = _varint(data, at)
        if tag is None:
            return fields, False
        (number, wire), at = (tag[0] >> 3, tag[0] & 7), tag[1]
        if _FIELDS.get(number) != wire:
            return fields, True
        value = _varint(data, at)
        if value is None:
            return fields, False
        at = value[1] + (value[0] if wire == _BYTES else 0)
        if at > len(data):
            return fields, False
        fields.add(number)
    return fields, True


def _varint(data: bytes, at: int) -> tuple[int, int] | None:
    """Value and following position of the base-128 number at ``at``; ``None`` if cut off."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            return None
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return value, at


def _begins_like_onnx(data: bytes) -> bool:
    """Whether the first field is an existing or near-future ir_version, possibly truncated."""
    return data[:1] in {b"", b"\x08"} and (len(data) < 2 or 0 < data[1] < 64)


def _read(path: Path, shown: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InspectionError(
            "onnx_unreadable", f"{shown} cannot be opened.", "Publish a regular file."
        ) from error
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        # Reading a pipe or a device may never end.
        if not stat.S_ISREG(status.st_mode):
            raise InspectionError("onnx_unreadable", f"{shown} is not a regular file.")
        if status.st_size > MAX_BYTES:
            raise InspectionError(
                "onnx_invalid",
                f"{shown} is larger than 2 GiB, which no ONNX file can be.",
                "Save it with external data (onnx.save_model(..., save_as_external_data=True)).",
            )
        return stream.read()


def _foreign(data: bytes, shown: str) -> InspectionError:
    kind = mistaken_for(data) or "not an ONNX model"
    return InspectionError(
        "onnx_unreadable", f"{shown} is {kind}.", "Export the model to ONNX, and publish that file."
    )
