"""OpenVINO's runtime: names, types and shapes cross unharmed, and what does not fit is refused."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from hpcfair import errors
from hpcfair.runtimes import openvino, registry
from hpcfair.runtimes.base import Options, Runtime, TensorInfo
from hpcfair.runtimes.quiet_openvino import ov

FLOAT = TensorProto.FLOAT
_Value = tuple[str, int, Sequence[int | str]]


def write(
    folder: Path, nodes: list[onnx.NodeProto], takes: list[_Value], gives: list[_Value]
) -> Path:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(*value) for value in takes],
        [helper.make_tensor_value_info(*value) for value in gives],
    )
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), folder / "model.onnx")
    model = ov.Core().read_model(folder / "model.onnx")
    ov.save_model(model, folder / "model.xml", compress_to_fp16=False)
    return folder / "model.xml"


def doubling(folder: Path, shape: Sequence[int | str], dtype: int = FLOAT) -> Path:
    node = helper.make_node("Add", ["x", "x"], ["y"])
    return write(folder, [node], [("x", dtype, shape)], [("y", dtype, shape)])


def opened(path: Path, options: Options | None = None) -> Runtime:
    return registry.open("openvino", path, options or {"threads": "one"})


def test_a_build_runs_on_named_arrays(tmp_path: Path) -> None:
    runtime = opened(doubling(tmp_path, ["N", 3]))
    assert runtime.inputs == (TensorInfo("x", "float32", ("?", 3)),)
    assert runtime.outputs == (TensorInfo("y", "float32", ("?", 3)),)
    assert runtime.version() == registry.installed()["openvino"]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(runtime.run({"x": x})["y"], 2 * x)


def test_outputs_are_the_callers_and_inputs_stay_as_they_are(tmp_path: Path) -> None:
    runtime = opened(doubling(tmp_path, ["N"]))
    x = np.ones(4, np.float32)
    first = runtime.run({"x": x})["y"]
    second = runtime.run({"x": 3 * x})["y"]
    second[:] = 0
    np.testing.assert_array_equal(first, [2, 2, 2, 2])
    np.testing.assert_array_equal(x, [1, 1, 1, 1])


@pytest.mark.parametrize("odd", ["read-only", "strided", "Fortran"])
def test_arrays_may_lie_in_memory_as_they_like(tmp_path: Path, odd: str) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = {"strided": np.repeat(x, 2, axis=1)[:, ::2], "Fortran": np.asfortranarray(x)}
    array = given.get(odd, x)
    array.flags.writeable = odd != "read-only"
    out = opened(doubling(tmp_path, ["N", 3])).run({"x": array})["y"]
    np.testing.assert_array_equal(out, 2 * x)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_types_and_shapes_are_kept(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = np.full(shape, 3, dtype)
    out = opened(doubling(tmp_path, shape, element)).run({"x": x})["y"]
    assert (out.dtype, out.shape) == (x.dtype, shape)
    np.testing.assert_array_equal(out, 2 * x)


def test_outputs_are_called_as_in_the_published_graph(tmp_path: Path) -> None:
    """Also those that are the input itself, the same tensor twice, or named as no file could be."""
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Relu", ["x"], ['r, <&">']),
        helper.make_node("Identity", ['r, <&">'], ["again"]),
    ]
    names = ["again", "same", 'r, <&">', "again", "x"]
    path = write(
        tmp_path, nodes, [("u", FLOAT, [2]), ("x", FLOAT, [2])], [(n, FLOAT, [2]) for n in names]
    )
    runtime = opened(path)
    assert [tensor.name for tensor in runtime.inputs] == ["u", "x"]
    assert [tensor.name for tensor in runtime.outputs] == names
    x = np.array([-1, 2], np.float32)
    found = runtime.run({"u": x, "x": x})
    assert list(found) == ["again", "same", 'r, <&">', "x"]
    np.testing.assert_array_equal(found["again"], [0, 2])
    np.testing.assert_array_equal(found["same"], x)
    np.testing.assert_array_equal(found["x"], x)


_LOSING: dict[str, tuple[list[str], dict[str, Any]]] = {
    "Relu": (["x"], {}),
    "Clip": (["x", "low", "high"], {}),
    "HardSigmoid": (["x"], {}),
    "Softmax": (["x"], {"axis": 1}),
    "Max": (["x", "low"], {}),
    "Min": (["high", "x"], {}),
    "ReduceMin": (["x"], {"axes": [0]}),
}


@pytest.mark.parametrize("operator", sorted(_LOSING))
@pytest.mark.parametrize("shapes", ["dynamic", "static"])
def test_nan_and_infinity_come_through(tmp_path: Path, operator: str, shapes: str) -> None:
    takes, attributes = _LOSING[operator]
    nodes = [
        helper.make_node("Constant", [], ["low"], value_float=-1.0),
        helper.make_node("Constant", [], ["high"], value_float=1.0),
        helper.make_node(operator, takes, ["y"], **attributes),
    ]
    path = write(tmp_path, nodes, [("x", FLOAT, ["N", 3])], [("y", FLOAT, ["A", "B"])])
    runtime = opened(path, {"threads": "all", "shapes": shapes})
    usual = onnxruntime.InferenceSession(path.with_suffix(".onnx"))
    for planted in (1.0, np.nan, np.inf, -np.inf, 2.0):
        x = np.array([[0.5, planted, -3], [0, 1, 2]], np.float32)
        expected = usual.run(None, {"x": x})[0]
        np.testing.assert_allclose(runtime.run({"x": x})["y"], expected, 1e-5)


@pytest.mark.parametrize("place", range(4))
def test_a_window_with_nan_has_nan_for_a_maximum(tmp_path: Path, place: int) -> None:
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    path = write(tmp_path, [node], [("x", FLOAT, [1, 1, 4, 4])], [("y", FLOAT, [1, 1, 2, 2])])
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    x[0, 0, 2 + place // 2, place % 2] = np.nan
    np.testing.assert_array_equal(opened(path).run({"x": x})["y"], [[[[5, 7], [np.nan, 15]]]])


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=8))
def test_static_shapes_take_any_shapes_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[tuple[int, int]]
) -> None:
    path = doubling(tmp_path_factory.mktemp("build"), ["N", "M"])
    runtime = opened(path, {"threads": "one", "shapes": "static"})
    for shape in shapes:
        x = np.random.default_rng(0).random(shape, np.float32)
        np.testing.assert_array_equal(runtime.run({"x": x})["y"], 2 * x)


def test_static_shapes_compile_for_the_first_few_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    whole = openvino.reshaped

    def reshaped(model: Any, shapes: Any) -> Any:
        asked.append(shapes)
        return whole(model, shapes)

    monkeypatch.setattr(openvino, "reshaped", reshaped)
    runtime = opened(doubling(tmp_path, ["N"]), {"threads": "one", "shapes": "static"})
    for size in [*range(1, 8), *range(1, 8)]:
        runtime.run({"x": np.ones(size, np.float32)})
    assert asked == [*(((n,),) for n in range(1, openvino.MOST_SHAPES + 1)), None]


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("pinning", [True, False])
def test_every_option_opens(tmp_path: Path, precision: str, *, pinning: bool) -> None:
    path = doubling(tmp_path, [3])
    x = np.ones(3, np.float32)
    for more in ({"threads": "half", "shapes": "static"}, {"hint": "throughput"}):
        runtime = opened(path, {"precision": precision, "pinning": pinning, **more})
        np.testing.assert_array_equal(runtime.run({"x": x})["y"], 2 * x)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"turbo": True}, "has no option 'turbo'"),
        ({"threads": 0}, "threads cannot be 0"),
        ({"precision": "int4"}, "precision cannot be 'int4'"),
        ({"pinning": 1}, "pinning cannot be 1"),
        ({"pinning": "yes"}, "pinning cannot be 'yes'"),
        ({"threads": True}, "threads cannot be True"),
        ({"hint": "throughput", "threads": "all"}, "excludes the option threads"),
    ],
)
def test_an_unknown_option_is_named(tmp_path: Path, options: Options, said: str) -> None:
    with pytest.raises(errors.BadConfig, match=said):
        opened(tmp_path / "model.xml", options)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((1, 3)), "convert with x.astype"),
        (np.zeros((1, 4), np.float32), "dimension 1 must be 3"),
        (np.zeros(3, np.float32), "2 dimensions are needed"),
        ([[1.0, 2.0, 3.0]], "make it an array"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, array: Any, said: str) -> None:
    with pytest.raises(errors.BadInput, match=said):
        opened(doubling(tmp_path, ["N", 3])).run({"x": array})


@pytest.mark.parametrize("shapes", ["dynamic", "static"])
@pytest.mark.parametrize("threads", ["all", "one"])
def test_shapes_that_do_not_go_together_are_an_error_and_no_stale_answer(
    tmp_path: Path, threads: str, shapes: str
) -> None:
    node = helper.make_node("MatMul", ["x", "z"], ["y"])
    takes: list[_Value] = [("x", FLOAT, ["N", "M"]), ("z", FLOAT, ["A", "B"])]
    path = write(tmp_path, [node], takes, [("y", FLOAT, ["N", "B"])])
    runtime = opened(path, {"threads": threads, "shapes": shapes})
    x = np.ones((2, 3), np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(runtime.run({"x": x, "z": x.T})["y"], [[3, 3], [3, 3]])
        with pytest.raises(errors.RuntimeFailed, match="OpenVINO failed: ") as caught:
            runtime.run({"x": x, "z": x})
        assert "src/" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello, world", b"<net>", None])
def test_a_file_that_is_no_build_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.xml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(errors.RuntimeFailed, match=r"cannot open model\.xml") as caught:
        opened(path)
    assert str(tmp_path) not in str(caught.value)


def test_weights_that_are_missing_or_short_are_noticed(tmp_path: Path) -> None:
    node = helper.make_node("Constant", [], ["c"], value_floats=[1.0] * 64)
    nodes = [node, helper.make_node("Add", ["x", "c"], ["y"])]
    path = write(tmp_path, nodes, [("x", FLOAT, [64])], [("y", FLOAT, [64])])
    path.with_suffix(".bin").write_bytes(b"short")
    with pytest.raises(errors.RuntimeFailed, match=r"cannot open model\.xml"):
        opened(path)


@pytest.mark.parametrize("element", [TensorProto.STRING, TensorProto.BFLOAT16])
def test_tensors_numpy_has_no_type_for_are_refused(tmp_path: Path, element: int) -> None:
    node = helper.make_node("Identity", ["x"], ["y"])
    path = write(tmp_path, [node], [("x", element, [2])], [("y", element, [2])])
    with pytest.raises(errors.RuntimeFailed, match="x is of type"):
        opened(path)


def test_a_closed_build_does_not_run(tmp_path: Path) -> None:
    runtime = opened(doubling(tmp_path, [1]))
    runtime.close()
    runtime.close()
    with pytest.raises(errors.RuntimeFailed, match="closed"):
        runtime.run({"x": np.zeros(1, np.float32)})


@pytest.mark.parametrize(
    "module", ["hpcfair.runtimes.openvino", "workers.backends.openvino.quantize"]
)
def test_nothing_is_sent_to_the_maker(tmp_path: Path, module: str) -> None:
    """With OpenVINO's own package in place, importing it alone would send."""
    spy = tmp_path / "openvino_telemetry"
    spy.mkdir()
    (spy / "__init__.py").write_text("raise SystemExit('somebody imports telemetry')")
    path = ":".join([str(tmp_path), *filter(None, sys.path)])
    code = f"import {module}; import sys; assert 'openvino_telemetry' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {entry.name for entry in tmp_path.iterdir()} == {"openvino_telemetry"}
