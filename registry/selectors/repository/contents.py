"""Metadata in the files of a revision: configuration and parameter counts.

Files are untrusted: a bounded number of bytes is read of each, only known keys of the expected
types are returned, and an unreadable file counts as absent. A blob never changes, so results are
cached in memory by digest.
"""

import json
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Q

from hpcfair.formats import FORMATS
from registry.errors import Invalid, NotFound
from registry.fair.datatable import TABLE_SUFFIXES
from registry.selectors.repository.revision import file_get
from registry.selectors.storage.blob import blob_open
from registry.states import RepositoryKind
from registry.tables import Blob, Revision
from registry.validation.labels import LIBRARY_FILES
from registry.validation.texts import unseen
from registry.weightsfiles.safetensors import BITS

#: Files that :func:`config_of` reads.
CONFIG_PATHS = ("config.json", "tokenizer_config.json", "model_index.json")
_WEIGHTS_SUFFIX = ".safetensors"

_MOST_CONFIG_BYTES = 1 << 20
_USUAL_HEADER_BYTES = 1 << 16
_MOST_HEADER_BYTES = 4 << 20
_MOST_SHARDS = 256
_MOST_INDEX_BYTES = 16 << 20
#: Of all files of an index together.
_MOST_HEADERS_BYTES = 32 << 20
_MOST_TEXT = 200
_MOST_MARKS = 500
#: Suffixes of networks and weights; PyTorch's weights may end in ".bin".
_MARKS = (".bin", *(suffix for one in FORMATS for suffix in one.suffixes))
_MOST_TEMPLATE = 20_000
_SPECIAL_TOKENS = tuple(
    f"{name}_token" for name in ("bos", "eos", "unk", "pad", "sep", "cls", "mask")
)


def described_blobs(revision: Revision) -> dict[str, Blob]:
    """Path to blob of the files that :func:`config_of` and :func:`parameters_of` read."""
    # Only those in the top folder count.
    weights = Q(path__endswith=_WEIGHTS_SUFFIX) & ~Q(path__contains="/")
    files = revision.files.filter(Q(path__in=CONFIG_PATHS) | weights)
    rows = files.select_related("blob").order_by("path")[: _MOST_SHARDS + len(CONFIG_PATHS) + 1]
    return {file.path: file.blob for file in rows}


def config_of(blobs: Mapping[str, Blob]) -> dict[str, Any]:
    """The configuration files among ``blobs`` (path to blob), in the Hugging Face hub's shape."""
    config: dict[str, Any] = {}
    for path in CONFIG_PATHS:
        blob = blobs.get(path)
        if blob is not None and blob.size_bytes <= _MOST_CONFIG_BYTES:
            with suppress(NotFound):
                config |= _config_in(blob.sha256, path)
    return config


def weights_among(names: Iterable[str]) -> list[str]:
    """The file names, of those in the top folder, that :func:`parameters_of` needs."""
    weights = sorted(name for name in names if name.endswith(_WEIGHTS_SUFFIX))
    return weights[: _MOST_SHARDS + 1]


def marking_paths(revision: Revision, kind: str) -> list[str]:
    """Paths of files whose names tell what a version of this kind of repository is.

    Of a model, networks and weights: the first :data:`_MOST_MARKS`; later files do not count. Of a
    data set, the first table.
    """
    is_dataset = kind == RepositoryKind.DATASET
    marks = Q(path__in=[] if is_dataset else LIBRARY_FILES)
    for suffix in TABLE_SUFFIXES if is_dataset else _MARKS:
        marks |= Q(path__iendswith=suffix)
    if not is_dataset:
        marks |= Q(path__contains="tfevents")
    rows = revision.files.filter(marks).order_by("path").values_list("path", flat=True)
    return list(rows[: 1 if is_dataset else _MOST_MARKS])


def parameters_of(blobs: Mapping[str, Blob]) -> dict[str, int]:
    """Type to number of parameters in the top-level safetensors files; empty where unknown."""
    shards = [
        blob for path, blob in blobs.items() if path.endswith(_WEIGHTS_SUFFIX) and "/" not in path
    ]
    whole = blobs.get("model.safetensors")
    counts: dict[str, int] = {}
    for blob in [whole] if whole else shards[: _MOST_SHARDS + 1]:
        try:
            some = _parameters_in(blob.sha256, blob.size_bytes)
        except NotFound:
            return {}
        if not some or len(shards) > _MOST_SHARDS:
            return {}
        for dtype, number in some:
            counts[dtype] = counts.get(dtype, 0) + number
    return counts


