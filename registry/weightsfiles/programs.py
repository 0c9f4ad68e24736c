"""Programs of PyTorch (``.pt2``) and models of Keras 3 (``.keras``): archives with JSON."""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipInfo

from registry.weightsfiles.archives import open_archive, read_json, read_member
from registry.weightsfiles.facts import HeaderTensor, Unreadable, WeightsFacts, facts_of, printable
from registry.weightsfiles.hdf5 import tensors_of
from registry.weightsfiles.places import Places

_MOST_JSON_BYTES = 16 * 2**20
_MOST_DEPTH = 50
_KERAS, _WEIGHTS = "Keras model", "model.weights.h5"
#: Bytes of the header before a member of an archive, and where it states the lengths of its names.
_LOCAL_HEADER, _LOCAL_NAMES = 30, 26
#: Codes of ``torch._export.serde.schema.ScalarType``, and bytes of a value.
_TYPES = {
    1: ("uint8", 1), 2: ("int8", 1), 3: ("int16", 2), 4: ("int32", 4), 5: ("int64", 8),
    6: ("float16", 2), 7: ("float32", 4), 8: ("float64", 8), 12: ("bool", 1), 13: ("bfloat16", 2),
}  # fmt: skip


def read_pt2(stream: BinaryIO, size_bytes: int) -> WeightsFacts:
    """Facts of an exported program; raises Unreadable if it is none."""
    with open_archive(stream, size_bytes) as archive:
        members = {name.partition("/")[2]: name for name in archive.namelist()}
        if "archive_version" not in members:
            raise Unreadable("Its archive is not one of torch.export.")
        version = read_member(archive, members["archive_version"], 20).decode("utf-8", "replace")
        models = [name for name in members if name.startswith("models/")]
        tensors: list[HeaderTensor] = []
        for inner, name in members.items():
            if inner.startswith("data/weights/") and inner.endswith("_config.json"):
                tensors += _weights(read_json(archive, name, _MOST_JSON_BYTES))
    metadata = [("archive version", version), ("programs", len(models))]
    return facts_of("exported PyTorch program", tensors, metadata)


def _weights(config: Mapping[str, Any]) -> Iterator[HeaderTensor]:
    described = config.get("config")
    for name, entry in described.items() if isinstance(described, dict) else ():
        match entry:
            case {"tensor_meta": {"dtype": int(code), "sizes": [*sizes]}}:
                counts = [size.get("as_int") for size in sizes if isinstance(size, dict)]
                shape = tuple(n for n in counts if type(n) is int and n >= 0)
            case _:
                raise Unreadable(f"The weight {name!r:.100} has no type and shape.")
        if len(shape) != len(sizes):
            raise Unreadable(f"The weight {name!r:.100} has an impossible shape.")
        dtype, size_bytes = _TYPES.get(code, (f"type {code}", 0))
        tensor = HeaderTensor(name, dtype, shape, 0)
        yield HeaderTensor(name, dtype, shape, tensor.elements * size_bytes)


def read_keras(stream: BinaryIO, size_bytes: int) -> WeightsFacts:
    """Facts of a model of Keras 3; raises Unreadable if it is none."""
    with open_archive(stream, size_bytes) as archive:
        if "config.json" not in archive.namelist():
            raise Unreadable("Its archive is not one of Keras 3.")
        config = read_json(archive, "config.json", _MOST_JSON_BYTES)
        about: dict[str, Any] = {}
        if "metadata.json" in archive.namelist():
            about = read_json(archive, "metadata.json", _MOST_JSON_BYTES)
        weights = next((one for one in archive.infolist() if one.filename == _WEIGHTS), None)
        tensors, stated = _keras_tensors(stream, size_bytes, weights)
    classes = list(_classes(config, _MOST_DEPTH))
    metadata = [
        ("Keras", about.get("keras_version", "?")),
        ("class", config.get("class_name", "?")),
        ("objects", len(classes)),
        *stated,
    ]
    code = "A Lambda layer holds Python code, which runs when the model is loaded."
    findings = (code,) if "Lambda" in classes else ()
    if tensors is None:
        shown = tuple((key, printable(value)) for key, value in metadata)
        return WeightsFacts(_KERAS, metadata=shown, findings=findings)
    return facts_of(_KERAS, tensors, metadata, findings)


def _keras_tensors(
    stream: BinaryIO, size_bytes: int, weights: ZipInfo | None
) -> tuple[list[HeaderTensor] | None, list[tuple[str, str]]]:
    """The weights in an archive, ``None`` if they are not read, and what else is stated of them."""
    if weights is None:
        return None, []
    size = ("weights", f"{weights.file_size:,} bytes")
    if weights.compress_type != ZIP_STORED:
        return None, [size]
    try:
        archive = Places(stream, 0, size_bytes)
        names = archive.numbers("HH", weights.header_offset + _LOCAL_NAMES)
        begin = weights.header_offset + _LOCAL_HEADER + sum(names)
        return tensors_of(Places(stream, begin, min(weights.file_size, size_bytes - begin)))
    except Unreadable as error:
        return None, [size, ("weights are not read", str(error))]


def _classes(value: Any, depth: int) -> Iterator[str]:
    """Names of all classes in a configuration."""
    if depth == 0:
        raise Unreadable("Its configuration is nested too deeply.")
    if isinstance(value, dict):
        if isinstance(name := value.get("class_name"), str):
            yield name
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _classes(inner, depth - 1)
