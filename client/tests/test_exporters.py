"""What becomes of models of other libraries."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair.errors import BadInput, InvalidModelFile, MissingPackage, NotSupported, UnsafePath
from hpcfair.exporters import frames, registry
from hpcfair.exporters.base import only
from hpcfair.exporters.naming import rename
from hpcfair.exporters.registry import Exporter, export
from hpcfair.precheck import check_files
from hpcfair.runtimes import registry as runtimes

needs_skl2onnx = pytest.mark.skipif(
    find_spec("skl2onnx") is None,
    reason="skl2onnx is not installed: pip install 'hpcfair[scikit-learn]'",
)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def heavy_onnx(folder: Path, location: str) -> Path:
    """A network whose weights lie in a file of their own."""
    weight = onnx.numpy_helper.from_array(np.ones((8, 8), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "heavy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])],
        [weight],
    )
    path = folder / "heavy.onnx"
    onnx.save(
        helper.make_model(graph),
        path,
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = location
    path.write_bytes(model.SerializeToString())
    return path


def test_an_onnx_file_brings_its_external_data_and_card(tmp_path: Path, scratch: Path) -> None:
    path = heavy_onnx(tmp_path, "weights.bin")
    (tmp_path / "README.md").write_text("# Heavy\n")
    (tmp_path / "unrelated.txt").write_text("x")

    files = export(path, None, scratch).files

    assert sorted(files) == ["README.md", "heavy.onnx", "weights.bin"]


def test_external_data_outside_the_folder_is_refused(tmp_path: Path, scratch: Path) -> None:
    path = heavy_onnx(tmp_path, "../secret.bin")

    with pytest.raises(UnsafePath):
        export(path, None, scratch)


def test_a_file_that_is_not_onnx_is_left_to_the_hub_to_judge(tmp_path: Path, scratch: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"this is not ONNX")

    assert export(str(path), None, scratch).files == {"model.onnx": path}


def test_a_file_of_weights_is_refused_with_what_to_save_instead(
    tmp_path: Path, scratch: Path
) -> None:
    path = tmp_path / "classifier.keras"
    path.write_bytes(b"PK\x03\x04")

    with pytest.raises(InvalidModelFile, match=r"format keras.*example_inputs"):
        export(path, None, scratch)


def test_an_output_that_is_an_input_gets_a_name_of_its_own(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])
    opset = helper.make_opsetid("", 21)
    graph = helper.make_graph([], "same", [value], [value, value])
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)

    rename(model, ["table"], ["first", "second"])

    onnx.save(model, tmp_path / "model.onnx")
    runtime = runtimes.open("onnxruntime", tmp_path / "model.onnx", {})
    x = np.ones((2, 4), np.float32)
    np.testing.assert_equal(runtime.run({"table": x}), {"first": x, "second": x})


def test_a_model_proto_is_written_as_it_is(tiny: bytes, scratch: Path) -> None:
    proto = onnx.load_from_string(tiny)

    files = export(proto, None, scratch).files

    assert files["model.onnx"].read_bytes() == proto.SerializeToString()


def fitted(estimator: Any) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    y = (x.sum(axis=1) > 0).astype(np.int64)
    return estimator.fit(x, y), x, y


@needs_skl2onnx
def test_a_scikit_learn_classifier_agrees_with_itself(scratch: Path) -> None:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  optional
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    model, x, _ = fitted(make_pipeline(StandardScaler(), LogisticRegression()))

    path = export(model, (x,), scratch).files["model.onnx"]

    runtime = runtimes.open("onnxruntime", path, {})
    outputs = runtime.run({runtime.inputs[0].name: x})
    scores, labels = outputs.values()
    np.testing.assert_allclose(scores, model.predict_proba(x), atol=1e-5)
    np.testing.assert_array_equal(labels, model.predict(x))


@needs_skl2onnx
def test_a_scikit_learn_regressor_is_exported(scratch: Path) -> None:
    from sklearn.linear_model import LinearRegression  # noqa: PLC0415  optional

    model, x, _ = fitted(LinearRegression())

    path = export(model, {"features": x}, scratch).files["model.onnx"]

    runtime = runtimes.open("onnxruntime", path, {})
    results = runtime.run({runtime.inputs[0].name: x})
    np.testing.assert_allclose(results["prediction"][:, 0], model.predict(x), atol=1e-5)


@needs_skl2onnx
def test_a_scikit_learn_model_without_an_example_is_refused(scratch: Path) -> None:
    from sklearn.linear_model import LinearRegression  # noqa: PLC0415  optional

    with pytest.raises(BadInput, match="example_inputs"):
        export(fitted(LinearRegression())[0], None, scratch)


def test_a_missing_package_is_named_with_what_installs_it(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = Exporter("hpcfair.exporters.nowhere:export", "some-package")
    monkeypatch.setitem(registry.EXPORTERS, "decimal", nowhere)
    from decimal import Decimal  # noqa: PLC0415

    with pytest.raises(MissingPackage, match="pip install some-package"):
        export(Decimal(1), None, scratch)


class Column(list[Any]):
    """A column of a data frame."""

    def to_numpy(self) -> Any:
        return np.array(self, object)


class Table(dict[str, Column]):
    """What data frames of several libraries have in common."""

    columns = property(dict.keys)

    def to_numpy(self) -> Any:
        raise AssertionError("columns have types of their own")


def test_a_table_becomes_a_matrix_or_its_columns() -> None:
    table = Table(age=Column([3, None]), height=Column([1.5, 2.5]))
    np.testing.assert_array_equal(frames.matrix(table), [[3, 1.5], [np.nan, 2.5]])

    table["city"] = Column(["Rome", "Oslo"])
    with pytest.raises(BadInput, match=r"Column city .* no numbers"):
        frames.matrix(table)
    assert frames.columns(table)["city"].tolist() == [["Rome"], ["Oslo"]]

    table["city"] = Column(["Rome", None])
    with pytest.raises(BadInput, match=r"Column city .*fillna"):
        frames.columns(table)


@pytest.mark.parametrize(
    ("examples", "reason"),
    [([[1.0], [2.0], [3.0]], "not 3. .* A list"), ((object(),), "is a object, no array")],
)
def test_examples_of_one_input_are_one_array(examples: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        only("tree", examples)


@pytest.mark.parametrize(
    ("model", "remedy"), [({"w": 1}, "Weights alone"), (dict, "an object of the class")]
)
def test_what_is_no_model_is_refused_with_what_is(model: Any, remedy: str, scratch: Path) -> None:
    with pytest.raises(NotSupported, match=remedy):
        export(model, None, scratch)


def test_a_refusal_names_the_file_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "booster.json"
    path.write_text("{}")
    with pytest.raises(InvalidModelFile, match=r"booster\.json is a JSON file"):
        check_files({"model.onnx": path})
