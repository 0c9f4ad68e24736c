"""The main job, for real: publish, inspect, tune on this machine, find, load, reproduce."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair import machine
from hpcfair.bench.reproduction import reproduce
from hpcfair.client import Client
from hpcfair.record import publish_record
from registry.states import JobKind
from workers.device import tune
from workers.engine.requests import SearchBudget
from workers.fleet.probe import this_machine
from workers.jobs.device import register
from workers.jobs.run import drain

NAME = "alice/convnet"


def convnet() -> bytes:
    """A few convolutions, enough work for a difference: ``float32[N,3,32,32] -> float32[N,10]``."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for index, (channels, wide) in enumerate([(3, 16), (16, 32), (32, 32)]):
        weight = rng.normal(0, 0.1, (wide, channels, 3, 3)).astype(np.float32)
        weights.append(onnx.numpy_helper.from_array(weight, f"w{index}"))
        nodes.append(
            helper.make_node("Conv", [last, f"w{index}"], [f"c{index}"], pads=[1, 1, 1, 1])
        )
        nodes.append(helper.make_node("Relu", [f"c{index}"], [f"r{index}"]))
        last = f"r{index}"
    dense = rng.normal(0, 0.1, (32, 10)).astype(np.float32)
    weights.append(onnx.numpy_helper.from_array(dense, "dense"))
    nodes += [
        helper.make_node("GlobalAveragePool", [last], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "dense"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "convnet",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def small(**given: Any) -> SearchBudget:
    """As many trials on a busy machine as on an idle one, so that time decides nothing."""
    few: dict[str, Any] = {"seconds": 600.0, "trials": 4, "seconds_per_measurement": 0.3}
    end: dict[str, Any] = {
        "candidates_to_confirm": 1,
        "confirmation_processes": 2,
        "confirmation_seconds": 1.0,
    }
    return SearchBudget(**given | few | end)


@pytest.mark.slow
def test_a_published_model_is_tuned_loaded_and_its_record_repeated(
    as_alice: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(tune, "SearchBudget", small)
    # A search of this length measures no throughput.
    settings.TUNE_BUDGET_S = 3
    register()
    x = np.random.default_rng(1).normal(size=(6, 3, 32, 32)).astype(np.float32)

    as_alice.save(
        convnet(), NAME, card={"license": "mit"}, example_inputs=x, labels=np.arange(6), wait=False
    )
    drain([JobKind.INSPECT], here=None)
    drain([JobKind.TUNE], here=this_machine())

    # Newest first: a noisy machine may leave a repetition behind the search.
    *_, job = as_alice.jobs(model=NAME, kind="tune")
    assert job.wait().state == "succeeded", job.failure
    assert any(trial.outcome == "measured" for trial in job.trials)

    # A build that is not proven faster is never preferred: then this is the baseline.
    model = as_alice.load(NAME)
    assert model.build is not None
    assert model.build.target == machine.target_slug(machine.describe())
    reference = as_alice.load(NAME, target=None)
    np.testing.assert_allclose(model(x), reference(x), rtol=1e-3, atol=1e-5)
    assert model.record is not None
    assert model.record.id in model.explain()

    fastest = next(iter(as_alice.builds(NAME)))
    repeated = reproduce(as_alice.http, as_alice.cache, fastest.record_id or "")
    assert repeated.document["correctness"]["passed"]
    uploaded = publish_record(as_alice.http, repeated.document)
    assert as_alice.record(uploaded).document["provenance"]["reproduces"] == fastest.record_id
    # The same one twice is one.
    assert publish_record(as_alice.http, repeated.document) == uploaded
