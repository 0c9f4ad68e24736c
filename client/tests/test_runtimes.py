"""Runtimes open a build and run it, and say plainly what does not fit."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair import errors
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Runtime, TensorInfo


def write(folder: Path, element: int = TensorProto.FLOAT, operator: str = "Identity") -> Path:
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", element, ["N", 3])],
        [helper.make_tensor_value_info("y", element, ["N", 3])],
    )
    path = folder / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


def opened(folder: Path, element: int = TensorProto.FLOAT) -> Runtime:
    return registry.open("onnxruntime", write(folder, element), {"default": True})


def test_a_build_runs_on_named_arrays(tmp_path: Path) -> None:
    runtime = opened(tmp_path)
    assert runtime.inputs == (TensorInfo("x", "float32", ("N", 3)),)
    assert str(runtime.outputs[0]) == "float32[N,3]"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(runtime.run({"x": x})["y"], x)


@pytest.mark.parametrize("threads", ["all", "half", "one"])
@pytest.mark.parametrize("execution", ["sequential", "parallel"])
@pytest.mark.parametrize("level", ["disable", "basic", "extended", "layout", "all"])
def test_every_option_opens(tmp_path: Path, level: str, execution: str, threads: str) -> None:
    options = {"graph_optimization": level, "execution": execution, "threads": threads}
    runtime = registry.open(
        "onnxruntime", write(tmp_path), {**options, "spinning": False, "bf16_gemm": True}
    )
    x = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(runtime.run({"x": x})["y"], x)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((1, 3)), "expected float32[N,3], got float64[1, 3]; convert with x.astype"),
        (np.zeros((1, 4), np.float32), "dimension 1 must be 3"),
        (np.zeros(3, np.float32), "2 dimensions are needed"),
        ([[1.0, 2.0, 3.0]], "list; make it an array"),
        (np.zeros((1, 3), ">f4"), "foreign byte order"),
    ],
)
def test_an_array_that_does_not_fit_is_refused_with_what_was_expected(
    tmp_path: Path, array: np.ndarray, said: str
) -> None:
    with pytest.raises(errors.BadInput, match=r"input x: expected float32\[N,3\]") as caught:
        opened(tmp_path).run({"x": array})
    assert said in str(caught.value)


def test_missing_and_unknown_inputs_are_named(tmp_path: Path) -> None:
    runtime = opened(tmp_path)
    with pytest.raises(errors.BadInput, match=r"missing: x; no such input: z.*x: float32\[N,3\]"):
        runtime.run({"z": np.zeros((1, 3), np.float32)})
    with pytest.raises(errors.BadInput, match="no such input: z"):
        runtime.run({"x": np.zeros((1, 3), np.float32), "z": np.zeros(1)})


def test_an_empty_batch_is_no_error(tmp_path: Path) -> None:
    assert opened(tmp_path).run({"x": np.zeros((0, 3), np.float32)})["y"].shape == (0, 3)


def test_float16_crosses_as_it_is(tmp_path: Path) -> None:
    y = opened(tmp_path, TensorProto.FLOAT16).run({"x": np.ones((1, 3), np.float16)})["y"]
    assert y.dtype == np.float16


@pytest.mark.parametrize("dtype", [str, object])
def test_text_crosses_as_str_or_object_arrays(tmp_path: Path, dtype: type) -> None:
    runtime = opened(tmp_path, TensorProto.STRING)
    assert runtime.inputs[0].dtype == "string"
    y = runtime.run({"x": np.array([["a", "b", "c"]], dtype=dtype)})["y"]
    assert y.tolist() == [["a", "b", "c"]]
    with pytest.raises(errors.BadInput, match="give an array of str"):
        runtime.run({"x": np.array([[1, 2, 3]], dtype=object)})


def test_bfloat16_in_the_signature_is_refused_when_opened(tmp_path: Path) -> None:
    with pytest.raises(errors.RuntimeFailed, match="x is of type bfloat16, which NumPy"):
        opened(tmp_path, TensorProto.BFLOAT16)


def test_a_sequence_output_is_refused_when_opened(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("SequenceConstruct", ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [1])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    with pytest.raises(errors.RuntimeFailed, match="only tensors"):
        registry.open("onnxruntime", path, {})


def test_an_unknown_operator_is_named_without_the_folder(tmp_path: Path) -> None:
    with pytest.raises(errors.RuntimeFailed, match="Nonsense") as caught:
        registry.open("onnxruntime", write(tmp_path, operator="Nonsense"), {})
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"no protobuf", b"\x08\x08\x12"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(errors.RuntimeFailed, match=r"cannot open model\.onnx"):
        registry.open("onnxruntime", path, {})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"graph_optimization": "most"}, "one of disable, basic"),
        ({"threads": 0}, "one of all, half, one"),
        ({"warp": 9}, "has no option 'warp'"),
        ({"default": True, "threads": "one"}, "excludes all other options"),
    ],
)
def test_an_option_it_does_not_know_is_refused(
    tmp_path: Path, options: dict[str, str | int], said: str
) -> None:
    with pytest.raises(errors.BadConfig, match=said):
        registry.open("onnxruntime", write(tmp_path), options)


def test_a_closed_build_says_so(tmp_path: Path) -> None:
    runtime = opened(tmp_path)
    runtime.close()
    runtime.close()
    with pytest.raises(errors.RuntimeFailed, match="closed"):
        runtime.run({"x": np.zeros((1, 3), np.float32)})


def test_an_unknown_runtime_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(errors.BadConfig, match=r"abacus.*onnxruntime"):
        registry.open("abacus", tmp_path, {})


def test_a_missing_package_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        registry.RUNTIMES,
        "absent",
        registry.RuntimeEntry("hpcfair.absent:Absent", "absent", "hpcfair[absent]"),
    )
    assert "absent" not in registry.installed()
    with pytest.raises(errors.MissingPackage, match=r"pip install 'hpcfair\[absent\]'"):
        registry.open("absent", tmp_path, {})


def test_listing_what_is_installed_imports_no_runtime() -> None:
    code = (
        "import sys; from hpcfair.runtimes import registry; print(registry.installed());"
        "sys.exit('onnxruntime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "onnxruntime" in done.stdout


OTHER = registry.RuntimeEntry("hpcfair.runtimes.onnxruntime:OnnxRuntime", "onnxruntime", "other")


def declare(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    """Have other packages declare runtimes: name to object."""
    declared = [
        metadata.EntryPoint(name, path, registry.ENTRY_POINTS) for name, path in points.items()
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda **_: declared)
    # What is installed is remembered until a folder of the import path changes.
    monkeypatch.setattr(registry, "_installed", registry._installed.__wrapped__)


def test_another_package_adds_a_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch, other=f"{__name__}:OTHER")
    assert registry.installed()["other"] == metadata.version("onnxruntime")
    runtime = registry.open("other", write(tmp_path), {})
    x = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(runtime.run({"x": x})["y"], x)


@pytest.mark.parametrize(
    ("name", "path", "reason"),
    [
        ("broken", "no_such_package:ENTRY", "No module named 'no_such_package'"),
        ("broken", f"{__name__}:TensorInfo", r"is no hpcfair\.runtimes\.registry\.RuntimeEntry"),
        ("onnxruntime", f"{__name__}:OTHER", "the name is taken"),
    ],
)
def test_a_broken_runtime_of_another_package_is_reported_and_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, name: str, path: str, reason: str
) -> None:
    declare(monkeypatch, **{name: path})
    with pytest.warns(registry.PlugInWarning, match=reason):
        assert "onnxruntime" in registry.installed()


def test_onnx_runtime_sends_nothing_to_its_maker(tmp_path: Path) -> None:
    """Without its variable, it keeps what it sends in the user's home."""
    home = tmp_path / "home"
    home.mkdir()
    code = f"""
from pathlib import Path
from hpcfair.runtimes import registry
registry.open("onnxruntime", Path({str(write(tmp_path))!r}), {{"default": True}})
"""
    # With the variables of a run of tests, ONNX Runtime is silent by itself.
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "HOME": str(home)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert not list(home.rglob("*"))
