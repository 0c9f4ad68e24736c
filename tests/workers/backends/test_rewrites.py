"""Rewritten networks compute what they did, with other operators."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest

from tests.workers.backends.rewritable import (
    dealt,
    fire,
    normalised,
    residual,
    shuffled,
    stem,
)
from workers.backends.onnxruntime.rewrite import replace_sums
from workers.backends.rewrites.align import align_channels
from workers.backends.rewrites.concat import split_over_concat
from workers.backends.rewrites.graph import EditableGraph
from workers.backends.rewrites.groups import fold_shuffles
from workers.backends.rewrites.normal import write_out_normalisations
from workers.backends.rewrites.shuffle import gather_shuffles
from workers.engine.ports import Array

RNG = np.random.default_rng(0)
Rewrite = Callable[[EditableGraph], int]
Floats = npt.NDArray[np.float32]


def run(model: onnx.ModelProto, x: Array) -> list[Floats]:
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    found: list[Floats] = session.run(None, {"x": x})
    return found


def rewritten(model: onnx.ModelProto, rewrite: Rewrite) -> tuple[int, onnx.ModelProto]:
    before = EditableGraph(model)
    count = rewrite(before)
    after = before.model()
    onnx.checker.check_model(after, full_check=True)
    return count, after


@pytest.mark.parametrize(
    ("model", "rewrite", "gone"),
    [
        (fire(), split_over_concat, "Concat"),
        (fire(pool=True), split_over_concat, "Concat"),
        (shuffled(), gather_shuffles, "Transpose"),
        (residual(), replace_sums, "Sum"),
        (stem(), align_channels, ""),
        (normalised(), write_out_normalisations, "LRN"),
    ],
    ids=["fire", "pooled fire", "shuffle", "sum", "stem", "response"],
)
def test_a_rewritten_network_computes_the_same(
    model: onnx.ModelProto, rewrite: Rewrite, gone: str
) -> None:
    x = RNG.standard_normal((2, 16, 8, 8)).astype(np.float32)
    poisoned = x.copy()
    poisoned[0, 3, 2, 2], poisoned[1, 5, 4, 4] = np.nan, np.inf
    count, after = rewritten(model, rewrite)
    assert count == 1
    assert gone not in {node.op_type for node in after.graph.node}
    for inputs in (x, poisoned):
        for wanted, given in zip(run(model, inputs), run(after, inputs), strict=True):
            np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-5)
    assert len(after.graph.initializer) == len({t.name for t in after.graph.initializer})


@pytest.mark.parametrize(
    ("model", "rewrite"),
    [
        (fire(consumer=64), split_over_concat),
        (fire(seen=True), split_over_concat),
        (shuffled(shape=(0, 16, 1, 8, 8)), replace_sums),
        (shuffled(), fold_shuffles),
        (dealt(groups=16), fold_shuffles),
        (dealt(seen=True), fold_shuffles),
        (stem(seen=True), align_channels),
        (normalised(beta=0.6), write_out_normalisations),
    ],
    ids=[
        "wide consumer",
        "joined value is an output",
        "no sum",
        "nothing mixes the channels",
        "too many groups",
        "shuffled value is an output",
        "unpooled value is an output",
        "another power",
    ],
)
def test_what_would_gain_nothing_or_be_missed_stays(
    model: onnx.ModelProto, rewrite: Rewrite
) -> None:
    count, after = rewritten(model, rewrite)
    assert count == 0
    assert Counter(n.op_type for n in after.graph.node) == Counter(
        n.op_type for n in model.graph.node
    )


@pytest.mark.parametrize("groups", [1, 4])
def test_a_shuffle_is_folded_into_the_convolution_behind_it(groups: int) -> None:
    model = dealt(groups=groups)
    count, after = rewritten(model, fold_shuffles)
    assert count == 1
    assert [n.op_type for n in after.graph.node] == ["Conv", "BatchNormalization", "Clip", "Conv"]
    x = RNG.standard_normal((2, 16, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(run(after, x)[0], run(model, x)[0], rtol=1e-4, atol=1e-5)
    # Zeros carry NaN into other groups too, and lose none.
    x[0, 3, 2, 2] = np.nan
    assert np.isnan(run(after, x)[0])[np.isnan(run(model, x)[0])].all()


def test_channels_are_filled_up_to_whole_blocks() -> None:
    _, after = rewritten(stem(), align_channels)
    widths = {tensor.name: tensor.dims[0] for tensor in after.graph.initializer}
    (node,) = (node for node in after.graph.node if node.op_type == "Conv")
    assert [widths[name] for name in node.input[1:]] == [32, 32]
