"""Raises the lowest float32 of a program to the lowest number of a smaller type.

``transformers`` fill masks of attention with the lowest float32. Under autocast the scores that it
replaces are of a smaller type, in which it is minus infinity, and the softmax of a row masked
as a whole is NaN. Numbers of ONNX files are raised by :mod:`workers.backends.normalform.lowest`.
"""

from math import inf
from typing import Any

import torch
from torch.fx.node import map_aggregate


def raise_lowest(exported: Any, dtype: torch.dtype) -> None:
    """Raise the finite numbers that are too low for ``dtype``, in place."""
    lowest = torch.finfo(dtype).min

    def raised(value: Any) -> Any:
        return lowest if isinstance(value, float) and -inf < value < lowest else value

    for module in exported.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                node.args = map_aggregate(node.args, raised)
                node.kwargs = map_aggregate(node.kwargs, raised)
            module.recompile()
    for name, tensor in exported.constants.items():
        if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32:
            too_low = (tensor < lowest) & tensor.isfinite()
            exported.constants[name] = tensor.masked_fill(too_low, lowest)
