"""Real architectures that the ``onnx`` wheel contains for its own tests, made runnable.

The files have no weights: each is a ``ConstantOfShape`` of one number, which optimisers fold away
with half of the network. They are replaced by seeded random initializers
(:mod:`examples.models.seeding`), the operator set is raised to one that quantisers and compilers
accept, and the fixed batch of 1 becomes the named dimension ``N``.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper, shape_inference, version_converter

from examples.models.folder import Card, reference_outputs, write_folder
from examples.models.seeding import draw_weights, settle

#: Name to file stem in the wheel, title, and where the architecture was published.
ARCHITECTURES: dict[str, tuple[str, str, str]] = {
    "squeezenet": ("light_squeezenet", "SqueezeNet 1.1", "Iandola et al. 2016, arXiv:1602.07360"),
    "resnet50": ("light_resnet50", "ResNet-50", "He et al. 2015, arXiv:1512.03385"),
    "densenet121": ("light_densenet121", "DenseNet-121", "Huang et al. 2016, arXiv:1608.06993"),
    "shufflenet": ("light_shufflenet", "ShuffleNet", "Zhang et al. 2017, arXiv:1707.01083"),
    "vgg19": ("light_vgg19", "VGG-19", "Simonyan and Zisserman 2014, arXiv:1409.1556"),
    "inception_v1": ("light_inception_v1", "Inception v1", "Szegedy et al. 2014, arXiv:1409.4842"),
    "inception_v2": (
        "light_inception_v2",
        "Inception v2",
        "Ioffe and Szegedy 2015, arXiv:1502.03167",
    ),
    "alexnet": ("light_bvlc_alexnet", "AlexNet", "Krizhevsky et al. 2012, NIPS"),
    "zfnet512": ("light_zfnet512", "ZFNet-512", "Zeiler and Fergus 2013, arXiv:1311.2901"),
}

OPSET = 17
IR_VERSION = 8
#: Images that normalise the weights; the published ones are others.
_SETTLING = 4
_PUBLISHED = 24


def make(name: str, out: Path, seed: int = 0) -> Path:
    """Write the architecture ``name`` of :data:`ARCHITECTURES` (else KeyError) to ``out``."""
    stem, title, published = ARCHITECTURES[name]
    rng = np.random.default_rng(seed)
    model = load(stem)
    draw_weights(model.graph, rng)
    data = model.graph.input[0]
    shape = tuple(dim.dim_value for dim in data.type.tensor_type.shape.dim[1:])
    settle(model, {data.name: images(rng, _SETTLING, shape)}, folded=True)
    model = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    inputs = {data.name: images(rng, _PUBLISHED, shape)}
    outputs = reference_outputs(model, inputs)
    card = Card(
        title=f"{title} (seeded weights)",
        license="apache-2.0",
        task="image-classification",
        tags=(name, "cnn", "untrained", "benchmark"),
        description=(
            f"The {title} architecture with seeded random weights: real in structure, size and "
            "cost, meaningless in its answers. Made for tuning and measuring compilers."
        ),
        body=_body(title, published, data.name, shape, seed),
    )
    return write_folder(out, model=model, card=card, inputs=inputs, outputs=outputs)


def load(stem: str) -> onnx.ModelProto:
    """The wheel's file ``stem`` at :data:`OPSET`, batch ``N``, constants still unexpanded."""
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"{stem}.onnx"
    model = version_converter.convert_version(onnx.load(path), OPSET)
    graph = model.graph
    # Up to IR version 3 an initializer was also an input that callers could override, so it could
    # not be folded. From version 4 on it is a constant.
    model.ir_version = IR_VERSION
    constants = {initializer.name for initializer in graph.initializer}
    data = [value for value in graph.input if value.name not in constants]
    del graph.input[:], graph.value_info[:]
    graph.input.extend(data)
    model.producer_name = "hpcfair.examples"
    _name_batch(graph)
    used = {name for node in graph.node for name in node.input}
    initializers = [initializer for initializer in graph.initializer if initializer.name in used]
    del graph.initializer[:]
    graph.initializer.extend(initializers)
    return model


def _name_batch(graph: onnx.GraphProto) -> None:
    """Turn the leading 1 of inputs, outputs and activation reshapes into the batch ``N``."""
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    fixed = {i.name: i for i in graph.initializer}
    weights = {node.output[0] for node in graph.node if node.op_type == "ConstantOfShape"}
    for node in graph.node:
        if node.op_type != "Reshape" or node.input[0] in weights or node.input[1] not in fixed:
            continue
        sizes = numpy_helper.to_array(fixed[node.input[1]]).copy()
        # Zero copies the input's dimension, which here is the batch.
        sizes[0] = 0
        fixed[node.input[1]].CopyFrom(numpy_helper.from_array(sizes, node.input[1]))


def images(rng: np.random.Generator, count: int, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Random pictures ``float32[count, c, h, w]`` of zero mean and unit variance. Amplitudes fall
    with frequency as in photographs (Field 1987): the first poolings would average white noise
    away, and all pictures would look the same to the network."""
    height, width = shape[1:]
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    falloff = 1.0 / np.maximum(np.hypot(fy, fx), 1.0 / max(height, width))
    spectrum = np.fft.rfft2(rng.normal(size=(count, *shape))) * falloff
    pictures = np.fft.irfft2(spectrum, s=(height, width))
    pictures -= pictures.mean(axis=(1, 2, 3), keepdims=True)
    pictures /= pictures.std(axis=(1, 2, 3), keepdims=True)
    return pictures.astype(np.float32)


def _body(title: str, published: str, name: str, shape: tuple[int, ...], seed: int) -> str:
    dimensions = ", ".join(str(size) for size in shape)
    return f"""
## What it is
{title} as published by {published}, from the structure that the `onnx` package (Apache-2.0)
carries for its own tests. Weights are random (He initialisation, seed {seed}, statistics settled on
a few random pictures), so that no optimiser can fold them away and signals keep a sane size.

## Use
Input `{name}`: `float32[N, {dimensions}]`. `samples.npz` holds {_PUBLISHED} random pictures and the
network's outputs for them; there are no labels, since there is nothing to get right.

## Limits
It classifies nothing. Use it to compare builds, compilers and machines.
"""
