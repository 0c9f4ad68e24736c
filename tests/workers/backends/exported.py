"""PyTorch programs of the suite's networks."""

from pathlib import Path
from typing import Any

from onnx import numpy_helper

from workers.testing import networks


def export_mlp(path: Path) -> None:
    """``networks.mlp()`` as its author might have written it in PyTorch."""
    import torch  # noqa: PLC0415  an extra

    held = {t.name: numpy_helper.to_array(t) for t in networks.mlp().graph.initializer}
    layers: list[Any] = []
    for n in range(3):
        weight, bias = (torch.tensor(held[f"{kind}{n}"]) for kind in "wb")
        layer = torch.nn.Linear(*weight.shape)
        layer.weight, layer.bias = (
            torch.nn.Parameter(weight.T.contiguous()),
            torch.nn.Parameter(bias),
        )
        layers += [layer, torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers[:-1]).eval()
    batch = torch.export.Dim("N")
    program = torch.export.export(module, (torch.zeros(2, 8),), dynamic_shapes=({0: batch},))
    torch.export.save(program, path)
