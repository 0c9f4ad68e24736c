"""Networks for sequences, sound, tables, fields and graphs in plain PyTorch."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as fn

from benchmarks.exports.live import ROWS, Arrays, generator
from benchmarks.exports.torch_model import TorchModel

_WORDS = 500
_SEQUENCE = {1: "sequence"}


def _normal(chance: random.Random, *shape: int) -> npt.NDArray[Any]:
    return generator(chance.randrange(2**31)).standard_normal((ROWS, *shape)).astype(np.float32)


def _tokens(chance: random.Random, length: int) -> Arrays:
    words = generator(chance.randrange(2**31)).integers(0, _WORDS, (ROWS, length))
    return {"tokens": words}


class _Recurrent(nn.Module):
    def __init__(self, width: int, kind: type[nn.LSTM | nn.GRU], *, is_tagger: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_WORDS, width)
        self.layers = kind(width, width, 2, batch_first=True, bidirectional=is_tagger)
        self.head = nn.Linear(2 * width if is_tagger else width, 12)
        self.is_tagger = is_tagger

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.layers(self.embedding(tokens))
        return self.head(states if self.is_tagger else states[:, -1])


def lstm_tagger(chance: random.Random) -> TorchModel:
    module = _Recurrent(chance.choice((48, 64, 96)), nn.LSTM, is_tagger=True)
    tokens = _tokens(chance, chance.choice((24, 32, 48)))
    outputs = {"output": _SEQUENCE}
    return TorchModel(module, tokens, ["output"], {"tokens": _SEQUENCE}, outputs)


def gru_classifier(chance: random.Random) -> TorchModel:
    module = _Recurrent(chance.choice((64, 96, 128)), nn.GRU, is_tagger=False)
    tokens = _tokens(chance, chance.choice((24, 32)))
    return TorchModel(module, tokens, ["output"], {"tokens": _SEQUENCE})


class _Causal(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.margin = 2 * dilation
        self.conv = nn.Conv1d(width, 2 * width, 3, dilation=dilation)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.out(fn.glu(self.conv(fn.pad(x, (self.margin, 0))), dim=1))


def temporal_cnn(chance: random.Random) -> TorchModel:
    width, length = chance.choice((32, 48)), chance.choice((96, 128))
    blocks = [_Causal(width, dilation) for dilation in (1, 2, 4, 8)]
    module = nn.Sequential(nn.Conv1d(8, width, 1), *blocks, nn.Conv1d(width, 4, 1))
    return TorchModel(module, {"series": _normal(chance, 8, length)}, ["output"])


def audio_cnn(chance: random.Random) -> TorchModel:
    width, length = chance.choice((16, 24)), chance.choice((2000, 4000))
    layers: list[nn.Module] = []
    for inward, outward in ((1, width), (width, 2 * width), (2 * width, 4 * width)):
        layers += [nn.Conv1d(inward, outward, 9, 4, 4), nn.BatchNorm1d(outward), nn.ReLU()]
        layers.append(nn.MaxPool1d(2))
    layers += [nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4 * width, 35)]
    module = nn.Sequential(*layers)
    return TorchModel(module, {"wave": _normal(chance, 1, length)}, ["output"])


class _RelativeAttention(nn.Module):
    """Attention whose scores have a learned bias for each distance."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Embedding(2 * length - 1, heads)
        places = torch.arange(length)
        self.register_buffer("distance", places[:, None] - places[None, :] + length - 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.bias(self.distance).permute(2, 0, 1)[None]
        mixed = fn.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))


def relative_attention(chance: random.Random) -> TorchModel:
    heads, length = chance.choice((4, 8)), chance.choice((32, 48))
    width = 32 * heads
    blocks = [_RelativeAttention(width, heads, length) for _ in range(3)]
    module = nn.Sequential(nn.Linear(16, width), *blocks, nn.Linear(width, 8))
    return TorchModel(module, {"features": _normal(chance, length, 16)}, ["output"])


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU()),
            *(nn.Dropout(0.1), nn.Linear(2 * width, width)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


def residual_mlp(chance: random.Random) -> TorchModel:
    features, width = chance.choice((20, 50)), chance.choice((128, 256))
    blocks = [_Residual(width) for _ in range(chance.choice((3, 5)))]
    module = nn.Sequential(nn.Linear(features, width), *blocks, nn.Linear(width, 1))
    return TorchModel(module, {"row": _normal(chance, features)}, ["output"])


class _Siamese(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.tower = nn.Sequential(
            *(nn.Conv2d(1, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1)),
            *(nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(8 * width, 64)),
        )

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        one, other = fn.normalize(self.tower(left)), fn.normalize(self.tower(right))
        return (one * other).sum(dim=1, keepdim=True), torch.cat([one, other], dim=1)


def siamese(chance: random.Random) -> TorchModel:
    size = chance.choice((48, 64))
    inputs: Mapping[str, npt.NDArray[Any]] = {
        name: _normal(chance, 1, size, size) for name in ("left", "right")
    }
    return TorchModel(_Siamese(chance.choice((16, 32))), inputs, ["similarity", "embeddings"])


class _Spectral(nn.Module):
    """A layer of a Fourier neural operator, with real transforms as products."""

    basis: torch.Tensor

    def __init__(self, size: int, width: int, modes: int) -> None:
        super().__init__()
        angles = 2 * torch.pi * torch.arange(size)[:, None] * torch.arange(modes)[None] / size
        basis = torch.cat([torch.cos(angles), torch.sin(angles)], dim=1) / size**0.5
        self.register_buffer("basis", basis)
        self.mix = nn.Parameter(torch.randn(2 * modes, width, width) / width**0.5)
        self.local = nn.Conv1d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.matmul(x, self.basis)
        mixed = torch.einsum("bim,mio->bom", spectrum, self.mix)
        return fn.gelu(torch.matmul(mixed, self.basis.t()) + self.local(x))


def spectral_surrogate(chance: random.Random) -> TorchModel:
    size, width = chance.choice((64, 128)), chance.choice((24, 32))
    layers = [_Spectral(size, width, chance.choice((8, 12))) for _ in range(3)]
    module = nn.Sequential(nn.Conv1d(2, width, 1), *layers, nn.Conv1d(width, 1, 1))
    return TorchModel(module, {"field": _normal(chance, 2, size)}, ["output"])


class _GraphConvolution(nn.Module):
    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(features, width), nn.Linear(width, width)
        self.head = nn.Linear(width, 6)

    def forward(self, nodes: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
        degree = adjacency.sum(dim=-1, keepdim=True).clamp(min=1.0)
        spread = adjacency / degree
        x = fn.relu(torch.bmm(spread, self.first(nodes)))
        x = fn.relu(torch.bmm(spread, self.second(x)))
        return fn.log_softmax(self.head(x.amax(dim=1)), dim=-1)


def dense_graph_cnn(chance: random.Random) -> TorchModel:
    count, features = chance.choice((32, 64)), 16
    rng = generator(chance.randrange(2**31))
    edges = (rng.random((ROWS, count, count)) < 0.2).astype(np.float32)
    inputs = {"nodes": _normal(chance, count, features), "adjacency": edges}
    return TorchModel(_GraphConvolution(features, chance.choice((64, 96))), inputs, ["output"])
