"""Architecture classes, told by structure alone."""

from pathlib import Path
from typing import get_args

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.states import ArchitectureClass as Stored
from tests.workers.inspection.conftest import Read, facts_of
from tests.workers.inspection.networks import NETWORKS, Net
from workers.inspection.architecture import ArchitectureClass, architecture_class
from workers.inspection.motifs import Convolution, Motifs

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

CLASSES = {
    "resnet18": "residual-cnn",
    "resnet50": "residual-cnn",
    "vgg": "plain-cnn",
    "mobilenet": "depthwise-cnn",
    "ssd": "detection",
    "bert": "transformer",
    "lstm": "recurrent",
    "mlp": "mlp",
    "filter_only": "other",
}


def test_the_classes_are_those_the_registry_stores() -> None:
    assert set(get_args(ArchitectureClass)) == set(Stored.values)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_class_is_recognised(read: Read, name: str) -> None:
    assert read(NETWORKS[name]()).architecture_class == CLASSES[name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("light_resnet50", "residual-cnn"),
        ("light_shufflenet", "depthwise-cnn"),
        ("light_vgg19", "plain-cnn"),
        ("light_densenet121", "plain-cnn"),
        ("light_inception_v1", "plain-cnn"),
        ("light_inception_v2", "plain-cnn"),
        ("light_squeezenet", "plain-cnn"),
        ("light_bvlc_alexnet", "plain-cnn"),
        ("light_zfnet512", "plain-cnn"),
    ],
)
def test_published_architectures_are_recognised(name: str, expected: str) -> None:
    assert facts_of(LIGHT, f"{name}.onnx").architecture_class == expected


def test_names_decide_nothing(read: Read) -> None:
    model = NETWORKS["mlp"]()
    model.graph.name = "bert-base-uncased"
    model.producer_name = "detectron2"
    for node in model.graph.node:
        node.name = "self_attention/softmax/lstm"
    assert read(model).architecture_class == "mlp"


def test_a_softmax_at_the_end_is_no_attention(read: Read) -> None:
    net = Net()
    x = net.op("Relu", net.linear("x", 8, 8))
    y = net.op("Softmax", net.linear(x, 8, 4))
    assert read(net.model([y], ("N", 8))).architecture_class == "mlp"


def test_one_attention_in_a_convolutional_network_does_not_make_a_transformer(read: Read) -> None:
    net = Net()
    x = "x"
    for _ in range(4):
        x = net.op("Relu", net.conv(x, 8, 8))
    flat = net.op("Reshape", x, net.constant([0, 8, -1]))
    turned = net.op("Transpose", flat, perm=[0, 2, 1])
    scores = net.op("Softmax", net.op("MatMul", turned, flat), axis=-1)
    mixed = net.op("MatMul", scores, turned)
    assert read(net.model([mixed], ("N", 8, 4, 4))).architecture_class == "plain-cnn"


def test_a_vision_transformer_is_no_cnn_for_its_patches(read: Read) -> None:
    net = Net()
    patches = net.conv("x", 3, 8, 4, 4)
    tokens = net.op("Reshape", patches, net.constant([0, 8, -1]))
    tokens = net.op("Transpose", tokens, perm=[0, 2, 1])
    for _ in range(3):
        query, key, value = (net.linear(tokens, 8, 8) for _ in range(3))
        scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 2, 1]))
        mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), value)
        tokens = net.op("Add", tokens, net.linear(mixed, 8, 8))
        grown = net.op("Relu", net.linear(tokens, 8, 32))
        tokens = net.op("Add", tokens, net.linear(grown, 32, 8))
    assert read(net.model([tokens], ("N", 3, 16, 16))).architecture_class == "transformer"


def test_non_maximum_suppression_makes_a_detector(read: Read) -> None:
    net = Net()
    boxes = net.op("Reshape", net.conv("x", 3, 8), net.constant([1, -1, 4]))
    scores = net.op("Reshape", net.conv("x", 3, 2), net.constant([1, 1, -1]))
    y = net.op("NonMaxSuppression", boxes, scores)
    assert read(net.model([y], (1, 3, 8, 8))).architecture_class == "detection"


def test_a_segmenter_with_one_output_scale_is_no_detector(read: Read) -> None:
    net = Net()
    down = net.op("Relu", net.conv("x", 3, 8, 3, 2))
    up = net.op("ConvTranspose", down, net.weight(8, 8, 2, 2), strides=[2, 2])
    y = net.conv(net.op("Concat", up, net.conv("x", 3, 8), axis=1), 16, 2, 1)
    assert read(net.model([y], (1, 3, 8, 8))).architecture_class == "plain-cnn"


COUNTS = st.integers(0, 60)


@settings(max_examples=200, deadline=None)
@given(COUNTS, COUNTS, COUNTS, COUNTS, st.integers(0, 3), st.sets(st.integers(0, 7), max_size=4))
def test_every_set_of_motifs_has_one_class(
    convolutions: int, products: int, skips: int, depthwise: int, rare: int, scales: set[int]
) -> None:
    kinds = [
        Convolution((3, 3), 2, depthwise=i < depthwise, strided=False, dilated=False, weights=9)
        for i in range(convolutions)
    ]
    found = Motifs(
        convolutions=kinds,
        products=products,
        skips=skips,
        attentions=rare,
        recurrences=rare % 2,
        head_scales=scales,
    )
    assert architecture_class(found) in Stored.values
