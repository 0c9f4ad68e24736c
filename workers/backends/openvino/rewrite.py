"""Saves a network whose channel shuffles are folded, because they are slow in OpenVINO."""

from pathlib import Path
from typing import Any

import onnx

from workers.backends.onnxruntime.files import refuse_large
from workers.backends.rewrites.graph import EditableGraph
from workers.backends.rewrites.groups import fold_shuffles
from workers.engine.errors import InvalidCandidate


def save_rewritten(path: Path, out: Path) -> dict[str, Any]:
    """Write the rewritten network to ``out``; returns provenance with the count of folded shuffles.
    Raises InvalidCandidate if the network is too large or there is nothing to rewrite."""
    refuse_large(path)
    graph = EditableGraph(onnx.load(path))
    folded = fold_shuffles(graph)
    if not folded:
        raise InvalidCandidate("no channel shuffle precedes a pointwise convolution")
    onnx.save(graph.model(), out)
    return {"rewrites": {"folded": folded}}
