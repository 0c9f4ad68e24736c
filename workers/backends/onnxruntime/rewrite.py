"""Saves a network rewritten for ONNX Runtime's blocked layout, in float32 as before."""

from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort

from workers.backends.onnxruntime.files import refuse_large
from workers.backends.rewrites.affine import fold_scales
from workers.backends.rewrites.align import align_channels
from workers.backends.rewrites.concat import split_over_concat
from workers.backends.rewrites.network import Network
from workers.backends.rewrites.normal import write_out_normalisations
from workers.backends.rewrites.shuffle import gather_shuffles
from workers.backends.rewrites.sums import write_sums_as_additions
from workers.engine.errors import InvalidCandidate

#: In the order they run. A sum is rewritten for the sake of what is fused with it.
_REWRITES = {
    "scales": fold_scales,
    "normalisations": write_out_normalisations,
    "sums": write_sums_as_additions,
    "concatenations": split_over_concat,
    "aligned": align_channels,
    "shuffles": gather_shuffles,
}


def save_rewritten(path: Path, out: Path) -> dict[str, Any]:
    """Write the network to ``out``; returns its provenance: how often what was rewritten.

    Raises:
        InvalidCandidate: the network is too large, or there is nothing to rewrite.
    """
    refuse_large(path)
    network = Network(_simplified(path, out))
    done = {name: count for name, rewrite in _REWRITES.items() if (count := rewrite(network))}
    if not done.keys() - {"sums"}:
        raise InvalidCandidate("nothing of this network could be rewritten")
    onnx.save(network.model(), out)
    return {"rewrites": done}


def _simplified(path: Path, scratch: Path) -> onnx.ModelProto:
    """The network with constants folded and normalisations in their convolutions, as any session
    would have it, so that rewrites see plain operators."""
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(scratch)
    ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return onnx.load(scratch)
