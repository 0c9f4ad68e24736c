"""Vision models of transformers, made from their configurations."""

from typing import Any

import transformers as hf
from torch import nn

from benchmarks.exports.live import generator, signals
from benchmarks.exports.signatures import OfPictures
from benchmarks.exports.sizes import ORDINARY, Sizes
from benchmarks.exports.torch_model import TorchModel

_LABELS = {"num_labels": 100}


def _pictures(model: nn.Module, sizes: Sizes, size: int) -> TorchModel:
    pixels = signals(generator(sizes.seed()), sizes.scale, (3, size, size), (2, 3))
    return TorchModel(
        OfPictures(model, ["logits"]),
        {"pixel_values": pixels},
        ["logits"],
        is_normalised=sizes.scale == ORDINARY,
    )


def _patches(sizes: Sizes, size: int) -> dict[str, Any]:
    """Sizes of a transformer of patches."""
    heads = sizes.chance.choice((3, 4, 6))
    width = sizes.value(32, 64) * heads
    return {
        "image_size": size,
        "patch_size": 16,
        "hidden_size": width,
        "num_hidden_layers": sizes.choice((2, 3, 4), (6, 8)),
        "num_attention_heads": heads,
        "intermediate_size": sizes.value(2, 4) * width,
        **_LABELS,
    }


def vit(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128, 160), (224,))
    config = hf.ViTConfig(**_patches(sizes, size))
    return _pictures(hf.ViTForImageClassification(config), sizes, size)


def deit(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128, 160), (224,))
    config = hf.DeiTConfig(**_patches(sizes, size))
    return _pictures(hf.DeiTForImageClassificationWithTeacher(config), sizes, size)


def dinov2(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128), (224,))
    patches = _patches(sizes, size)
    del patches["intermediate_size"]
    config = hf.Dinov2Config(**patches, mlp_ratio=sizes.value(2, 4))
    return _pictures(hf.Dinov2ForImageClassification(config), sizes, size)


def beit(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128), (224,))
    config = hf.BeitConfig(**_patches(sizes, size), use_relative_position_bias=True)
    return _pictures(hf.BeitForImageClassification(config), sizes, size)


def swin(sizes: Sizes) -> TorchModel:
    size = sizes.choice((112, 128), (224,))
    config = hf.SwinConfig(
        image_size=size,
        patch_size=4,
        embed_dim=sizes.choice((32, 48), (48, 64)),
        depths=sizes.value([2, 2, 2], [2, 2, 6, 2]),
        num_heads=sizes.value([2, 4, 8], [2, 4, 8, 16]),
        window_size=8 if size == 128 else 7,
        **_LABELS,
    )
    return _pictures(hf.SwinForImageClassification(config), sizes, size)


def convnext(sizes: Sizes) -> TorchModel:
    size, width = sizes.choice((96, 128), (224,)), sizes.choice((24, 32, 40), (48, 64))
    config = hf.ConvNextConfig(
        hidden_sizes=[width, 2 * width, 4 * width, 8 * width],
        depths=sizes.value([1, 1, 3, 1], [2, 2, 6, 2]),
        **_LABELS,
    )
    return _pictures(hf.ConvNextForImageClassification(config), sizes, size)


def resnet(sizes: Sizes) -> TorchModel:
    size, kind = sizes.choice((96, 128, 160), (224,)), sizes.chance.choice(("basic", "bottleneck"))
    stem = sizes.choice((32, 64), (64,))
    # ResNet-18 and ResNet-50.
    width = sizes.value(stem, 64 if kind == "basic" else 256)
    depths = [2, 2, 2, 2] if kind == "basic" else [3, 4, 6, 3]
    config = hf.ResNetConfig(
        embedding_size=stem,
        hidden_sizes=[width * 2**stage for stage in range(sizes.value(3, 4))],
        depths=sizes.value([2, 2, 2], depths),
        layer_type=kind,
        **_LABELS,
    )
    return _pictures(hf.ResNetForImageClassification(config), sizes, size)


def regnet(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128), (224,))
    config = hf.RegNetConfig(
        hidden_sizes=sizes.value([32, 64, 128, 256], [64, 128, 288, 672]),
        depths=sizes.value([1, 2, 2, 1], [1, 3, 7, 5]),
        groups_width=16,
        layer_type=sizes.chance.choice(("x", "y")),
        **_LABELS,
    )
    return _pictures(hf.RegNetForImageClassification(config), sizes, size)


def mobilenet_v2(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128, 160), (224,))
    config = hf.MobileNetV2Config(
        image_size=size, depth_multiplier=sizes.choice((0.5, 0.75, 1.0), (1.0, 1.4)), **_LABELS
    )
    return _pictures(hf.MobileNetV2ForImageClassification(config), sizes, size)


def efficientnet(sizes: Sizes) -> TorchModel:
    size, width = sizes.choice((96, 128), (224,)), sizes.choice((0.5, 0.75), (1.0,))
    config = hf.EfficientNetConfig(
        image_size=size,
        width_coefficient=width,
        depth_coefficient=sizes.choice((0.5,), (1.0, 1.1)),
        # Of the last convolution, which is scaled like the others.
        hidden_dim=int(1280 * width),
        **_LABELS,
    )
    model = hf.EfficientNetForImageClassification(config)
    return _pictures(model, sizes, size)


def mobilevit(sizes: Sizes) -> TorchModel:
    size = sizes.choice((128, 160), (224, 256))
    config = hf.MobileViTConfig(
        image_size=size,
        hidden_sizes=sizes.value([48, 64, 80], [96, 120, 144]),
        neck_hidden_sizes=sizes.value([16, 16, 24, 48, 64, 80, 320], [16, 32, 48, 64, 80, 96, 384]),
        num_attention_heads=4,
        **_LABELS,
    )
    return _pictures(hf.MobileViTForImageClassification(config), sizes, size)


def levit(sizes: Sizes) -> TorchModel:
    size = sizes.choice((128, 160), (224, 256))
    config = hf.LevitConfig(
        image_size=size,
        hidden_sizes=sizes.value([64, 96, 128], [128, 256, 384]),
        num_attention_heads=sizes.value([2, 3, 4], [4, 6, 8]),
        depths=sizes.value([2, 2, 2], [2, 3, 4]),
        key_dim=[16, 16, 16],
        **_LABELS,
    )
    return _pictures(hf.LevitForImageClassification(config), sizes, size)


def segformer(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128), (224,))
    config = hf.SegformerConfig(
        hidden_sizes=sizes.value([16, 32, 64, 96], [32, 64, 160, 256]),
        depths=sizes.value([1, 1, 2, 1], [2, 2, 2, 2]),
        num_attention_heads=sizes.value([1, 2, 4, 4], [1, 2, 5, 8]),
        decoder_hidden_size=sizes.choice((64, 96), (256,)),
        num_labels=19,
    )
    return _pictures(hf.SegformerForSemanticSegmentation(config), sizes, size)


def poolformer(sizes: Sizes) -> TorchModel:
    size = sizes.choice((96, 128), (224,))
    config = hf.PoolFormerConfig(
        hidden_sizes=sizes.value([24, 48, 96, 128], [64, 128, 320, 512]),
        depths=sizes.value([1, 1, 3, 1], [2, 2, 6, 2]),
        **_LABELS,
    )
    return _pictures(hf.PoolFormerForImageClassification(config), sizes, size)
