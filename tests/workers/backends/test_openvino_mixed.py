"""Builds of mixed precision by OpenVINO: their error, and the study that they share."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from math import ceil, floor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from hpcfair.isolation.limits import Limits
from hpcfair.runtimes.openvino import read_model
from hpcfair.runtimes.quiet_openvino import ov
from workers.backends.mixed.plan import StudiedLayer
from workers.backends.openvino.backend import OpenVinoBackend
from workers.backends.openvino.convert import read_onnx
from workers.backends.openvino.layers import named_layers, replace_weights, weights
from workers.backends.openvino.mixed import mixed
from workers.backends.openvino.profile import least_us
from workers.backends.openvino.study import StudiedNetwork, StudyProvenance, layer_seconds
from workers.engine.numerics import check, run_reference
from workers.engine.requests import TuningRequest
from workers.engine.samples import evaluation_samples
from workers.engine.testset import make_test_set
from workers.engine.trials import MIXED_PRECISION, error_limit
from workers.engine.types import BuildResult, Options
from workers.testing import networks
from workers.testing.backend_contract import this_target
from workers.testing.reused import ReusedChild, ReusedDevice

pytestmark = pytest.mark.slow

BACKEND = OpenVinoBackend()
NO_PROVENANCE = StudyProvenance({}, "random", 0, [])


def test_builds_keep_to_their_limits_and_share_a_study(tmp_path: Path) -> None:
    network = networks.write(networks.mlp(), tmp_path / "model")
    # The calibration split has the same rows as the others, so that no value is out of its range.
    rows = np.tile(np.random.default_rng(0).standard_normal((32, 8), np.float32), (8, 1))
    np.savez(tmp_path / "samples.npz", **{"inputs/x": rows})
    network = replace(network, samples_path=tmp_path / "samples.npz")
    target = this_target()
    (tmp_path / "scratch").mkdir()
    request = TuningRequest(network, target, (BACKEND.name,))
    space = BACKEND.space(network, target)
    with (
        ReusedChild(tmp_path, Limits()) as child,
        ReusedDevice(request, {BACKEND.name: BACKEND}, tmp_path / "scratch", child) as device,
    ):
        reference = device.build(BACKEND.name, BACKEND.reference(network, target))
        tests = make_test_set(network, evaluation_samples(network, 192), 0)
        with closing(device.open(BACKEND.name, reference, "reference", tests.timing)) as session:
            outputs = run_reference(session, tests)
        int8: Options = {"precision": "int8", "preset": "mixed", "rest": "bfloat16"}
        options = space.nearest(BACKEND.default(network, target) | int8)
        assert options is not None
        assert _integer_weights(device.build(BACKEND.name, options)) > 0
        saved = {}
        for limit in (0.01, 0.02, 0.005):
            wish: Options = {"precision": "mixed", "limit": limit, "rest": "bfloat16"}
            options = space.nearest(BACKEND.default(network, target) | wish)
            assert options is not None
            build = device.build(BACKEND.name, options)
            assert list((tmp_path / "scratch").rglob("layers.json")), (build.outcome, build.detail)
            (study,) = (tmp_path / "scratch").rglob("layers.json")
            # Builds in int8 share the quantised network with the study.
            assert len(list((tmp_path / "scratch").rglob("intermediates/*/provenance.json"))) == 1
            if not saved:
                # The layers of so small a network take no measurable time.
                layers = json.loads(study.read_text())
                for layer in layers:
                    layer["seconds"] = {p: 1 - 0.1 * i for i, p in enumerate(layer["errors"])}
                study.write_text(json.dumps(layers))
                saved[limit] = 0
                continue
            assert build.outcome == "measured", build.detail
            assert error_limit(build) == limit
            with closing(device.open(BACKEND.name, build, "candidate", tests.timing)) as session:
                error = check(session, tests, outputs).deviation.relative_l2
            assert 0 < error <= limit, build.provenance[MIXED_PRECISION]
            layers = build.provenance[MIXED_PRECISION]["layers"]
            precisions = {layer["precision"] for layer in layers}
            assert ("int8" in precisions) == (build.tolerance == "int8")
            assert ("calibration" in build.provenance) == ("int8" in precisions)
            # All rows of the split make one run.
            assert build.provenance["weight_rounding"] == {
                "source": "samples",
                "runs": 1,
                "layers": sum(layer["precision"] != "float32" for layer in layers),
            }
            saved[limit] = [layer["precision"] for layer in layers].count("int8")
            assert _integer_weights(build) == saved[limit]
        assert saved[0.02] > saved[0.005]


def _integer_weights(build: BuildResult) -> int:
    """Number of tensors that a build stores in eight bits."""
    assert build.directory is not None, build.detail
    nodes = read_model(build.directory / build.entry_point).get_ops()
    constants = [node for node in nodes if node.get_type_name() == "Constant"]
    return sum(node.get_output_element_type(0).size == 1 for node in constants)


def test_products_that_add_a_bias_are_timed_in_every_precision(tmp_path: Path) -> None:
    network = networks.write(_dense(), tmp_path / "model")
    model = read_onnx(network)
    # The product of an output is named after it.
    seconds = layer_seconds(model, network, {"precision": "float32"}, ["first", "y"])
    assert min(seconds.values()) > 0


@pytest.mark.parametrize(
    ("plan", "float32"),
    [
        (("bfloat16", "bfloat16", "bfloat16"), {"embedding"}),
        (("float32", "bfloat16", "bfloat16"), {"embedding", "query", "scores", "shares"}),
        (("bfloat16", "bfloat16", "float32"), {"embedding", "last", "bias", "sum"}),
    ],
)
def test_float32_before_all_layers_and_behind_layers_in_float32(
    plan: Sequence[str], float32: set[str], tmp_path: Path
) -> None:
    errors, seconds = {"float32": 0.0, "bfloat16": 0.01}, {"float32": 2.0, "bfloat16": 1.0}
    layers = [StudiedLayer((name,), errors, seconds) for name in ("query", "key", "last")]
    model = _attention()
    studied = StudiedNetwork(layers, model, model, NO_PROVENANCE)
    mixed(studied, model, plan, tmp_path / "model.xml")
    nodes = read_model(tmp_path / "model.xml").get_ordered_ops()
    marked = {node.friendly_name for node in nodes if list(node.get_rt_info())}
    operators = {"embedding", "query", "key", "scores", "shares", "last", "bias", "sum"}
    assert marked & operators == float32


def test_layers_have_the_weights_of_their_precision(tmp_path: Path) -> None:
    """Those of layers in int8 stay, since they were rounded before their operator."""
    errors = {"float32": 0.0, "bfloat16": 0.01, "int8": 0.02}
    names = ("query", "key", "last")
    layers = [StudiedLayer((name,), errors, dict.fromkeys(errors, 1.0)) for name in names]
    exact, rounded, integer = (_attention() for _ in range(3))
    for model, shift in ((rounded, 1), (integer, 2)):
        for name in names:
            layer = named_layers(model)[name]
            replace_weights(layer, weights(layer).data + np.float32(shift))
    plan = ("float32", "bfloat16", "int8")
    studied = StudiedNetwork(layers, integer, rounded, NO_PROVENANCE)
    made = mixed(studied, exact, plan, tmp_path / "model.xml")
    for shift, name in enumerate(names):
        values = weights(named_layers(made)[name]).data - weights(named_layers(exact)[name]).data
        np.testing.assert_allclose(values, shift, rtol=1e-5)


class _Request:
    """A request whose runs take the given microseconds; its counter is their mean, made whole."""

    def __init__(self, runs_us: Sequence[int], rounding: Callable[[float], int]) -> None:
        self._runs_us, self._rounding, self._runs = runs_us, rounding, 0

    def infer(self, _feed: dict[int, np.ndarray]) -> None:
        self._runs += 1

    def get_profiling_info(self) -> list[SimpleNamespace]:
        mean = self._rounding(sum(self._runs_us[: self._runs]) / self._runs)
        return [SimpleNamespace(node_name="layer", real_time=timedelta(microseconds=mean))]


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=8), st.sampled_from([floor, round, ceil])
)
def test_the_least_time_is_that_of_the_fastest_run_within_the_rounding_of_counters(
    runs_us: list[int], rounding: Callable[[float], int]
) -> None:
    least = least_us(_Request(runs_us, rounding), [], len(runs_us))["layer"]
    means = [sum(runs_us[:n]) / n for n in range(1, len(runs_us) + 1)]
    assert min(runs_us) - 1 <= least <= min(means) + 1
    # The longer the runs before, the larger the rounding error.
    assert least <= min(time + 2 * at + 1 for at, time in enumerate(runs_us))


def _attention() -> Any:
    """The shares of embedded words, by a product of two others, one layer behind them with a bias,
    and its sum with the words."""
    op = ov.opset13
    weights = np.random.default_rng(0).standard_normal((3, 8, 8), np.float32)
    plain = {"transpose_a": False, "transpose_b": False}
    words = op.parameter([1, 4], np.int64, name="words")
    embedding = op.gather(weights[0], words, 0, name="embedding")
    query, key = (
        op.matmul(embedding, weight, **plain, name=name)
        for name, weight in (("query", weights[1]), ("key", weights[2]))
    )
    scores = op.matmul(query, key, transpose_a=False, transpose_b=True, name="scores")
    shares = op.softmax(scores, -1, name="shares")
    last = op.matmul(shares, weights[1][:4], **plain, name="last")
    total = op.add(op.add(last, weights[2][0], name="bias"), embedding, name="sum")
    return ov.Model([op.result(total)], [words], "attention")


def _dense() -> onnx.ModelProto:
    """Two matrix products; the first one adds a bias."""
    weights = np.random.default_rng(0).standard_normal((512, 512), np.float32) / 32
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights[0], "b")]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], "first"),
        helper.make_node("Add", ["product", "b"], ["sum"], "bias"),
        helper.make_node("MatMul", ["sum", "w"], ["y"], "second"),
    ]
    x, y = (helper.make_tensor_value_info(name, 1, [4, 64, 512]) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "dense", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
