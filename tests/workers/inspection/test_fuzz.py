"""Mutants of valid models: whatever they mean, they are described or refused."""

import json
import random
from dataclasses import asdict
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from registry.errors import CODES
from tests.workers.inspection.conftest import facts_of
from tests.workers.inspection.mutation import mutate
from tests.workers.inspection.networks import NETWORKS, Net
from workers.inspection.errors import InspectionError


def _with_control_flow() -> onnx.ModelProto:
    net = Net()
    x = helper.make_tensor_value_info("inner", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("scanned", TensorProto.FLOAT, [4])
    body = helper.make_graph([helper.make_node("Tanh", ["inner"], ["scanned"])], "body", [x], [y])
    scanned = net.op("Scan", "x", body=body, num_scan_inputs=1)
    sides = []
    for side in ("then", "else"):
        out = helper.make_tensor_value_info(side, TensorProto.FLOAT, ["N", 4])
        nodes = [helper.make_node("Neg", [scanned], [side])]
        sides.append(helper.make_graph(nodes, side, [], [out]))
    asked = net.constant(True)  # noqa: FBT003
    return net.model([net.op("If", asked, then_branch=sides[0], else_branch=sides[1])], ("N", 4))


def _with_functions() -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = helper.make_function(
        "local", "inner", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opsets
    )
    nodes = [helper.make_node("inner", [a], [b], domain="local") for a, b in ("xt", "ty")]
    outer = helper.make_function("local", "outer", ["x"], ["y"], nodes, opsets)
    graph = helper.make_graph(
        [helper.make_node("outer", ["x"], ["y"], domain="local")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])],
    )
    return helper.make_model(graph, functions=[inner, outer], opset_imports=opsets, ir_version=8)


BASES = {
    **{name: make() for name, make in NETWORKS.items() if name != "resnet50"},
    "control_flow": _with_control_flow(),
    "functions": _with_functions(),
}


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    base=st.sampled_from(sorted(BASES)),
    seed=st.integers(0, 2**48),
    changes=st.sampled_from([1, 1, 2, 3, 8]),
)
def test_every_mutant_is_described_or_refused(
    tmp_path: Path, base: str, seed: int, changes: int
) -> None:
    mutant = mutate(BASES[base], random.Random(seed), changes)  # noqa: S311
    (tmp_path / "model.onnx").write_bytes(mutant.SerializeToString())
    try:
        facts = facts_of(tmp_path, "model.onnx")
    except InspectionError as error:
        said = {"code": error.code, "detail": error.detail, "hint": error.hint}
    else:
        said = {"facts": asdict(facts), "code": "onnx_invalid"}
    # A NUL in what is said would be refused by the database, a NaN by JSON.
    assert "\\u0000" not in json.dumps(said, allow_nan=False)
    assert said["code"] in CODES


@pytest.mark.parametrize("base", sorted(BASES))
def test_what_is_mutated_is_valid_to_begin_with(tmp_path: Path, base: str) -> None:
    (tmp_path / "model.onnx").write_bytes(BASES[base].SerializeToString())
    assert facts_of(tmp_path, "model.onnx").graph_hash
