"""OpenVINO's knobs: what really runs, and what is refused."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.isolation.limits import Limits
from tests.workers.backends import rewritable
from workers.backends.openvino.backend import OpenVinoBackend
from workers.engine.numerics import check, require, run_reference
from workers.engine.profile import Profile
from workers.engine.requests import TuningRequest
from workers.engine.testset import make_test_set
from workers.engine.types import BuildResult, Network, Options, TargetSpec, TensorSpec
from workers.testing import networks
from workers.testing.backend_contract import this_target
from workers.testing.builds import check_profile, digests, timeless
from workers.testing.reused import ReusedChild, ReusedDevice

pytestmark = pytest.mark.slow

BACKEND = OpenVinoBackend()
X86 = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2", "fma"}), 2, None)
INT8: Options = {"precision": "int8", "preset": "mixed", "shapes": "static"}


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReusedChild]:
    """The confined process that builds and runs: OpenVINO is imported once."""
    with ReusedChild(tmp_path_factory.getbasetemp(), Limits()) as child:
        yield child


def device_for(
    network: Network, child: ReusedChild, folder: Path, target: TargetSpec | None = None
) -> ReusedDevice:
    scratch = folder / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    request = TuningRequest(network, target or this_target(), (BACKEND.name,))
    return ReusedDevice(request, {BACKEND.name: BACKEND}, scratch, child)


def build(
    network: Network, child: ReusedChild, folder: Path, options: Options | None = None
) -> BuildResult:
    """How the defaults, changed by ``options``, are built; the files are gone."""
    with device_for(network, child, folder) as device:
        return device.build(BACKEND.name, BACKEND.default(network, this_target()) | (options or {}))


def changed_by(options: Options, network: Network) -> Options:
    """The defaults, changed by ``options``; what only some processors have stays plain."""
    default = BACKEND.default(network, this_target())
    found = BACKEND.space(network, this_target()).nearest(default | options)
    assert found is not None
    return found


def model_of(
    nodes: list[onnx.NodeProto], dtype: int = TensorProto.FLOAT, **weights: np.ndarray
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", dtype, [2, 3])],
        [helper.make_tensor_value_info("y", dtype, [2, 3])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(model: onnx.ModelProto, folder: Path, dtype: str = "float32") -> Network:
    """Save a network of :func:`model_of`."""
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    spec = TensorSpec("x", dtype, (2, 3))
    operators = {node.op_type: 1 for node in model.graph.node}
    outputs = (replace(spec, name="y"),)
    return Network(folder / "model.onnx", "", "", "other", (spec,), outputs, operators, 1, None)


@dataclass(frozen=True)
class Made:
    build: BuildResult
    profile: Profile


@pytest.fixture(scope="module", params=["float32", "int8"])
def made(
    request: pytest.FixtureRequest, child: ReusedChild, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    """A residual CNN, built, checked on several batch sizes, and profiled."""
    folder = tmp_path_factory.mktemp(request.param)
    network = networks.write(networks.residual_cnn(), folder / "model")
    rng = np.random.default_rng(0)
    np.savez(
        folder / "samples.npz", **{"inputs/x": rng.standard_normal((40, 3, 16, 16), np.float32)}
    )
    network = replace(network, samples_path=folder / "samples.npz")
    changed: Options = INT8 if request.param == "int8" else {}
    with device_for(network, child, folder) as device:
        reference = device.build(BACKEND.name, BACKEND.reference(network, this_target()))
        result = device.build(BACKEND.name, changed_by(changed, network))
        assert result.outcome == "measured", result.detail
        # 32 rows at once, then those left over, then one.
        tests = device.test_set(40, seed=0)
        cases = (*tests.cases, *({"x": tests.cases[0]["x"][:n]} for n in (1, 2, 3, 5, 7)))
        tests = replace(tests, cases=cases)
        with closing(device.open(BACKEND.name, reference, "reference", tests.timing)) as session:
            expected = run_reference(session, tests)
        with closing(device.open(BACKEND.name, result, "candidate", tests.timing)) as session:
            require(check(session, tests, expected), result.tolerance, None, None)
        return Made(result, device.profile(BACKEND.name, result, tests.timing, folder / "code"))


def test_every_operator_says_what_it_computes_in(made: Made) -> None:
    """float32 where that was asked for, whatever the processor would rather do."""
    assert made.build.provenance["precisions"] == made.profile.precisions
    if made.build.tolerance == "exact":
        assert set(made.profile.precisions) == {"float32"}
    else:
        assert made.profile.precisions["int8"] >= 6
        heavy = {s.precision for s in made.profile.call_sites if s.operator == "Convolution"}
        assert heavy == {"int8"}
        assert made.build.provenance["calibration"]["source"] == "samples"


def test_every_node_has_its_operator_and_every_operator_its_nodes(made: Made) -> None:
    nodes = networks.residual_cnn().graph.node
    check_profile(made.profile, len(nodes), Path())
    assert made.profile.folded == ()
    assert all(site.nodes for site in made.profile.call_sites)
    assert all(site.implementation for site in made.profile.call_sites)
    owners = {
        nodes[link.index].output[0]: site.operator
        for site in made.profile.call_sites
        for link in site.nodes
        if link.grade != "shared"
    }
    expected = {"stem.c": "Convolution", "inner.n": "Convolution", "pooled": "Pooling"}
    assert owners.items() >= (expected | {"scores": "FullyConnected"}).items()
    layouts = {s.layout for s in made.profile.call_sites if s.operator == "Convolution"}
    assert layouts <= {"NHWC", "NCHW", "nChw16c", "nChw8c"}


def test_operators_take_no_longer_than_the_whole_run(made: Made) -> None:
    inside = sum(site.median_ns for site in made.profile.call_sites)
    # Each is read to a microsecond. Operators and whole runs are timed one after the other, and the
    # machine may be busier then; seconds taken for others would be a thousandfold.
    assert 0 <= inside <= made.profile.total_ns * 3 + 2000 * len(made.profile.call_sites)


def test_nodes_that_constants_decide_are_folded_and_not_linked(
    child: ReusedChild, tmp_path: Path
) -> None:
    nodes = [
        helper.make_node("Mul", ["w", "w"], ["square"]),
        helper.make_node("Add", ["x", "square"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["y"]),
    ]
    model = model_of(nodes, w=np.full(3, 2, np.float32))
    network = write(model, tmp_path / "model")
    with device_for(network, child, tmp_path) as device:
        result = device.build(BACKEND.name, BACKEND.default(network, this_target()))
        inputs = make_test_set(network, {}, 0).timing
        found = device.profile(BACKEND.name, result, inputs, tmp_path / "code")
    assert found.folded == (0,)
    assert {link.index for site in found.call_sites for link in site.nodes} == {1, 2}


def test_a_precision_that_nothing_computes_in_is_refused(
    child: ReusedChild, tmp_path: Path
) -> None:
    """The target promises float16; where the tests run there may be none."""
    target = replace(X86, features=X86.features | {"amx_fp16"})
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    with device_for(network, child, tmp_path, target) as device:
        options = BACKEND.default(network, target) | {"precision": "float16"}
        found = device.build(BACKEND.name, options)
    if found.outcome == "measured":
        assert found.tolerance == "fp16"
        assert found.provenance["precisions"]["float16"] > 0
    else:
        assert found.outcome == "invalid"
        assert "no operator of this network computes in float16 here" in found.detail


def test_a_transformer_is_smoothed_and_quantised_alike_each_time(
    child: ReusedChild, tmp_path: Path
) -> None:
    network = networks.write(networks.transformer(), tmp_path / "model")
    network = replace(network, architecture_class="transformer")
    options = changed_by({**INT8, "smoothing": True}, network)
    with device_for(network, child, tmp_path) as device:
        one = device.build(BACKEND.name, options)
        # The second time in another process.
        child.close()
        other = device.build(BACKEND.name, options)
        assert one.outcome == "measured", one.detail
        assert digests(one) == digests(other)
        assert timeless(one) == timeless(other)
    assert one.provenance["precisions"]["int8"] >= 4
    assert one.provenance["calibration"] == {
        "source": "random", "runs": 16, "method": "NNCF"
    }  # fmt: skip


def test_shuffles_of_channels_go_into_weights(child: ReusedChild, tmp_path: Path) -> None:
    network = networks.write(rewritable.dealt(), tmp_path / "model")
    rewritten: Options = {"artefact": "rewritten"}
    with device_for(network, child, tmp_path) as device:
        plain, folded, int8 = (
            device.build(BACKEND.name, changed_by(changed, network))
            for changed in ({}, rewritten, rewritten | INT8)
        )
        assert (folded.outcome, int8.outcome) == ("measured", "measured"), folded.detail
        assert folded.provenance["rewrites"] == int8.provenance["rewrites"] == {"folded": 1}
        x = {"x": np.random.default_rng(0).standard_normal((2, 16, 8, 8), np.float32)}
        found = []
        for made in (plain, folded):
            with closing(device.open(BACKEND.name, made, "candidate", x)) as session:
                found.append(session.run(x)["y"])
        np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)
        profile = device.profile(BACKEND.name, int8, x, tmp_path / "code")
    check_profile(profile, len(rewritable.dealt().graph.node), Path())


def test_a_network_without_shuffles_is_not_rewritten(child: ReusedChild, tmp_path: Path) -> None:
    network = networks.write(rewritable.dealt(seen=True), tmp_path / "model")
    found = build(network, child, tmp_path, {"artefact": "rewritten"})
    assert found.outcome == "invalid"
    assert "no channel shuffle" in found.detail


def test_text_is_refused_before_it_corrupts_memory(child: ReusedChild, tmp_path: Path) -> None:
    node = helper.make_node("Identity", ["x"], ["y"])
    network = write(model_of([node], TensorProto.STRING), tmp_path / "model", "string")
    found = build(network, child, tmp_path)
    assert found.outcome == "invalid"
    assert "x has text outputs" in found.detail


def test_samples_that_do_not_fit_are_named(child: ReusedChild, tmp_path: Path) -> None:
    network = networks.write(networks.mlp(), tmp_path / "model")
    np.savez(tmp_path / "samples.npz", **{"inputs/x": np.ones((4, 9), np.float32)})
    network = replace(network, samples_path=tmp_path / "samples.npz")
    found = build(network, child, tmp_path, changed_by(INT8, network))
    assert found.outcome == "invalid"
    assert "inputs/x has shape (4, 9)" in found.detail


def test_a_signature_that_reads_otherwise_is_refused(child: ReusedChild, tmp_path: Path) -> None:
    network = write(model_of([helper.make_node("Relu", ["x"], ["y"])]), tmp_path / "model")
    other = replace(network, outputs=(TensorSpec("z", "float32", (2, 3)),))
    found = build(other, child, tmp_path)
    assert found.outcome == "invalid"
    assert "reads the signature as [['x'], ['y']]" in found.detail


def test_nan_weights_come_out_as_nan(child: ReusedChild, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["x", "w"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["y"]),
    ]
    weights = np.array([np.nan, np.inf, 1], np.float32)
    network = write(model_of(nodes, w=weights), tmp_path / "model")
    with device_for(network, child, tmp_path) as device:
        found = device.build(BACKEND.name, BACKEND.default(network, this_target()))
        x = np.zeros((2, 3), np.float32)
        with closing(device.open(BACKEND.name, found, "candidate", {})) as session:
            np.testing.assert_array_equal(session.run({"x": x})["y"], x + weights)


def test_options_outside_the_space_are_refused(child: ReusedChild, tmp_path: Path) -> None:
    network = networks.write(networks.mlp(), tmp_path / "model")
    found = build(network, child, tmp_path, {"precision": "int4"})
    assert found.outcome == "invalid"
    assert "not in the space of openvino" in found.detail
