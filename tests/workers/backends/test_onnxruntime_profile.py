"""Profiles of ONNX Runtime, read from its own trace and held against the graph."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from examples.models.seeding import draw_weights
from tests.workers.backends import rewritable
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.engine.errors import InvalidCandidate
from workers.engine.profile import Profile
from workers.engine.random_inputs import random_inputs
from workers.engine.types import BuildResult
from workers.testing import networks
from workers.testing.backend_contract import this_target

BACKEND = OnnxRuntimeBackend()
TARGET = this_target()
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


def profiled(
    model: onnx.ModelProto, folder: Path, external: str = "", **options: str | bool
) -> Profile:
    network = networks.write(model, folder / "model", external_data=external)
    every = BACKEND.space(network, TARGET).enumerate()
    wanted = next(one for one in every if options.items() <= one.items())
    if not options:
        wanted = BACKEND.default(network, TARGET)
    out = folder / "build"
    out.mkdir()
    build = BACKEND.build(network, TARGET, wanted, out)
    return BACKEND.profile(network, TARGET, build, random_inputs(network, 0), folder)


def grades(profile: Profile) -> dict[int, str]:
    """Node to its best grade."""
    order = ["exact", "inferred", "shared"]
    found: dict[int, str] = {}
    for site in profile.call_sites:
        for link in site.nodes:
            found[link.index] = min(found.get(link.index, "shared"), link.grade, key=order.index)
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"precision": "float32", "graph_optimization": "disable"},
        {"precision": "float32", "graph_optimization": "basic"},
        {"precision": "float32", "graph_optimization": "all", "artefact": "optimized"},
    ],
    ids=["default", "disabled", "basic", "optimized"],
)
@pytest.mark.parametrize("make", [networks.residual_cnn, networks.transformer])
def test_every_node_is_linked_and_every_operator_too(
    make: Callable[[], onnx.ModelProto], options: dict[str, str | bool], tmp_path: Path
) -> None:
    model = make()
    profile = profiled(model, tmp_path, **options)
    assert set(grades(profile)) == set(range(len(model.graph.node)))
    assert profile.folded == ()
    assert all(site.nodes for site in profile.call_sites)
    assert all(site.precision == "float32" for site in profile.call_sites)
    assert all(site.runs >= 3 and site.median_ns > 0 for site in profile.call_sites)
    assert 0 < sum(site.median_ns for site in profile.call_sites) < 2 * profile.total_ns
    if options.get("graph_optimization") == "disable":
        assert set(grades(profile).values()) == {"exact"}
        assert len(profile.call_sites) == len(model.graph.node)


def test_what_was_rewritten_is_linked_to_what_was_published(tmp_path: Path) -> None:
    profile = profiled(rewritable.fire(), tmp_path, artefact="rewritten")
    assert all(site.nodes for site in profile.call_sites)
    assert set(grades(profile)) >= {0, 1, 3, 4}


def test_a_network_without_names_beside_its_weights_is_linked_too(tmp_path: Path) -> None:
    profile = profiled(networks.mlp(), tmp_path, external="data")
    assert grades(profile) == dict.fromkeys(range(5), "exact")


def test_what_runs_in_eight_bits_says_so(tmp_path: Path) -> None:
    profile = profiled(networks.mlp(), tmp_path, precision="int8-static", per_channel=False)
    assert profile.precisions["int8"] >= 3
    assert set(grades(profile)) == set(range(5))


def test_folded_nodes_stand_apart_and_subgraphs_count_with_their_node(tmp_path: Path) -> None:
    def branch(name: str, operator: str) -> onnx.GraphProto:
        nodes = [helper.make_node(operator, ["x"], [f"{name}0"], name="inner"),
                 helper.make_node("Relu", [f"{name}0"], [name])]  # fmt: skip
        return helper.make_graph(
            nodes, name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4])]
        )

    nodes = [
        helper.make_node("Neg", ["k"], ["minus"]),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "minus"], ["big"]),
        helper.make_node("If", ["big"], ["y"], then_branch=branch("t", "Exp"),
                         else_branch=branch("e", "Sin")),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "choice",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
        [numpy_helper.from_array(np.array(1, np.float32), "k")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    profile = profiled(model, tmp_path)
    assert profile.folded == (0,)
    assert [site.operator for site in profile.call_sites] == ["ReduceSum", "Greater", "If"]
    assert grades(profile) == {1: "exact", 2: "exact", 3: "exact"}


def test_a_build_that_is_not_there_has_no_profile(tmp_path: Path) -> None:
    network = networks.write(networks.mlp(), tmp_path / "model")
    failed = BuildResult("invalid", detail="never made")
    with pytest.raises(InvalidCandidate, match="never made"):
        BACKEND.profile(network, TARGET, failed, {}, tmp_path)


@pytest.mark.slow
def test_a_real_architecture_is_covered_wholly(tmp_path: Path) -> None:
    """Matching by names alone once left none of ShuffleNet's 203 nodes over, 137 of them exact."""
    model = onnx.load(LIGHT / "light_shufflenet.onnx")
    draw_weights(model.graph, np.random.default_rng(0))
    taken = {name for node in model.graph.node for name in node.input}
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    del model.graph.initializer[:]
    model.graph.initializer.extend(weights[name] for name in weights.keys() & taken)
    inputs = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    profile = profiled(model, tmp_path)
    found = grades(profile)
    assert len(model.graph.node) == 203
    assert set(found) == set(range(203)) - set(profile.folded)
    assert len(profile.folded) == 0
    assert sum(grade == "exact" for grade in found.values()) >= 137
    assert "shared" not in found.values()
    assert all(site.nodes for site in profile.call_sites)
