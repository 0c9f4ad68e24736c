"""Builds that compute batches are measured and chosen for a network of one row."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.scenarios import OFFLINE
from tests.workers.backends.test_openbatch import RNG, network
from workers.backends import registry
from workers.backends.openbatch import BATCH_OPENER
from workers.engine.queries import configuration, sweep
from workers.engine.queries.device import LocalBatchDevice
from workers.engine.queries.explore import QueryRequest, measure_queries
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.tune import tune
from workers.testing.backend_contract import this_target
from workers.testing.simulation import VirtualClock

pytestmark = pytest.mark.slow


def layer() -> onnx.ModelProto:
    """A matrix product so small that most of a run is the call."""
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, size))
        for name, size in (("x", 4), ("y", 3))
    ]
    weight = numpy_helper.from_array(RNG.standard_normal((4, 3)).astype("float32"), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "layer", values[:1], values[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_network_of_one_row_is_computed_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configuration, "_MOST_PROCESSES", 3)
    monkeypatch.setattr(sweep, "_LEAST_S", 0.005)
    backends = {"onnxruntime": registry.get("onnxruntime")}
    request = TuningRequest(
        network(layer(), tmp_path / "model.onnx"),
        this_target(),
        ("onnxruntime",),
        SearchBudget(trials=1, seconds_per_measurement=0.1, confirmation_seconds=0.1),
        batch_opener=BATCH_OPENER,
    )
    (tmp_path / "scratch").mkdir()
    with LocalBatchDevice(request, backends, tmp_path / "scratch") as device:
        result = tune(request, backends, device, MemoryTrialStore())
        # Time does not advance: on a busy machine the screening ended before the open batch.
        offline = measure_queries(
            request, backends, device, result, QueryRequest(OFFLINE, 8.0), clock=VirtualClock()
        )
    assert offline.baseline.execution.batch == 1
    (exact,) = offline.configurations
    assert exact.execution.batch > 1
    confirmed = exact.confirmed
    assert confirmed.trial.candidate.options["open_batch"] is True
    assert confirmed.build.provenance["open_batch"] is True
    assert confirmed.measurement.ratio.value < 0.5
    protocol = confirmed.measurement.protocol
    assert protocol["batch"] == {"baseline": 1, "candidate": exact.execution.batch}
