"""Networks for sequences, sound, tables, fields and graphs in plain PyTorch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as fn

from benchmarks.exports.live import ROWS, Arrays, generator, signals
from benchmarks.exports.sizes import ORDINARY, Sizes
from benchmarks.exports.torch_model import TorchModel

_SEQUENCE = {1: "sequence"}


def _normal(sizes: Sizes, *shape: int, axes: tuple[int, ...] = ()) -> npt.NDArray[Any]:
    return signals(generator(sizes.seed()), sizes.scale, shape, axes)


def _tokens(sizes: Sizes, words: int, length: int) -> Arrays:
    return {"tokens": generator(sizes.seed()).integers(0, words, (ROWS, length))}


class _Recurrent(nn.Module):
    def __init__(
        self, words: int, width: int, kind: type[nn.LSTM | nn.GRU], *, is_tagger: bool
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = kind(width, width, 2, batch_first=True, bidirectional=is_tagger)
        self.head = nn.Linear(2 * width if is_tagger else width, 12)
        self.is_tagger = is_tagger

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.layers(self.embedding(tokens))
        return self.head(states if self.is_tagger else states[:, -1])


def lstm_tagger(sizes: Sizes) -> TorchModel:
    words, width = sizes.value(500, 20_000), sizes.choice((48, 64, 96), (256, 384))
    module = _Recurrent(words, width, nn.LSTM, is_tagger=True)
    tokens = _tokens(sizes, words, sizes.choice((24, 32, 48), (64, 128)))
    outputs = {"output": _SEQUENCE}
    return TorchModel(module, tokens, ["output"], {"tokens": _SEQUENCE}, outputs)


def gru_classifier(sizes: Sizes) -> TorchModel:
    words, width = sizes.value(500, 20_000), sizes.choice((64, 96, 128), (256, 384))
    module = _Recurrent(words, width, nn.GRU, is_tagger=False)
    tokens = _tokens(sizes, words, sizes.choice((24, 32), (64, 128)))
    return TorchModel(module, tokens, ["output"], {"tokens": _SEQUENCE})


class _Causal(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.margin = 2 * dilation
        self.conv = nn.Conv1d(width, 2 * width, 3, dilation=dilation)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.out(fn.glu(self.conv(fn.pad(x, (self.margin, 0))), dim=1))


def temporal_cnn(sizes: Sizes) -> TorchModel:
    width, length = sizes.choice((32, 48), (128, 192)), sizes.choice((96, 128), (512, 1024))
    blocks = [_Causal(width, 2**level) for level in range(sizes.value(4, 8))]
    module = nn.Sequential(nn.Conv1d(8, width, 1), *blocks, nn.Conv1d(width, 4, 1))
    return TorchModel(module, {"series": _normal(sizes, 8, length, axes=(2,))}, ["output"])


def audio_cnn(sizes: Sizes) -> TorchModel:
    width, length = sizes.choice((16, 24), (128, 192)), sizes.choice((2000, 4000), (32_000, 48_000))
    layers: list[nn.Module] = []
    for inward, outward in ((1, width), (width, 2 * width), (2 * width, 4 * width)):
        layers += [nn.Conv1d(inward, outward, 9, 4, 4), nn.BatchNorm1d(outward), nn.ReLU()]
        layers.append(nn.MaxPool1d(2))
    layers += [nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4 * width, 35)]
    module = nn.Sequential(*layers)
    wave = {"wave": _normal(sizes, 1, length, axes=(2,))}
    return TorchModel(module, wave, ["output"], is_normalised=sizes.scale == ORDINARY)


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


def relative_attention(sizes: Sizes) -> TorchModel:
    heads, length = sizes.choice((4, 8), (8, 12)), sizes.choice((32, 48), (128, 192))
    width = 32 * heads
    blocks = [_RelativeAttention(width, heads, length) for _ in range(sizes.value(3, 8))]
    module = nn.Sequential(nn.Linear(16, width), *blocks, nn.Linear(width, 8))
    return TorchModel(module, {"features": _normal(sizes, length, 16)}, ["output"])


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU()),
            *(nn.Dropout(0.1), nn.Linear(2 * width, width)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


def residual_mlp(sizes: Sizes) -> TorchModel:
    features, width = sizes.choice((20, 50), (50, 100)), sizes.choice((128, 256), (256, 512))
    blocks = [_Residual(width) for _ in range(sizes.choice((3, 5), (4, 8)))]
    module = nn.Sequential(nn.Linear(features, width), *blocks, nn.Linear(width, 1))
    row = {"row": _normal(sizes, features)}
    return TorchModel(module, row, ["output"], is_normalised=sizes.scale == ORDINARY)


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


def siamese(sizes: Sizes) -> TorchModel:
    size = sizes.choice((48, 64), (160, 224))
    inputs: Mapping[str, npt.NDArray[Any]] = {
        name: _normal(sizes, 1, size, size, axes=(2, 3)) for name in ("left", "right")
    }
    width = sizes.choice((16, 32), (64, 96))
    return TorchModel(_Siamese(width), inputs, ["similarity", "embeddings"])


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


def spectral_surrogate(sizes: Sizes) -> TorchModel:
    size, width = sizes.choice((64, 128), (1024, 2048)), sizes.choice((24, 32), (96, 128))
    depth = sizes.value(3, 4)
    layers = [_Spectral(size, width, sizes.choice((8, 12), (32, 64))) for _ in range(depth)]
    module = nn.Sequential(nn.Conv1d(2, width, 1), *layers, nn.Conv1d(width, 1, 1))
    return TorchModel(module, {"field": _normal(sizes, 2, size, axes=(2,))}, ["output"])


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


def dense_graph_cnn(sizes: Sizes) -> TorchModel:
    count, features = sizes.choice((32, 64), (512, 768)), sizes.value(16, 64)
    rng = generator(sizes.seed())
    # About ten neighbours: the mean of many is nearly the same everywhere.
    density = sizes.value(0.2, 0.015)
    edges = (rng.random((ROWS, count, count)) < density).astype(np.float32)
    inputs = {"nodes": _normal(sizes, count, features), "adjacency": edges}
    width = sizes.choice((64, 96), (256, 384))
    return TorchModel(_GraphConvolution(features, width), inputs, ["output"])
