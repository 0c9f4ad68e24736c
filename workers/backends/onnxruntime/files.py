"""ONNX files on disk: their external data, their size, and copies."""

import resource
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import onnx

from workers.engine.errors import InvalidCandidate

#: Bytes; protobuf serialises up to 2 GiB, and rewritten networks grow.
MOST_BYTES = 1_800_000_000
#: Bytes, at least those of the nodes that a rewrite adds.
_BESIDE_WEIGHTS = 10_000_000


def copy_model(path: Path, out: Path) -> str:
    """Copy an ONNX file and its external data into ``out``; returns the file's name there.

    Links do not suffice: ONNX refuses linked external data, and a build outlives its network's
    folder.

    Raises InvalidCandidate if the file cannot be parsed, or its external data lie outside its
    folder, are missing, or exceed the file size limit of this process.
    """
    for name in external_files(path):
        source, copy = path.parent / name, out / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            _check_size(source)
            shutil.copyfile(source, copy, follow_symlinks=False)
        except FileNotFoundError as error:
            raise InvalidCandidate(f"the external data {name} is missing") from error
    shutil.copyfile(path, out / path.name)
    return path.name


def _check_size(source: Path) -> None:
    """Check the size limit before copying, so that no partial copy fills the disk."""
    size, most = source.stat().st_size, _most_file_bytes()
    if most is not None and size > most:
        raise InvalidCandidate(f"{source.name} has {size} bytes; builds may have up to {most}")


def most_added_bytes(path: Path) -> int:
    """Bytes by which a rewritten copy of a network may grow: to what protobuf serialises and this
    process may write."""
    limit = _most_file_bytes()
    most = MOST_BYTES if limit is None else min(MOST_BYTES, limit)
    # What is added beside weights, such as nodes, is small.
    return max(0, most - size_bytes(path) - _BESIDE_WEIGHTS)


def _most_file_bytes() -> int | None:
    """The file size limit of this process; ``None`` without one."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if most == resource.RLIM_INFINITY else most


def refuse_large(path: Path) -> None:
    """Raise InvalidCandidate if a rewritten copy would be too large for one protobuf."""
    size = size_bytes(path)
    if size > MOST_BYTES:
        raise InvalidCandidate(
            f"the network has {size} bytes; rewriting supports up to {MOST_BYTES}"
        )


def size_bytes(path: Path) -> int:
    """Bytes of an ONNX file including its external data."""
    names = [path.name, *external_files(path)]
    return sum((path.parent / name).stat().st_size for name in names)


def external_files(path: Path) -> list[str]:
    """Paths of the external data of an ONNX file, relative to its folder. Raises InvalidCandidate
    if the file cannot be parsed or a path leaves its folder."""
    try:
        model = onnx.load(path, load_external_data=False)
    # Protobuf's DecodeError has no public base class.
    except Exception as error:
        raise InvalidCandidate(f"{path.name} is no ONNX file: {error}") from error
    functions = (node for function in model.functions for node in function.node)
    tensors = (*_graph_tensors(model.graph), *_node_tensors(functions))
    names = {
        entry.value
        for tensor in tensors
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or not name:
            raise InvalidCandidate(f"the external data {name!r} lies outside the model's folder")
    return sorted(names)


def _graph_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graph_tensors(graph)
