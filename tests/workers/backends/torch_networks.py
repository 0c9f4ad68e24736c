"""Small networks in PyTorch, exported as their authors do: seeded weights, a dynamic batch."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
import torch
from torch import nn

from workers.engine.types import Network
from workers.testing import networks


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.dense = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normal = self.before(x)
        x = x + self.attention(normal, normal, normal, need_weights=False)[0]
        dense: torch.Tensor = self.dense(self.after(x))
        return x + dense


class VisionTransformer(nn.Module):
    """Patches, a class token, two blocks (Dosovitskiy et al. 2021)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 17, width))
        self.blocks = nn.Sequential(_Block(width, 4), _Block(width, 4))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        scores: torch.Tensor = self.head(self.blocks(x)[:, 0])
        return scores


class Recurrent(nn.Module):
    """Two layers of LSTM over 12 steps."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.LSTM(16, 32, 2, batch_first=True)
        self.head = nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.layers(x)
        scores: torch.Tensor = self.head(states[:, -1])
        return scores


class GloballyPooled(nn.Module):
    """Convolutions and a global pool written as a large window, as EfficientNet in
    ``transformers``."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1), nn.SiLU(), nn.Conv2d(32, 96, 3, 2, 1), nn.SiLU()
        )
        self.pool = nn.AvgPool2d(96, ceil_mode=True)
        self.head = nn.Linear(96, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.pool(self.layers(x)).flatten(1))
        return scores


_NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], str]] = {
    "transformer": (VisionTransformer, (2, 3, 32, 32), "transformer"),
    "recurrent": (Recurrent, (2, 12, 16), "recurrent"),
    "pooled": (GloballyPooled, (2, 3, 32, 32), "plain-cnn"),
}


def export(name: str, folder: Path) -> Network:
    """Export a network into a new folder by ``torch.onnx.export(dynamo=True)``."""
    make, shape, architecture_class = _NETWORKS[name]
    torch.manual_seed(0)
    module = make().eval()
    folder.mkdir()
    path = folder / "model.onnx"
    # The exporter calls what PyTorch itself deprecates.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (torch.randn(*shape),),
            str(path),
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            input_names=["x"],
            output_names=["y"],
            external_data=False,
            verbose=False,
        )
    described = networks.describe(onnx.load(path), path)
    return replace(described, architecture_class=architecture_class)
