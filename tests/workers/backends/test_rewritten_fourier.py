"""Convolutions by Fourier transforms compute what they did, and only where they gain."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from tests.workers.backends.convolved import RNG, Floats, convolution, rewritten, run
from workers.backends.rewrites.overlap import SequenceConvolution, inverse, spectrum, transform

#: Wide and long enough to gain.
CHANNELS, KERNEL, LENGTH = 64, 11, 300


def convolved(
    *,
    channels: tuple[int, int] = (CHANNELS, CHANNELS),
    kernel: int = KERNEL,
    length: int | str = LENGTH,
    **options: Any,
) -> onnx.ModelProto:
    return convolution(channels, (kernel,), (length,), **options)


def in_doubles(model: onnx.ModelProto, x: Floats) -> Floats:
    """The result of a convolution and its activation in float64, from their definition."""
    node = model.graph.node[0]
    tensors = {t.name: numpy_helper.to_array(t).astype(float) for t in model.graph.initializer}
    given_attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    dilation, kernel = given_attributes.get("dilations", [1])[0], tensors["w"].shape[2]
    span = dilation * (kernel - 1)
    before, after = given_attributes.get("pads", [0, 0])
    if given_attributes.get("auto_pad", b"") in {b"SAME_UPPER", b"SAME_LOWER"}:
        less, more = span // 2, span - span // 2
        is_upper = given_attributes["auto_pad"] == b"SAME_UPPER"
        before, after = (less, more) if is_upper else (more, less)
    padded = np.pad(x.astype(float), [(0, 0), (0, 0), (before, after)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, span + 1, 2)[..., ::dilation]
    result: Floats = np.einsum("nilk,oik->nol", windows, tensors["w"], optimize=True)
    if "b" in tensors:
        result += tensors["b"][:, None]
    return np.maximum(result, 0)


@settings(max_examples=15, deadline=None)
@given(
    kernel=st.integers(7, 40),
    dilation=st.integers(1, 4),
    length=st.integers(150, 400),
    is_dynamic=st.booleans(),
    pads=st.lists(st.integers(0, 30), min_size=2, max_size=2),
    padding=st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    channels=st.tuples(st.sampled_from([64, 70]), st.sampled_from([64, 81])),
    batch=st.integers(1, 3),
    bias=st.booleans(),
)
def test_a_rewritten_convolution_computes_the_same(
    *,
    kernel: int,
    dilation: int,
    length: int,
    is_dynamic: bool,
    pads: list[int],
    padding: str,
    channels: tuple[int, int],
    batch: int,
    bias: bool,
) -> None:
    # ONNX Runtime refuses it.
    assume(dilation == 1 or not padding.startswith("SAME"))
    attributes: dict[str, Any] = {"auto_pad": padding} if padding != "NOTSET" else {"pads": pads}
    if dilation > 1:
        attributes["dilations"] = [dilation]
    model = convolved(
        channels=channels,
        kernel=kernel,
        length="L" if is_dynamic else length,
        bias=bias,
        **attributes,
    )
    count, after = rewritten(model, "fourier")
    assert count == 1 or not is_dynamic
    x = RNG.standard_normal((batch, channels[0], length)).astype(np.float32)
    expected, result = in_doubles(model, x), run(after, x)
    assert result.shape == expected.shape
    assert np.linalg.norm(result - expected) < 1e-6 * np.linalg.norm(expected)


@pytest.mark.parametrize("window", [16, 24, 96])
def test_windows_correlate_exactly(window: int) -> None:
    weights, values = RNG.standard_normal((1, 1, 7)).astype(np.float32), RNG.standard_normal(window)
    frequencies = (transform(window) @ values).reshape(-1, 1, 2)
    products = (frequencies @ spectrum(weights, window)).reshape(-1)
    results = (inverse(window) @ products)[: window - 6]
    np.testing.assert_allclose(results, np.correlate(values, weights[0, 0], "valid"), atol=1e-12)


def test_one_network_takes_sequences_of_any_length() -> None:
    model = convolved(length="L", pads=[5, 5])
    count, after = rewritten(model, "fourier")
    assert count == 1
    for length in (1, 22, 23, 500):
        x = RNG.standard_normal((2, CHANNELS, length)).astype(np.float32)
        np.testing.assert_allclose(run(after, x), in_doubles(model, x), rtol=1e-4, atol=1e-5)


def test_numbers_that_are_undefined_stay_undefined() -> None:
    model = convolved(pads=[5, 5])
    _, after = rewritten(model, "fourier")
    x = RNG.standard_normal((2, CHANNELS, LENGTH)).astype(np.float32)
    x[0, 3, 5], x[1, 4, LENGTH - 1] = np.nan, np.inf
    lost = ~np.isfinite(run(model, x)) & np.isfinite(run(after, x))
    assert not lost.any()


@pytest.mark.parametrize(
    "changed",
    [
        {"channels": (8, 8)},
        {"channels": (1, 64)},
        {"kernel": 3},
        {"kernel": 5},
        {"length": 20},
        {"strides": [2]},
        {"group": 2},
        {"dtype": np.float64},
    ],
    ids=str,
)
def test_other_convolutions_stay(changed: dict[str, Any]) -> None:
    count, after = rewritten(convolved(**changed), "fourier")
    assert count == 0
    assert [node.op_type for node in after.graph.node] == ["Conv", "Relu"]


def test_what_would_grow_too_large_stays() -> None:
    model = convolved(pads=[5, 5])
    window = SequenceConvolution(CHANNELS, CHANNELS, KERNEL, 1, LENGTH).window()
    assert window is not None
    grown = CHANNELS**2 * 4 * (2 * window - KERNEL)
    assert [rewritten(model, "fourier", most)[0] for most in (grown - 1, grown)] == [0, 1]


def test_longer_kernels_and_more_channels_gain_more() -> None:
    for kernel, channels in ((9, 64), (11, 64), (11, 256), (31, 256)):
        works = [
            SequenceConvolution(c, c, k, 1, 1000).work(3 * kernel)
            for c, k in ((channels, kernel), (channels // 2, kernel), (channels, kernel // 2))
        ]
        assert works[0] == min(works)
