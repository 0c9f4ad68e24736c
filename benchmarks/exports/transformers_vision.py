"""Vision models of transformers, made from their configurations."""

import random
from typing import Any

import transformers as hf
from torch import nn

from benchmarks.exports.live import ROWS, generator
from benchmarks.exports.signatures import OfPictures
from benchmarks.exports.torch_model import TorchModel

_LABELS = {"num_labels": 100}


def _pictures(model: nn.Module, chance: random.Random, size: int) -> TorchModel:
    shape = (ROWS, 3, size, size)
    pixels = generator(chance.randrange(2**31)).standard_normal(shape).astype("float32")
    return TorchModel(OfPictures(model, ["logits"]), {"pixel_values": pixels}, ["logits"])


def _patches(chance: random.Random, size: int) -> dict[str, Any]:
    """Sizes of a transformer of patches."""
    heads = chance.choice((3, 4, 6))
    return {
        "image_size": size,
        "patch_size": 16,
        "hidden_size": 32 * heads,
        "num_hidden_layers": chance.choice((2, 3, 4)),
        "num_attention_heads": heads,
        "intermediate_size": 64 * heads,
        **_LABELS,
    }


def vit(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128, 160))
    config = hf.ViTConfig(**_patches(chance, size))
    return _pictures(hf.ViTForImageClassification(config), chance, size)


def deit(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128, 160))
    config = hf.DeiTConfig(**_patches(chance, size))
    return _pictures(hf.DeiTForImageClassificationWithTeacher(config), chance, size)


def dinov2(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128))
    sizes = _patches(chance, size)
    del sizes["intermediate_size"]
    config = hf.Dinov2Config(**sizes, mlp_ratio=2)
    return _pictures(hf.Dinov2ForImageClassification(config), chance, size)


def beit(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128))
    config = hf.BeitConfig(**_patches(chance, size), use_relative_position_bias=True)
    return _pictures(hf.BeitForImageClassification(config), chance, size)


def swin(chance: random.Random) -> TorchModel:
    size = chance.choice((112, 128))
    config = hf.SwinConfig(
        image_size=size,
        patch_size=4,
        embed_dim=chance.choice((32, 48)),
        depths=[2, 2, 2],
        num_heads=[2, 4, 8],
        window_size=7 if size == 112 else 8,
        **_LABELS,
    )
    return _pictures(hf.SwinForImageClassification(config), chance, size)


def convnext(chance: random.Random) -> TorchModel:
    size, width = chance.choice((96, 128)), chance.choice((24, 32, 40))
    config = hf.ConvNextConfig(
        hidden_sizes=[width, 2 * width, 4 * width, 8 * width], depths=[1, 1, 3, 1], **_LABELS
    )
    return _pictures(hf.ConvNextForImageClassification(config), chance, size)


def resnet(chance: random.Random) -> TorchModel:
    size, kind = chance.choice((96, 128, 160)), chance.choice(("basic", "bottleneck"))
    width = chance.choice((32, 64))
    config = hf.ResNetConfig(
        embedding_size=width,
        hidden_sizes=[width, 2 * width, 4 * width],
        depths=[2, 2, 2],
        layer_type=kind,
        **_LABELS,
    )
    return _pictures(hf.ResNetForImageClassification(config), chance, size)


def regnet(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128))
    config = hf.RegNetConfig(
        hidden_sizes=[32, 64, 128, 256],
        depths=[1, 2, 2, 1],
        groups_width=16,
        layer_type=chance.choice(("x", "y")),
        **_LABELS,
    )
    return _pictures(hf.RegNetForImageClassification(config), chance, size)


def mobilenet_v2(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128, 160))
    config = hf.MobileNetV2Config(
        image_size=size, depth_multiplier=chance.choice((0.5, 0.75, 1.0)), **_LABELS
    )
    return _pictures(hf.MobileNetV2ForImageClassification(config), chance, size)


def efficientnet(chance: random.Random) -> TorchModel:
    size, width = chance.choice((96, 128)), chance.choice((0.5, 0.75))
    config = hf.EfficientNetConfig(
        image_size=size,
        width_coefficient=width,
        depth_coefficient=0.5,
        # Of the last convolution, which is scaled like the others.
        hidden_dim=int(1280 * width),
        **_LABELS,
    )
    model = hf.EfficientNetForImageClassification(config)
    return _pictures(model, chance, size)


def mobilevit(chance: random.Random) -> TorchModel:
    size = chance.choice((128, 160))
    config = hf.MobileViTConfig(
        image_size=size,
        hidden_sizes=[48, 64, 80],
        neck_hidden_sizes=[16, 16, 24, 48, 64, 80, 320],
        num_attention_heads=4,
        **_LABELS,
    )
    return _pictures(hf.MobileViTForImageClassification(config), chance, size)


def levit(chance: random.Random) -> TorchModel:
    size = chance.choice((128, 160))
    config = hf.LevitConfig(
        image_size=size,
        hidden_sizes=[64, 96, 128],
        num_attention_heads=[2, 3, 4],
        depths=[2, 2, 2],
        key_dim=[16, 16, 16],
        **_LABELS,
    )
    return _pictures(hf.LevitForImageClassification(config), chance, size)


def segformer(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128))
    config = hf.SegformerConfig(
        hidden_sizes=[16, 32, 64, 96],
        depths=[1, 1, 2, 1],
        num_attention_heads=[1, 2, 4, 4],
        decoder_hidden_size=chance.choice((64, 96)),
        num_labels=19,
    )
    return _pictures(hf.SegformerForSemanticSegmentation(config), chance, size)


def poolformer(chance: random.Random) -> TorchModel:
    size = chance.choice((96, 128))
    config = hf.PoolFormerConfig(hidden_sizes=[24, 48, 96, 128], depths=[1, 1, 3, 1], **_LABELS)
    return _pictures(hf.PoolFormerForImageClassification(config), chance, size)
