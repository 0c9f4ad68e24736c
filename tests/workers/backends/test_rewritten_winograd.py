"""Convolutions by Winograd's algorithm compute what they did, and only where they gain."""

from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from tests.workers.backends.convolved import RNG, Floats, convolution, rewritten, run
from workers.backends.rewrites.filtering import F2, F4, DenseConvolution, FilteringAlgorithm

#: Wide enough to gain.
CHANNELS, SIZE = 128, 16


def convolved(
    *,
    channels: tuple[int, int] = (CHANNELS, CHANNELS),
    image: tuple[int | str, int | str] = (SIZE, SIZE),
    kernel: int = 3,
    **options: Any,
) -> onnx.ModelProto:
    return convolution(channels, (kernel, kernel), image, **options)


def in_doubles(model: onnx.ModelProto, x: Floats) -> Floats:
    """The result of a convolution and its activation in float64, from their definition."""
    node = model.graph.node[0]
    tensors = {t.name: numpy_helper.to_array(t).astype(float) for t in model.graph.initializer}
    given_attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    same = given_attributes.get("auto_pad", b"").startswith(b"SAME")
    top, left, bottom, right = given_attributes.get("pads", [int(same)] * 4)
    padded = np.pad(x.astype(float), [(0, 0), (0, 0), (top, bottom), (left, right)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    result: Floats = np.einsum("nirckl,oikl->norc", windows, tensors["w"], optimize=True)
    if "b" in tensors:
        result += tensors["b"][:, None, None]
    return np.maximum(result, 0)


@pytest.mark.parametrize("algorithm", [F2, F4])
def test_the_matrices_filter_exactly(algorithm: FilteringAlgorithm) -> None:
    inputs, weights = RNG.standard_normal(algorithm.tile + 2), RNG.standard_normal(3)
    transformed = (algorithm.weights @ weights) * (algorithm.inputs @ inputs)
    filtered = np.correlate(inputs, weights, "valid")
    np.testing.assert_allclose(algorithm.outputs @ transformed, filtered, rtol=1e-12, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(7, 21),
    columns=st.integers(7, 21),
    pads=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    padding=st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    channels=st.tuples(st.sampled_from([144, 200]), st.sampled_from([129, 192])),
    batch=st.integers(1, 3),
    bias=st.booleans(),
)
def test_a_rewritten_convolution_computes_the_same(
    *,
    rows: int,
    columns: int,
    pads: list[int],
    padding: str,
    channels: tuple[int, int],
    batch: int,
    bias: bool,
) -> None:
    attributes: dict[str, Any] = {"auto_pad": padding} if padding != "NOTSET" else {"pads": pads}
    model = convolved(channels=channels, image=(rows, columns), bias=bias, **attributes)
    count, after = rewritten(model, "winograd")
    if padding == "NOTSET":
        zeros = (pads[0] + pads[2], pads[1] + pads[3])
    else:
        zeros = (0, 0) if padding == "VALID" else (2, 2)
    convolution = DenseConvolution(*channels, rows + zeros[0] - 2, columns + zeros[1] - 2)
    assert count == (convolution.algorithm() is not None)
    x = RNG.standard_normal((batch, channels[0], rows, columns)).astype(np.float32)
    expected, result = in_doubles(model, x), run(after, x)
    assert result.shape == expected.shape
    assert np.linalg.norm(result - expected) < 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize(("size", "algorithm"), [(14, F2), (16, F4)])
def test_weights_grow_by_the_components_of_a_tile(size: int, algorithm: FilteringAlgorithm) -> None:
    channels = 256
    model = convolved(channels=(channels, channels), image=(size, size), pads=[1] * 4)
    _, after = rewritten(model, "winograd")
    weights = sum(t.dims[0] * t.dims[1] for t in after.graph.initializer if len(t.dims) == 2)
    assert weights == pytest.approx(algorithm.components * channels**2, rel=0.1)
    assert "Conv" not in {node.op_type for node in after.graph.node}


def test_numbers_that_are_undefined_stay_undefined() -> None:
    model = convolved(pads=[1] * 4)
    _, after = rewritten(model, "winograd")
    x = RNG.standard_normal((2, CHANNELS, SIZE, SIZE)).astype(np.float32)
    x[0, 3, 5, 6], x[1, 4, 0, 15] = np.nan, np.inf
    lost = ~np.isfinite(run(model, x)) & np.isfinite(run(after, x))
    assert not lost.any()


@pytest.mark.parametrize(
    "changed",
    [
        {"channels": (16, 16)},
        {"channels": (3, 512)},
        {"image": (4, 4)},
        {"image": ("H", "W")},
        {"image": (SIZE, "W")},
        {"strides": [2, 2]},
        {"dilations": [2, 2]},
        {"group": 2},
        {"kernel": 1},
        {"kernel": 5},
        {"dtype": np.float64},
        {"opset": 12},
    ],
    ids=str,
)
def test_other_convolutions_stay(changed: dict[str, Any]) -> None:
    count, after = rewritten(convolved(**changed), "winograd")
    assert count == 0
    assert [node.op_type for node in after.graph.node] == ["Conv", "Relu"]


def test_what_would_grow_too_large_stays() -> None:
    model = convolved(pads=[1] * 4)
    grown = CHANNELS**2 * 4 * (F4.components - 9)
    assert [rewritten(model, "winograd", most)[0] for most in (grown - 1, grown)] == [0, 1]


def test_more_channels_and_larger_images_gain_more() -> None:
    sizes = (64, 128, 256, 512)
    for algorithm, rows in product((F2, F4), (8, 16, 32)):
        costs = [DenseConvolution(n, n, rows, rows).cost(algorithm) for n in sizes]
        assert costs == sorted(costs, reverse=True)
