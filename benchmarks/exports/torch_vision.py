"""Vision networks in plain PyTorch, as papers and collections write them."""

from collections.abc import Mapping

import torch
from torch import nn
from torch.nn import functional as fn

from benchmarks.exports.live import generator, signals
from benchmarks.exports.sizes import ORDINARY, Sizes
from benchmarks.exports.torch_model import TorchModel

_PLANE = {2: "height", 3: "width"}


def _pictures(
    module: nn.Module, sizes: Sizes, *shape: int, is_any_size: bool = False
) -> TorchModel:
    space = tuple(range(2, len(shape) + 1))
    values = signals(generator(sizes.seed()), sizes.scale, shape, space)
    axes: Mapping[str, Mapping[int, str]] = {"image": _PLANE} if is_any_size else {}
    out = {2: "out_height", 3: "out_width"}
    outputs: Mapping[str, Mapping[int, str]] = {"output": out} if is_any_size else {}
    is_normalised = sizes.scale == ORDINARY
    return TorchModel(
        module, {"image": values}, ["output"], axes, outputs, is_normalised=is_normalised
    )


def rectified_conv(
    inward: int, outward: int, size: int = 3, stride: int = 1, groups: int = 1
) -> nn.Module:
    """A convolution with normalisation and ReLU, ``[n, inward, h, w]`` to ``[n, outward, h /
    stride, w / stride]``."""
    conv = nn.Conv2d(inward, outward, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outward), nn.ReLU(inplace=True))


