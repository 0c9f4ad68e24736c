"""Test sets in the layout of ONNX's own tests: folders of serialised ``TensorProto``.

::

    test_data_set_0/input_0.pb  input_1.pb  output_0.pb

All of it runs in a confined child process, because the files may be untrusted. Arrays are passed to
the worker. Sets with types that NumPy does not support, such as bfloat16, are skipped.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from hpcfair.dimensions import UNKNOWN_RANK
from hpcfair.isolation.limits import shown as size_shown
from workers.engine.ports import Array
from workers.engine.sizes import MAX_TEST_BYTES
from workers.inspection.dtypes import NAMES, name_of
from workers.inspection.errors import printable
from workers.inspection.skeleton import OnnxFailure

#: Limit on one tensor, in its file and in memory: test sets verify outputs, they are no benchmarks.
MOST_BYTES = 64 * 2**20
_SIDES = ("input", "output")
_KINDS = frozenset("biufc")
_LONGEST_NAME = 1024


#: Side and index to path.
_Found = dict[tuple[str, int], str]


class _Misfit(ValueError):
    """A set cannot be used; the message is the reason."""


def read_sets(
    *, folder: str, files: Sequence[Mapping[str, Any]], signature: Mapping[str, Any]
) -> dict[str, Any]:
    """Select the published test sets that match a network, with ``signature``, in ``folder``.

    Args:
        files: ``number``, ``side``, ``index`` and ``path`` of each tensor.

    Returns:
        ``{"tensors": [{"number", "side", "index", "name"}], "warnings": [text]}``, with the names
        of the network's tensors. A set that is incomplete or does not match is a warning.
    """
    sets: dict[int, _Found] = {}
    for file in files:
        members = sets.setdefault(file["number"], {})
        members[file["side"], file["index"]] = file["path"]
    tensors: list[dict[str, Any]] = []
    warnings = []
    left = MAX_TEST_BYTES
    for number, members in sorted(sets.items()):
        try:
            read, size = _read_set(Path(folder), number, members, signature, left)
            tensors += read
            left -= size
        except _Misfit as misfit:
            warnings.append(f"test_data_set_{number} is not used: {printable(str(misfit))}.")
    return {"tensors": tensors, "warnings": warnings}


def load_sets(*, folder: str, tensors: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The arrays of test sets: ``{"input": {name: array}, "output": {name: array}}`` of each.

    ``tensors``: ``number``, ``side``, ``name`` and ``path`` of each, in their order. Raises
    ValueError if a file is not a valid tensor.
    """
    sets: dict[int, dict[str, Any]] = {}
    for tensor in tensors:
        sides = sets.setdefault(tensor["number"], {side: {} for side in _SIDES})
        read = _parse(Path(folder) / tensor["path"], tensor["path"])
        sides[tensor["side"]][tensor["name"]] = numpy_helper.to_array(read)
    return list(sets.values())


def write_sets(*, folder: str, sets: Sequence[Mapping[str, Mapping[str, Array]]]) -> None:
    """Write test sets, as :func:`load_sets` returns them, into ``folder`` in ONNX's layout. Raises
    ValueError if a tensor is larger than :data:`MOST_BYTES`, or its type is unsupported."""
    for number, sides in enumerate(sets):
        place = Path(folder) / f"test_data_set_{number}"
        place.mkdir()
        for side in _SIDES:
            for index, (name, array) in enumerate(sides[side].items()):
                (place / f"{side}_{index}.pb").write_bytes(_serialised(name, array))


def _read_set(
    folder: Path, number: int, members: _Found, signature: Mapping[str, Any], left: int
) -> tuple[list[dict[str, Any]], int]:
    """The tensors of a set, and their size in memory in bytes, at most ``left``."""
    tensors, total = [], 0
    for side in _SIDES:
        specs = signature[f"{side}s"]
        places = [(side, index) for index in range(len(specs))]
        present = {place for place in members if place[0] == side}
        if present != set(places):
            raise _Misfit(f"it has {len(present)} {side}s, the network {len(specs)}")
        read = [_parse(folder / members[place], members[place]) for place in places]
        for index, (tensor, spec) in enumerate(zip(read, _named(read, specs), strict=True)):
            _check_fit(tensor, spec, members[side, index])
            place = {"number": number, "side": side, "index": index}
            tensors.append({**place, "name": spec["name"]})
            total += _memory_bytes(numpy_helper.to_array(tensor))
    if total > left:
        raise _Misfit(f"the sets take more than {size_shown(MAX_TEST_BYTES)} together")
    return tensors, total


def _named(read: Sequence[TensorProto], specs: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Match tensors with those of the network: by name if all names agree, else by position."""
    by_name = {spec["name"]: spec for spec in specs}
    names = [tensor.name for tensor in read]
    if len(set(names)) == len(names) and set(names) == by_name.keys():
        return [by_name[name] for name in names]
    return list(specs)


def _check_fit(tensor: TensorProto, spec: Mapping[str, Any], shown: str) -> None:
    dtype, shape = name_of(tensor.data_type), list(tensor.dims)
    if not 0 < len(spec["name"]) <= _LONGEST_NAME:
        raise _Misfit(f"the network's name of {shown} is empty or too long")
    if dtype != spec["dtype"]:
        raise _Misfit(f"{shown} is {dtype}, {spec['name']} is {spec['dtype']}")
    sizes = spec["shape"]
    fits = sizes == [UNKNOWN_RANK] or (
        len(sizes) == len(shape)
        and all(isinstance(w, str) or w == have for w, have in zip(sizes, shape, strict=True))
    )
    if not fits:
        raise _Misfit(f"{shown} has shape {shape}, {spec['name']} has {sizes}")


def _parse(path: Path, shown: str) -> TensorProto:
    """A tensor with inline data of the size that its shape requires."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise _Misfit(f"{shown} is not a file of at most {MOST_BYTES >> 20} MiB")
    tensor = TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
    except (DecodeError, RuntimeError, ValueError) as error:
        raise _Misfit(f"{shown} is not a valid tensor") from error
    if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
        raise _Misfit(f"the data of {shown} lie in another file")
    if not _crosses(tensor.data_type):
        raise _Misfit(f"{shown} has a type that NumPy does not support")
    try:
        onnx.checker.check_tensor(tensor)
        array = numpy_helper.to_array(tensor)
    except OnnxFailure as error:
        raise _Misfit(f"{shown} is not a valid tensor") from error
    if list(array.shape) != list(tensor.dims):
        raise _Misfit(f"{shown} has another number of values than its shape says")
    if _memory_bytes(array) > MOST_BYTES:
        raise _Misfit(f"{shown} takes more than {MOST_BYTES >> 20} MiB of memory")
    return tensor


def _memory_bytes(array: Array) -> int:
    """Bytes of an array as it crosses to the worker: texts are as long as the longest."""
    if array.dtype != object:
        return array.nbytes
    return 4 * array.size * max((len(str(text)) for text in array.flat), default=0)


def _crosses(data_type: int) -> bool:
    if data_type not in NAMES:
        return False
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    return data_type == TensorProto.STRING or (dtype.isbuiltin == 1 and dtype.kind in _KINDS)


def _serialised(name: str, array: Array) -> bytes:
    if array.nbytes > MOST_BYTES:
        raise ValueError(f"{printable(name)} takes {array.nbytes:,} bytes, too many for a test")
    storable = array.astype(object) if array.dtype.kind == "U" else array
    data: bytes = numpy_helper.from_array(storable, name).SerializeToString()
    return data
