"""Saves a network without its shuffles of channels, on which OpenVINO spends more than on sums."""

from pathlib import Path
from typing import Any

import onnx

from workers.backends.onnxruntime.files import refuse_large
from workers.backends.rewrites.groups import fold_shuffles
from workers.backends.rewrites.network import Network
from workers.engine.errors import InvalidCandidate


def save_rewritten(path: Path, out: Path) -> dict[str, Any]:
    """Write the network to ``out``; returns its provenance: how often what was rewritten.

    Raises:
        InvalidCandidate: the network is too large, or there is nothing to rewrite.
    """
    refuse_large(path)
    network = Network(onnx.load(path))
    folded = fold_shuffles(network)
    if not folded:
        raise InvalidCandidate("no shuffle of channels stands before a pointwise convolution")
    onnx.save(network.model(), out)
    return {"rewrites": {"folded": folded}}