def head(width: int, classes: int = 50) -> nn.Module:
    """Scores ``[n, classes]`` of feature maps ``[n, width, h, w]``."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


class _UNet(nn.Module):
    def __init__(self, width: int, *, is_resized: bool) -> None:
        super().__init__()
        widths = (width, 2 * width, 4 * width)
        self.down = nn.ModuleList(
            nn.Sequential(rectified_conv(inward, outward), rectified_conv(outward, outward))
            for inward, outward in zip((3, *widths), widths, strict=False)
        )
        self.middle = rectified_conv(widths[-1], widths[-1])
        self.is_resized = is_resized
        self.grow = nn.ModuleList(
            nn.Conv2d(w, w, 1) if is_resized else nn.ConvTranspose2d(w, w, 2, 2)
            for w in (widths[2], widths[2], widths[1])
        )
        self.up = nn.ModuleList(
            rectified_conv(inward, outward)
            for inward, outward in (
                (2 * widths[2], widths[2]),
                (widths[2] + widths[1], widths[1]),
                (widths[1] + widths[0], widths[0]),
            )
        )
        self.head = nn.Conv2d(width, 4, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x, skips = image, []
        for stage in self.down:
            x = stage(x)
            skips.append(x)
            x = fn.max_pool2d(x, 2)
        x = self.middle(x)
        for grow, stage, skip in zip(self.grow, self.up, reversed(skips), strict=True):
            if self.is_resized:
                x = fn.interpolate(x, size=skip.shape[2:], mode="bilinear", align_corners=False)
            x = stage(torch.cat([grow(x), skip], dim=1))
        return self.head(x)


def unet(sizes: Sizes) -> TorchModel:
    size = sizes.choice((64, 96), (160, 224))
    width = sizes.chance.choice((16, 24))
    module = _UNet(width, is_resized=sizes.chance.random() < 0.5)
    return _pictures(module, sizes, 3, size, size, is_any_size=True)


def depthwise_cnn(sizes: Sizes) -> TorchModel:
    width, size = sizes.choice((24, 32), (32, 48)), sizes.choice((96, 128), (224,))
    layers, inward = [rectified_conv(3, width, stride=2)], width
    blocks = [(2, 1), (4, 2), (4, 1), (8, 2)]
    # As MobileNet (Howard et al. 2017).
    blocks += sizes.value([], [(8, 1), (16, 2), *[(16, 1)] * 5])
    for factor, stride in blocks:
        outward = factor * width
        layers += [
            rectified_conv(inward, inward, 3, stride, inward),
            rectified_conv(inward, outward, 1),
        ]
        inward = outward
    return _pictures(nn.Sequential(*layers, head(inward)), sizes, 3, size, size)


class _Squeezed(nn.Module):
    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            rectified_conv(width, width, kernel), rectified_conv(width, width, 3)
        )
        self.squeeze, self.excite = nn.Linear(width, width // 4), nn.Linear(width // 4, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.body(x)
        weight = self.excite(fn.silu(self.squeeze(inner.mean(dim=(2, 3)))))
        return x + inner * torch.sigmoid(weight)[:, :, None, None]


def squeeze_excitation(sizes: Sizes) -> TorchModel:
    width, size = sizes.choice((32, 48, 64), (48, 64)), sizes.choice((64, 96), (224,))
    depth = sizes.choice((2, 3), (3, 4))
    blocks = [_Squeezed(width, sizes.chance.choice((1, 3))) for _ in range(depth)]
    module = nn.Sequential(rectified_conv(3, width, 3, 2), *blocks, head(width))
    return _pictures(module, sizes, 3, size, size)


class _Inverted(nn.Module):
    def __init__(self, width: int, expansion: int, kernel: int) -> None:
        super().__init__()
        inner = width * expansion
        self.expand = nn.Sequential(
            nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.Hardswish()
        )
        self.filter = nn.Sequential(
            nn.Conv2d(inner, inner, kernel, 1, kernel // 2, groups=inner, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU6(),
        )
        self.project = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.project(self.filter(self.expand(x)))


def inverted_residuals(sizes: Sizes) -> TorchModel:
    width, size = sizes.chance.choice((24, 32)), sizes.choice((96, 128), (224,))
    blocks = [
        _Inverted(width, sizes.chance.choice((3, 6)), sizes.chance.choice((3, 5)))
        for _ in range(sizes.value(4, 6))
    ]
    module = nn.Sequential(rectified_conv(3, width, 3, 2), *blocks, head(width))
    return _pictures(module, sizes, 3, size, size)


def dilated_cnn(sizes: Sizes) -> TorchModel:
    width, size = sizes.choice((24, 32, 48), (32, 48)), sizes.choice((48, 64), (160, 224))
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1)]
    for dilation in (1, 2, 4, 8):
        layers += [nn.PReLU(width), nn.ReflectionPad2d(dilation)]
        layers.append(nn.Conv2d(width, width, 3, dilation=dilation))
    layers.append(nn.Conv2d(width, 2, 1))
    return _pictures(nn.Sequential(*layers), sizes, 3, size, size, is_any_size=True)


def autoencoder(sizes: Sizes) -> TorchModel:
    width, size = sizes.choice((16, 32), (64, 96)), sizes.value(64, 224)
    module = nn.Sequential(
        *(
            rectified_conv(1, width, 3, 2),
            rectified_conv(width, 2 * width, 3, 2),
            rectified_conv(2 * width, 4 * width, 3, 2),
        ),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1),
        nn.LeakyReLU(0.1),
        nn.ConvTranspose2d(2 * width, width, 3, 2, 1, output_padding=1),
        nn.ELU(),
        nn.ConvTranspose2d(width, 1, 2, 2),
        nn.Sigmoid(),
    )
    return _pictures(module, sizes, 1, size, size)


class _Mixer(nn.Module):
    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(
            nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches)
        )
        self.channels = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.second(x))


class _MixerNetwork(nn.Module):
    def __init__(self, size: int, patch: int, width: int, depth: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, patch, patch)
        self.blocks = nn.Sequential(*(_Mixer((size // patch) ** 2, width) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 50)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.stem(image).flatten(2).transpose(1, 2))
        return self.head(self.norm(x).mean(dim=1))


def mlp_mixer(sizes: Sizes) -> TorchModel:
    size, patch = sizes.choice((64, 96), (224,)), sizes.value(8, 16)
    width, depth = sizes.choice((96, 128), (256, 384)), sizes.choice((2, 3), (6, 8))
    return _pictures(_MixerNetwork(size, patch, width, depth), sizes, 3, size, size)


def group_norm_cnn(sizes: Sizes) -> TorchModel:
    width, size = sizes.chance.choice((32, 48)), sizes.choice((48, 64), (160, 224))
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1)]
    for norm in (nn.GroupNorm(8, width), nn.InstanceNorm2d(width, affine=True)):
        layers += [norm, nn.Mish(), nn.Conv2d(width, width, 3, padding=1)]
    layers += [nn.GroupNorm(1, width), nn.SiLU(), nn.AvgPool2d(3, 2, 1), head(width)]
    return _pictures(nn.Sequential(*layers), sizes, 3, size, size)


def super_resolution(sizes: Sizes) -> TorchModel:
    width, factor = sizes.choice((24, 32), (48, 64)), sizes.chance.choice((2, 3))
    size = sizes.choice((48, 64), (128, 160))
    module = nn.Sequential(
        *(nn.Conv2d(1, width, 5, padding=2), nn.Tanh()),
        *(nn.Conv2d(width, width, 3, padding=1), nn.Softplus()),
        nn.Conv2d(width, factor**2, 3, padding=1),
        nn.PixelShuffle(factor),
    )
    return _pictures(module, sizes, 1, size, size, is_any_size=True)


def video_cnn(sizes: Sizes) -> TorchModel:
    width = sizes.choice((16, 24), (48, 64))
    frames, size = sizes.value((8, 48), (16, 112))
    module = nn.Sequential(
        *(nn.Conv3d(3, width, 3, (1, 2, 2), 1), nn.BatchNorm3d(width), nn.ReLU()),
        nn.MaxPool3d(2),
        *(nn.Conv3d(width, 2 * width, 3, padding=1), nn.BatchNorm3d(2 * width), nn.ReLU()),
        *(nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(2 * width, 20)),
    )
    return _pictures(module, sizes, 3, frames, size, size)
