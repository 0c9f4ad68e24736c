"""Joins ONNX graphs, whose tensors are renamed so that no two have one name."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import compose, version_converter

from hpcfair.runtimes.base import TensorInfo

_Links = Sequence[tuple[TensorInfo, TensorInfo]]


def merge(protos: Sequence[Any], links: Sequence[_Links]) -> Any:
    """One network of several.

    Args:
        links: For each network but the first, which output of the one before becomes which input.

    Inputs of the first and outputs of the last network keep their names. Raises exceptions of
    ``onnx``.
    """
    graphs = _prepared(protos)
    joined = compose.add_prefix(graphs[0], _prefix(0))
    sizes: dict[str, int | str] = {}
    for number, pairs in enumerate(links, 1):
        sizes = _sizes(pairs, sizes)
        part = compose.add_prefix(graphs[number], _prefix(number))
        _set_sizes(part.graph, sizes)
        names = [
            (_prefix(number - 1) + source.name, _prefix(number) + sink.name)
            for source, sink in pairs
        ]
        outputs = [each.name for each in part.graph.output]
        joined = compose.merge_models(joined, part, io_map=names)
        # Outputs that no input takes would otherwise remain.
        last = [each for each in joined.graph.output if each.name in outputs]
        del joined.graph.output[:]
        joined.graph.output.extend(last)
    _restore_names(joined.graph, len(protos) - 1)
    joined.graph.name = "+".join(proto.graph.name or "network" for proto in protos)
    onnx.checker.check_model(joined)
    return joined


def _prefix(number: int) -> str:
    return f"part{number}/"


def _prepared(protos: Sequence[Any]) -> list[Any]:
    """Copies of one version of ONNX, without the inferred shapes, which may contradict others."""
    newest = max(_opset(proto) for proto in protos)
    copies = []
    for proto in protos:
        if _opset(proto) == newest:
            copy = onnx.ModelProto()
            copy.CopyFrom(proto)
        else:
            copy = version_converter.convert_version(proto, newest)
        copy.ir_version = max(each.ir_version for each in protos)
        del copy.graph.value_info[:]
        copies.append(copy)
    return copies


def _opset(proto: Any) -> int:
    version: int = next(o.version for o in proto.opset_import if o.domain in {"", "ai.onnx"})
    return version


def _sizes(pairs: _Links, before: Mapping[str, int | str]) -> dict[str, int | str]:
    """What the open sizes of a network's inputs are in the joined one."""
    sizes: dict[str, int | str] = {}
    for source, sink in pairs:
        for have, want in zip(source.shape, sink.shape, strict=True):
            if isinstance(want, str) and "?" not in {have, want}:
                sizes[want] = before.get(have, have) if isinstance(have, str) else have
    return sizes


def _set_sizes(graph: Any, sizes: Mapping[str, int | str]) -> None:
    for value in (*graph.input, *graph.output):
        for size in value.type.tensor_type.shape.dim:
            actual = sizes.get(size.dim_param)
            if isinstance(actual, int):
                size.dim_value = actual
            elif actual is not None:
                size.dim_param = actual


def _restore_names(graph: Any, last: int) -> None:
    """Give inputs and outputs their own names again."""
    names = {each.name: each.name.removeprefix(_prefix(0)) for each in graph.input}
    for each in graph.output:
        own = each.name.removeprefix(_prefix(last))
        names[each.name] = own if own not in names.values() else each.name
    _rename(graph, names)


def _rename(graph: Any, names: Mapping[str, str]) -> None:
    for value in (*graph.input, *graph.output):
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                _rename(inner, names)
