"""Classifiers that are trained, so that their accuracy says what a build costs its users.

They read scikit-learn's handwritten digits (1,797 images of the UCI repository), drawn at a random
place, in a random size and colour, on a noisy canvas. Training takes one or two minutes on two
quiet processors, at the ordinary scale three to six.
The samples are of held-out digits, with their labels.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as fn

from benchmarks.exports.live import generator
from benchmarks.exports.sizes import Sizes
from benchmarks.exports.torch_model import TorchModel
from benchmarks.exports.torch_vision import head, rectified_conv

_CLASSES = 10
#: Digits that are not trained on.
_HELD_OUT = 360
_BATCH, _EPOCHS, _RATE = 32, 8, 2e-3


def _side(sizes: Sizes) -> int:
    """Of a canvas, in pixels."""
    return sizes.value(48, 96)


def _canvases(images: torch.Tensor, side: int, chance: np.random.Generator) -> torch.Tensor:
    """Pictures ``float32[n, 3, side, side]`` of digits ``float32[n, 8, 8]`` from 0 to 1."""
    noise = chance.normal(0.0, 0.15, (len(images), 3, side, side))
    canvases = torch.from_numpy(noise.astype(np.float32))
    for canvas, image in zip(canvases, images, strict=True):
        size = int(chance.integers(side // 2, side * 5 // 6 + 1))
        drawn = fn.interpolate(image[None, None], size=(size, size), mode="bilinear")[0, 0]
        top, left = chance.integers(0, side - size + 1, 2)
        colour = torch.from_numpy(chance.uniform(0.4, 1.0, (3, 1, 1)).astype(np.float32))
        canvas[:, top : top + size, left : left + size] += colour * drawn
    return canvases


def _trained(module: nn.Module, sizes: Sizes) -> TorchModel:
    """The module after its training, with samples of held-out digits."""
    numbers = generator(sizes.seed())
    digits = load_digits()
    order = numbers.permutation(len(digits.target))
    images = torch.from_numpy(digits.images[order].astype(np.float32) / 16)
    labels = torch.from_numpy(digits.target[order].astype(np.int64))
    side = _side(sizes)
    _fit(module, images[_HELD_OUT:], labels[_HELD_OUT:], side, numbers)
    samples = _canvases(images[:_HELD_OUT], side, numbers).numpy()
    return TorchModel(
        module, {"image": samples}, ["logits"], gain=None, labels=labels[:_HELD_OUT].numpy()
    )


def _fit(
    module: Any,
    images: torch.Tensor,
    labels: torch.Tensor,
    side: int,
    numbers: np.random.Generator,
) -> None:
    """Minimise the cross-entropy by AdamW with one cycle of rates (Smith and Topin 2018)."""
    batches = -(-len(images) // _BATCH)
    optimiser = torch.optim.AdamW(module.parameters(), _RATE, weight_decay=0.02)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=_EPOCHS * batches)
    # Separable convolutions train several times as fast in this layout.
    layout = torch.channels_last
    module.to(memory_format=layout).train()
    for _ in range(_EPOCHS):
        for rows in np.array_split(numbers.permutation(len(images)), batches):
            canvases = _canvases(images[rows], side, numbers).to(memory_format=layout)
            loss: Any = fn.cross_entropy(module(canvases), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimiser.step()
            cycle.step()
    module.to(memory_format=torch.contiguous_format)


def _conv(inward: int, outward: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Module:
    conv = nn.Conv2d(inward, outward, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outward))


class _Residual(nn.Module):
    def __init__(self, inward: int, outward: int, stride: int) -> None:
        super().__init__()
        self.first = _conv(inward, outward, stride=stride)
        self.second = _conv(outward, outward)
        is_same = inward == outward and stride == 1
        self.skip = nn.Identity() if is_same else _conv(inward, outward, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return fn.relu(self.skip(x) + self.second(fn.relu(self.first(x))))


class _Inverted(nn.Module):
    def __init__(self, inward: int, outward: int, stride: int) -> None:
        super().__init__()
        wide = 4 * inward
        self.layers = nn.Sequential(
            *(_conv(inward, wide, 1), nn.ReLU6()),
            *(_conv(wide, wide, 3, stride, wide), nn.ReLU6()),
            _conv(wide, outward, 1),
        )
        self.is_same = inward == outward and stride == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x) if self.is_same else self.layers(x)


class _Patches(nn.Module):
    """A vision transformer behind residual blocks, which it needs to learn from few pictures
    (the hybrid of Dosovitskiy et al. 2021)."""

    def __init__(self, side: int, width: int, depth: int, heads: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            rectified_conv(3, width // 4, 3, 2),
            _Residual(width // 4, width // 2, 2),
            _Residual(width // 2, width, 2),
        )
        self.places = nn.Parameter(0.02 * torch.randn(1, (side // 8) ** 2, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, _CLASSES))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        tokens = self.stem(image).flatten(2).transpose(1, 2) + self.places
        return self.head(self.layers(tokens).mean(1))


def trained_residual(sizes: Sizes) -> TorchModel:
    width = sizes.choice((24, 32), (48, 64))
    widths = [width, width, 2 * width, 4 * width]
    blocks = [
        _Residual(inward, outward, 1 if at == 0 else 2)
        for at, (inward, outward) in enumerate(pairwise(widths))
    ]
    stem = rectified_conv(3, width, 3, 2)
    return _trained(nn.Sequential(stem, *blocks, head(widths[-1], _CLASSES)), sizes)


def trained_separable(sizes: Sizes) -> TorchModel:
    width = sizes.choice((24, 32), (32, 48))
    widths = [width, width, 2 * width, 2 * width, 3 * width]
    blocks = [
        _Inverted(inward, outward, 2 if inward != outward else 1)
        for inward, outward in pairwise(widths)
    ]
    stem = rectified_conv(3, width, 3, 2)
    return _trained(nn.Sequential(stem, *blocks, head(widths[-1], _CLASSES)), sizes)


def trained_plain(sizes: Sizes) -> TorchModel:
    """As VGG (Simonyan and Zisserman 2015), with normalisation."""
    width = sizes.chance.choice((24, 32))
    widths = [3, width, 2 * width, 4 * width]
    blocks = [
        nn.Sequential(
            *(rectified_conv(inward, outward), rectified_conv(outward, outward)),
            nn.MaxPool2d(2),
        )
        for inward, outward in pairwise(widths)
    ]
    return _trained(nn.Sequential(*blocks, head(widths[-1], _CLASSES)), sizes)


def trained_patches(sizes: Sizes) -> TorchModel:
    width = sizes.choice((128, 192), (192, 256))
    return _trained(_Patches(_side(sizes), width, 4, 4), sizes)
