"""Publishable folders of architectures written here layer by layer, with seeded weights."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from examples.models.convnext import Form, convnext
from examples.models.folder import Card, reference_outputs, write_folder
from examples.models.light import images
from examples.models.seeding import settle
from examples.models.text import Bert
from examples.models.vision import mobilenet_v2, resnet18, ssd_mobilenet

Feed = dict[str, npt.NDArray[Any]]
#: Samples that normalise the weights; the published ones are others.
_SETTLING = 4


@dataclass(frozen=True, slots=True)
class Architecture:
    """The parts of a folder.

    Attributes:
        build: Draws a network.
        draw: Makes a number of random samples, by input name.
        published: Number of samples in the folder.
        signature: Inputs and outputs in words, for the card.
        is_settled: Whether the weights are adapted to samples; not needed where normalisations are
            part of the network.
    """

    title: str
    paper: str
    task: str
    tags: tuple[str, ...]
    build: Callable[[np.random.Generator], onnx.ModelProto]
    draw: Callable[[np.random.Generator, int], Feed]
    published: int
    signature: str
    is_settled: bool = True


def _pictures(size: int) -> Callable[[np.random.Generator, int], Feed]:
    return lambda rng, count: {"input": images(rng, count, (3, size, size))}


def _texts(rng: np.random.Generator, count: int) -> Feed:
    return dict(Bert().texts(rng, count))


_CLASSIFIER = (
    "Input `input`: `float32[N, 3, 224, 224]`, normalised to zero mean and unit variance. "
    "Output `logits`: `float32[N, 1000]`."
)
#: Names, titles and forms of one network.
_CONVNEXTS: tuple[tuple[str, str, Form], ...] = (
    ("convnext", "ConvNeXt", "exported"),
    ("convnext_channels_first", "ConvNeXt without transpositions", "channels_first"),
)
ARCHITECTURES: dict[str, Architecture] = {
    "resnet18": Architecture(
        title="ResNet-18",
        paper="He et al. 2015, arXiv:1512.03385",
        task="image-classification",
        tags=("cnn", "residual"),
        build=resnet18,
        draw=_pictures(224),
        published=24,
        signature=_CLASSIFIER,
    ),
    "mobilenetv2": Architecture(
        title="MobileNetV2",
        paper="Sandler et al. 2018, arXiv:1801.04381",
        task="image-classification",
        tags=("cnn", "depthwise"),
        build=mobilenet_v2,
        draw=_pictures(224),
        published=24,
        signature=_CLASSIFIER,
    ),
    "bert_small": Architecture(
        title="BERT-small",
        paper="Turc et al. 2019, arXiv:1908.08962, after Devlin et al. 2018, arXiv:1810.04805",
        task="text-classification",
        tags=("transformer", "bert"),
        build=Bert().model,
        draw=_texts,
        published=24,
        signature=(
            "Inputs `input_ids`, token numbers below 30,522, and `attention_mask`, 1 for a token "
            "and 0 for padding: both `int64[N, 128]`. Output `logits`: `float32[N, 8]`."
        ),
    ),
    **{
        name: Architecture(
            title=title,
            paper="Liu et al. 2022, arXiv:2201.03545",
            task="image-classification",
            tags=("cnn", "depthwise", "layer-norm"),
            build=partial(convnext, form=form),
            draw=_pictures(224),
            published=24,
            signature=_CLASSIFIER,
            is_settled=False,
        )
        for name, title, form in _CONVNEXTS
    },
    "ssd_mobilenet": Architecture(
        title="SSD MobileNetV1",
        paper="Liu et al. 2016, arXiv:1512.02325, and Howard et al. 2017, arXiv:1704.04861",
        task="object-detection",
        tags=("cnn", "detection", "ssd"),
        build=ssd_mobilenet,
        draw=_pictures(300),
        published=24,
        signature=(
            "Input `input`: `float32[N, 3, 300, 300]`, normalised to zero mean and unit variance. "
            "Outputs `bbox_regression`: `float32[N, 1917, 4]`, offsets from the anchors, and "
            "`cls_logits`: `float32[N, 1917, 91]`; overlapping boxes are not suppressed."
        ),
    ),
}


def make(name: str, out: Path, seed: int = 0) -> Path:
    """Write the architecture ``name`` of :data:`ARCHITECTURES` (else KeyError) to ``out``."""
    architecture = ARCHITECTURES[name]
    rng = np.random.default_rng(seed)
    model = architecture.build(rng)
    if architecture.is_settled:
        settle(model, architecture.draw(rng, _SETTLING), folded=True)
    inputs = architecture.draw(rng, architecture.published)
    outputs = reference_outputs(model, inputs)
    title = architecture.title
    card = Card(
        title=f"{title} (seeded weights)",
        license="apache-2.0",
        task=architecture.task,
        tags=(name, *architecture.tags, "untrained", "benchmark"),
        description=(
            f"The {title} architecture with seeded random weights: real in structure, size and "
            "cost, meaningless in its answers. Made for tuning and measuring compilers."
        ),
        body=_body(architecture, seed),
    )
    return write_folder(out, model=model, card=card, inputs=inputs, outputs=outputs)


def _body(architecture: Architecture, seed: int) -> str:
    return f"""
## What it is
{architecture.title} as published by {architecture.paper}, written in the form that exporters give
a network for inference: batch normalisations folded into convolutions, opset 17, a free batch.
Weights are random (seed {seed}), so that no optimiser can fold them away, and signals keep a sane
size.

## Use
{architecture.signature}
`samples.npz` holds {architecture.published} random samples and the network's outputs for them;
there are no labels, since there is nothing to get right.

## Limits
Its answers mean nothing. Use it to compare builds, compilers and machines.
"""
