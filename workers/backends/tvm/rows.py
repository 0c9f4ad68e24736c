"""Detects networks whose rows are independent, so that a batch can run row by row."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.engine.ports import Array
from workers.engine.random_inputs import open_sizes, random_inputs
from workers.engine.types import Network

_ROWS = 3
_SEED = 20


def rows_dimension(network: Network) -> str:
    """The batch dimension, if a build for batch size 1 can run rows one by one; empty otherwise.

    It must be the first dimension of all inputs, occur nowhere else and be timed with size 1.
    Outputs must begin with it or with a dimension whose size the file does not tell. The rows must
    be independent, which is tested with ONNX Runtime on random inputs.
    """
    leading = {spec.shape[0] if spec.shape else "" for spec in network.inputs}
    specs = (*network.inputs, *network.outputs)
    inner = {size for spec in specs for size in spec.shape[1:]}
    name = leading.pop()
    if leading or not isinstance(name, str) or not name or name in inner:
        return ""
    others = inner | {size for spec in network.inputs for size in spec.shape} - {name}
    for spec in network.outputs:
        if not spec.shape or not isinstance(spec.shape[0], str) or spec.shape[0] in others:
            return ""
    if open_sizes(network).get(name) != 1:
        return ""
    return name if _independent(network, name) else ""


def _independent(network: Network, name: str) -> bool:
    """Whether several rows together give the outputs of each row alone."""
    several = replace(network, dimensions={**network.dimensions, name: _ROWS})
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(
            network.source_path, settings, providers=["CPUExecutionProvider"]
        )
        inputs = random_inputs(several, _SEED)
        together = session.run(None, inputs)
        alone = [session.run(None, _row(inputs, row)) for row in range(_ROWS)]
    # ONNX Runtime's exceptions share no base below Exception; they mean that rows are dependent.
    except Exception:  # noqa: BLE001
        return False
    return all(
        one.shape == joined.shape and np.allclose(one, joined, 1e-3, 1e-5, equal_nan=True)
        for one, joined in zip(
            together, (np.concatenate(parts) for parts in zip(*alone, strict=True)), strict=True
        )
    )


def _row(inputs: Mapping[str, Array], row: int) -> dict[str, Array]:
    return {name: array[row : row + 1] for name, array in inputs.items()}
