"""The fake backend."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from workers.backends.fake.backend import FAULTS, FakeBackend, FakeSession, FaultyBackend
from workers.backends.fake.kernels import DEFAULT_S, latency_s, outputs
from workers.engine.errors import InvalidCandidate
from workers.engine.types import BuildResult, Network, Options, TargetSpec, TensorSpec

NETWORK = Network(
    model_path=Path("pretend.onnx"),
    model_sha256="a" * 64,
    graph_hash="b" * 64,
    architecture_class="mlp",
    inputs=(TensorSpec("x", "float32", ("N", 4)),),
    outputs=(TensorSpec("y", "float32", ("N", 3)), TensorSpec("best", "int64", ("N",))),
    operators={},
    parameters=0,
    macs=None,
)
TARGET = TargetSpec("x86-64-avx2", "x86-64", frozenset(), 2, 2**33)
BACKEND = FakeBackend()
DEFAULT = BACKEND.default(NETWORK, TARGET)
INPUTS = {"x": np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)}


def session_of(options: Options, out: Path, backend: FakeBackend = BACKEND) -> FakeSession:
    session = backend.load(backend.build(NETWORK, TARGET, options, out), TARGET)
    assert isinstance(session, FakeSession)
    return session


def test_default_and_reference_are_members_of_the_space() -> None:
    for backend in (BACKEND, FaultyBackend()):
        space = backend.space(NETWORK, TARGET)
        assert space.contains(backend.default(NETWORK, TARGET))
        assert space.contains(backend.reference(NETWORK, TARGET))


def test_latencies_are_within_the_stated_range_and_the_default_is_one() -> None:
    latencies = [latency_s(options) for options in BACKEND.space(NETWORK, TARGET).enumerate()]
    assert latency_s(DEFAULT) == DEFAULT_S
    assert min(latencies) == pytest.approx(0.33 * DEFAULT_S, rel=0.01)
    assert max(latencies) == pytest.approx(2.5 * DEFAULT_S, rel=0.01)


def test_the_best_tile_depends_on_the_layout() -> None:
    def best(layout: str) -> object:
        options = {**DEFAULT, "kernel": "winograd", "layout": layout}
        return min((8, 16, 32, 64), key=lambda tile: latency_s({**options, "tile": tile}))

    assert best("nchw") != best("nhwc")


def test_a_build_runs_from_its_files_alone(tmp_path: Path) -> None:
    found = session_of(DEFAULT, tmp_path).run(INPUTS)
    assert {name: (array.shape, str(array.dtype)) for name, array in found.items()} == {
        "y": ((5, 3), "float32"),
        "best": ((5,), "int64"),
    }


def test_int8_strays_from_float32_and_other_kernels_hardly() -> None:
    exact = outputs(NETWORK.outputs, INPUTS, DEFAULT)["y"]
    winograd = outputs(NETWORK.outputs, INPUTS, {**DEFAULT, "kernel": "winograd"})["y"]
    int8 = outputs(NETWORK.outputs, INPUTS, {**DEFAULT, "precision": "int8"})["y"]
    assert 0 < np.abs(winograd - exact).max() < 1e-6
    assert 1e-3 < np.abs(int8 - exact).max() < 0.1


def test_the_tolerance_class_follows_the_precision(tmp_path: Path) -> None:
    int8: Options = {**DEFAULT, "precision": "int8"}
    assert BACKEND.build(NETWORK, TARGET, DEFAULT, tmp_path).tolerance == "exact"
    assert BACKEND.build(NETWORK, TARGET, int8, tmp_path).tolerance == "int8"


def test_options_outside_the_space_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidCandidate, match="not in the space of fake"):
        BACKEND.build(NETWORK, TARGET, {**DEFAULT, "tile": 8}, tmp_path)


def test_nothing_is_loaded_from_a_failed_build() -> None:
    with pytest.raises(InvalidCandidate, match="nothing was built: why"):
        BACKEND.load(BuildResult("crash", detail="why"), TARGET)


@pytest.mark.parametrize(
    ("fault", "error"), [("invalid", InvalidCandidate), ("memory", MemoryError)]
)
def test_faults_of_building_end_the_build(
    fault: str, error: type[Exception], tmp_path: Path
) -> None:
    backend = FaultyBackend()
    options = {**backend.default(NETWORK, TARGET), "fault": fault}
    with pytest.raises(error):
        backend.build(NETWORK, TARGET, options, tmp_path)


def test_faults_of_the_output_change_it(tmp_path: Path) -> None:
    backend = FaultyBackend()
    default = backend.default(NETWORK, TARGET)
    found = {
        fault: session_of({**default, "fault": fault}, tmp_path, backend).run(INPUTS)["y"]
        for fault in ("none", "wrong", "nan")
    }
    assert np.allclose(found["wrong"], found["none"] + 1)
    assert np.isnan(found["nan"]).all()


def test_a_scalar_input_and_output_work() -> None:
    spec = TensorSpec("y", "float32", ())
    found = outputs((spec,), {"x": np.float32(2).reshape(())}, DEFAULT)
    assert found["y"].shape == ()


def test_every_fault_is_an_option() -> None:
    parameter = FaultyBackend().space(replace(NETWORK), TARGET).parameters["fault"]
    assert getattr(parameter, "values", None) == FAULTS
