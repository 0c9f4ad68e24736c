"""ONNX files on disk: which files one consists of, and copies of it."""

import resource
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import onnx

from workers.engine.errors import InvalidCandidate

#: Above this a protobuf does not serialise any more (2 GiB), with room for what grows.
MOST_BYTES = 1_800_000_000


def copy_model(path: Path, out: Path) -> str:
    """Copy an ONNX file and its external data into ``out``; returns the file's name there.

    Real copies, never links: ONNX refuses external data behind links, and a build must outlive
    the folder it was made from.

    Raises:
        InvalidCandidate: the file cannot be parsed, its data lies elsewhere, is missing, or is
            larger than this process may write.
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
    """Before copying: a limit that is met half way has filled the disk half way."""
    size, most = source.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and size > most:
        raise InvalidCandidate(f"{source.name} has {size} bytes, a build may have {most}")


def refuse_large(path: Path) -> None:
    """Raises InvalidCandidate where a rewritten copy could not be saved as one protobuf."""
    size = size_bytes(path)
    if size > MOST_BYTES:
        raise InvalidCandidate(f"{size} bytes of network; rewriting takes {MOST_BYTES}")


def size_bytes(path: Path) -> int:
    """Bytes of an ONNX file with its external data."""
    names = [path.name, *external_files(path)]
    return sum((path.parent / name).stat().st_size for name in names)


def external_files(path: Path) -> list[str]:
    """Names of the files beside ``path`` that hold its tensors, as written in it.

    Raises:
        InvalidCandidate: the file cannot be parsed, or a name would leave its folder.
    """
    try:
        model = onnx.load(path, load_external_data=False)
    # Protobuf's DecodeError has no public base of its own.
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
