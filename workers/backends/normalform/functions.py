"""Replaces calls of functions by the operators of their bodies."""

from collections import Counter

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

#: Key of the property that says which call a node came from.
_CALL = "hpcfair.call"


def inline_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without functions.

    New nodes and values are named after the first output of the outermost call, with the suffix
    that rewritten nodes have, so that profiles link them to it
    (:mod:`workers.backends.attribution`).
    """
    if not model.functions:
        return model
    converted = ir.from_proto(model)
    outputs: set[str | None] = set()
    for node in converted.graph.all_nodes():
        outputs.update(value.name for value in node.outputs)
        if node.op_identifier() in converted.functions:
            # Nodes of the body get the properties of the call.
            node.metadata_props[_CALL] = next(value.name or "" for value in node.outputs)
    common.InlinePass()(converted)
    # Those that nothing calls are left.
    converted.functions.clear()
    counts: Counter[str] = Counter()
    for node in converted.graph.all_nodes():
        call = node.metadata_props.pop(_CALL, None)
        if call is None:
            continue
        node.name = _name(call, counts)
        for value in node.outputs:
            if value.name and value.name not in outputs:
                value.name = _name(call, counts)
    return ir.to_proto(converted)


def _name(call: str, counts: Counter[str]) -> str:
    counts[call] += 1
    return f"{call}/rewritten_{counts[call]}"
