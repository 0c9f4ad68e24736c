"""Networks of one row are opened for any number, or refused."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.backends import registry
from workers.backends.openbatch import BATCH_OPENER
from workers.backends.openbatch.graph import BatchRewriter
from workers.backends.openbatch.opener import open_batch, require_equal
from workers.engine.errors import CandidateFailed, InvalidCandidate
from workers.engine.queries.device import LocalBatchDevice
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, TensorSpec
from workers.testing.backend_contract import this_target

RNG = np.random.default_rng(0)

#: Graphs of one row: the text of the nodes, the sizes of the input, those of the output.
OPENED: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    # A class token, and attention over two heads whose batch and heads share a dimension.
    "attention": (
        """
        t = Concat<axis=1>(token, x)
        q = Reshape(t, by_head)
        k = Transpose<perm=[0, 2, 1, 3]>(q)
        h = Reshape(k, merged)
        s = Transpose<perm=[0, 2, 1]>(h)
        p = MatMul(h, s)
        a = Softmax<axis=-1>(p)
        v = MatMul(a, h)
        u = Reshape(v, split)
        w = Transpose<perm=[0, 2, 1, 3]>(u)
        y = Reshape(w, joined)
        """,
        (1, 4, 8),
        (1, 5, 8),
    ),
    # The batch between time and features, as PyTorch's attention has it.
    "time-first": (
        """
        t = Transpose<perm=[1, 0, 2]>(x)
        r = Reshape(t, rows)
        m = MatMul(r, square)
        h = Reshape(m, heads)
        s = Transpose<perm=[1, 0, 2]>(h)
        f = Reshape(s, pooled)
        y = Reshape(f, flat)
        """,
        (1, 4, 8),
        (1, 32),
    ),
    "recurrent": (
        """
        t = Transpose<perm=[1, 0, 2]>(x)
        h, l = GRU<hidden_size=3>(t, wx, wh, , , state)
        f = Squeeze(l, first)
        y = Reshape(f, three)
        """,
        (1, 4, 8),
        (1, 3),
    ),
    "resized": ('y = Resize<mode="nearest">(x, , , larger)', (1, 2, 4, 4), (1, 2, 8, 8)),
}
CONSTANTS: dict[str, Any] = {
    "token": RNG.standard_normal((1, 1, 8)).astype(np.float32),
    "by_head": [1, 5, 2, 4],
    "merged": [2, 5, 4],
    "split": [1, 2, 5, 4],
    "joined": [1, -1, 8],
    "rows": [4, 8],
    "square": RNG.standard_normal((8, 8)).astype(np.float32),
    "heads": [4, 2, 4],
    "pooled": [2, 16],
    "flat": [1, 32],
    "wx": RNG.standard_normal((1, 9, 8)).astype(np.float32),
    "wh": RNG.standard_normal((1, 9, 3)).astype(np.float32),
    "state": np.zeros((1, 1, 3), np.float32),
    "first": [0],
    "three": [1, 3],
    "larger": [1, 2, 8, 8],
    "all": [1, 1],
}
#: Graphs that mix rows, or lose them.
REFUSED: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], str]] = {
    "softmax over rows": ("y = Softmax<axis=0>(x)", (1, 8), (1, 8), "in batches"),
    "sums over rows": ("y = CumSum(x, zero)", (1, 8), (1, 8), "in batches"),
    "mean of all": (
        "m = ReduceMean<keepdims=1>(x) y = Reshape(m, all)",
        (1, 8),
        (1, 1),
        "output y",
    ),
    "one row taken": ("y = Slice(x, zeros, ones, zeros)", (1, 8), (1, 8), "output y"),
    "two batches": (
        "t = Transpose(x) p = MatMul(t, x) y = MatMul(x, p)",
        (1, 8),
        (1, 8),
        "batches",
    ),
}


def graph(text: str, taken: tuple[int, ...], given: tuple[int, ...]) -> onnx.ModelProto:
    parsed = parser.parse_graph(f"g (float x) => (float y) {{ {text} }}")
    for value, sizes in ((parsed.input[0], taken), (parsed.output[0], given)):
        value.CopyFrom(helper.make_tensor_value_info(value.name, TensorProto.FLOAT, sizes))
    used = {name for node in parsed.node for name in node.input}
    extra: dict[str, Any] = {"zero": np.array(0, np.int64), "zeros": [0], "ones": [1]}
    for name, constant in (CONSTANTS | extra).items():
        if name in used:
            # Lists are sizes.
            array = np.array(constant, np.int64) if isinstance(constant, list) else constant
            parsed.initializer.append(numpy_helper.from_array(array, name))
    return helper.make_model(parsed, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def network(model: onnx.ModelProto, path: Path) -> Network:
    onnx.save(model, path)
    operators = {node.op_type: 1 for node in model.graph.node}
    taken, given = (specs(values) for values in (model.graph.input, model.graph.output))
    return Network(path, "0" * 64, "0" * 64, "other", taken, given, operators, 0, None)


def specs(values: Iterable[onnx.ValueInfoProto]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(v.name, "float32", tuple(d.dim_value for d in v.type.tensor_type.shape.dim))
        for v in values
    )


@pytest.mark.parametrize("name", OPENED)
def test_a_network_of_one_row_computes_each_row_of_a_batch(name: str, tmp_path: Path) -> None:
    model = graph(*OPENED[name])
    published = network(model, tmp_path / "model.onnx")
    rewriter = BatchRewriter(model)
    opened = rewriter.model({"x"}, "batch")
    onnx.checker.check_model(opened, full_check=True)
    path = tmp_path / "opened.onnx"
    onnx.save(opened, path)
    assert rewriter.changes
    require_equal(published, path)
    rows = RNG.standard_normal((5, *OPENED[name][1][1:])).astype(np.float32)
    one, several = (ort.InferenceSession(p) for p in (published.model_path, path))
    alone = np.concatenate([one.run(None, {"x": row[None]})[0] for row in rows])
    np.testing.assert_allclose(several.run(None, {"x": rows})[0], alone, atol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_a_network_that_does_not_compute_row_by_row_is_refused(name: str, tmp_path: Path) -> None:
    text, taken, given, message = REFUSED[name]
    model = graph(text, taken, given)
    published = network(model, tmp_path / "model.onnx")
    described = {**asdict(published), "shared": None}
    with pytest.raises(InvalidCandidate, match=message):
        open_batch(network=described, out=str(tmp_path))


def test_a_device_builds_for_any_number_of_rows_and_tells_why_not(tmp_path: Path) -> None:
    target, backends = this_target(), {"onnxruntime": registry.get("onnxruntime")}
    published = network(graph(*OPENED["time-first"]), tmp_path / "model.onnx")
    request = TuningRequest(published, target, ("onnxruntime",), batch_opener=BATCH_OPENER)
    with LocalBatchDevice(request, backends, tmp_path) as device:
        opened = device.open_batch()
        assert opened is not None
        assert [spec.shape for spec in opened.network.inputs] == [("batch", 4, 8)]
        build = opened.builder.build("onnxruntime", {"default": True})
        assert build.outcome == "measured", build.detail
        x = RNG.standard_normal((3, 4, 8)).astype(np.float32)
        session = device.open("onnxruntime", build, "candidate", {"x": x})
        assert session.run({"x": x})["y"].shape == (3, 32)
        session.close()

    mixing = network(graph(*REFUSED["softmax over rows"][:3]), tmp_path / "mixing.onnx")
    with (
        LocalBatchDevice(replace(request, network=mixing), backends, tmp_path) as device,
        pytest.raises(CandidateFailed, match="in batches"),
    ):
        device.open_batch()
    fixed = replace(request, batch_opener=None)
    with LocalBatchDevice(fixed, backends, tmp_path) as device:
        assert device.open_batch() is None
