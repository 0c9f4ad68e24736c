"""Programs of PyTorch (``.pt2``) and models of Keras 3 (``.keras``): archives with JSON."""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from registry.weightsfiles.archives import open_archive, read_json, read_member
from registry.weightsfiles.facts import HeaderTensor, Unreadable, WeightsFacts, facts_of, printable

_MOST_JSON_BYTES = 16 * 2**20
_MOST_DEPTH = 50
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
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    classes = list(_classes(config, _MOST_DEPTH))
    metadata = [
        ("Keras", about.get("keras_version", "?")),
        ("class", config.get("class_name", "?")),
        ("objects", len(classes)),
        ("weights", f"{sizes.get('model.weights.h5', 0):,} bytes"),
    ]
    code = "A Lambda layer holds Python code, which runs when the model is loaded."
    return WeightsFacts(
        "Keras model",
        metadata=tuple((key, printable(value)) for key, value in metadata),
        findings=(code,) if "Lambda" in classes else (),
    )


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
