"""Weights outside the model file: where they may be, and where not."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.workers.inspection.conftest import facts_of
from tests.workers.inspection.networks import mlp, resnet18
from workers.inspection.errors import InspectionError
from workers.inspection.inspect import read_folder

SIZE = 4 * 64 * 64


def _model(location: str = "weights.bin", **entries: object) -> onnx.ModelProto:
    """``y = x @ w`` with ``w float32[64, 64]`` in the file ``location``."""
    weight = TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[64, 64], data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=str(value))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 64])],
        [weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _refused(folder: Path, model: onnx.ModelProto, name: str = "model.onnx") -> InspectionError:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(model.SerializeToString())
    with pytest.raises(InspectionError) as caught:
        facts_of(folder, name)
    return caught.value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A revision's folder with a data file, and a secret beside it that is none of its business."""
    inside = tmp_path / "revision"
    inside.mkdir()
    (inside / "weights.bin").write_bytes(bytes(SIZE))
    (tmp_path / "secret.bin").write_bytes(bytes(SIZE))
    return inside


def test_external_weights_are_counted_and_named(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "data").mkdir()
    (folder / "sub" / "data" / "w.bin").write_bytes(bytes(SIZE + 16))
    model = _model("data/w.bin", offset=16, length=SIZE)
    (folder / "sub" / "m.onnx").write_bytes(model.SerializeToString())
    facts = facts_of(folder, "sub/m.onnx")
    assert facts.external_data == ["sub/data/w.bin"]
    assert (facts.parameters, facts.weight_bytes, facts.macs) == (64 * 64, SIZE, 64 * 64)


def test_weights_without_a_declared_length_are_read_by_their_shape(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(_model().SerializeToString())
    assert facts_of(folder, "model.onnx").external_data == ["weights.bin"]


@pytest.mark.parametrize(
    "location",
    [
        "../secret.bin",
        "sub/../../secret.bin",
        "/dev/zero",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "/proc/self/fd/0",
        "./../secret.bin",
        "sub/./../../secret.bin",
        "..\\secret.bin",
        "C:\\secret.bin",
        "",
        ".",
        "weights.bin\x00",
        "link.bin",
        "linked/secret.bin",
        "hard.bin",
        "pipe",
    ],
)
def test_weights_outside_the_folder_are_refused(folder: Path, location: str) -> None:
    (folder / "sub").mkdir()
    (folder / "link.bin").symlink_to(folder / "weights.bin")
    (folder / "linked").symlink_to(folder.parent)
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    os.mkfifo(folder / "pipe")
    error = _refused(folder, _model(location))
    assert error.code == "external_data_escapes"
    assert "beside it" in error.hint


def test_an_absolute_path_into_the_folder_is_refused(folder: Path) -> None:
    assert _refused(folder, _model(str(folder / "weights.bin"))).code == "external_data_escapes"


def test_a_missing_data_file_is_named(folder: Path) -> None:
    error = _refused(folder, _model("gone.bin"))
    assert error.code == "external_data_missing"
    assert "gone.bin" in error.detail


def test_a_data_file_cut_short_is_missing_data(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(bytes(SIZE - 1))
    error = _refused(folder, _model())
    assert error.code == "external_data_missing"
    assert "16,384" in error.detail


@pytest.mark.parametrize(
    "entries",
    [
        {"offset": -1},
        {"offset": "many"},
        {"length": 2**60},
        {"length": SIZE - 4},
        {"length": "1e3"},
    ],
)
def test_an_impossible_range_is_refused(folder: Path, entries: dict[str, object]) -> None:
    assert _refused(folder, _model("weights.bin", **entries)).code == "onnx_invalid"


def test_an_offset_beyond_the_file_is_missing_data(folder: Path) -> None:
    error = _refused(folder, _model("weights.bin", offset=2**40, length=SIZE))
    assert error.code == "external_data_missing"


def test_strings_cannot_be_external(folder: Path) -> None:
    model = _model()
    model.graph.initializer[0].data_type = TensorProto.STRING
    assert _refused(folder, model).code == "onnx_invalid"


def test_escapes_are_found_in_subgraphs_and_attributes(folder: Path) -> None:
    tensor = _model("../secret.bin").graph.initializer[0]
    branch = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=tensor)],
        "branch",
        [],
        [helper.make_tensor_value_info("c", TensorProto.FLOAT, [64, 64])],
    )
    model = _model()
    condition = numpy_helper.from_array(np.array([True]).reshape(()), "yes")
    model.graph.initializer.append(condition)
    model.graph.node.append(
        helper.make_node("If", ["yes"], ["z"], then_branch=branch, else_branch=branch)
    )
    assert _refused(folder, model).code == "external_data_escapes"


def test_where_weights_lie_changes_no_other_fact(tmp_path: Path) -> None:
    model = resnet18()
    inline = tmp_path / "inline"
    outside = tmp_path / "outside"
    inline.mkdir()
    outside.mkdir()
    onnx.save_model(model, inline / "model.onnx")
    onnx.save_model(
        model,
        outside / "model.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    found = [read_folder(folder)["graphs"][0] for folder in (inline, outside)]
    assert found[1].pop("external_data") == ["weights.bin"]
    assert found[0].pop("external_data") == []
    assert found[0] == found[1]


def test_a_model_of_three_gigabytes_is_read_without_its_weights(folder: Path) -> None:
    rows = 3 * 2**30 // 256
    model = _model("weights.bin")
    model.graph.initializer[0].dims[:] = [64, rows]
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = rows
    with (folder / "weights.bin").open("wb") as stream:
        stream.truncate(3 * 2**30)  # sparse: reading it would take the memory, not the disk
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    facts = facts_of(folder, "model.onnx")
    assert facts.weight_bytes == 3 * 2**30
    assert facts.macs == 64 * rows


def test_unknown_keys_beside_the_range_are_ignored(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(_model(checksum="abc").SerializeToString())
    assert facts_of(folder, "model.onnx").parameters == 64 * 64


def test_a_plain_model_has_no_external_data(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(mlp().SerializeToString())
    assert facts_of(folder, "model.onnx").external_data == []
