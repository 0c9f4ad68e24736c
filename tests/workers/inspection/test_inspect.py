"""The whole way: a folder in, facts or a refusal out."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair.isolation.limits import Limits
from hpcfair.tickets import GraphFacts
from registry.errors import CODES
from tests.workers.inspection.conftest import Read, Refusal
from tests.workers.inspection.networks import Net, bert, mlp, resnet18
from workers.engine.child import call
from workers.inspection.errors import InspectionError
from workers.inspection.inspect import choose_primary, inspect, read_folder


def _publish(folder: Path, **models: onnx.ModelProto) -> Path:
    for name, model in models.items():
        path = folder / (name.replace("__", "/") + ".onnx")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model.SerializeToString())
    return folder


def test_a_model_with_samples_is_described_whole(tmp_path: Path) -> None:
    _publish(tmp_path, model=mlp())
    with (tmp_path / "samples.npz").open("wb") as stream:
        np.savez(stream, **{"inputs/x": np.zeros((6, 12), np.float32), "labels": np.arange(6)})
    found = inspect(str(tmp_path))
    assert found["primary"] == "model.onnx"
    assert found["warnings"] == []
    assert found["samples"]["fits"]
    assert found["samples"]["count"] == 6
    (graph,) = found["graphs"]
    facts = GraphFacts(**graph)
    assert facts.architecture_class == "mlp"
    assert facts.operators == {"Gemm": 3, "Relu": 2}
    assert facts.opsets == {"ai.onnx": 17}
    assert facts.ir_version == 8
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_without_samples_there_are_none(tmp_path: Path) -> None:
    assert inspect(str(_publish(tmp_path, model=mlp())))["samples"] is None


def test_samples_that_do_not_fit_are_a_warning(tmp_path: Path) -> None:
    _publish(tmp_path, model=mlp())
    with (tmp_path / "samples.npz").open("wb") as stream:
        np.savez(stream, **{"inputs/other": np.zeros((6, 12), np.float32)})
    found = inspect(str(tmp_path))
    assert not found["samples"]["fits"]
    assert any("inputs/x is missing" in warning for warning in found["warnings"])


def test_unreadable_samples_are_refused(tmp_path: Path) -> None:
    _publish(tmp_path, model=mlp())
    (tmp_path / "samples.npz").write_bytes(b"nothing")
    assert inspect(str(tmp_path))["error"]["code"] == "samples_unreadable"


@pytest.mark.parametrize(
    ("names", "primary"),
    [
        (["b", "model", "onnx/model"], "model.onnx"),
        (["b", "onnx/model", "onnx/model_fp16"], "onnx/model.onnx"),
        (["only"], "only.onnx"),
        (["small", "large", "medium"], "large.onnx"),
    ],
)
def test_the_primary_file_is_chosen_by_name_then_by_size(
    tmp_path: Path, names: list[str], primary: str
) -> None:
    sizes = {"small": 10, "medium": 20, "large": 30}
    for name in names:
        path = tmp_path / f"{name}.onnx"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(sizes.get(name, 15)))
    assert choose_primary(tmp_path, [f"{name}.onnx" for name in names]) == primary


def test_every_onnx_file_is_described(tmp_path: Path) -> None:
    found = read_folder(_publish(tmp_path, model=mlp(), parts__encoder=bert()))
    assert {graph["path"] for graph in found["graphs"]} == {"model.onnx", "parts/encoder.onnx"}


def test_a_bad_file_that_is_not_the_primary_one_is_a_warning(tmp_path: Path) -> None:
    _publish(tmp_path, model=mlp())
    (tmp_path / "old.onnx").write_bytes(b"junk")
    found = read_folder(tmp_path)
    assert [graph["path"] for graph in found["graphs"]] == ["model.onnx"]
    assert "onnx_unreadable" in found["warnings"][0]


def test_one_file_can_be_asked_for(tmp_path: Path) -> None:
    _publish(tmp_path, model=mlp(), other=bert())
    found = inspect(str(tmp_path), "other.onnx")
    assert found["primary"] == "other.onnx"
    assert len(found["graphs"]) == 1


@pytest.mark.parametrize("path", ["../outside.onnx", "/etc/passwd", "a/../../outside.onnx"])
def test_a_path_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    _publish(tmp_path, outside=mlp())
    assert inspect(str(inside), path)["error"]["code"] == "no_model_file"


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("words")
    error = inspect(str(tmp_path))["error"]
    assert error["code"] == "no_model_file"
    assert "model.onnx" in error["hint"]


def test_links_are_not_seen(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    inside.mkdir()
    _publish(outside, model=mlp())
    (inside / "model.onnx").symlink_to(outside / "model.onnx")
    (inside / "folder").symlink_to(outside)
    assert inspect(str(inside))["error"]["code"] == "no_model_file"


def test_every_refusal_has_a_code_the_registry_lists(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"junk")
    error = inspect(str(tmp_path))["error"]
    assert error["code"] in CODES
    assert error["detail"]
    assert error["hint"]


def test_an_unknown_operator_is_named(refusal: Refusal) -> None:
    model = mlp()
    model.graph.node[1].op_type = "Frobnicate"
    error = refusal(model)
    assert error.code == "operator_unsupported"
    assert "Frobnicate" in error.detail


@pytest.mark.parametrize(
    ("domain", "version", "code"),
    [
        ("", 6, "operator_unsupported"),
        ("", 999, "operator_unsupported"),
        ("", 0, "onnx_invalid"),
        ("", -(2**63), "onnx_invalid"),
        ("ai.onnx.ml", 999, "operator_unsupported"),
    ],
)
def test_operator_sets_too_old_or_too_new_are_refused(
    refusal: Refusal, domain: str, version: int, code: str
) -> None:
    model = mlp()
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, version))
    else:
        model.opset_import[0].version = version
    assert refusal(model).code == code


def test_a_domain_nobody_here_knows_is_refused_by_name(refusal: Refusal) -> None:
    model = mlp()
    model.graph.node[1].domain = "com.example"
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    assert "com.example::Relu" in refusal(model).detail


def test_contributed_operators_of_the_runtime_are_let_through(read: Read) -> None:
    model = mlp()
    model.graph.node[1].op_type = "Gelu"
    model.graph.node[1].domain = "com.microsoft"
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert read(model).operators["com.microsoft::Gelu"] == 1


def test_an_operator_of_a_later_version_is_refused(refusal: Refusal) -> None:
    model = mlp()
    model.graph.node[1].op_type = "Gelu"
    assert "operator set 17 does not have" in refusal(model).detail


def test_a_broken_graph_is_refused_with_the_checkers_words(refusal: Refusal) -> None:
    model = mlp()
    model.graph.node[0].input[0] = "nowhere"
    error = refusal(model)
    assert error.code == "onnx_invalid"
    assert "nowhere" in error.detail
    assert error.detail.isprintable()


def test_a_graph_that_computes_nothing_is_described(read: Read) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])
    model = helper.make_model(
        helper.make_graph([], "g", [x], [x]), opset_imports=[helper.make_opsetid("", 17)]
    )
    warnings: list[str] = []
    facts = read(model, warnings)
    assert (facts.parameters, facts.macs, facts.architecture_class) == (0, 0, "other")
    assert any(value for value in facts.embedding)
    assert warnings == ["model.onnx computes nothing."]


@pytest.mark.parametrize("opset", range(7, onnx.defs.onnx_opset_version() + 1))
def test_every_operator_set_that_is_supported_is_read(read: Read, opset: int) -> None:
    net = Net()
    y = net.op("Relu", net.conv("x", 3, 4))
    facts = read(net.model([net.head(y, 4)], opset=opset, ir_version=8))
    assert facts.opsets == {"ai.onnx": opset}
    assert facts.macs == 32 * 32 * 4 * 27 + 4 * 10


def test_producers_are_told_on_one_line(read: Read) -> None:
    model = mlp()
    model.producer_name, model.producer_version = "exporter\n\x00evil", "1.0"
    assert read(model).producer == "exporter evil 1.0"


def test_a_refusal_survives_its_way_between_processes() -> None:
    error = InspectionError("onnx_invalid", "This is wrong.", "Do that.")
    copy = type(error)(*error.args)
    assert (copy.code, copy.detail, copy.hint) == ("onnx_invalid", "This is wrong.", "Do that.")
    assert str(copy) == "This is wrong. Do that."


@pytest.mark.slow
def test_inspection_works_inside_a_confined_child(tmp_path: Path) -> None:
    files, scratch = tmp_path / "files", tmp_path / "scratch"
    scratch.mkdir()
    onnx.save_model(
        resnet18(),
        _publish(files, model=mlp()) / "model.onnx",
        save_as_external_data=True,
        location="w",
    )
    found = call(
        "workers.inspection.inspect:inspect",
        limits=Limits(wall_s=120.0),
        workspace=scratch,
        readable=[files],
        folder=str(files),
    )
    assert found["graphs"] == [asdict(GraphFacts(**graph)) for graph in found["graphs"]]
    assert found["graphs"][0]["architecture_class"] == "residual-cnn"
    assert found == inspect(str(files))


@pytest.mark.parametrize(
    "op_type", ["NhwcFusedConv", "QLinearConv", "QGemm", "FusedMatMul", "Attention"]
)
def test_contributed_operators_without_their_inputs_are_described(read: Read, op_type: str) -> None:
    model = mlp()
    model.graph.node.append(helper.make_node(op_type, [], ["z"], domain="com.microsoft"))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    facts = read(model)
    assert facts.operators[f"com.microsoft::{op_type}"] == 1
    assert facts.macs is None
