"""Saves a float32 network rewritten for ONNX Runtime: its blocked layout, its fused attention."""

from pathlib import Path
from typing import Any

import onnx

from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.backends.onnxruntime.files import most_added_bytes, refuse_large
from workers.backends.rewrites.align import align_channels
from workers.backends.rewrites.attention import fuse_attention
from workers.backends.rewrites.concat import split_over_concat
from workers.backends.rewrites.convolutions import reduce_multiplications
from workers.backends.rewrites.graph import EditableGraph
from workers.backends.rewrites.normal import write_out_normalisations
from workers.backends.rewrites.shuffle import gather_shuffles
from workers.engine.errors import InvalidCandidate


def replace_sums(graph: EditableGraph) -> int:
    """Replace each ``Sum`` of two values by an ``Add``, which optimisers fuse; returns their
    number."""
    sums = [node for node in graph.nodes if node.op_type == "Sum" and len(node.input) == 2]
    for node in sums:
        node.op_type = "Add"
    return len(sums)


#: In the order they run. Sums are rewritten only to let other operators be fused with them.
_REWRITES = {
    "normalisations": write_out_normalisations,
    "sums": replace_sums,
    "concatenations": split_over_concat,
    "aligned": align_channels,
    "shuffles": gather_shuffles,
    "attention": fuse_attention,
}


def save_rewritten(path: Path, out: Path, artefact: str) -> dict[str, Any]:
    """Write the rewritten network to ``out``; returns provenance with the count of each rewrite.

    ``artefact`` is ``rewritten``, or ``fast-convolutions`` for those of
    :mod:`workers.backends.rewrites.convolutions` besides. Raises InvalidCandidate if the network is
    too large or there is nothing to rewrite.
    """
    refuse_large(path)
    graph = EditableGraph(_simplified(path, out))
    counts = {name: count for name, rewrite in _REWRITES.items() if (count := rewrite(graph))}
    if artefact == "fast-convolutions":
        reduced = reduce_multiplications(graph, most_added_bytes(path))
        if not reduced:
            raise InvalidCandidate("no convolution of this network has a faster algorithm")
        counts |= reduced
    if not counts.keys() - {"sums"}:
        raise InvalidCandidate("nothing of this network could be rewritten")
    onnx.save(graph.model(), out)
    return {"rewrites": counts}


def _simplified(path: Path, scratch: Path) -> onnx.ModelProto:
    """The network after ONNX Runtime's basic optimisations, such as constant folding and fusion of
    normalisations into convolutions, so that rewrites see simple operators."""
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(scratch)
    ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return onnx.load(scratch)