def shards_of(revision: Revision, path: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The safetensors index ``path`` and the header of each file that it names.

    Raises:
        NotFound: ``file_not_found``: the revision lacks the index or a file that it names.
        Invalid: ``invalid_request``: a file is of another format, or the headers are too large.
    """
    blob = file_get(revision, path).blob
    index = _object_in(_start_of(blob.sha256, _MOST_INDEX_BYTES))
    weights = index.get("weight_map")
    names = weights.values() if isinstance(weights, dict) else ()
    if not names or not all(map(_is_text, names)):
        raise Invalid("invalid_request", f"{path} is not an index of safetensors files.")
    headers: dict[str, dict[str, Any]] = {}
    left = _MOST_HEADERS_BYTES
    for name in dict.fromkeys(names):
        shard = file_get(revision, str(PurePosixPath(path).parent / name)).blob
        data = _header_in(shard.sha256, shard.size_bytes)
        left -= len(data)
        headers[name] = _object_in(data)
        if not headers[name]:
            raise Invalid("invalid_request", f"{name} has no header of safetensors.")
        if left < 0 or len(headers) > _MOST_SHARDS:
            raise Invalid("invalid_request", f"The headers that {path} names are too large.")
    return index, headers


@lru_cache(maxsize=4096)
def _config_in(sha256: str, path: str) -> dict[str, Any]:
    content = _object_in(_start_of(sha256, _MOST_CONFIG_BYTES))
    if path == "model_index.json":
        name = content.get("_class_name")
        return {"diffusers": {"_class_name": name}} if _is_text(name) else {}
    if path == "tokenizer_config.json":
        return {"tokenizer_config": tokens} if (tokens := _tokens(content)) else {}
    config: dict[str, Any] = {}
    architectures = content.get("architectures")
    if isinstance(architectures, list) and architectures and all(map(_is_text, architectures)):
        config["architectures"] = architectures[:10]
    if _is_text(content.get("model_type")):
        config["model_type"] = content["model_type"]
    for key in ("auto_map", "quantization_config"):
        if isinstance(content.get(key), dict) and len(json.dumps(content[key])) <= _MOST_TEMPLATE:
            config[key] = content[key]
    return config


def _tokens(content: dict[str, Any]) -> dict[str, Any]:
    tokens = {}
    for key in _SPECIAL_TOKENS:
        token = content.get(key)
        # Older files hold an object, newer ones the token's text.
        token = token.get("content") if isinstance(token, dict) else token
        if _is_text(token):
            tokens[key] = token
    template = content.get("chat_template")
    if isinstance(template, str) and len(template) <= _MOST_TEMPLATE:
        tokens["chat_template"] = template
    return tokens


@lru_cache(maxsize=8192)
def _parameters_in(sha256: str, size_bytes: int) -> tuple[tuple[str, int], ...]:
    """Pairs of type and number of parameters, from the byte range that each tensor declares."""
    counts: dict[str, int] = {}
    header = _object_in(_header_in(sha256, size_bytes))
    header.pop("__metadata__", None)
    for tensor in header.values():
        match tensor:
            case {"dtype": str(dtype), "data_offsets": [int(begin), int(end)]}:
                if dtype not in BITS or not 0 <= begin <= end <= size_bytes:
                    return ()
                counts[dtype] = counts.get(dtype, 0) + (end - begin) * 8 // BITS[dtype]
            case _:
                return ()
    return tuple(counts.items())


def _header_in(sha256: str, size_bytes: int) -> bytes:
    """The header of a safetensors file as JSON; empty if the file is none.

    ::

        8 bytes   length of the header, little-endian
        header    {"name": {"dtype": "F32", "shape": [...], "data_offsets": [begin, end]}, ...}
        data

    Source: https://github.com/huggingface/safetensors#format
    """
    start = _start_of(sha256, _USUAL_HEADER_BYTES)
    length = struct.unpack("<Q", start[:8])[0] if len(start) >= 8 else 0
    if not 0 < length <= min(_MOST_HEADER_BYTES, size_bytes - 8):
        return b""
    if length + 8 > len(start):
        start = _start_of(sha256, length + 8)
    return start[8 : length + 8]


def _object_in(data: bytes) -> dict[str, Any]:
    try:
        # Infinity and NaN, which Python writes but JSON does not allow, become null.
        content = json.loads(data, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _start_of(sha256: str, length: int) -> bytes:
    """The first ``length`` bytes of a blob."""
    with blob_open(Blob(sha256=sha256)) as stream:
        return stream.read(length)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MOST_TEXT and not unseen(value)
